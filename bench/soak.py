"""Thirty-two callers for twenty minutes, with a fault every two: what they see, and what is stored then.

    python -m bench.soak --minutes 20 --out soak.json

`graphmem serve` as a program beside its private Neo4j, both of the run's own. Its callers write messages,
facts and their versions, runs and what is deleted again, and ask in all ways. In turn Neo4j is killed, Neo4j
is suspended for twenty seconds, two hundred callers hang up, and the service is killed and started again. The
targets: every failure overlaps a fault, nothing that was acknowledged is lost, doubled or stored by half, all
budgets balance, and both processes keep their memory.
"""

import asyncio
import contextlib
import os
import platform
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from msgspec import Struct, structs

from bench.callers import Ledger, Outcome, calling, compared, is_expected, unexplained
from bench.figures import is_start
from bench.reporting import arguments, write
from bench.service import (
    Service,
    hang_up,
    kill_neo4j,
    kill_service,
    serving,
    suspend_neo4j,
)

CALLERS = 32
FAULT_SECONDS = 120.0
"""The interval of the faults."""

BACK_SECONDS = 10.0
"""The limit from the database's return until the service is ready, and how long a fault explains failures
after that."""

SETTLED_SECONDS = 120.0
"""The age at which a process has its usual memory."""

GIVEN = {"GRAPHMEM_NEO4J_HEAP": "512m", "JDK_JAVA_OPTIONS": "-XX:+AlwaysPreTouch"}
"""Java has its whole heap from the beginning: what Neo4j grows by is beyond it."""

LEAST_SECONDS = 60.0
"""The time over which growth is measured at least."""

MOST_GROWTH = 2.0
"""The limit of the growth of a process, in MB a minute, once it has settled."""

FAULTS: dict[str, Callable[[Service], Awaitable[float]]] = {
    "Neo4j is killed": kill_neo4j,
    "Neo4j is suspended for 20 s": suspend_neo4j,
    "200 callers hang up": hang_up,
    "the service is killed and started": kill_service,
}


class Fault(Struct, frozen=True):
    """A fault: when it began and was over, and the seconds from the database's return until readiness."""

    name: str
    began: float
    over: float
    back_seconds: float


class Size(Struct, frozen=True):
    """The memory of a process at a moment, in MB."""

    process: str
    pid: int
    at: float
    mb: float


async def soaked(service: Service, *, seconds: float, every: float, callers: int) -> dict[str, Any]:
    """Have callers work for some time with a fault every so often; return the report."""
    sizes: list[Size] = []
    watching = asyncio.create_task(_watch(service, sizes))
    load, began = os.getloadavg()[0], time.monotonic()
    async with calling(service.url, callers) as ledgers:
        faults = await _fault(service, until=began + seconds, every=every)
        await asyncio.sleep(max(0.0, began + seconds - time.monotonic()))
    lasted = time.monotonic() - began
    watching.cancel()
    async with service.graph() as graph:
        balance = await compared(graph, ledgers)
    windows = [(fault.began, fault.over + BACK_SECONDS) for fault in faults]
    report = {
        "minutes": round(lasted / 60, 1),
        "callers": callers,
        "machine": f"{os.cpu_count()} processors, {platform.machine()}",
        "load": {"before": round(load, 1), "after": round(os.getloadavg()[0], 1)},
        "requests": sum(len(one.outcomes) for one in ledgers),
        "by kind": dict(sorted(Counter(o.kind for one in ledgers for o in one.outcomes).items())),
        "faults": [
            {
                "name": one.name,
                "at_s": round(one.began - began),
                "lasted_s": round(one.over - one.began, 1),
                "back_s": round(one.back_seconds, 1),
            }
            for one in faults
        ],
        "failures by seconds after a fault began": by_second(ledgers, faults),
        "unexplained": dict(unexplained(ledgers, windows)),
        "stored": structs.asdict(balance),
        "memory": memory(sizes),
    }
    return report | {"passed": passed(report)}


def passed(report: dict[str, Any]) -> bool:
    """Tell whether a report keeps the targets; the memory counts only where a process lived long enough."""
    stored, growth = report["stored"], [one["mb_a_minute"] for one in report["memory"].values()]
    return (
        not report["unexplained"]
        and not any(stored[name] for name in ("lost", "doubled", "half", "unbalanced"))
        and all(one["back_s"] <= BACK_SECONDS for one in report["faults"] if not is_start(one))
        and all(one is None or one <= MOST_GROWTH for one in growth)
    )


