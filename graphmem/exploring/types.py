"""Operators' Cypher: the statement, its answer, and the audit of both."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from graphmem.model.pages import GivenCursor, PageSize
from graphmem.model.vocabulary import QUERY_CHARACTERS, ClientId

Via = Literal["http", "python", "shell"]
"""The way by which a statement was sent."""

Outcome = Literal["running", "answered", "refused", "mistaken", "cut_off", "cancelled", "failed"]
"""How a statement ended: `mistaken` is invalid Cypher, `cut_off` took too much time or memory, `cancelled`
was left by its caller."""

MaxRows = Annotated[int, Meta(ge=1, le=50_000)]
TimeoutMs = Annotated[int, Meta(ge=1, le=60_000)]


class Place(Struct, frozen=True):
    """Where in the text: line and column count from 1, the offset in characters from 0."""

    line: int
    column: int
    offset: int


class CypherAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A statement that only reads, its parameters, and how much may come of it."""

    query: Annotated[
        str, Meta(min_length=1, max_length=QUERY_CHARACTERS, description="one statement")
    ]
    parameters: Annotated[dict[str, Any], Meta(description="for `$name` in it; any JSON")] = {}
    max_rows: Annotated[MaxRows, Meta(description="so many rows at most")] = 1_000
    timeout_ms: Annotated[TimeoutMs, Meta(description="milliseconds until it is cut off")] = 10_000


class Limits(Struct, frozen=True, kw_only=True):
    """The rows of a statement, at most, and the milliseconds that it may take."""

    max_rows: MaxRows = 1_000
    timeout_ms: TimeoutMs = 10_000


class Sender(Struct, frozen=True, kw_only=True):
    """The sender of a statement, with the time and the way; `id` will be that of its audit entry."""

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
    """How the database goes about a statement: its operators, the last one first."""

    language: str
    runtime: str
    operators: list[PlanStep]


class Table(Struct, frozen=True, kw_only=True):
    """What a statement answers: a map a row, whose keys `columns` has in their order.

    `truncated` says that there is more than the rows, or the bytes, that an answer may have.
    """

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool
    plan_summary: PlanSummary
    milliseconds: float


class AuditEntry(Struct, frozen=True, kw_only=True):
    """One statement that somebody sent, as it was sent, and how it ended; without its parameters' values.

    `code` names the rule that refused it, or the kind of its failure. `still_running` says that the database
    works on it, although its caller has been answered.
    """

    id: str
    client_id: str
    at: datetime
    via: Via
    query: str
    parameters: list[str]
    outcome: Outcome
    code: str | None = None
    rows: int | None = None
    truncated: bool | None = None
    milliseconds: float | None = None
    still_running: bool = False


class AuditAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which entries of the audit are to be shown."""

    client_id: Annotated[ClientId, Meta(description="sent by this client only")] | None = None
    outcome: (
        Annotated[Outcome, Meta(description="which ended so; `running` may have been lost")] | None
    ) = None
    limit: PageSize = 50
    cursor: GivenCursor | None = None


class Audit(Struct, frozen=True, kw_only=True):
    """Some entries of the audit, newest first, and where the list goes on."""

    entries: list[AuditEntry]
    cursor: str | None
