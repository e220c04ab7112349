"""Contextual retrieval: sessions first, then their messages, with the messages around these."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from graphmem.memories.chunk import MOST_TOKENS
from graphmem.model.annotations import Tag
from graphmem.model.times import AS_OF, KNOWN_AS_OF, Time, TimeZone
from graphmem.model.vocabulary import QUERY_CHARACTERS, Lacks, OtherReads, Owner, Role
from graphmem.recall.types import Item, Reason, ShownExcerpt
from graphmem.sessions.related import RelatedSession

Narrowing = Literal["soft", "hard"]
"""The choice of sessions: by their messages and summaries together, or by their summaries first."""

NARROWING = "the choice of sessions: soft by summaries and messages, hard by summaries first"

Direction = Literal["earlier", "later", "around"]

SHOWN = 10_000
"""The maximum number of messages that a caller may name as already shown."""

GivenId = Annotated[str, Meta(min_length=1, max_length=128)]


class ContextualQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question, the number of sessions and messages wanted, and limits for the prompt."""

    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=QUERY_CHARACTERS,
            description="the topic to find, as a question or in any words",
        ),
    ]
    top_sessions: Annotated[int, Meta(ge=1, le=20, description="maximum number of sessions")] = 3
    top_k: Annotated[
        int, Meta(ge=1, le=50, description="maximum number of hits in each session")
    ] = 5
    neighbours: Annotated[
        int, Meta(ge=0, le=10, description="number of messages before and after each hit")
    ] = 1
    conversation_id: (
        Annotated[GivenId, Meta(description="only sessions of this conversation")] | None
    ) = None
    tags: (
        Annotated[
            list[Tag],
            Meta(min_length=1, max_length=32, description="only hits that have all of these tags"),
        ]
        | None
    ) = None
    max_tokens: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=MOST_TOKENS,
                description=f"maximum tokens of the prompt; {MOST_TOKENS:,} if unset",
            ),
        ]
        | None
    ) = None
    narrowing: Annotated[Narrowing, Meta(description=NARROWING)] = "soft"
    min_relevance: (
        Annotated[
            float,
            Meta(
                ge=0.0,
                le=1.0,
                description="minimum relevance of the best session, 0–1; below it everything is searched; "
                "default: as measured for the narrowing",
            ),
        ]
        | None
    ) = None
    as_of: Annotated[Time, Meta(description=AS_OF)] | None = None
    known_as_of: Annotated[Time, Meta(description=KNOWN_AS_OF)] | None = None
    time_zone: TimeZone | None = None
    reads: OtherReads | None = None

    @property
    def budget(self) -> int:
        """The maximum number of tokens of the prompt: there always is one, for messages of megabytes."""
        return self.max_tokens or MOST_TOKENS


class ContextualTurn(Struct, frozen=True, kw_only=True):
    """One message of a session: a hit with its score, or a message around one.

    Of a hit that is longer than a quarter of `max_tokens`, `content` is an excerpt around what was found.
    """

    id: str
    idx: int
    """Its place in its session, from 0."""
    role: Role
    name: str | None
    content: str
    occurred_at: datetime
    hit: bool = False
    """Whether it was found itself, and not shown beside a hit."""
    score: float | None = None
    """Of a hit; comparable within one answer only."""
    excerpt: ShownExcerpt | None = None
    """The part that is shown of a long message; null if `content` is the whole."""


class SessionContext(Struct, frozen=True, kw_only=True):
    """A session that answers, with its hits and the messages around them, in order.

    `relevance`, 0–1, combines the best similarity and the largest share of the question's words among its
    best messages and its summary; `summary` is null if it has none.
    """

    session_id: str
    """The id that graphmem gave to the session."""
    session_external_id: str
    """The caller's name for the session."""
    conversation_id: str
    started_at: datetime
    """The time when its first message was said."""
    relevance: float
    summary: str | None
    messages: list[ContextualTurn]
    client_id: str | None = None
    """The client that it belongs to; null for the caller's own."""


class OmittedTurn(Struct, frozen=True, kw_only=True):
    """A memory that was found and omitted; `session_id` is null if it belongs to none.

    `client_id` is null for one of the caller's own client.
    """

    id: str
    session_id: str | None
    hit: bool
    """Whether it was found itself, and not shown beside a hit."""
    tokens: int
    reason: Reason = "no_room"
    client_id: str | None = None


class ContextualResult(Struct, frozen=True, kw_only=True):
    """The sessions that answer, as data and as text for a language model.

    `prompt` has `tokens_used` tokens. `fallback` is `global` if no session is relevant enough: then `items`
    contains the hits of a search over all memories, and `prompt` shows these.
    """

    contexts: list[SessionContext]
    cross_links: list[RelatedSession]
    fallback: Literal["global"] | None
    items: list[Item]
    prompt: str
    tokens_used: int
    omitted: list[OmittedTurn]
    omitted_total: int
    """The number of all that were omitted; `omitted` names the first of them."""
    degraded: Lacks


class ExpansionAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for more messages: around a memory or in a session, in a direction, without those in `shown`.

    Exactly one of `memory_id`, of any memory of a session, and `session_id` is given.
    """

    memory_id: GivenId | None = None
    session_id: GivenId | None = None
    direction: Direction = "around"
    shown: Annotated[list[GivenId], Meta(max_length=SHOWN)] = []
    max_tokens: Annotated[int, Meta(ge=1, le=MOST_TOKENS)] = 1024
    as_of: Annotated[Time, Meta(description=AS_OF)] | None = None
    known_as_of: Annotated[Time, Meta(description=KNOWN_AS_OF)] | None = None
    client_id: Owner | None = None


class MoreTurns(Struct, frozen=True, kw_only=True):
    """More messages of a session, in their order; `tokens_used` is the sum of their contents' tokens.

    `more_earlier` and `more_later` tell whether the session has messages beyond all those shown.
    """

    session_id: str
    """The id that graphmem gave to the session."""
    session_external_id: str
    """The caller's name for the session."""
    conversation_id: str
    started_at: datetime
    messages: list[ContextualTurn]
    tokens_used: int
    omitted: list[OmittedTurn]
    omitted_total: int
    more_earlier: bool
    more_later: bool
    client_id: str | None = None
    """The client that it belongs to; null for the caller's own."""
