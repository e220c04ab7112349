"""Runs: budgeted retrieval sessions of agents, their operations and the records of these."""

from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from graphmem.model.pages import GivenCursor, PageSize
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import MESSAGE_BYTES, QUERY_CHARACTERS, Label, Lacks
from graphmem.references.types import Span

RunStatus = Literal["active", "completed", "failed", "timeout"]
RUN_STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)
RunOutcome = Literal["success", "failure", "timeout", "budget_exhausted"]
Operation = Literal["start", "retrieve", "peek", "write", "subcall", "end"]
WriteType = Literal["summary", "log", "artifact"]
RunSort = Literal["relevance", "recency", "importance"]

RunSourceType = Literal[
    "knowledge_base",
    "thread_summary",
    "plan_summary",
    "episode_log",
    "brand_kit",
    "offer",
    "reference",
    "session_summary",
]
"""The source types of the spans and summaries that a run may retrieve."""

MOST_TOKENS = 1_000_000_000
MOST_TIME_MS = 7 * 24 * 3_600_000
MOST_RETRIES = 1_000

SourceName = Annotated[str, Meta(min_length=1, max_length=1024)]
Tokens = Annotated[int, Meta(ge=1, le=MOST_TOKENS)]
TimeMs = Annotated[int, Meta(ge=1, le=MOST_TIME_MS)]
Retries = Annotated[int, Meta(ge=0, le=MOST_RETRIES)]
OperationId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        description="the caller's name for this operation: a repetition gets the same answer without "
        "a second charge",
    ),
]


class RetrievalBudget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The budget of a run: tokens of content, milliseconds of wall clock, retries of failed operations."""

    max_tokens: Tokens = 10_000
    max_time_ms: TimeMs = 60_000
    max_retries: Retries = 3


class FixedBudget(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The budget of a child, field by field; an omitted field is computed from the fraction."""

    max_tokens: Tokens | None = None
    max_time_ms: TimeMs | None = None
    max_retries: Retries | None = None


class BudgetState(Struct, frozen=True, kw_only=True):
    """The remaining and the used budget of a run at this moment, its children's use included."""

    remaining_tokens: int
    """The tokens that are neither used, nor held by an operation, nor given to a child."""
    tokens_used: int
    remaining_time_ms: int
    elapsed_time_ms: int
    remaining_retries: int
    retries_used: int
    """The retries of failed operations."""


