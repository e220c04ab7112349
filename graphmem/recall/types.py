"""A question for the best context within a budget, and its answer."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from graphmem.model.annotations import WantedTags
from graphmem.model.times import (
    AS_OF,
    INCLUDE_SUPERSEDED,
    KNOWN_AS_OF,
    UNTIL,
    Time,
    TimeZone,
)
from graphmem.model.vocabulary import (
    QUERY_CHARACTERS,
    Kind,
    Lacks,
    Leg,
    OtherReads,
    Owner,
    Ranking,
    Role,
    WantedKinds,
)

LIMIT = (
    "The greatest number of memories in the context; without one as many as fit into `max_tokens`."
)
ABSTAIN = (
    "answer with nothing, and `abstained`, if no memory is relevant enough: less than `min_relevance`, "
    "by default less than what was measured for questions that nothing answers"
)
MIN_RELEVANCE = (
    "least relevance, 0–1, of a memory of the context; `abstained` if no memory reaches it"
)
RELEVANCE = (
    "the degree, 0–1, to which it answers, whatever else was found: by its meaning, the question's words, "
    "and whether the question's names occur at all"
)

Reason = Literal["no_room", "beyond_limit"]


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question, filters for the memories that may answer it, and limits for the answer."""

    query: Annotated[str, Meta(min_length=1, max_length=QUERY_CHARACTERS)]
    conversation_id: Annotated[str, Meta(max_length=128)] | None = None
    kinds: WantedKinds | None = None
    tags: WantedTags | None = None
    limit: Annotated[int, Meta(ge=1, le=200, description=LIMIT)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=200_000)] = 2048
    since: Time | None = None
    until: Annotated[Time, Meta(description=UNTIL)] | None = None
    as_of: Annotated[Time, Meta(description=AS_OF)] | None = None
    known_as_of: Annotated[Time, Meta(description=KNOWN_AS_OF)] | None = None
    include_superseded: Annotated[bool, Meta(description=INCLUDE_SUPERSEDED)] = False
    time_zone: TimeZone | None = None
    ranking: Ranking = "default"
    abstain: Annotated[bool, Meta(description=ABSTAIN)] = False
    min_relevance: Annotated[float, Meta(ge=0.0, le=1.0, description=MIN_RELEVANCE)] | None = None
    explain: bool = False
    reads: OtherReads | None = None

    @property
    def may_abstain(self) -> bool:
        """Whether the caller prefers no answer to an irrelevant one."""
        return self.abstain or self.min_relevance is not None


