"""Values of every type of Neo4j's properties, to JSON and back."""

import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies
from neo4j.spatial import CartesianPoint, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

from graphmem.graph.plain import Unwritable, from_json, to_json
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
