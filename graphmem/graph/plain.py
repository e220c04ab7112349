"""Values of the database as JSON: plain, for answers of bounded size; or exact, with every type, and back."""

import base64
import contextlib
import math
import sys
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

import neo4j
import pytz  # type: ignore[import-untyped]  # the driver's own, without types
from msgspec import Struct
from neo4j.graph import Node, Path, Relationship
from neo4j.spatial import CartesianPoint, Point, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time
from neo4j.types import UnsupportedType
from neo4j.vector import Vector

from graphmem.model.vocabulary import VECTORS

EPOCH = datetime(1970, 1, 1)  # a time of an offset is counted from it

FLOAT32 = b"\xc6"
"""The mark of a vector of numbers of four bytes, as Bolt sends it."""

SHORTEST_EMBEDDING = 64
"""The least length of an embedding: every model has at least as many dimensions."""

UNIT = 1e-3
"""The tolerance of an embedding's length: models make it 1, Neo4j stores four bytes per number."""


FIRST_DAY, LAST_DAY = -719_162, 2_932_896
"""The days since 1970 of the years 1 to 9999, which Python's dates have."""

DAY_SECONDS = 86_400
ERA_DAYS = 146_097
"""The days of 400 years, after which the calendar repeats."""


class Unreadable(Exception):
    """A value has a type that the driver does not know."""


class TooBig(Exception):
    """A value exceeds the budget of an answer."""


class Budget(Struct):
    """The remaining size of an answer: estimated bytes of JSON, and values."""

    size: int
    values: int

    def take(self, size: int) -> None:
        """Take the size of a value. Raises `TooBig`."""
        self.size -= size
        self.values -= 1
        if self.size < 0 or self.values < 0:
            raise TooBig


