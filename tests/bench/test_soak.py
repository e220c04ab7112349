"""The soak, for seconds instead of minutes; and what its report is made of."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from bench import soak as soaking
from bench.callers import (
    Balance,
    Ledger,
    Outcome,
    _in_order as in_order,
    _of_runs as of_runs,
    calling,
    unexplained,
)
from bench.service import Service, serving
from bench.soak import Fault, Size, Soak, by_second, growth, memory, passed, shown
from graphmem.server.private import status


def test_a_failure_is_explained_by_a_fault_that_it_overlaps_and_by_its_code() -> None:
    def outcome(asked: float, given: float, code: str, kind: str = "recall") -> Outcome:
        return Outcome(asked, given, kind, code)

    ledger = Ledger(
        "c",
        outcomes=[
            outcome(9, 11, "503"),
            outcome(12, 13, "cut"),
            outcome(15, 16, "500"),
            outcome(30, 31, "503"),
            outcome(31, 32, "200"),
            outcome(31, 32, "409", "supersede"),
            outcome(31, 32, "409", "runs"),
        ],
    )
    assert dict(unexplained([ledger], [(10, 20)])) == {
        "recall 500": 1,
        "recall 503": 1,
        "runs 409": 1,
    }
    fault = Fault("one", 10, 20, 0.5)
    assert by_second([ledger], [fault]) == {
        "000-009 s": {"500": 1, "503": 1, "cut": 1},
        "020-029 s": {"409": 1, "503": 1},
    }


@pytest.mark.parametrize(
    ("stored", "wrong"),
    [
        (["a", "b"], {}),
        (["a", "b", "c"], {}),
        (["a"], {"lost": 1, "half": 1}),
        (["a", "b", "b"], {"doubled": 1}),
        (["b", "a"], {"half": 1}),
        (["a", "b", "c", "d", "e"], {"half": 1}),
    ],
)
def test_what_is_stored_is_compared_with_what_was_acknowledged(
    stored: list[str], wrong: dict[str, int]
) -> None:
    assert in_order(stored, ["a", "b"], 2) == Balance(acknowledged=2, **wrong)


RUN: dict[str, Any] = {
    "id": "r",
    "max_tokens": 100,
    "spent": 30,
    "given": 20,
    "gave": [20],
    "holds": [10],
    "done": [{"operation_id": "a", "tokens": 10}, {"operation_id": "b", "tokens": 20}],
}


@pytest.mark.parametrize(
    ("run", "wrong"),
    [
        (RUN, {}),
        (RUN | {"spent": 31}, {"unbalanced": 1}),
        (RUN | {"gave": []}, {"unbalanced": 1}),
        (RUN | {"holds": [51]}, {"unbalanced": 1}),
        (RUN | {"done": [], "spent": 0}, {"lost": 2}),
        (RUN | {"done": [*RUN["done"], {"operation_id": "a", "tokens": 0}]}, {"doubled": 1}),
        (RUN | {"id": "another"}, {"lost": 3}),
    ],
)
def test_a_run_has_its_operations_and_a_budget_in_balance(
    run: dict[str, Any], wrong: dict[str, int]
) -> None:
    ledger = Ledger("c", operations={"r": {"a": 10, "b": 20}})
    assert of_runs([run], ledger) == Balance(acknowledged=2, **wrong)


def test_a_process_grows_as_its_longest_life_does_once_it_has_settled() -> None:
    steady = [Size("service", 1, at, 500 + 5 * at / 60) for at in range(0, 600, 10)]
    young = [Size("service", 2, at, 900.0) for at in range(0, 30, 10)]
    found = memory([*steady, *young])["service"]
    assert (found["most_mb"], found["% a minute"]) == (900, 0.94)
    assert growth(young) is None


async def answered(service: Service, kinds: set[str]) -> None:
    """Have other callers work until each kind was answered: a database that has just started is slow."""
    async with calling(service.url, 8) as ledgers, asyncio.timeout(600):
        while not kinds <= {
            one.kind for ledger in ledgers for one in ledger.outcomes if one.code[0] == "2"
        }:
            await asyncio.sleep(0.1)


async def test_a_soak_of_seconds_loses_nothing(
    tmp_path: Path, own_server: None, killed_processes: None
) -> None:
    small = {
        "GRAPHMEM_NEO4J_HEAP": "384m",
        "GRAPHMEM_NEO4J_PAGE_CACHE": "64m",
        "GRAPHMEM_WARM_SECONDS": "0",
        "JDK_JAVA_OPTIONS": os.environ["JDK_JAVA_OPTIONS"],
    }
    kinds = {"messages", "facts", "runs", "deletes", "recall", "lists"}
    told: list[str] = []
    async with serving(tmp_path / "data", small) as service:
        await answered(service, kinds)
        soak = Soak(service, callers=8, tell=told.append)
        await soak.run(seconds=60, every=60)
    assert status(service.data_dir) is None
    report = soak.report()

    assert report["failed"] is None
    assert len(report["faults"]) == 1
    assert not any(name.endswith((" 500", " 400")) for name in report["unexplained"])
    stored = report["stored"]
    assert stored["acknowledged"] > 0
    assert [stored[name] for name in ("lost", "doubled", "half", "unbalanced")] == [0, 0, 0, 0]
    assert kinds <= set(report["by kind"])
    # A busy machine is slow: only the comparison counts here.
    assert passed(report | {"faults": [], "memory": {}, "unexplained": {}})
    assert "acknowledged" in shown(report)
    assert "Neo4j is killed" in told


async def test_a_run_that_fails_has_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soaking, "BEGIN_SECONDS", 0.1)
    soak = Soak(Service(tmp_path / "data"), callers=1, tell=lambda what: None)
    await soak.run(seconds=0.1, every=0.1)
    report = soak.report()
    assert report["failed"] == "TimeoutError"
    assert not passed(report)
    assert "FAILED TimeoutError" in shown(report)
    assert "not compared" in shown(report)