class ExplainedQuestion(Question, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to recall, and the memory whose place in the answer is to be explained."""

    memory_id: Annotated[str, Meta(min_length=1, max_length=128)]
    client_id: Owner | None = None


class Lift(Struct, frozen=True, kw_only=True):
    """A memory that has lifted another one in the ranking, and its own score without any lift.

    `signal` is `session`, or where it is in the session: `before`, `after`, `around` (at distance 2).
    """

    signal: str
    id: str
    external_id: str | None
    score: float


class ShownExcerpt(Struct, frozen=True, kw_only=True):
    """The part of a long memory that its text shows: bytes from `start` up to `end`, exclusive, in UTF-8.

    `scores` are those of the passage that was found there: the reason for this part. A memory is given as an
    excerpt if it is longer than .7 of the budget, or than 1,000 tokens and a quarter of it; in contextual
    search than a quarter. Chunk and peek give the whole.
    """

    start: int
    end: int
    scores: dict[str, float]


class Item(Struct, frozen=True, kw_only=True):
    """One memory of the context, and the reasons for its rank; `token_count` is that of the whole memory."""

    id: str
    external_id: str | None
    kind: Kind
    rank: int
    """Its place in the ranking, from 1; the omitted memories have the missing numbers."""
    text: str
    """Its text as the context shows it: of a long memory an excerpt."""
    score: float
    """Comparable within one answer only; `relevance` also between answers."""
    relevance: Annotated[float, Meta(description=RELEVANCE)]
    scores: dict[str, float]
    """The signals of its score before weighting: `vector`, the cosine; `bm25`; those in `weights`; others."""
    ranks: dict[Leg, int]
    """Its rank in each search that has found it, from 1: `vector` by meaning, `bm25` by words."""
    role: Role | None
    name: str | None
    """The speaker of a message."""
    occurred_at: datetime
    """The time when it was said or happened; of a fact the beginning of its valid time."""
    conversation_id: str | None
    session_id: str | None
    """The id that graphmem gave to its session."""
    session_external_id: str | None
    """The caller's name for its session."""
    idx: int | None
    """The place of a message in its session, from 0."""
    token_count: int
    """The tokens of the whole memory, also if the context shows an excerpt."""
    metadata: dict[str, Any] | None = None
    tags: list[str] = []
    lifted_by: list[Lift] | None = None
    """With `explain`: the memories beside it, and the best of its session, that have lifted it."""
    excerpt: ShownExcerpt | None = None
    """The part that is shown of a long memory; null if `text` is the whole."""
    client_id: str | None = None
    """The client that it belongs to; null for the caller's own."""


class Omitted(Struct, frozen=True, kw_only=True):
    """One memory that was found and omitted; `client_id` is null for one of the caller's own client."""

    id: str
    external_id: str | None
    rank: int
    """Its place in the ranking, from 1."""
    score: float
    tokens: int
    """The tokens of its text; of a long memory those of the excerpt that needs least room."""
    reason: Reason
    """`beyond_limit` if `limit` memories of higher rank were taken, else `no_room`."""
    client_id: str | None = None


class Recalled(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The context for a question, its memories and the omitted ones."""

    items: list[Item]
    """The memories of the context by rank; the context has them by session and time."""
    context: str
    """The text for a prompt, in Markdown; '' if nothing was taken."""
    tokens_used: int
    """The tokens of the whole `context`, headings included."""
    omitted: list[Omitted]
    """The first 50 of them by rank."""
    omitted_total: int
    """The number of all of them."""
    abstained: bool
    """Whether nothing was relevant enough, and the caller set `abstain` or `min_relevance`."""
    degraded: Lacks
    timings: dict[str, float] | None = None
    """With `explain`: milliseconds by stage."""
    weights: dict[str, float] | None = None
    """With `explain`: the weights of the signals, whose weighted sum is `score`; none for `rrf`."""


Stage = Literal[
    "filtered", "not_a_candidate", "below_min_relevance", "outranked", "no_room", "taken"
]
"""The stage of recall at which a memory falls out, or `taken`."""


class Compared(Struct, frozen=True, kw_only=True):
    """The last memory that was taken, to compare with."""

    id: str
    external_id: str | None
    rank: int
    score: float
    scores: dict[str, float]
    client_id: str | None = None
    """The client that it belongs to; null for the caller's own."""


class Explanation(Struct, frozen=True, kw_only=True):
    """The stage at which a memory falls out of the answer to a question, and by how much."""

    memory_id: str
    client_id: str | None = None
    """The client that it belongs to; null for the caller's own."""
    external_id: str | None
    kind: Kind
    stage: Stage
    reason: str = ""
    """The explanation as a sentence."""
    filters: list[str]
    """The options of the question that exclude it; `superseded` or `not_valid` if it is not valid now."""
    superseded_by: str | None
    """The newest version, if it is not that itself."""
    relevance: float | None = None
    """0–1; null unless it is a candidate."""
    min_relevance: float | None
    """The relevance that is needed: of itself, or with `abstain` alone of the best; null if none is."""
    rank: int | None = None
    """Its rank as in `Item`, among the candidates that are relevant enough; among all if it is not."""
    score: float | None = None
    """As in `Item`; null unless it is a candidate."""
    scores: dict[str, float] = {}
    """The signals of its score, as in `Item`; if it is not a candidate, only those of the searches."""
    weights: dict[str, float]
    """The weights of the signals, whose weighted sum is `score`; none for `rrf`."""
    ranks: dict[Leg, int | None] = {}
    """Its rank in each leg, exact if it is not a candidate; null if it shares no word, or has no vector."""
    candidates: int
    """The number of candidates of both legs together."""
    last_taken: Compared | None = None
    """If it was not taken."""
    tokens_needed: int | None = None
    """The tokens that it would take with its heading; null unless it was outranked or had no room."""
    tokens_left: int | None = None
    """The tokens that the memories packed before it have left. As many as it needs are left if excerpts took
    less than estimated: its text was not read then."""
    degraded: Lacks
