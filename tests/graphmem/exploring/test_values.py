"""Everything that Cypher can answer comes as plain JSON, and embeddings never do."""

import math
from datetime import date
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from graphmem.errors import CypherMistake
from graphmem.graph.plain import ERA_DAYS, SPELLED, Budget, Plain, TooBig, is_embedding
from tests.graphmem.exploring.conftest import Small


async def one(small: Small, expression: str, **parameters: Any) -> Any:
    table = await small.memory.cypher(f"RETURN {expression} AS x", parameters)
    msgspec.json.encode(table)
    return table.rows[0]["x"]


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("null", None),
        ("[true, -9223372036854775808, 0.5, 'ä\U0001f600']", [True, -(2**63), 0.5, "ä\U0001f600"]),
        ("{a: [1, {b: null}]}", {"a": [1, {"b": None}]}),
        ("0.0 / 0.0", "NaN"),
        ("[1.0 / 0.0, -1.0 / 0.0]", ["Infinity", "-Infinity"]),
        ("date('2026-11-22')", "2026-11-22"),
        ("time('07:08:09.123456789+01:00')", "07:08:09.123456789+01:00"),
        ("localtime('07:08:09')", "07:08:09.000000000"),
        ("datetime('2026-11-22T07:08:09.5Z')", "2026-11-22T07:08:09.500000000+00:00"),
        ("localdatetime('2026-11-22T07:08:09')", "2026-11-22T07:08:09.000000000"),
        ("datetime('9999-12-31T23:59:59Z')", "9999-12-31T23:59:59.000000000+00:00"),
        ("duration('P1Y2M3DT4H5M6.5S')", "P1Y2M3DT4H5M6.5S"),
        ("point({x: 1, y: 2})", {"srid": 7203, "x": 1.0, "y": 2.0}),
        ("point({x: 1, y: 2, z: 3})", {"srid": 9157, "x": 1.0, "y": 2.0, "z": 3.0}),
        (
            "point({longitude: 1, latitude: 2, height: 3})",
            {"srid": 4979, "longitude": 1.0, "latitude": 2.0, "height": 3.0},
        ),
        # Years that Python's dates do not have.
        ("date('0000-01-01')", "0000-01-01"),
        ("[date('0000-12-31'), date('0001-01-01')]", ["0000-12-31", "0001-01-01"]),
        ("{a: [date({year: 99999, month: 2, day: 28})]}", {"a": ["+99999-02-28"]}),
        ("date('-0044-03-15')", "-0044-03-15"),
        ("date({year: -999999999})", "-999999999-01-01"),
        ("date({year: 12000, month: 2, day: 29})", "+12000-02-29"),
        (
            "datetime({epochSeconds: 253402300800, nanosecond: 5})",
            "+10000-01-01T00:00:00.000000005+00:00",
        ),
        ("datetime('-0044-03-15T12:30-08:00')", "-0044-03-15T12:30:00.000000000-08:00"),
        ("datetime('9999-12-31T23:00-10:00')", "9999-12-31T23:00:00.000000000-10:00"),
        (
            "datetime({year: 99999, month: 7, day: 1, hour: 2, timezone: 'Europe/Berlin'})",
            "+99999-07-01T00:00:00.000000000+00:00",
        ),
        ("localdatetime('-0001-12-31T23:59:59')", "-0001-12-31T23:59:59.000000000"),
        ("duration({years: 999999999})", "P999999999Y"),
        (
            "toString(uuid('0d4e0cbb-7d5d-4d27-9d5c-93e1c9ac8c26'))",
            "0d4e0cbb-7d5d-4d27-9d5c-93e1c9ac8c26",
        ),
        ("vector([1, 2, 3], 3, INTEGER8)", [1, 2, 3]),
        ("[[]]", [[]]),
    ],
)
async def test_a_value_is_json(expression: str, shown: Any, small: Small) -> None:
    assert await one(small, expression) == shown


async def test_a_time_with_a_named_zone_keeps_its_offset(small: Small) -> None:
    shown = await one(small, "datetime('2026-07-01T12:00[Europe/Berlin]')")
    assert shown.startswith("2026-07-01T12:00:00.000000000+02:00")


@given(st.dates())
def test_a_far_time_is_spelled_as_python_spells_a_near_one(day: date) -> None:
    days = day.toordinal() - date(1970, 1, 1).toordinal()
    assert SPELLED[b"D"](days) == day.isoformat()
    assert SPELLED[b"D"](days - 25 * ERA_DAYS)[-5:] == day.isoformat()[-5:]
    assert SPELLED[b"I"](86_400 * days - 3_600, 0, 5_400) == f"{day}T00:30:00.000000000+01:30"


async def test_nodes_hold_far_times_too(own_small: Small) -> None:
    await own_small.memory.runtime.graph.execute(
        "MATCH (m:Fact {client_id: $c}) SET m.far = [date('0000-01-01')]",
        c=own_small.memory.client_id,
    )
    table = await own_small.memory.cypher(
        "MATCH p = (a:Fact {client_id: $c})-[:SUPERSEDES]->(b) RETURN a, p", own_small.parameters
    )
    [row] = table.rows
    assert row["a"]["properties"]["far"] == ["0000-01-01"]
    assert row["p"]["nodes"][1]["properties"]["far"] == ["0000-01-01"]


