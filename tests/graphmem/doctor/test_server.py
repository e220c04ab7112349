import re

import pytest

from graphmem.doctor.server import (
    AUTH,
    FILES,
    PARAMETER_LOG,
    QUERY_LOG,
    statements,
    too_small,
    weak,
)
from graphmem.graph.statements import AtWork
from graphmem.server.command import SETTINGS
from tests.scripted import ScriptedGraph

GOOD = {AUTH: "true", QUERY_LOG: "OFF", PARAMETER_LOG: "true"} | {
    name: value for name, value in SETTINGS.items() if name != QUERY_LOG
}


def test_the_private_server_s_settings_are_not_weak():
    assert list(weak(GOOD)) == []


@pytest.mark.parametrize(
    ("name", "value", "severity"),
    [
        (AUTH, "false", "problem"),
        (FILES, "true", "warning"),
        ("db.query.default_language", "CYPHER_5", "warning"),
        ("db.transaction.timeout", "0s", "warning"),
        ("db.memory.transaction.max", "0B", "warning"),
        (QUERY_LOG, "VERBOSE", "warning"),
        (QUERY_LOG, "INFO", "warning"),
    ],
)
def test_a_weak_setting_is_named_with_what_to_set(name, value, severity):
    [finding] = weak(GOOD | {name: value})
    assert finding.severity == severity
    assert f"set {name}=" in finding.remedy


def test_a_query_log_without_parameters_is_no_weakness():
    assert list(weak(GOOD | {QUERY_LOG: "VERBOSE", PARAMETER_LOG: "false"})) == []


def test_a_setting_that_the_server_does_not_show_is_not_guessed():
    assert list(weak({})) == []


def severities(heap: str, page_cache: str, memories: int) -> list[str]:
    return [finding.severity for finding in too_small(heap, page_cache, memories)]


@pytest.mark.parametrize(("private", "remedy"), [(True, "half a minute"), (False, "restart Neo4j")])
async def test_a_statement_that_does_not_end_has_a_remedy(private: bool, remedy: str):
    found = [AtWork("a", 37.0, 5.0, terminated=True), AtWork("b", 1.0, 5.0, terminated=False)]
    graph = ScriptedGraph({"graph/statements_at_work": found})
    [finding] = await statements(graph, private=private)
    assert (finding.severity, finding.subject) == ("warning", "statements")
    assert "1 statement of operators" in finding.what
    assert "37 s" in finding.what
    assert remedy in finding.remedy


async def test_statements_at_work_in_time_are_in_order():
    found = [AtWork("b", 1.0, 5.0, terminated=False)]
    [finding] = await statements(ScriptedGraph({"graph/statements_at_work": found}), private=True)
    assert finding.severity == "ok"


def test_the_defaults_are_enough_for_three_hundred_thousand_memories():
    assert severities("1g", "512m", 300_000) == ["ok", "ok"]


def test_what_served_a_million_is_enough_for_a_million():
    assert severities("2g", "1.00GiB", 1_000_000) == ["ok", "ok"]


@pytest.mark.parametrize("memories", [1_000_000, 3_000_000])
def test_a_heap_or_page_cache_that_is_too_small_says_how_large_it_should_be(memories):
    findings = list(too_small("1g", "512m", memories))
    assert [finding.severity for finding in findings] == ["warning", "warning"]
    for finding, setting in zip(findings, ("HEAP", "PAGE_CACHE"), strict=True):
        [megabytes] = re.findall(r"raise it to ([\d,]+)m", finding.remedy)
        assert f"GRAPHMEM_NEO4J_{setting}" in finding.remedy
        enough = f"{megabytes.replace(',', '')}m"
        assert severities(enough, enough, memories)[findings.index(finding)] == "ok"


def test_a_size_that_the_server_does_not_tell_is_a_note():
    assert severities("", "512m", 10) == ["note", "ok"]