class NewRun(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run to start; a parent's remaining budget caps it and pays for it."""

    agent_type: Label
    episode_id: Label
    budget: RetrievalBudget | None = None
    parent_session_id: Label | None = None
    operation_id: OperationId | None = None


class Run(Struct, frozen=True, kw_only=True):
    """The present state of a run; its `id` is the `session_id` in routes."""

    id: str
    client_id: str
    agent_type: str
    episode_id: str
    parent_session_id: str | None
    depth: int
    """0 for a run without a parent."""
    status: RunStatus
    outcome: RunOutcome | None
    limits: RetrievalBudget
    budget: BudgetState
    started_at: datetime
    deadline: datetime
    """The time when it ends as `timeout`, by the service's clock."""
    ended_at: datetime | None


class RunsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a page of a client's runs."""

    status: Annotated[RunStatus, Meta(description="only runs of this status")] | None = None
    limit: PageSize = 50
    cursor: GivenCursor | None = None


class Runs(Struct, frozen=True, kw_only=True):
    """A page of runs, the latest start first, and the cursor of the next page."""

    runs: list[Run]
    cursor: str | None


class RunQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run's question, as a text or an embedding vector, and the maximum tokens of its answer."""

    query: (
        Annotated[str, Meta(min_length=1, max_length=QUERY_CHARACTERS)]
        | Annotated[list[float], Meta(min_length=1, max_length=8_192)]
    )
    max_tokens: Tokens
    source_types: Annotated[list[RunSourceType], Meta(min_length=1, max_length=8)] | None = None
    source_ids: Annotated[list[SourceName], Meta(min_length=1, max_length=64)] | None = None
    min_relevance: Annotated[float, Meta(ge=0.0, le=1.0)] | None = None
    sort_by: RunSort = "relevance"
    cursor: Annotated[str, Meta(max_length=512)] | None = None
    operation_id: OperationId | None = None


class SpanRef(Struct, frozen=True, kw_only=True):
    """A span without its content."""

    span_id: str
    source_type: str
    source_id: str
    token_count: int
    relevance_score: float | None = None
    """0–1; null if nothing was asked."""


class RetrievedSpan(SpanRef, frozen=True, kw_only=True):
    """A span with its content, and the reasons for its rank."""

    content: str
    rank: int
    """Its place on this page, from 1."""
    importance: float
    """0–1, as its writer gave it."""
    occurred_at: datetime
    scores: dict[str, float] = {}
    """The parts of its relevance, as in a search."""


class LeftOutSpan(Struct, frozen=True, kw_only=True):
    """A span that was found and omitted: it did not fit, or its text does not match its stored hash.

    In the answer to a repetition also a span that was delivered or written and since has been deleted, or
    registered again with another number of tokens.
    """

    span_id: str
    token_count: int
    reason: Literal["no_room", "damaged", "deleted"] = "no_room"


class RetrievalResult(Struct, frozen=True, kw_only=True):
    """The delivered spans and their exact cost; `cursor` continues without repetitions.

    A span larger than `max_tokens` is named once in `omitted`; only a page with a larger `max_tokens` has it.
    """

    spans: list[RetrievedSpan]
    tokens_used: int
    """The tokens of the delivered contents, which the run has paid."""
    has_more: bool
    cursor: str | None
    omitted: list[LeftOutSpan] = []
    degraded: Lacks = []
    """`language` if the embedding model does not know the question's language: words and spelling led."""
    budget: BudgetState | None = None


class PeekAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The span to peek at, and whether to return the first 100 tokens of its content."""

    span_id: Label
    include_content: bool = False
    operation_id: OperationId | None = None


class RunPeek(Struct, frozen=True, kw_only=True):
    """A span and, if requested, a preview of its content."""

    span: Span
    content: str | None = None
    truncated: bool = False
    """Whether the content goes on after the preview."""
    budget: BudgetState | None = None


class SubcallAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A child run and its share of the remaining budget."""

    agent_type: Label
    budget_fraction: Annotated[float, Meta(ge=0.0, le=1.0)]
    fixed_budget: FixedBudget | None = None
    operation_id: OperationId | None = None


class NewWrite(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text that a run writes for other agents."""

    type: WriteType
    content: Annotated[
        str, Meta(min_length=1, description=f"at most {MESSAGE_BYTES:,} bytes of UTF-8")
    ]
    metadata: (
        Annotated[dict[str, Any], Meta(description="at most 100,000 bytes of JSON")] | None
    ) = None
    operation_id: OperationId | None = None


class WriteResult(Struct, frozen=True, kw_only=True):
    """The written reference, by its id, and its spans in order.

    In the answer to a repetition `omitted` names the spans that have been deleted since.
    """

    id: str
    spans: list[Span]
    omitted: list[LeftOutSpan] = []
    budget: BudgetState | None = None


class NewEnd(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The outcome of a run to end."""

    outcome: RunOutcome
    operation_id: OperationId | None = None


class RunResult(Struct, frozen=True, kw_only=True):
    """The result of a run; the tokens of its children are included."""

    id: str
    status: RunStatus
    outcome: RunOutcome
    total_tokens_used: int
    total_time_ms: int
    """The milliseconds of wall clock from start to end."""
    retrieval_count: int
    """Of this run alone."""
    write_count: int
    """Of this run alone."""


class Returned(Struct, frozen=True, kw_only=True):
    """A memory that an operation delivered, and its cost."""

    memory_id: str
    rank: int
    score: float | None
    """Its relevance, 0–1."""
    tokens: int


class Access(Struct, frozen=True, kw_only=True):
    """One recorded operation: sizes, digests and ids, never a text.

    The parameters of a subcall contain the id of its child, `child_session_id`.
    """

    id: str
    session_id: str
    operation: Operation
    timestamp: datetime
    tokens_consumed: int
    """The tokens that the run paid for it."""
    duration_ms: float
    error: str | None
    """The code of its failure, or a sentence about the budget; null for none."""
    params: dict[str, Any]
    returned: list[Returned]
    wrote: list[str]
    """The ids of the memories that it wrote."""


class AccessesAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The page of a list of accesses."""

    limit: PageSize = 50
    cursor: GivenCursor | None = None


class Accesses(Struct, frozen=True, kw_only=True):
    """A page of a run's accesses, newest first, and the cursor of the next page."""

    accesses: list[Access]
    cursor: str | None


class RunInTree(Struct, frozen=True, kw_only=True):
    """The balance of one run of a tree: spent + held + given + remaining = max_tokens.

    `given` went to its children, `returned` went back to its parent at its end.
    """

    id: str
    parent_session_id: str | None
    agent_type: str
    depth: int
    """0 for a run without a parent."""
    status: RunStatus
    outcome: RunOutcome | None
    max_tokens: int
    spent: int
    """The tokens that it has used itself."""
    held: int
    """The tokens that are reserved by operations in progress."""
    given: int
    remaining: int
    returned: int
    retries_used: int
    started_at: datetime
    ended_at: datetime | None


class TreeRun(RunInTree, frozen=True, kw_only=True):
    """One run of a tree, and its children."""

    operations: dict[str, int]
    """The number of operations of each kind, refused and failed ones included."""
    children: list["TreeRun"] = []


class AccessEntry(Struct, frozen=True, kw_only=True):
    """An operation as `on_access` receives it: sizes, digests and ids, never a text.

    The parameters of a subcall contain the id of its child, `child_session_id`.
    """

    timestamp: datetime
    session_id: str
    operation: Operation
    params: dict[str, Any]
    tokens_consumed: int | None
    duration_ms: float
    error: str | None = None


OnAccess = Callable[[AccessEntry], None]
"""A listener that is called once for each operation, also for one that was refused or failed."""


Parameters = dict[str, Any]

LABEL_BYTES = 1_024
"""The maximum length of a name given by a caller, in bytes of UTF-8."""


def check_labels(**labels: str | None) -> None:
    """Raise `InvalidInput` for a name that is blank or not Unicode, `TooLarge` for one that is too long."""
    for name, label in labels.items():
        if label is not None:
            checked_text(label, name, most_bytes=LABEL_BYTES)


def digest(run_id: str, value: str | Sequence[float] | Sequence[str] | dict[str, Any]) -> str:
    """Return a digest: the same for the same value in one run, and meaningless outside it."""
    # Keyed by the run's id, which cannot be guessed: a short text cannot be found by trying.
    return blake2b(
        msgspec.json.encode(value, order="sorted"), key=run_id.encode()[:64], digest_size=16
    ).hexdigest()


def of_question(question: RunQuestion, run_id: str) -> Parameters:
    """Return the parameters of a retrieval."""
    query = question.query
    kept: Parameters = {
        "query_digest": digest(run_id, query),
        "query_kind": "text" if isinstance(query, str) else "vector",
        "query_length": len(query),
        "max_tokens": question.max_tokens,
        "sort_by": question.sort_by,
    }
    if question.source_types is not None:
        kept["source_types"] = sorted(set(question.source_types))
    if question.source_ids is not None:
        kept["source_ids"] = len(question.source_ids)
        kept["source_ids_digest"] = digest(run_id, sorted(set(question.source_ids)))
    if question.min_relevance is not None:
        kept["min_relevance"] = question.min_relevance
    if question.cursor is not None:
        kept["cursor_digest"] = digest(run_id, question.cursor)
    return kept


def of_peek(asked: PeekAsked, run_id: str) -> Parameters:
    """Return the parameters of a peek."""
    return {
        "span_digest": digest(run_id, asked.span_id),
        "include_content": asked.include_content,
    }


def of_write(new: NewWrite, run_id: str) -> Parameters:
    """Return the parameters of a write."""
    kept: Parameters = {
        "type": new.type,
        "content_bytes": len(new.content.encode()),
        "content_digest": digest(run_id, new.content),
    }
    if isinstance(new.metadata, dict):
        kept["metadata_digest"] = digest(run_id, new.metadata)
    return kept


def of_subcall(asked: SubcallAsked, episode_id: str | None = None) -> Parameters:
    """Return the parameters of a sub-call; `episode_id` is that of a child that has one of its own."""
    kept: Parameters = {
        "agent_type": asked.agent_type,
        "budget_fraction": asked.budget_fraction,
    }
    if episode_id is not None:
        kept["episode_id"] = episode_id
    if asked.fixed_budget is not None:
        kept["fixed_budget"] = _given(asked.fixed_budget)
    return kept


def with_child(parameters: Parameters, child_id: str | None) -> Parameters:
    """Return the parameters of a sub-call for display: with the child that it started."""
    return parameters if child_id is None else parameters | {"child_session_id": child_id}


def continued(parameters: Parameters) -> Parameters:
    """Return the parameters that two pages of one question have in common."""
    of_one_page = {"max_tokens", "cursor_digest"}
    return {name: value for name, value in parameters.items() if name not in of_one_page}


def _given(fixed: FixedBudget) -> dict[str, int]:
    return {
        name: value
        for name in ("max_tokens", "max_time_ms", "max_retries")
        if (value := getattr(fixed, name)) is not None
    }
