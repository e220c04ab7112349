"""Thirty-two callers for twenty minutes, with a fault every two: what they see, and what is stored then.

    python -m bench.soak --seconds 1200 --out soak.json

`graphmem serve` as a program beside its private Neo4j, both of the run's own. Its callers write messages,
facts and their versions, runs and what is deleted again, and ask in all ways. In the first half Neo4j is
killed, it is suspended for twenty seconds, two hundred callers hang up, and the service is killed and started
again, in turn; in the second half both processes survive each fault, so that the memory of one life is seen.
The targets: every failure overlaps a fault, nothing that was acknowledged is lost, doubled or stored by half,
all budgets balance, the service is ready ten seconds after its database, and the memory of both is flat.

The report is written also if the run fails or is ended by a signal; what it started is ended with it.
"""

import asyncio
import contextlib
import os
import platform
import signal
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from msgspec import Struct, structs

from bench.callers import (
    Balance,
    Ledger,
    Outcome,
    calling,
    compared,
    is_expected,
    unexplained,
)
from bench.figures import is_start
from bench.reporting import arguments, write
from bench.service import (
    Service,
    hang_up,
    kill_neo4j,
    kill_service,
    serving,
    suspend_neo4j,
    when,
)

CALLERS = 32
FAULT_SECONDS = 120.0
"""The interval of the faults."""

BACK_SECONDS = 10.0
"""The limit from the database's return until the service is ready, and how long a fault explains failures
after that."""

SETTLED_SECONDS = 240.0
"""The age at which a process has its usual memory."""

GIVEN = {
    "GRAPHMEM_NEO4J_HEAP": "512m",
    "GRAPHMEM_NEO4J_PAGE_CACHE": "64m",
    "JDK_JAVA_OPTIONS": "-XX:+AlwaysPreTouch",
}
"""Java has its whole heap from the beginning, and a page cache that is soon full: what Neo4j grows by is
beyond them."""

LEAST_SECONDS = 60.0
"""The time over which growth is measured at least."""

MOST_GROWTH = 0.5
"""The limit of the growth of a process that has settled, in percent of its memory a minute."""

BEGIN_SECONDS = 300.0
"""The time in which the first write must be acknowledged."""

TELL_SECONDS = 15.0
"""The interval at which progress is printed."""

FAULTS: dict[str, Callable[[Service], Awaitable[float]]] = {
    "Neo4j is killed": kill_neo4j,
    "Neo4j is suspended for 20 s": suspend_neo4j,
    "200 callers hang up": hang_up,
    "the service is killed and started": kill_service,
}
SURVIVED = ("Neo4j is suspended for 20 s", "200 callers hang up")
"""The faults of the second half."""


class Fault(Struct, frozen=True):
    """A fault: when it began and was over, and the seconds from the database's return until readiness."""

    name: str
    began: float
    over: float
    back_seconds: float

    @property
    def lasted(self) -> float:
        """The seconds from its beginning until the service was ready."""
        return self.over - self.began


class Size(Struct, frozen=True):
    """The memory of a process at a moment, in MB."""

    process: str
    pid: int
    at: float
    mb: float


