"""The soak, for seconds instead of minutes; and what its report is made of."""

from pathlib import Path

import pytest

from bench.callers import Balance, Ledger, Outcome, _in_order as in_order, unexplained
from bench.service import serving
from bench.soak import Fault, Size, by_second, growth, memory, passed, shown, soaked


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


def test_a_process_grows_as_its_longest_life_does_once_it_has_settled() -> None:
    steady = [Size("service", 1, at, 500 + at / 60) for at in range(0, 600, 10)]
    young = [Size("service", 2, at, 900.0) for at in range(0, 30, 10)]
    found = memory([*steady, *young])["service"]
    assert (found["most_mb"], found["mb_a_minute"]) == (900, 1.0)
    assert growth(young) is None


async def test_a_soak_of_seconds_loses_nothing(
    tmp_path: Path, own_server: None, killed_processes: None
) -> None:
    small = {
        "GRAPHMEM_NEO4J_HEAP": "384m",
        "GRAPHMEM_NEO4J_PAGE_CACHE": "64m",
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    async with serving(tmp_path / "data", **small) as service:
        report = await soaked(service, seconds=20, every=20, callers=16)

    assert len(report["faults"]) == 1
    assert not any(name.endswith((" 500", " 400")) for name in report["unexplained"])
    assert report["stored"]["acknowledged"] > 0
    stored = report["stored"]
    assert [stored[name] for name in ("lost", "doubled", "half", "unbalanced")] == [0, 0, 0, 0]
    kinds = {"messages", "facts", "runs", "deletes", "recall", "lists"}
    assert kinds <= set(report["by kind"])
    # A busy machine is slow: only the comparison counts here.
    assert passed(report | {"faults": [], "memory": {}, "unexplained": {}})
    assert "acknowledged" in shown(report)
