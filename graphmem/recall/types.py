"""A question for the best context within a budget, and its answer."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from graphmem.model.times import AS_OF, INCLUDE_SUPERSEDED, KNOWN_AS_OF, Time
from graphmem.model.vocabulary import QUERY_CHARACTERS, Kind, Leg, Ranking, Role

LIMIT = (
    "The greatest number of memories in the context; without one as many as fit into `max_tokens`."
)

Reason = Literal["no_room", "beyond_limit"]


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question, filters for the memories that may answer it, and limits for the answer."""

    query: Annotated[str, Meta(min_length=1, max_length=QUERY_CHARACTERS)]
    conversation_id: Annotated[str, Meta(max_length=128)] | None = None
    kinds: Annotated[list[Kind], Meta(min_length=1, max_length=6)] | None = None
    limit: Annotated[int, Meta(ge=1, le=200, description=LIMIT)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=200_000)] = 2048
    since: Time | None = None
    until: Time | None = None
    as_of: Annotated[Time, Meta(description=AS_OF)] | None = None
    known_as_of: Annotated[Time, Meta(description=KNOWN_AS_OF)] | None = None
    include_superseded: Annotated[bool, Meta(description=INCLUDE_SUPERSEDED)] = False
    ranking: Ranking = "default"
    explain: bool = False


class Item(Struct, frozen=True, kw_only=True):
    """One memory of the context, and the reasons for its rank."""

    id: str
    external_id: str | None
    kind: Kind
    rank: int
    text: str
    score: float
    scores: dict[str, float]
    ranks: dict[Leg, int]
    role: Role | None
    name: str | None
    occurred_at: datetime
    conversation_id: str | None
    session_id: str | None
    session_external_id: str | None
    idx: int | None
    token_count: int


class Omitted(Struct, frozen=True, kw_only=True):
    """One memory that was found and omitted."""

    id: str
    external_id: str | None
    rank: int
    score: float
    tokens: int
    reason: Reason


class Recalled(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The context for a question, its memories and the omitted ones."""

    items: list[Item]
    context: str
    tokens_used: int
    omitted: list[Omitted]
    omitted_total: int
    degraded: list[str]
    timings: dict[str, float] | None = None
    """With `explain`: milliseconds by stage."""
