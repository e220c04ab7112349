"""Retrieval contexts: parts of memories that an agent collects for its model, within a budget."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from graphmem.memories.chunk import MOST_TOKENS, Tokens

RESPONSE_TOKENS = 500
"""The default number of tokens that are reserved for the model's answer."""

TTL_SECONDS = 3_600
MOST_TTL_SECONDS = 7 * 24 * 3_600
"""The default and the longest life of a context, in seconds."""

PROMPT_BYTES = 1_000_000
"""The longest system prompt, in bytes of UTF-8."""


class CreateContextOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A context to create: its budget and its system prompt."""

    max_tokens: Tokens
    system_prompt: (
        Annotated[str, Meta(description="at most 1,000,000 bytes of UTF-8; counts as content")]
        | None
    ) = None
    reserved_for_response: Annotated[int, Meta(ge=0, le=MOST_TOKENS)] = RESPONSE_TOKENS
    ttl_seconds: Annotated[int, Meta(ge=1, le=MOST_TTL_SECONDS)] = TTL_SECONDS


class ContextSection(Struct, frozen=True, kw_only=True):
    """A part of a context; sections of higher priority come first."""

    id: str
    type: Literal["system", "retrieved"]
    content: str
    priority: int
    token_count: int


class RetrievalContext(Struct, frozen=True, kw_only=True):
    """A context: its sections in their order, and its remaining tokens."""

    id: str
    max_tokens: int
    reserved_for_response: int
    remaining_tokens: int
    """`max_tokens` without the reserve and the composed text; never negative."""
    sections: list[ContextSection]
    retrieved_ids: list[str]
    """The ids of the memories that it holds, each once, in the order of their adding."""
    created_at: datetime
    expires_at: datetime


class ContextAddition(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A memory to add to a context."""

    id: Annotated[str, Meta(min_length=1, max_length=256)]


class Added(Struct, frozen=True, kw_only=True):
    """Whether the context now holds the memory, and its remaining tokens."""

    added: bool
    remaining_tokens: int


class Held(Struct, frozen=True, kw_only=True):
    """A memory in a context: the chunk that was taken from it, and its position."""

    id: str
    position: int
    priority: int
    content: str
    tokens: int


class StoredContext(Struct, frozen=True, kw_only=True):
    """A context as the database holds it."""

    id: str
    max_tokens: int
    reserved_for_response: int
    system_prompt: str | None
    created_at: datetime
    expires_at: datetime
    held: list[Held]
