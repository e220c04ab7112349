"""Operators' Cypher: the statement, its answer, and the audit of both."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from graphmem.model.pages import GivenCursor, PageSize
from graphmem.model.vocabulary import QUERY_CHARACTERS, ClientId

Via = Literal["http", "python", "shell"]
"""The way by which a statement was sent."""

Outcome = Literal["running", "answered", "refused", "mistaken", "cut_off", "cancelled", "failed"]
"""The outcome of a statement: `mistaken` is invalid Cypher, `cut_off` took too much time or memory, and the
caller of `cancelled` hung up."""


class Place(Struct, frozen=True):
    """A position in the text: line and column count from 1, the offset in characters from 0."""

    line: int
    column: int
    offset: int


class CypherAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A statement that only reads, its parameters, and limits for its answer."""

    query: Annotated[
        str, Meta(min_length=1, max_length=QUERY_CHARACTERS, description="one statement")
    ]
    parameters: Annotated[
        dict[str, Any],
        Meta(description="the values of `$name`; any JSON, times as `datetime($name)`"),
    ] = {}
    max_rows: Annotated[int, Meta(ge=1, le=50_000, description="maximum number of rows")] = 1_000
    timeout_ms: Annotated[int, Meta(ge=1, le=60_000, description="time limit in milliseconds")] = (
        10_000
    )


class Sender(Struct, frozen=True, kw_only=True):
    """The sender of a statement, the time and the way; `id` is that of its audit entry."""

    id: str
    client_id: ClientId
    at: datetime
    via: Via = "python"


class PlanStep(Struct, frozen=True, kw_only=True):
    """One operator of the plan; deeper ones feed those above them."""

    operator: str
    details: str
    depth: int
    estimated_rows: float | None = None


class PlanSummary(Struct, frozen=True, kw_only=True):
    """The plan of a statement: its operators, the last one first."""

    language: str
    runtime: str
    operators: list[PlanStep]


class Table(Struct, frozen=True, kw_only=True):
    """The answer to a statement: one map per row, with the keys in the order of `columns`.

    `truncated` is true if the result exceeds the rows or the bytes of an answer.
    """

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool
    plan_summary: PlanSummary
    milliseconds: float
    """The duration of the statement, with the transfer of its rows."""


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One statement as it was sent, and its outcome; without the values of its parameters.

    `code` names the rule that refused it, or the kind of its failure. `still_running` says that the database
    still works on it after its caller has got an answer.
    """

    id: str
    client_id: str
    at: datetime
    via: Via
    query: str
    parameters: list[str]
    """The names of its parameters."""
    outcome: Outcome
    code: str | None = None
    rows: int | None = None
    """The number of rows in the answer."""
    truncated: bool | None = None
    milliseconds: float | None = None
    still_running: bool = False


class AuditAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filters and the page of the audit."""

    client_id: Annotated[ClientId, Meta(description="only statements of this client")] | None = None
    outcome: (
        Annotated[Outcome, Meta(description="only this outcome; `running` may have been lost")]
        | None
    ) = None
    limit: PageSize = 50
    cursor: GivenCursor | None = None


class Audit(Struct, frozen=True, kw_only=True):
    """A page of the audit, newest first, and the cursor of the next page."""

    entries: list[AuditEntry]
    cursor: str | None
