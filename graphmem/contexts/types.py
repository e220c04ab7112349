"""A context in the making: what an agent collects for its model, within a budget (S1)."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from graphmem.memories.chunk import MOST_TOKENS, Tokens

RESPONSE_TOKENS = 500
"""How many tokens are kept free for the model's answer unless the caller says otherwise."""

TTL_SECONDS = 3_600
MOST_TTL_SECONDS = 7 * 24 * 3_600
"""How long a context may live."""

PROMPT_BYTES = 1_000_000
"""How long a system prompt may be, in bytes of UTF-8."""


class CreateContextOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A context to begin: how long it may get, and what stands in it from the start."""

    max_tokens: Tokens
    system_prompt: (
        Annotated[str, Meta(description="at most 1,000,000 bytes of UTF-8; counts as content")]
        | None
    ) = None
    reserved_for_response: Annotated[int, Meta(ge=0, le=MOST_TOKENS)] = RESPONSE_TOKENS
    ttl_seconds: Annotated[int, Meta(ge=1, le=MOST_TTL_SECONDS)] = TTL_SECONDS


class ContextSection(Struct, frozen=True, kw_only=True):
    """A part of a context; what has a higher priority stands earlier."""

    id: str
    type: Literal["system", "retrieved"]
    content: str
    priority: int
    token_count: int


class RetrievalContext(Struct, frozen=True, kw_only=True):
    """A context as it stands: its sections in their order, and what room is left."""

    id: str
    max_tokens: int
    reserved_for_response: int
    remaining_tokens: int
    """`max_tokens` without the reserve and the composed text; never negative."""
    sections: list[ContextSection]
    retrieved_ids: list[str]
    """The memories it holds, each once, in the order in which they were added."""
    created_at: datetime
    expires_at: datetime


class ContextAddition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which memory is to be added to a context."""

    id: Annotated[str, Meta(min_length=1, max_length=256)]


class Added(Struct, frozen=True, kw_only=True):
    """Whether the context holds the memory now, and what room is left."""

    added: bool
    remaining_tokens: int


class Held(Struct, frozen=True, kw_only=True):
    """A memory in a context: the chunk of it that was taken, and the place where it stands."""

    id: str
    position: int
    priority: int
    content: str
    tokens: int


class StoredContext(Struct, frozen=True, kw_only=True):
    """A context as the database knows it."""

    id: str
    max_tokens: int
    reserved_for_response: int
    system_prompt: str | None
    created_at: datetime
    expires_at: datetime
    held: list[Held]
