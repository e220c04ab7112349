import re
from datetime import UTC, datetime, timedelta

import pytest

from graphmem import config
from graphmem.doctor.examination import ReachedDatabase, examine_store
from graphmem.doctor.findings import Connection, Finding
from graphmem.doctor.integrity import RULES
from graphmem.doctor.server import (
    AUTH,
    FILES,
    PARAMETER_LOG,
    QUERY_LOG,
    clock,
    jobs,
    statements,
    too_small,
    weak,
)
from graphmem.errors import RecordDamaged, StoreDamaged, Unavailable
from graphmem.graph.inspection import Answered, Defect, ServerTime
from graphmem.graph.schema import ServerVersion
from graphmem.graph.statements import AtWork
from graphmem.jobs.outbox import JobCount, LateJobs
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


async def examined(graph: ScriptedGraph) -> list[Finding]:
    """Return the findings about a store that can be reached."""
    reached = Connection(uri="", user="", database="", credentials="")
    return await examine_store(ReachedDatabase(graph, reached, None), config.load({}))


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


NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("failure", "subject", "remedy"),
    [
        (StoreDamaged("Neo4j cannot open it"), "store", "graphmem restore"),
        (Unavailable("the database failed (Neo.DatabaseError.X)"), "database", "graphmem stop"),
    ],
)
async def test_a_database_that_fails_is_told_once(failure: Exception, subject: str, remedy: str):
    version = [ServerVersion("2026.09.0")]
    graph = ScriptedGraph({"graph/answers": failure, "graph/server_version": version})
    found = await examined(graph)
    assert [one.severity for one in found] == ["ok", "problem"]
    assert found[1].subject == subject
    assert remedy in found[1].remedy


async def test_a_store_that_can_be_read_in_part_is_told_once(monkeypatch: pytest.MonkeyPatch):
    damaged = StoreDamaged("Neo.DatabaseError.General.UnknownError")

    class Damaged(ScriptedGraph):
        async def rows(self, query, **parameters):
            if query.name in {"graph/answers", "graph/server_version"}:
                return await super().rows(query, **parameters)
            raise damaged

    graph = Damaged(
        {"graph/answers": [Answered(1)], "graph/server_version": [ServerVersion("2026.09.0")]}
    )
    monkeypatch.setattr(Damaged, "on", lambda self, side: self)
    found = await examined(graph)
    assert [(one.severity, one.subject) for one in found] == [
        ("ok", "server"),
        ("problem", "store"),
    ]
    assert "graphmem restore" in found[1].remedy


async def test_nothing_else_is_told_about_a_store_whose_damage_shows_late(
    monkeypatch: pytest.MonkeyPatch,
):
    first, *_ = RULES
    graph = ScriptedGraph(
        {
            "graph/answers": [Answered(1)],
            "graph/server_version": [ServerVersion("2026.09.0")],
            "graph/stored_installation": [],
            first.query.name: StoreDamaged("Neo.DatabaseError.General.UnknownError"),
        }
    )
    monkeypatch.setattr(ScriptedGraph, "on", lambda self, side: self)
    found = await examined(graph)
    assert [(one.severity, one.subject) for one in found] == [
        ("ok", "server"),
        ("problem", "store"),
    ]


async def test_a_record_that_one_check_cannot_read_keeps_no_other_from_being_done(
    monkeypatch: pytest.MonkeyPatch,
):
    class Odd(ScriptedGraph):
        async def rows(self, query, **parameters):
            if query.name in self.answers:
                return await super().rows(query, **parameters)
            raise RecordDamaged(query.name)

    first, *_ = RULES
    graph = Odd(
        {
            "graph/answers": [Answered(1)],
            "graph/server_version": [ServerVersion("2026.09.0")],
            first.query.name: [Defect(1, ["m1"])],
        }
    )
    monkeypatch.setattr(Odd, "on", lambda self, side: self)
    found = await examined(graph)
    unreadable = next(one for one in found if "cannot be read" in one.what)
    assert "graphmem restore" in unreadable.remedy
    assert "migrations, " in unreadable.subject
    assert any(one.subject == "integrity" and "m1" in one.what for one in found)


def jobs_of(dead: int, late: LateJobs) -> ScriptedGraph:
    counts = [JobCount("queued", 3), JobCount("running", 0), JobCount("dead", dead)]
    return ScriptedGraph({"jobs/jobs_by_state": counts, "jobs/late_jobs": [late]})


async def test_jobs_that_nobody_does_and_that_were_given_up_are_told():
    [finding] = await jobs(jobs_of(0, LateJobs(0, None)), NOW)
    assert finding.severity == "ok"
    first = NOW - timedelta(minutes=95)
    dead, late = await jobs(jobs_of(2, LateJobs(3, first)), NOW)
    assert (dead.severity, late.severity) == ("warning", "warning")
    assert "2 jobs" in dead.what
    assert "95 minutes" in late.what
    assert "GRAPHMEM_JOBS=on" in late.remedy


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, []), (-3_600, ["behind"]), (3_600, ["ahead of"])]
)
async def test_clocks_that_are_apart_are_told(seconds: int, told: list[str]):
    graph = ScriptedGraph({"graph/server_time": [ServerTime(NOW + timedelta(seconds=seconds))]})
    found = await clock(graph, lambda: NOW)
    assert [word for one in found for word in told if f"3,600 s {word} this" in one.what] == told
    assert all("NTP" in one.remedy for one in found)


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
