"""Retrieval by hypotheses for one turn of an agent, and its answer."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from graphmem.conversations.types import MessagePart
from graphmem.facts.types import ShortWord
from graphmem.memories.versions import Version
from graphmem.model.times import AS_OF, KNOWN_AS_OF, Time
from graphmem.model.vocabulary import GivenRole

Mode = Literal["pure", "hybrid"]

Degraded = Literal[
    "no_llm",
    "llm_timeout",
    "llm_error",
    "llm_empty",
    "embedding_failed",
    "search_failed",
    "deadline",
    "window",
]
"""The missing parts of the answer; with `window` the last user message was searched for instead."""

WINDOW_ENTRIES = 1_000
"""The maximum number of messages of a window."""


class TurnMessage(Struct, frozen=True, kw_only=True):
    """A message of a window, in the forms in which messages are remembered; its other fields are ignored."""

    role: GivenRole
    content: str | list[str | MessagePart] | None = None


class TurnAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A turn of a conversation, and limits for its answer.

    The conversation is given as `window`, texts that begin with their role, or as `messages`, of which
    those from `summarised_until` on are used: the newest 32,000 characters, of one message 8,000.
    `injection_tokens` 0 is no limit.
    """

    turn_id: Annotated[str, Meta(min_length=1, max_length=256)]
    conversation_id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    window: Annotated[list[str], Meta(max_length=WINDOW_ENTRIES)] | None = None
    messages: Annotated[list[TurnMessage], Meta(max_length=WINDOW_ENTRIES)] | None = None
    summarised_until: Annotated[int, Meta(ge=0)] = 0
    scopes: Annotated[list[ShortWord], Meta(min_length=1, max_length=16)] | None = None
    hypotheses: Annotated[int, Meta(ge=1, le=10)] = 5
    top_k: Annotated[int, Meta(ge=1, le=50)] = 10
    hop_depth: Annotated[int, Meta(ge=0, le=3)] = 1
    injection_tokens: Annotated[int, Meta(ge=0, le=200_000)] = 0
    as_of: Annotated[Time, Meta(description=AS_OF)] | None = None
    known_as_of: Annotated[Time, Meta(description=KNOWN_AS_OF)] | None = None
    mode: Mode = "pure"
    on_failure: Literal["window"] | None = None


class TurnFact(Struct, frozen=True, kw_only=True):
    """A fact with its chain of versions."""

    id: str
    text: str
    category: str
    scope: str
    version: int
    supersedes: str | None
    """The id of the version before; null for the first."""
    conversation_id: str | None
    valid_at: datetime
    """The beginning of its valid time: since when it is true."""
    created_at: datetime
    """The time when it was stored (recorded time), by the service's clock."""
    versions: list[Version]


class TurnMemory(TurnFact, frozen=True, kw_only=True):
    """One fact for the turn; `score` is the best over the hypotheses, or the one passed on by a hop."""

    score: float
    hop: int
    """The number of links from a hit; 0 for a hit."""
    hop_from: str | None
    """The id of the fact before it on the way; null for a hit."""


class Turn(Struct, frozen=True, kw_only=True):
    """The facts for a turn, the hypotheses, and the block to inject; milliseconds by stage."""

    memories: list[TurnMemory]
    hypotheses: list[str]
    injection: str
    cached: bool
    """Whether the findings are those of the same turn before."""
    degraded: list[Degraded]
    timings: dict[str, float]
