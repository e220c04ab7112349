"""A pattern: the header of its file, the request for it with its parameters, and the answer."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, NoReturn, get_args

import msgspec
from msgspec import Meta, Struct

from graphmem.errors import InvalidInput, PatternDamaged
from graphmem.model.times import BEGINNING, END, period, utc
from graphmem.model.validation import checked_text
from graphmem.sessions.whole_sessions import TAKES

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

    `truncated` is true if there are more than its `limit`.
    """

    columns: list[str]
    rows: list[dict[str, Any]]
    truncated: bool = False


LANGUAGE = "CYPHER 25"
UNEMBEDDED = "unembedded"

FILLED: Mapping[str, str] = {
    "client_id": "string",
    "now": "datetime",
    "background": "list<float>",
    "model": "string",
    UNEMBEDDED: "list<map>",
}
"""The parameters that graphmem fills by itself, and their types."""

FROM_TEXT: Mapping[str, str] = {"_embedding": "list<float>", "_normalized": "string"}
"""The parameters that graphmem derives from a caller's text, by the end of their names."""

LIMIT = "limit"
"""The parameter that every pattern has."""

_FIELD = re.compile(r"(title|example|detector|query) +(\S.*)")
_PARAMETER = re.compile(r"\$(\w+) +(\S+) +(\S.*)")
_COLUMN = re.compile(r"> (\w+) +(\S+) +(\S.*)")
_BOUNDED = re.compile(r"(?P<meaning>\S.*) \[(?P<bounds>[^\[\]=]*?) *(?:= (?P<default>[^\]]+))?\]")
_RANGE = re.compile(r"(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)")


class Header(Struct, frozen=True):
    """A pattern, the parameters that graphmem fills, and the pattern whose query it borrows, if any."""

    pattern: Pattern
    filled: frozenset[str]
    query: str | None = None


class _Lines:
    """The lines of a header, sorted by kind."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sentences: list[str] = []
        self.fields: dict[str, str] = {}
        self.parameters: list[PatternParameter] = []
        self.filled: dict[str, str] = {}
        self.columns: list[PatternColumn] = []

    def refuse(self, problem: str) -> NoReturn:
        """Raise `PatternDamaged`."""
        raise PatternDamaged(self.name, problem)


def header(name: str, text: str) -> Header:
    """Return the header of a pattern's file. Raises `PatternDamaged`."""
    lines = _Lines(name)
    parts = list(_parts(lines, text))
    lines.sentences = parts.pop(0) if parts else []
    for line in (line for part in parts for line in part):
        _sort(lines, line)
    _check(lines)
    return Header(
        Pattern(
            name=name,
            title=lines.fields["title"],
            description=" ".join(lines.sentences),
            parameters=lines.parameters,
            columns=lines.columns,
            example=_json(lines, "example", lines.fields["example"]),
            detector=lines.fields.get("detector"),
        ),
        frozenset(lines.filled),
        lines.fields.get("query"),
    )


def _parts(lines: _Lines, text: str) -> Iterator[list[str]]:
    """Yield the parts between empty comment lines, without the language version."""
    first, *rest = text.splitlines()
    if first != LANGUAGE:
        lines.refuse(f"its first line is {LANGUAGE}")
    part: list[str] = []
    for line in rest:
        if line == "//":
            yield part
            part = []
        elif line.startswith("// "):
            part.append(line.removeprefix("// "))
        else:
            break
    yield part


def _sort(lines: _Lines, line: str) -> None:
    if match := _FIELD.fullmatch(line):
        if match[1] in lines.fields:
            lines.refuse(f"{match[1]} is given twice")
        lines.fields[match[1]] = match[2]
    elif match := _PARAMETER.fullmatch(line):
        _sort_parameter(lines, *match.groups())
    elif match := _COLUMN.fullmatch(line):
        if match[2] not in get_args(ColumnType):
            lines.refuse(f"the column {match[1]} has an unknown type: {match[2]}")
        column: Any = match[2]
        lines.columns.append(PatternColumn(name=match[1], type=column, meaning=match[3]))
    else:
        lines.refuse(f"this line has no known form: {line!r}")


def _sort_parameter(lines: _Lines, name: str, kind: str, said: str) -> None:
    if name in lines.filled or name in {one.name for one in lines.parameters}:
        lines.refuse(f"${name} is given twice")
    bounded = _BOUNDED.fullmatch(said)
    if bounded is None:
        lines.filled[name] = kind
    elif kind not in get_args(ValueType):
        lines.refuse(f"${name} has a type that no caller can set: {kind}")
    else:
        lines.parameters.append(_parameter(lines, name, kind, bounded))


def _parameter(lines: _Lines, name: str, kind: Any, said: re.Match[str]) -> PatternParameter:
    bounds, default = said["bounds"], said["default"]
    interval = _RANGE.fullmatch(bounds)
    if kind in {"int", "float"} and not interval:
        lines.refuse(f"${name} is a number without bounds, as in [1..1000]")
    if kind == "string" and not bounds:
        lines.refuse(f"${name} is a text without a length or choices")
    if kind in {"boolean", "datetime"} and bounds:
        lines.refuse(f"${name} has bounds, which a {kind} cannot have")
    return PatternParameter(
        name=name,
        type=kind,
        meaning=said["meaning"],
        least=float(interval[1]) if interval else None,
        most=float(interval[2]) if interval else None,
        choices=bounds.split("|") if bounds and not interval else None,
        required=default is None,
        default=None if default is None else _json(lines, f"${name}", default),
    )


