"""A pattern of the catalogue, as its file's header describes it; the request for one, and the answer."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

ValueType = Literal["string", "int", "float", "boolean", "datetime"]
"""The types of a parameter that a caller sets."""

ColumnType = Literal[
    "string", "int", "float", "boolean", "datetime", "list<string>", "list<map>", "map"
]

MOST_ROWS = 1_000
"""The maximum number of rows in an answer."""

DETECTORS = ("recurring_themes", "themes_rising_and_fading")
"""Functions that evaluate the rows of a pattern beyond Cypher; `graphmem/patterns/running.py` lists them."""


class PatternParameter(Struct, frozen=True, kw_only=True):
    """A parameter that a caller may set, with its bounds and its default.

    The bounds are inclusive; those of a text limit its length in characters.
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
    """A pattern: its description, parameters and columns; `example` is a valid set of parameters."""

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
    """The given parameters of a pattern; the others have their defaults."""

    parameters: Annotated[dict[str, Any], Meta(max_length=32)] = {}


class PatternAnswer(Struct, frozen=True, kw_only=True):
    """The rows that a pattern found: one map per row, with `memory_ids`, the memories behind it.

    `truncated` is true if there may be more than the 1,000 rows of an answer.
    """

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool = False
