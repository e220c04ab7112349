"""Facts: distilled statements, and the answers to callers that send them."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from graphmem.model.annotations import Annotations
from graphmem.model.times import Time
from graphmem.model.vocabulary import Id, Importance

FACT_BYTES = 10_000
"""The longest fact, in bytes of UTF-8."""

REASON_BYTES = 2_000
"""The longest reason for a new version, in bytes of UTF-8."""

BATCH_FACTS = 100
"""The maximum number of facts in one call."""

DEFAULT_CATEGORY = "user_fact"
DEFAULT_SCOPE = "user"

SHORT_WORD_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$(?!\n)"
ShortWord = Annotated[
    str,
    Meta(
        pattern=SHORT_WORD_PATTERN,
        description="1–64 of letters, digits, `.`, `_`, `:` and `-`, the first a letter or a digit",
    ),
]
Keyword = Annotated[str, Meta(min_length=1, max_length=256)]
MemoryIds = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=128)]], Meta(max_length=100)
]


class NewFact(Annotations, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One statement to remember; it is true from `valid_at` (default: now) on.

    Without `conversation_id` it is found by recall and search, not by retrieve_memory, which looks into one
    conversation.
    """

    fact: Annotated[str, Meta(min_length=1, description="at most 10,000 bytes of UTF-8")]
    category: Annotated[
        str, Meta(max_length=64, description="one of the client's categories (GET /categories)")
    ] = DEFAULT_CATEGORY
    conversation_id: Id | None = None
    scope: Annotated[
        ShortWord, Meta(description="its subject: `user`, `repo` or a short word of your own")
    ] = DEFAULT_SCOPE
    keywords: Annotated[
        list[Keyword], Meta(max_length=64, description="searched like the fact itself")
    ] = field(default_factory=list)
    source_episode_ids: Annotated[
        MemoryIds, Meta(description="the episodes or messages that it is derived from")
    ] = field(default_factory=list)
    valid_at: Time | None = None
    importance: Importance = 0.5


class NextFact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The next version of a fact, true from `valid_at` on; omitted fields and annotations keep their values.

    `valid_at` defaults to now, or to the predecessor's if that is later.

    Only the sources are not inherited: without `source_episode_ids` the new version has none.
    """

    fact: Annotated[str, Meta(min_length=1, description="at most 10,000 bytes of UTF-8")]
    valid_at: (
        Annotated[Time, Meta(description="the beginning of its valid time; RFC 3339, with a zone")]
        | None
    ) = None
    reason: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="the reason, which is stored; at most 2,000 bytes of UTF-8",
            ),
        ]
        | None
    ) = None
    category: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    conversation_id: Id | None = None
    scope: ShortWord | None = None
    keywords: Annotated[list[Keyword], Meta(max_length=64)] | None = None
    importance: Importance | None = None
    source_episode_ids: Annotated[
        MemoryIds, Meta(description="the episodes or messages that it is derived from")
    ] = []


class FactVersion(Struct, frozen=True, kw_only=True):
    """A new version of a fact, the id of the version that it supersedes, and the reason."""

    id: str
    version: int
    """Its number in its chain of versions, from 1."""
    supersedes: str
    """The id of the version before."""
    reason: str | None
    fact: str
    category: str
    conversation_id: str | None
    scope: str
    keywords: list[str]
    importance: float
    """0–1."""
    valid_at: datetime
    """The beginning of its valid time: since when it is true."""
    created_at: datetime
    """The time when it was stored (recorded time), by the service's clock."""
    embedding_truncated: bool = False
    """Whether its vector stands for the beginning alone: the text exceeds the embedding model's input."""


class Similar(Struct, frozen=True, kw_only=True):
    """A near fact; `score` is the cosine."""

    id: str
    score: float


class KeptFact(Struct, frozen=True, kw_only=True):
    """The outcome of a fact: `new`, or `reinforced` if it repeats the fact with this id."""

    id: str
    action: Literal["new", "reinforced"]
    similar: list[Similar] = []
    """Near facts that state something else; a new fact is linked to them."""
    embedding_truncated: bool = False
    """Whether its vector stands for the beginning alone: the text exceeds the embedding model's input."""


class Categories(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The categories that a client's facts may have."""

    categories: Annotated[list[ShortWord], Meta(min_length=1, max_length=100)]