def _check(lines: _Lines) -> None:
    """Raise `PatternDamaged` if a part of the header is missing."""
    if not lines.sentences:
        lines.refuse("it has no description")
    for field in ("title", "example"):
        if field not in lines.fields:
            lines.refuse(f"it has no {field}")
    if lines.fields.get("detector", DETECTORS[0]) not in DETECTORS:
        lines.refuse(f"its detector is none of {', '.join(DETECTORS)}")
    _check_filled(lines)
    if LIMIT not in {one.name for one in lines.parameters}:
        lines.refuse(f"it has no ${LIMIT}")
    columns = [column.name for column in lines.columns]
    if "memory_ids" not in columns or len(set(columns)) < len(columns):
        lines.refuse("its columns must be different, with memory_ids among them")


def _check_filled(lines: _Lines) -> None:
    """Raise `PatternDamaged` for a parameter that graphmem cannot fill, or that is missing."""
    texts = {one.name for one in lines.parameters if one.type == "string"}
    legal = {**FILLED} | {f"{text}{end}": kind for text in texts for end, kind in FROM_TEXT.items()}
    for name, kind in lines.filled.items():
        if legal.get(name) != kind:
            lines.refuse(f"${name} cannot be filled: give it bounds in brackets")
    missing = TAKES - {one.name for one in lines.parameters}
    if UNEMBEDDED in lines.filled and missing:
        lines.refuse(f"${UNEMBEDDED} needs ${', $'.join(sorted(missing))} too")
    if "client_id" not in lines.filled:
        lines.refuse("it has no $client_id")


def _json(lines: _Lines, what: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        lines.refuse(f"the value of {what} is not JSON: {text!r}")


Values = dict[str, Any]

KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "int": (int,),
    "float": (int, float),
    "boolean": (bool,),
}
"""The Python types of each type but a time, as JSON decodes them."""


def values(pattern: Pattern, given: Mapping[str, Any], *, now: datetime) -> Values:
    """Return a value for every parameter of a pattern: the given one, else its default.

    Raises `InvalidInput` that lists the legal parameters.
    """
    legal = {one.name: one for one in pattern.parameters}
    for name in given:
        if name not in legal:
            raise InvalidInput(f"parameters.{name}", f"there is no such parameter; {_all(pattern)}")
    found = defaults(pattern, now=now)
    for name, one in legal.items():
        if name in given:
            found[name] = _value(one, given[name])
        elif one.required:
            raise InvalidInput(f"parameters.{name}", f"is missing; {legend(one)}")
    if {"since", "until"} <= given.keys():
        period(found["since"], found["until"], "parameters.")
    return found


def defaults(pattern: Pattern, *, now: datetime) -> Values:
    """Return the defaults of a pattern's optional parameters."""
    named = moments(now)
    return {
        one.name: named[one.default] if one.type == "datetime" else one.default
        for one in pattern.parameters
        if not one.required
    }


def checked_pattern(pattern: Pattern, *, now: datetime) -> None:
    """Raise `InvalidInput` unless the pattern's own defaults, and its example, are legal."""
    for one in pattern.parameters:
        if one.type == "datetime" and not one.required:
            if one.default not in moments(now):
                raise InvalidInput(one.name, f"the default is one of {', '.join(moments(now))}")
        elif not one.required:
            _value(one, one.default)
    values(pattern, pattern.example, now=now)


def moments(now: datetime) -> dict[str, datetime]:
    """Return the times that a default may name."""
    return {"beginning": BEGINNING, "now": now, "end": END}


def bounds(one: PatternParameter) -> tuple[float, float]:
    """Return the bounds of a number, or of a text's length."""
    least = -math.inf if one.least is None else one.least
    return least, math.inf if one.most is None else one.most


def legend(one: PatternParameter) -> str:
    """Return the legal values of a parameter, as a sentence."""
    if one.choices:
        legal = "one of " + ", ".join(choice or "''" for choice in one.choices)
    elif one.type == "string":
        legal = f"a text of {one.least:,.0f} to {one.most:,.0f} characters"
    elif one.type == "int":
        legal = f"a whole number from {one.least:,.0f} to {one.most:,.0f}"
    elif one.type == "float":
        legal = f"a number from {one.least:g} to {one.most:g}"
    else:
        legal = {"boolean": "true or false", "datetime": "an RFC 3339 time with its zone"}[one.type]
    return f"`{one.name}` is {legal}: {one.meaning}"


def _all(pattern: Pattern) -> str:
    return "legal are: " + "; ".join(legend(one) for one in pattern.parameters)


def _value(one: PatternParameter, value: Any) -> Any:
    field = f"parameters.{one.name}"
    wrong = InvalidInput(field, f"cannot be used; {legend(one)}")
    if one.type == "datetime":
        return _time(value, field, wrong)
    # By the type itself: True is an int in Python, but not a number for the caller.
    if type(value) not in KINDS[one.type]:
        raise wrong
    if one.choices is not None:
        if value not in one.choices:
            raise wrong
        return value
    if one.type == "boolean":
        return value
    measured = len(value) if isinstance(value, str) else value
    least, most = bounds(one)
    # Written so that NaN is refused too.
    if not least <= measured <= most:
        raise wrong
    if isinstance(value, str):
        return checked_text(value, field, most_bytes=4 * len(value)) if value else value
    return float(value) if one.type == "float" else value


def _time(value: Any, field: str, wrong: InvalidInput) -> datetime:
    try:
        moment = value if isinstance(value, datetime) else msgspec.convert(value, datetime)
    except msgspec.ValidationError:
        raise wrong from None
    return utc(moment, field)