@pytest.mark.parametrize("expression", ["uuid()", "[1, {a: uuid()}]"])
async def test_a_value_that_the_driver_cannot_read_is_a_mistake(
    expression: str, small: Small
) -> None:
    with pytest.raises(CypherMistake, match=r"type UUID.*toString"):
        await one(small, expression)


async def test_bytes_come_in_base64(small: Small) -> None:
    assert Plain(Budget(100, 100)).value(b"\x00\xff") == "AP8="


async def test_nodes_edges_and_paths_have_ids_labels_and_types(small: Small) -> None:
    table = await small.memory.cypher(
        "MATCH p = (a:Fact {client_id: $c})-[r:SUPERSEDES]->(b) RETURN a, r, p", small.parameters
    )
    [row] = table.rows
    node, edge, path = row["a"], row["r"], row["p"]
    assert {"Fact", "Memory"} <= set(node["labels"])
    assert node["properties"]["text"] == "We chose postgres"
    assert (edge["type"], edge["properties"]["reason"]) == ("SUPERSEDES", "two writers")
    assert (edge["start"], path["nodes"][1]["id"]) == (node["id"], edge["end"])
    assert path["relationships"] == [edge]
    assert path["nodes"][0] == node
    assert msgspec.json.decode(msgspec.json.encode(table))["rows"] == table.rows


LEAKS = [
    "m",
    "m {.*}",
    "properties(m)",
    "[m]",
    "collect(m)",
    "{deep: [[m]]}",
    "m.embedding",
    "m['embedding']",
    "m[$key]",
    "[m.embedding, 1]",
    "collect(m.embedding)",
    "{e: m.embedding, embedding: m.embedding}",
    "[x IN m.embedding | x]",
    "m.embedding[0..384]",
    "m.embedding[0..200]",
    "vector(m.embedding, 384, FLOAT32)",
    "[k IN keys(m) | m[k]]",
    "COLLECT { MATCH (o:Fact {client_id: $c}) RETURN o.embedding }",
]


@pytest.mark.parametrize("expression", LEAKS)
async def test_no_embedding_is_ever_returned(expression: str, small: Small) -> None:
    table = await small.memory.cypher(
        f"MATCH p = (m:Fact {{client_id: $c}}) RETURN {expression} AS x",
        small.parameters | {"key": "embedding"},
    )
    assert table.rows
    assert longest(table.rows) < 64
    assert "embedding" not in names(table.rows)


async def test_neither_side_of_a_change_of_model_is_returned(own_small: Small) -> None:
    await own_small.memory.runtime.graph.execute(
        "MATCH (m:Fact {client_id: $c}) SET m.embedding_2 = [x IN range(1, 700) | 0.5]",
        c=own_small.memory.client_id,
    )
    for expression in ("m", "m.embedding_2", "properties(m)", "[m.embedding_2]"):
        table = await own_small.memory.cypher(
            f"MATCH (m:Fact {{client_id: $c}}) RETURN {expression} AS x", own_small.parameters
        )
        assert longest(table.rows) < 64
        assert "embedding_2" not in names(table.rows)


async def test_a_column_of_an_embedding_s_name_stays_and_is_empty(small: Small) -> None:
    table = await small.memory.cypher(
        "MATCH (m:Fact {client_id: $c}) RETURN m.embedding AS embedding, m.text AS text",
        small.parameters,
    )
    assert table.columns == ["embedding", "text"]
    assert [row["embedding"] for row in table.rows] == [None, None]


async def test_long_lists_of_numbers_that_are_no_embedding_stay(small: Small) -> None:
    assert await one(small, "[x IN range(1, 384) | x]") == list(range(1, 385))
    assert await one(small, "[x IN range(1, 384) | x * 0.5]") == [x * 0.5 for x in range(1, 385)]
    assert await one(small, "{embedding: 'all-MiniLM'}") == {"embedding": "all-MiniLM"}


def test_what_is_taken_for_an_embedding() -> None:
    unit = [1 / math.sqrt(384)] * 384
    assert is_embedding(unit, named=False)
    assert is_embedding([0.5] * 384, named=True)
    assert not is_embedding([0.5] * 384, named=False)
    assert not is_embedding([0.5] * 63, named=True)
    assert not is_embedding([*unit[:-1], 1], named=True)


@pytest.mark.parametrize("value", ["x" * 101, [1] * 14, {"x" * 98: 1}, b"x" * 100])
def test_a_value_beyond_the_budget_is_too_big(value: Any) -> None:
    with pytest.raises(TooBig):
        Plain(Budget(100, 1_000)).value(value)


def test_many_small_values_are_too_big_as_well() -> None:
    with pytest.raises(TooBig):
        Plain(Budget(1_000_000, 10)).value([[]] * 10)


def longest(value: Any) -> int:
    """Return how long the longest list of numbers in a value is."""
    if isinstance(value, dict):
        return max(map(longest, value.values()), default=0)
    if not isinstance(value, list):
        return 0
    numbers = sum(isinstance(one, float) for one in value)
    return max([numbers, *map(longest, value)])


def names(value: Any) -> set[str]:
    """Return every key of every map in a value."""
    if isinstance(value, dict):
        return set(value).union(*map(names, value.values()))
    return set().union(*map(names, value)) if isinstance(value, list) else set()
