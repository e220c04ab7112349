"""Values of every type of Neo4j's properties, to JSON and back."""

import math
import struct
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies
from neo4j.spatial import CartesianPoint, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

from graphmem.graph.plain import (
    FLOAT32,
    Unwritable,
    _offset_time,
    _short_vector,
    from_json,
    to_json,
    vector_of,
)
from graphmem.runtime import Runtime

NEAR = DateTime(2026, 3, 2, 9, 30, 1, 123_456_789, tzinfo=timezone(timedelta(hours=2)))
TWICE = from_json({"datetime": "2026-10-25T02:30:00+01:00[Europe/Berlin]"})
"""Half past two for the second time in that night."""

VALUES: list[Any] = [
    "a\n\u2028\U0001f600",
    2**63 - 1,
    -(2**63),
    True,
    0.1,
    -0.0,
    1e300,
    math.inf,
    [],
    ["a", "b"],
    [1, 2],
    [1.0, 2.5],
    [True, False],
    [0.1] * 384,
    [0.5] * 384,
    [math.inf] * 70,
    b"\x00\xff",
    datetime(2026, 3, 2, 9, 30, tzinfo=UTC),
    datetime(9999, 12, 30, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(1, 1, 2, tzinfo=UTC),
    NEAR,
    datetime(2026, 3, 2, 9, 30, 1, 5),
    DateTime(2026, 3, 2, 9, 30, 1, 7),
    TWICE,
    from_json({"datetime": "2026-03-02T09:30:01.000000007+09:00[Asia/Tokyo]"}),
    Date(2026, 3, 2),
    Time(9, 30, 1, 123_456_789),
    Time.from_iso_format("09:30:01.000000005-03:00"),
    Duration(months=14, days=3, seconds=-5, nanoseconds=-7),
    CartesianPoint((1.5, -2.0, 3.0)),
    WGS84Point((13.4, 52.5)),
    [datetime(2026, 3, 2, 9, 30, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)],
]

STORE = "CYPHER 25 RETURN $value AS value"
SAME = """CYPHER 25
CREATE (a:Exact {client_id: 'exact', value: $one}), (b:Exact {client_id: 'exact', value: $two})
WITH a, b, a.value = b.value AS same,
  valueType(a.value) AS first, valueType(b.value) AS second,
  toStringOrNull(a.value) AS text, toStringOrNull(b.value) AS other
DELETE a, b
RETURN same, first = second AS alike, coalesce(text = other, true) AS told"""


def sent(value: Any) -> Any:
    """Return a value after its way through a file."""
    return from_json(msgspec.json.decode(msgspec.json.encode(to_json(value))))


@pytest.mark.parametrize("value", VALUES, ids=repr)
async def test_the_database_cannot_tell_a_value_from_the_one_that_was_exported(
    value: Any, runtime: Runtime
) -> None:
    graph = runtime.graph
    async with graph.driver.session(database=graph.database) as session:
        stored = (await (await session.run(STORE, value=value)).single(strict=True))["value"]
        again = sent(stored)
        row = await (await session.run(SAME, one=value, two=again)).single(strict=True)
    assert (row["same"], row["alike"], row["told"]) == (True, True, True)


@settings(max_examples=20)
@given(strategies.lists(strategies.floats(width=32, allow_nan=False), min_size=64, max_size=80))
def test_numbers_of_four_bytes_take_four_bytes(values: list[float]) -> None:
    written = to_json(values)

    assert list(written) == ["float32"]
    assert sent(values) == values


@given(strategies.lists(strategies.floats(allow_nan=False), max_size=80))
def test_any_numbers_come_back(values: list[float]) -> None:
    assert sent(values) == values


def test_what_is_no_number_comes_back() -> None:
    assert math.isnan(sent(math.nan))


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(Unwritable, match="set cannot be exported"):
        to_json({1})
    with pytest.raises(ValueError, match="'map' is no type"):
        from_json({"map": 1})


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ((0, 0, 0), "1970-01-01T00:00:00Z"),
        ((-1, 120_000_000, 0), "1969-12-31T23:59:59.12Z"),
        ((1, 123_456_789, 7_200), "1970-01-01T02:00:01.123456789+02:00"),
        ((0, 1, -12_600), "1969-12-31T20:30:00.000000001-03:30"),
        ((253_402_300_799, 0, 0), "9999-12-31T23:59:59Z"),
        ((253_402_300_800, 0, 0), "+10000-01-01T00:00:00.000000000+00:00"),
        ((-62_167_219_200, 0, 0), "0000-01-01T00:00:00.000000000+00:00"),
    ],
)
def test_a_time_of_an_offset_is_written_without_the_driver(
    fields: tuple[int, int, int], text: str
) -> None:
    assert _offset_time(*fields) == {"datetime": text}


def test_a_vector_from_the_driver_is_written_as_its_list_is() -> None:
    numbers = [place / 64 for place in range(64)]
    assert _short_vector(FLOAT32, struct.pack(">64f", *numbers)) == to_json(numbers)
    assert vector_of(to_json(numbers)).to_native() == numbers
    assert vector_of(to_json([0.1] * 64)) == [0.1] * 64
    with pytest.raises(Unwritable):
        _short_vector(b"\xc1", struct.pack(">64d", *numbers))