class Plain:
    """Converts values to JSON within a budget.

    With `named` the statement mentions embeddings, and every long list of fractions counts as one.
    """

    def __init__(self, budget: Budget, *, named: bool = False) -> None:
        self._budget = budget
        self._named = named

    def row(self, columns: Sequence[str], values: Iterable[Any]) -> dict[str, Any]:
        """Return a row as a map of its columns. Raises `TooBig`."""
        return {self.text(name): self.value(one) for name, one in zip(columns, values, strict=True)}

    def value(self, value: Any) -> Any:
        """Return a value as JSON. Raises `TooBig`, `Unreadable`."""
        make = SHAPES.get(type(value))
        if make is not None:
            return make(self, value)
        if isinstance(value, Relationship):  # each type of relationship is a class of its own
            return self.relationship(value)
        if isinstance(value, Point):
            return self.point(value)
        if isinstance(value, UnsupportedType):
            raise Unreadable(value.name)
        return self.text(str(value))

    def scalar(self, value: Any) -> Any:
        """Return a value of a JSON type."""
        self._budget.take(8)
        return value

    def fraction(self, value: float) -> float | str:
        """Return a number; as a text if JSON has no number for it: NaN, Infinity, -Infinity."""
        if math.isfinite(value):
            return self.scalar(value)  # type: ignore[no-any-return]
        return self.text("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity")

    def text(self, value: str) -> str:
        """Return a text."""
        self._budget.take(len(value) + 3)
        return value

    def items(self, values: Iterable[Any]) -> list[Any] | None:
        """Return a list, or None for an embedding."""
        self._budget.take(2)
        values = list(values)
        if is_embedding(values, named=self._named):
            return None
        return [self.value(one) for one in values]

    def fields(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return a map without lists that have an embedding's name."""
        self._budget.take(2)
        return {
            self.text(name): self.value(one)
            for name, one in values.items()
            if not (name in VECTORS and isinstance(one, list | Vector))
        }

    def node(self, node: Node) -> dict[str, Any]:
        """Return a node: its id, labels and properties."""
        return {
            "id": self.text(node.element_id),
            "labels": sorted(map(self.text, node.labels)),
            "properties": self.fields(node),
        }

    def relationship(self, one: Relationship) -> dict[str, Any]:
        """Return a relationship: its id, type and properties, and the ids of its nodes."""
        start, end = one.nodes
        return {
            "id": self.text(one.element_id),
            "type": self.text(one.type),
            "start": self.text(start.element_id) if start else None,
            "end": self.text(end.element_id) if end else None,
            "properties": self.fields(one),
        }

    def path(self, path: Path) -> dict[str, Any]:
        """Return a path: its nodes, and the relationships between them, in order."""
        return {
            "nodes": [self.node(one) for one in path.nodes],
            "relationships": [self.relationship(one) for one in path.relationships],
        }

    def time(self, value: Date | DateTime | Time | Duration) -> str:
        """Return a time or a duration in ISO 8601."""
        return self.text(value.iso_format())

    def point(self, point: Point) -> dict[str, Any]:
        """Return a point: its reference system and its coordinates."""
        axes = ("x", "y", "z") if point.srid in CARTESIAN else ("longitude", "latitude", "height")
        coordinates = map(self.fraction, point)
        return {"srid": self.scalar(point.srid), **dict(zip(axes, coordinates, strict=False))}

    def octets(self, value: bytes | bytearray) -> str:
        """Return bytes in Base64."""
        return self.text(base64.b64encode(value).decode())

    def vector(self, value: Vector) -> list[Any] | None:
        """Return a vector as the list of its numbers, or None for an embedding."""
        return self.items(value.to_native())


CARTESIAN = frozenset({7203, 9157})
"""The ids of the reference systems with x, y and z."""

SHAPES: Mapping[type, Callable[[Plain, Any], Any]] = {
    type(None): Plain.scalar,
    bool: Plain.scalar,
    int: Plain.scalar,
    float: Plain.fraction,
    str: Plain.text,
    list: Plain.items,
    dict: Plain.fields,
    Node: Plain.node,
    Relationship: Plain.relationship,
    Path: Plain.path,
    Date: Plain.time,
    DateTime: Plain.time,
    Time: Plain.time,
    Duration: Plain.time,
    bytes: Plain.octets,
    bytearray: Plain.octets,
    Vector: Plain.vector,
}


def keep_far_times(result: neo4j.AsyncResult) -> None:
    """Have dates and times that Python cannot hold read as ISO texts, wherever they are in a result.

    The driver reads 31 December of year 0 as no date, and fails at other years below or above its own. It
    has no option for that: the functions of one result are replaced before the first row is read, in
    `AsyncResult._hydration_scope._struct_hydration_functions`. The version of the driver is pinned, and
    `tests/graphmem/exploring/test_values.py` reads such times.
    """
    scope: Any = result._hydration_scope
    functions = scope._struct_hydration_functions
    for tag, spelled in SPELLED.items():
        functions[tag] = _spelling(functions[tag], spelled)


def read_as_exported(result: neo4j.AsyncResult) -> None:
    """Have a result's times and vectors read as `to_json` writes them, in a tenth of the time.

    The driver makes an object of each time, and looks at each entry of each list and map once more. Like
    `keep_far_times` this replaces its functions; `to_json` refuses any value that it cannot read.
    """
    scope: Any = result._hydration_scope
    scope._struct_hydration_functions |= {b"I": _offset_time, b"V": _short_vector}
    for kind in (list, dict):
        scope.hydration_hooks.pop(kind, None)


@lru_cache(maxsize=4_096)
def _offset_time(seconds: int, nanoseconds: int, offset: int) -> dict[str, str]:
    """Return a time of an offset as JSON; the same ones come again and again."""
    try:
        moment = (EPOCH + timedelta(seconds=seconds + offset)).isoformat()
    except OverflowError:
        return {"datetime": _zoned_time(seconds, nanoseconds, offset)}
    fraction = f".{nanoseconds:09}".rstrip("0") if nanoseconds else ""
    zone = "Z" if not offset else datetime.min.replace(tzinfo=_zone(offset)).isoformat()[19:]
    return {"datetime": f"{moment}{fraction}{zone}"}


def _zone(offset: int) -> timezone:
    return timezone(timedelta(seconds=offset))


def _short_vector(kind: bytes, data: bytes) -> dict[str, str]:
    """Return a vector of numbers of four bytes as JSON; the driver has them in the order of the network."""
    if kind != FLOAT32:
        raise Unwritable(f"a vector of the kind {kind!r} cannot be exported")
    numbers = array("f")
    numbers.frombytes(data)
    # A file has the other order: whatever that of this machine is, the bytes of each number are reversed.
    numbers.byteswap()
    return {"float32": _base64(numbers)}


def _spelling(read: Callable[..., Any], spelled: Callable[..., str]) -> Callable[..., Any]:
    """Return a function that reads a time, or spells it."""
    seconds = 1 if spelled is _date else DAY_SECONDS

    def read_or_spell(since: int, *more: Any) -> Any:
        if FIRST_DAY <= since // seconds <= LAST_DAY:
            with contextlib.suppress(ValueError, OverflowError, LookupError):
                return read(since, *more)
        return spelled(since, *more)

    return read_or_spell


def _date(days: int) -> str:
    """Return a day since 1970 as ISO 8601 has it, with a sign outside of the years 0 to 9999.

    The calendar is taken to begin on 1 March of year 0, as in Hinnant's `civil_from_days`.
    """
    era, day = divmod(days + 719_468, ERA_DAYS)
    of_era = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    of_year = day - (365 * of_era + of_era // 4 - of_era // 100)
    since_march = (5 * of_year + 2) // 153
    month = since_march + 3 if since_march < 10 else since_march - 9
    year = 400 * era + of_era + (month <= 2)
    sign = "-" if year < 0 else "+" if year > 9_999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{of_year - (153 * since_march + 2) // 5 + 1:02}"


def _local_time(seconds: int, nanoseconds: int) -> str:
    days, rest = divmod(seconds, DAY_SECONDS)
    clock = f"{rest // 3_600:02}:{rest // 60 % 60:02}:{rest % 60:02}.{nanoseconds:09}"
    return f"{_date(days)}T{clock}"


def _zoned_time(seconds: int, nanoseconds: int, zone: int | str) -> str:
    """Return a time of an offset; one of a named zone, whose offset nobody knows then, in UTC."""
    offset = zone if isinstance(zone, int) else 0
    minutes = abs(offset) // 60
    shown = f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{_local_time(seconds + offset, nanoseconds)}{shown}"


SPELLED: Mapping[bytes, Callable[..., str]] = {
    b"D": _date,
    b"d": _local_time,
    b"I": _zoned_time,
    b"i": _zoned_time,
}
"""How times are spelled, by the tag of their structure."""


def is_embedding(values: list[Any], *, named: bool) -> bool:
    """Tell whether a list is an embedding: long, of fractions only, and of length 1."""
    if len(values) < SHORTEST_EMBEDDING or not all(type(one) is float for one in values):
        return False
    return named or abs(math.hypot(*values) - 1.0) <= UNIT


SHORTEST_VECTOR = 64
"""The least length of a list of numbers that is written as bytes: every embedding is longer."""

MICROSECOND = 1_000
"""Nanoseconds: Python's times have nothing shorter."""

POINTS: Mapping[int, type[Point]] = {
    7203: CartesianPoint,
    9157: CartesianPoint,
    4326: WGS84Point,
    4979: WGS84Point,
}


class Unwritable(TypeError):
    """A property has a type that an export does not know."""


def to_json(value: Any) -> Any:
    """Return a value of a property as JSON that `from_json` reads. Raises `Unwritable`."""
    kind = type(value)
    if kind is str or kind is bool or kind is int:
        return value
    write = _WRITERS.get(kind)
    if write is not None:
        return write(value)
    if isinstance(value, Point):
        return {"point": [value.srid, *value]}
    raise Unwritable(f"a property of the type {kind.__name__} cannot be exported")


def from_json(value: Any) -> Any:
    """Return the value that `to_json` wrote. Raises `ValueError` for anything else."""
    if isinstance(value, dict):
        [(name, inner)] = value.items()
        if name not in _READERS:
            raise ValueError(f"{name!r} is no type of a value")
        return _READERS[name](inner)
    if isinstance(value, list):
        return [from_json(one) for one in value]
    return value


def vector_of(value: Any) -> Any:
    """Return a vector as `from_json` does, but as bytes where the file has these: they are sent as they are.

    Raises `ValueError`.
    """
    if isinstance(value, dict) and value.keys() == {"float32"}:
        return Vector(b64decode(value["float32"], validate=True), "f32", byteorder="little")
    return from_json(value)


def _float(value: float) -> Any:
    return value if math.isfinite(value) else {"float": str(value)}


def _list(values: list[Any]) -> Any:
    if len(values) >= SHORTEST_VECTOR and type(values[0]) is float:
        return _vector(values)
    return [to_json(one) for one in values]


def _vector(values: list[float]) -> Any:
    """Return the numbers as bytes of the shortest form that holds each of them exactly."""
    try:
        short = array("f", values)
    except (TypeError, OverflowError):
        return [to_json(one) for one in values]
    if short.tolist() == values:
        return {"float32": _base64(_little(short))}
    return {"float64": _base64(_little(array("d", values)))}


def _numbers(code: str) -> Callable[[str], list[float]]:
    def read(text: str) -> list[float]:
        values = array(code)
        values.frombytes(b64decode(text, validate=True))
        return _little(values).tolist()

    return read


def _little(values: "array[Any]") -> "array[Any]":
    """Return numbers in the order of bytes that a file has on every machine."""
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _base64(data: Any) -> str:
    return b64encode(data).decode()


def _datetime(value: DateTime) -> dict[str, Any]:
    """Return a time as Neo4j writes it, with its offset and zone; the driver takes the offset 0 for UTC."""
    zone = getattr(value.tzinfo, "zone", None) or getattr(value.tzinfo, "key", None)
    exact = value.nanosecond % MICROSECOND
    text = value.iso_format() if exact else value.to_native().isoformat()
    if value.tzinfo is None:
        return {"localdatetime": text}
    return {"datetime": text if zone in (None, "UTC") else f"{text}[{zone}]"}


def _read_datetime(text: str) -> DateTime | datetime:
    """Return a time; the offset before a zone tells the two equal hours of a night apart."""
    text, _, zone = text.removesuffix("]").partition("[")
    _, _, fraction = text.partition(".")
    digits = len(fraction) - len(fraction.lstrip("0123456789"))
    # Python's own reader is many times as fast, and holds all but nanoseconds.
    moment = datetime.fromisoformat(text) if digits <= 6 else DateTime.from_iso_format(text)
    if not zone:
        return moment
    exact = moment if isinstance(moment, DateTime) else DateTime.from_native(moment)
    # The driver's own zones: a ZoneInfo takes its times for Python's, and ends the process.
    return exact.astimezone(pytz.timezone(zone))


def _duration(value: Duration) -> dict[str, Any]:
    return {"duration": [value.months, value.days, value.seconds, value.nanoseconds]}


def _read_duration(parts: list[int]) -> Duration:
    months, days, seconds, nanoseconds = parts
    return Duration(months=months, days=days, seconds=seconds, nanoseconds=nanoseconds)


def _read_point(parts: list[float]) -> Point:
    srid, *coordinates = parts
    return POINTS[int(srid)](coordinates)


_WRITERS: Mapping[type, Callable[[Any], Any]] = {
    float: _float,
    list: _list,
    DateTime: _datetime,
    Date: lambda value: {"date": value.iso_format()},
    Time: lambda value: {"time": value.iso_format()},
    Duration: _duration,
    bytes: lambda value: {"bytes": _base64(value)},
    bytearray: lambda value: {"bytes": _base64(value)},
    dict: lambda value: value,  # no property is a map: `read_as_exported` has written it
}
_READERS: Mapping[str, Callable[[Any], Any]] = {
    "float": float,
    "float32": _numbers("f"),
    "float64": _numbers("d"),
    "datetime": _read_datetime,
    "localdatetime": _read_datetime,
    "date": Date.from_iso_format,
    "time": Time.from_iso_format,
    "duration": _read_duration,
    "bytes": lambda text: b64decode(text, validate=True),
    "point": _read_point,
}