async def _fault(service: Service, *, until: float, every: float) -> list[Fault]:
    """Do one fault after the other, the next `every` seconds after the begin of the last."""
    found: list[Fault] = []
    due = time.monotonic() + every / 2
    while due + every / 2 <= until:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        name = list(FAULTS)[len(found) % len(FAULTS)]
        began = time.monotonic()
        back = await FAULTS[name](service)
        found.append(Fault(name, began, time.monotonic(), back))
        due += every
    return found


async def _watch(service: Service, sizes: list[Size]) -> None:
    """Note the memory of both processes every two seconds, until cancelled."""
    while True:
        await asyncio.sleep(2)
        with contextlib.suppress(psutil.Error, AssertionError):
            for name, process in (
                ("Neo4j", service.neo4j()),
                ("service", psutil.Process(service.pid)),
            ):
                mb = process.memory_info().rss / 1e6
                sizes.append(Size(name, process.pid, time.time() - process.create_time(), mb))


def memory(sizes: Sequence[Size]) -> dict[str, Any]:
    """Return the memory of each process, and its growth in the longest life, once it has settled."""
    found: dict[str, Any] = {}
    for name in dict.fromkeys(one.process for one in sizes):
        lives: dict[int, list[Size]] = defaultdict(list)
        for one in sizes:
            if one.process == name and one.at >= SETTLED_SECONDS:
                lives[one.pid].append(one)
        longest = max(lives.values(), key=len, default=[])
        found[name] = {
            "most_mb": round(max(one.mb for one in sizes if one.process == name)),
            "mb_a_minute": growth(longest),
            "over_minutes": round((longest[-1].at - longest[0].at) / 60, 1) if longest else 0,
        }
    return found


def growth(life: Sequence[Size]) -> float | None:
    """Return the slope of a life's memory, in MB a minute; None if the life was too short."""
    if len(life) < 2 or life[-1].at - life[0].at < LEAST_SECONDS:
        return None
    line = statistics.linear_regression([one.at / 60 for one in life], [one.mb for one in life])
    return round(line.slope, 2)


def by_second(ledgers: Sequence[Ledger], faults: Sequence[Fault]) -> dict[str, dict[str, int]]:
    """Count the failures by code, and by the ten seconds after the last fault's begin."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for ledger in ledgers:
        for one in ledger.outcomes:
            if not is_expected(one):
                found[_after(one, faults)][one.code] += 1
    return {name: dict(sorted(codes.items())) for name, codes in sorted(found.items())}


def _after(one: Outcome, faults: Sequence[Fault]) -> str:
    begun = [fault.began for fault in faults if fault.began <= one.given]
    if not begun:
        return "before any"
    place = int(one.given - max(begun)) // 10 * 10
    return f"{place:03d}-{place + 9:03d} s"


async def main() -> int:
    """Soak, print the report, and return the exit code."""
    parser = arguments("soak", __doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--every", type=float, default=FAULT_SECONDS)
    parser.add_argument("--callers", type=int, default=CALLERS)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="graphmem-soak-") as folder:
        async with serving(Path(folder) / "data", **GIVEN) as service:
            report = await soaked(
                service, seconds=60 * given.minutes, every=given.every, callers=given.callers
            )
    write(report, given.out)
    print(shown(report))
    return 0 if report["passed"] else 1


def shown(report: dict[str, Any]) -> str:
    """Return the report as lines."""
    lines = [
        f"{report['requests']:,} requests of {report['callers']} callers in {report['minutes']} minutes, "
        f"load {report['load']['before']} to {report['load']['after']}",
        *(
            f"{one['at_s']:>5} s  {one['name']}: over after {one['lasted_s']} s, ready {one['back_s']} s "
            "after the database"
            for one in report["faults"]
        ),
        "failures by the seconds after the begin of a fault:",
        *(
            f"  {name:>11}  " + ", ".join(f"{count} x {code}" for code, count in codes.items())
            for name, codes in report["failures by seconds after a fault began"].items()
        ),
        f"unexplained: {report['unexplained'] or 'none'}",
        f"stored: {report['stored']}",
        *(
            f"{name}: at most {one['most_mb']:,} MB, {one['mb_a_minute']} MB a minute over "
            f"{one['over_minutes']} minutes"
            for name, one in report["memory"].items()
        ),
        "passed" if report["passed"] else "FAILED",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
