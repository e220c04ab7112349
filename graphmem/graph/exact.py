"""Values of properties as JSON that keeps every type, and back: no time, vector or byte changes on the way.

A value that JSON knows is itself. Any other one is an object with one field, the name of its type: no
property of Neo4j is a map.
"""

import math
import sys
from array import array
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import pytz  # type: ignore[import-untyped]  # the driver's own, without types
from neo4j.spatial import CartesianPoint, Point, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

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