class Soak:
    """A run: what its callers were answered, the faults that were done, and the memory of both processes."""

    def __init__(self, service: Service, *, callers: int, tell: Callable[[str], None]) -> None:
        self.service, self.callers, self.tell = service, callers, tell
        self.ledgers: list[Ledger] = []
        self.faults: list[Fault] = []
        self.sizes: list[Size] = []
        self.balance: Balance | None = None
        self.failed: str | None = None
        self.load = os.getloadavg()[0]
        self.began = self.ended = time.monotonic()

    async def run(self, *, seconds: float, every: float) -> None:
        """Have the callers work, with a fault every so often, and compare; note what fails."""
        beside = [asyncio.create_task(work) for work in (self._watch(), self._tell())]
        with self._noting():
            async with calling(self.service.url, self.callers) as self.ledgers:
                await self._begin()
                until = self.began + seconds
                await self._do_faults(until, every)
                await asyncio.sleep(max(0.0, until - time.monotonic()))
                self.tell("the callers end")
        self.ended = time.monotonic()
        for one in beside:
            one.cancel()
        self.tell("comparing the store with what was acknowledged")
        with self._noting():
            async with self.service.graph() as graph:
                self.balance = await compared(graph, self.ledgers)

    async def _begin(self) -> None:
        """Begin with the first acknowledged writes: a database that has just started is slow."""

        async def has_written() -> bool:
            return any(one.acknowledged for one in self.ledgers)

        async with asyncio.timeout(BEGIN_SECONDS):
            self.began = await when(has_written)
        self.tell("the callers work")

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        """Note an error, or that a signal ends the run, and go on."""
        try:
            yield
        except (Exception, asyncio.CancelledError) as problem:
            found = f"{type(problem).__name__}: {problem}".rstrip(": ")
            self.failed = self.failed or found
            self.tell(f"failed: {found}")

    async def _do_faults(self, until: float, every: float) -> None:
        """Do one fault after the other, the next `every` seconds after the beginning of the last."""
        first = self.began + every / 2
        places = range(max(1, int((until - self.began) / every)))
        for place in places:
            await asyncio.sleep(max(0.0, first + place * every - time.monotonic()))
            names = SURVIVED if place >= len(places) / 2 else tuple(FAULTS)
            name, began = names[place % len(names)], time.monotonic()
            self.tell(name)
            back = await FAULTS[name](self.service)
            self.faults.append(Fault(name, began, time.monotonic(), back))
            self.tell(f"over after {self.faults[-1].lasted:.1f} s")

    async def _watch(self) -> None:
        """Note the memory of both processes every two seconds, until cancelled."""
        while True:
            await asyncio.sleep(2)
            with contextlib.suppress(psutil.Error, AssertionError):
                for name, process in (
                    ("Neo4j", self.service.neo4j()),
                    ("service", psutil.Process(self.service.pid)),
                ):
                    age = time.time() - process.create_time()
                    self.sizes.append(Size(name, process.pid, age, megabytes(process)))

    async def _tell(self) -> None:
        """Print how far it is every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(TELL_SECONDS)
            codes = Counter(o.code for one in self.ledgers for o in one.outcomes)
            newest = {one.process: f"{one.mb:,.0f} MB" for one in self.sizes[-2:]}
            self.tell(
                f"{sum(one.acknowledged for one in self.ledgers):,} writes acknowledged; answers: "
                f"{dict(sorted(codes.items()))}; {newest}"
            )

    def report(self) -> dict[str, Any]:
        """Return what was measured."""
        windows = [(one.began, one.over + BACK_SECONDS) for one in self.faults]
        outcomes = [one for ledger in self.ledgers for one in ledger.outcomes]
        report = {
            "minutes": round((self.ended - self.began) / 60, 1),
            "callers": self.callers,
            "machine": f"{os.cpu_count()} processors, {platform.machine()}",
            "load": {"before": round(self.load, 1), "after": round(os.getloadavg()[0], 1)},
            "requests": len(outcomes),
            "by kind": dict(sorted(Counter(one.kind for one in outcomes).items())),
            "slowest_s": round(max((o.given - o.asked for o in outcomes), default=0), 1),
            "faults": [
                {
                    "name": one.name,
                    "at_s": round(one.began - self.began),
                    "lasted_s": round(one.lasted, 1),
                    "back_s": round(one.back_seconds, 1),
                }
                for one in self.faults
            ],
            "failures by seconds after a fault began": by_second(self.ledgers, self.faults),
            "unexplained": dict(unexplained(self.ledgers, windows)),
            "stored": structs.asdict(self.balance) if self.balance else None,
            "memory": memory(self.sizes),
            "failed": self.failed,
        }
        return report | {"passed": passed(report)}


def passed(report: dict[str, Any]) -> bool:
    """Tell whether a report keeps the targets; the memory counts only where a process lived long enough."""
    stored, grown = report["stored"], [one["% a minute"] for one in report["memory"].values()]
    return (
        report["failed"] is None
        and not report["unexplained"]
        and stored["acknowledged"] > 0
        and not any(stored[name] for name in ("lost", "doubled", "half", "unbalanced"))
        and all(one["back_s"] <= BACK_SECONDS for one in report["faults"] if not is_start(one))
        and all(one is None or one <= MOST_GROWTH for one in grown)
    )


def megabytes(process: psutil.Process) -> float:
    """Return the memory of a process; without the files that it maps, where the system tells them apart."""
    sizes = process.memory_info()
    return float(sizes.rss - getattr(sizes, "shared", 0)) / 1e6


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
            "% a minute": growth(longest),
            "over_minutes": round((longest[-1].at - longest[0].at) / 60, 1) if longest else 0,
        }
    return found


def growth(life: Sequence[Size]) -> float | None:
    """Return the slope of a life's memory, in percent a minute; None if the life was too short."""
    if len(life) < 2 or life[-1].at - life[0].at < LEAST_SECONDS:
        return None
    line = statistics.linear_regression([one.at / 60 for one in life], [one.mb for one in life])
    return round(100 * line.slope / statistics.mean(one.mb for one in life), 2)


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
    parser.add_argument("--seconds", type=float, default=1_200.0)
    parser.add_argument(
        "--every", type=float, default=FAULT_SECONDS, help="seconds from fault to fault"
    )
    parser.add_argument("--callers", type=int, default=CALLERS)
    given = parser.parse_args()
    began = time.monotonic()

    def tell(what: str) -> None:
        print(f"{time.monotonic() - began:6.0f} s  {what}", flush=True)

    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    with TemporaryDirectory(prefix="graphmem-soak-") as folder:
        tell("the service starts")
        async with serving(Path(folder) / "data", GIVEN) as service:
            await service.back()
            soak = Soak(service, callers=given.callers, tell=tell)
            await soak.run(seconds=given.seconds, every=given.every)
            report = soak.report()
            write(report, given.out)
            tell("the service ends")
    print(shown(report))
    return 0 if report["passed"] else 1


def shown(report: dict[str, Any]) -> str:
    """Return the report as lines."""
    lines = [
        f"{report['requests']:,} requests of {report['callers']} callers in {report['minutes']} minutes, "
        f"load {report['load']['before']} to {report['load']['after']}; "
        f"the slowest took {report['slowest_s']} s",
        *(
            f"{one['at_s']:>5} s  {one['name']}: over after {one['lasted_s']} s, ready {one['back_s']} s "
            "after the database"
            for one in report["faults"]
        ),
        "failures by the seconds after the beginning of a fault:",
        *(
            f"  {name:>11}  " + ", ".join(f"{count} x {code}" for code, count in codes.items())
            for name, codes in report["failures by seconds after a fault began"].items()
        ),
        f"unexplained: {report['unexplained'] or 'none'}",
        f"stored: {report['stored'] or 'not compared'}",
        *(
            f"{name}: at most {one['most_mb']:,} MB, growing by {one['% a minute']} % a minute over "
            f"{one['over_minutes']} minutes"
            for name, one in report["memory"].items()
        ),
        "passed" if report["passed"] else f"FAILED {report['failed'] or ''}",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
