"""The closed lists and limits that several parts share."""

from typing import Annotated, Literal, get_args

from msgspec import Meta

Kind = Literal["message", "episode", "fact", "summary", "reference", "span"]
KINDS: tuple[Kind, ...] = ("message", "episode", "fact", "summary", "reference", "span")

SourceType = Literal[
    "thread_summary",
    "plan_summary",
    "session_summary",
    "knowledge_base",
    "brand_kit",
    "offer",
    "reference",
    "episode_log",
    "span",
    "message",
    "episode",
    "fact",
]
"""Where a memory comes from, as S1 and S3 name it; `span` as a filter finds every span."""

SummaryType = Literal["thread", "plan", "session"]
ReferenceType = Literal["knowledge_base", "brand_kit", "offer", "reference", "episode_log"]

SpanSource = Literal[
    "knowledge_base", "thread_summary", "plan_summary", "episode_log", "brand_kit", "offer"
]
"""What a span that a caller registers may be a part of (S3)."""

LinkType = Literal["relates_to", "references", "refines", "contradicts", "derived_from"]
"""What a caller may say of two memories; `related_to` is read as `relates_to`."""

Step = Literal[
    "relates_to",
    "references",
    "refines",
    "contradicts",
    "derived_from",
    "summarizes",
    "mentions",
    "part_of",
    "next",
]
"""What a hop may follow, either way; `mentions` leads over an entity to who mentions or is named so."""

GivenStep = Literal[Step, "related_to"]
"""As a caller may say it; `related_to` is read as `relates_to`."""

Role = Literal["user", "assistant", "system", "tool"]

CATEGORIES: tuple[str, ...] = (
    "identity",
    "preference",
    "interest",
    "personality",
    "relationship",
    "experience",
    "goal",
    "guideline",
    "coding_preference",
    "project_convention",
    "architectural_decision",
    "user_fact",
    "correction",
    "pattern",
)
"""What a fact may be about, unless a client says otherwise."""

AliasRule = Literal["manual", "spelling", "known", "plural", "path", "first_name", "acronym"]
"""Why a name is an alias: somebody says so, or the rule of `graphmem/text/aliases.py` that found it."""

Rating = Literal["again", "hard", "good", "easy"]
"""How well a memory did when it was shown, worst first, as FSRS names it."""

RATINGS: tuple[Rating, ...] = get_args(Rating)

TruncationStrategy = Literal["end", "sentence", "middle"]

Ranking = Literal["default", "rrf", "vector", "bm25"]

Leg = Literal["vector", "bm25"]
LEGS: tuple[Leg, ...] = ("vector", "bm25")

# JSON Schema knows no `\Z`, and Python's `$` alone would let a line break follow.
ID_PATTERN = r"^[A-Za-z0-9._:-]{1,128}$(?!\n)"
"""What an id that a caller chooses may be."""

Id = Annotated[
    str,
    Meta(
        pattern=ID_PATTERN,
        description="1–128 of letters, digits, `.`, `_`, `:` and `-`",
        examples=["550e8400-e29b-41d4-a716-446655440001"],
    ),
]
ClientId = Id
Importance = Annotated[float, Meta(ge=0.0, le=1.0)]
SourceId = Annotated[str, Meta(min_length=1, max_length=256)]
Byte = Annotated[int, Meta(ge=0, le=2**53)]
"""A place in a source, in bytes of UTF-8."""

MESSAGE_BYTES = 1_000_000
"""How long a message's content may be, in bytes of UTF-8."""

QUERY_CHARACTERS = 32_768
"""How long a question may be."""

BATCH_MESSAGES = 1_000
"""How many messages one call may bring."""
