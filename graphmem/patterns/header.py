"""The header of a pattern's file: its entry in the catalogue, in a form that is checked strictly.

    CYPHER 25
    // What it finds, in a sentence or a few.
    //
    // title     Open contradictions
    // example   {"limit": 5}
    //
    // $client_id  string  whose memories
    // $category   string  in this category only, '' for all [0..128 = ""]
    // $limit      int     how many rows [1..1000 = 50]
    //
    // > statement   string        the newer of the two
    // > memory_ids  list<string>  both

The brackets of a parameter that a caller may set hold its bounds and, unless it is required, its default.
Bounds are the least and the most of a number, those of the length of a text in characters, or the choices
of a text (`[fact|episode = "fact"]`); a time has none (`[= "beginning"]`, `"now"` or `"end"`).

A parameter without brackets is filled by graphmem: `$client_id`, `$now`, `$background` (the mean vector of
unrelated texts), `$model` (the embedding model), `$unembedded` (ids and vectors of the sessions whose vector
as a whole is not stored, among those that `$conversation_id`, `$since`, `$until` and `$newest` select),
`$x_embedding` (the vector of the text `$x`, empty if the text is) and `$x_normalized` (the normal form of
the name `$x`).

A line `detector` names a function that evaluates the rows further. A line `query` names another pattern,
whose query is run with these parameters; its other parameters have their defaults.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, get_args

from msgspec import Struct

from graphmem.errors import PatternDamaged
from graphmem.patterns.types import (
    DETECTORS,
    ColumnType,
    Pattern,
    PatternColumn,
    PatternParameter,
    ValueType,
)
from graphmem.sessions.whole_sessions import TAKES

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
