"""Contextual retrieval: sessions first, then what was said in them, with what stands around it (S5)."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from graphmem.model.times import AS_OF, KNOWN_AS_OF, Time
from graphmem.model.vocabulary import QUERY_CHARACTERS, Role
from graphmem.recall.types import Item, Reason
from graphmem.sessions.types import RelatedSession

Narrowing = Literal["soft", "hard"]
"""How sessions are chosen: by all that is said in them and their summaries, or by their summaries alone."""

NARROWING = "how sessions are chosen: soft by summaries and messages, hard by summaries first"

Direction = Literal["earlier", "later", "around"]

SHOWN = 10_000
"""How many messages a caller may name as shown already."""

GivenId = Annotated[str, Meta(min_length=1, max_length=128)]


class ContextualQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked, of how many sessions as of when, how much of each, and how long the prompt may be."""

    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=QUERY_CHARACTERS,
            description="what is to be found, as a question or in any words",
        ),
    ]
    top_sessions: Annotated[int, Meta(ge=1, le=20, description="how many sessions at most")] = 3
    top_k: Annotated[int, Meta(ge=1, le=50, description="how many hits of each at most")] = 5
    neighbours: Annotated[
        int, Meta(ge=0, le=10, description="how many messages before and after each hit")
    ] = 1
    conversation_id: (
        Annotated[GivenId, Meta(description="only sessions of this conversation")] | None
    ) = None
    max_tokens: (
        Annotated[
            int, Meta(ge=1, le=200_000, description="how long the prompt may be; unset: as it is")
        ]
        | None
    ) = None
    narrowing: Annotated[Narrowing, Meta(description=NARROWING)] = "soft"
    min_relevance: Annotated[
        float, Meta(ge=0.0, le=1.0, description="how relevant a session must be, 0–1")
    ] = 0.35
    as_of: Annotated[Time, Meta(description=AS_OF)] | None = None
    known_as_of: Annotated[Time, Meta(description=KNOWN_AS_OF)] | None = None


class Turn(Struct, frozen=True, kw_only=True):
    """One message of a session: a hit with its score, or what stands around one."""

    id: str
    idx: int
    role: Role
    name: str | None
    content: str
    occurred_at: datetime
    hit: bool = False
    score: float | None = None


class SessionContext(Struct, frozen=True, kw_only=True):
    """A session that answers, with the messages that do and what stands around them, in their order.

    `relevance` is that of its summary or its best message, 0–1, whichever is greater; `summary` is null
    where it has none.
    """

    session_id: str
    session_external_id: str
    conversation_id: str
    started_at: datetime
    relevance: float
    summary: str | None
    messages: list[Turn]


class OmittedTurn(Struct, frozen=True, kw_only=True):
    """A memory that was found and left out; `session_id` is null where it belongs to none."""

    id: str
    session_id: str | None
    hit: bool
    tokens: int
    reason: Reason = "no_room"


class ContextualResult(Struct, frozen=True, kw_only=True):
    """What answers, session by session, and the same as text for a model.

    `prompt` has `tokens_used` tokens. `fallback` is `global` when no session is relevant enough: then
    `items` holds what a search over everything has found, and `prompt` shows that.
    """

    contexts: list[SessionContext]
    cross_links: list[RelatedSession]
    fallback: Literal["global"] | None
    items: list[Item]
    prompt: str
    tokens_used: int
    omitted: list[OmittedTurn]
    omitted_total: int
    degraded: list[str]


class ExpansionAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Around what more is asked for, in which direction, what was shown already, how much more, as of when.

    Exactly one of `memory_id`, a message or what else belongs to a session, and `session_id`.
    """

    memory_id: GivenId | None = None
    session_id: GivenId | None = None
    direction: Direction = "around"
    shown: Annotated[list[GivenId], Meta(max_length=SHOWN)] = []
    max_tokens: Annotated[int, Meta(ge=1, le=200_000)] = 1024
    as_of: Annotated[Time, Meta(description=AS_OF)] | None = None
    known_as_of: Annotated[Time, Meta(description=KNOWN_AS_OF)] | None = None


class MoreTurns(Struct, frozen=True, kw_only=True):
    """More messages of a session, in their order; `tokens_used` is the sum of their contents' tokens.

    `more_earlier` and `more_later` tell whether there is something beyond what was shown and is shown now.
    """

    session_id: str
    session_external_id: str
    conversation_id: str
    started_at: datetime
    messages: list[Turn]
    tokens_used: int
    omitted: list[OmittedTurn]
    omitted_total: int
    more_earlier: bool
    more_later: bool
