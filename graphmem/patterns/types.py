"""A pattern of the catalogue, as its file's header tells it; the question for one, and its answer."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

ValueType = Literal["string", "int", "float", "boolean", "datetime"]
"""What a caller's parameter may be."""

ColumnType = Literal[
    "string", "int", "float", "boolean", "datetime", "list<string>", "list<map>", "map"
]

MOST_ROWS = 1_000
"""How many rows an answer may have."""

DETECTORS = ("recurring_themes", "themes_rising_and_fading")
"""What finds in a pattern's rows what Cypher cannot; `graphmem/patterns/detecting.py` holds them."""


class PatternParameter(Struct, frozen=True, kw_only=True):
    """What a caller may set: within which bounds, and what holds when it is not.

    The bounds are inclusive: of a number itself, of a text its length in characters.
    """

    name: str
    type: ValueType
    meaning: str
    least: float | None = None
    most: float | None = None
    choices: list[str] | None = None
    required: bool = False
    default: Any = None


class PatternColumn(Struct, frozen=True, kw_only=True):
    """One column of the answer."""

    name: str
    type: ColumnType
    meaning: str


class Pattern(Struct, frozen=True, kw_only=True):
    """A pattern: what it finds, what may be set, what it answers; `example` are legal parameters."""

    name: str
    title: str
    description: str
    parameters: list[PatternParameter]
    columns: list[PatternColumn]
    example: dict[str, Any]
    detector: str | None = None


class Patterns(Struct, frozen=True, kw_only=True):
    """The catalogue."""

    patterns: list[Pattern]


class PatternAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is set of a pattern's parameters; for the rest their defaults hold."""

    parameters: Annotated[dict[str, Any], Meta(max_length=32)] = {}


class PatternAnswer(Struct, frozen=True, kw_only=True):
    """What a pattern found: a map a row, with `memory_ids`, the memories behind it.

    `truncated` says that there may be more rows than the 1,000 that an answer may have.
    """

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool = False
