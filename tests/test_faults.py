"""Faults of a real service and its Neo4j: what callers see, what holds, and that it is ready by itself.

`make faults` writes the table of docs/guides/operate.md from these tests; otherwise the longest are skipped.
"""

import asyncio
import math
import shutil
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import psutil
import pytest

from bench.callers import PASSING, Balance, Ledger, calling, compared, unexplained
from bench.service import Service, hang_up, kill_neo4j, kill_service, serving
from graphmem import config
from graphmem.artifacts.maven import read_list, sha256_of
from graphmem.config import Settings
from graphmem.server.folder import home
from tests import class_cache, faulted
from tests.small_disk import fill, leave

pytestmark = pytest.mark.usefixtures("own_server", "killed_processes")

thorough = pytest.mark.skipif(not faulted.OUT, reason="takes a minute more: `make faults` does it")

CALLERS = 8 if faulted.OUT else 4
DEADLINE = Settings().request_seconds
"""The deadline of a request, in seconds."""

ALWAYS = [(0.0, math.inf)]
"""A busy machine reaches deadlines without a fault, too: only the kind of a failure counts here."""

LATE_SECONDS = 30
"""The time beyond a deadline in which a busy machine answers; only a hang takes longer."""

PATIENCE_SECONDS = 900
"""The time in which something must happen also on a machine that has other things to do."""

SOME = 10
"""The writes that are acknowledged before a fault, and after it."""

SMALL = {
    "GRAPHMEM_NEO4J_HEAP": "384m",
    "GRAPHMEM_NEO4J_PAGE_CACHE": "64m",
    "GRAPHMEM_NEO4J_START_SECONDS": "500",
}
if faulted.OUT:
    # The times of the table are those of a user's Neo4j, for which no classes are kept.
    SMALL["JDK_JAVA_OPTIONS"] = class_cache.OPTIONS
else:
    SMALL["GRAPHMEM_WARM_SECONDS"] = "0"

STORE = ("neo4j", "data", "databases", "neo4j")


@pytest.fixture(scope="module")
async def shared(
    tmp_path_factory: pytest.TempPathFactory, own_server: None
) -> AsyncIterator[Service]:
    """A service with a small Neo4j, which all faults are done to, one after the other."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "sitecustomize.py").write_text(SITE)
    (folder / CLOCK).write_text("0")
    given = SMALL | {"PYTHONPATH": str(folder), "TEST_CLOCK": str(folder / CLOCK)}
    if not faulted.OUT:
        given["TEST_SILENT"] = "15"
    service = Service(folder / "data", given)
    yield service
    await service.close()


CLOCK = "clock"
"""The file with the seconds by which the clock of the service is ahead."""

SITE = """
import os
import graphmem.model.times as times

def shifted():
    import os
    from datetime import timedelta
    from pathlib import Path
    ahead = timedelta(seconds=float(Path(os.environ["TEST_CLOCK"]).read_text()))
    return datetime.now(UTC) + ahead

# Whoever has imported the function has it too.
times.present.__code__ = shifted.__code__

if "TEST_SILENT" in os.environ:
    import graphmem.graph.inspection as inspection
    inspection.SILENT_SECONDS = float(os.environ["TEST_SILENT"])
"""
"""The service's clock is that of a file; without a report, a database that hangs is noticed sooner."""


@pytest.fixture
async def service(shared: Service) -> Service:
    """That service, which runs and is ready, whatever the test before has left."""
    if not shared.runs:
        await shared.start()
    await shared.back()
    return shared


async def run(service: Service, *arguments: str) -> tuple[int, str]:
    """Run a command of graphmem on the service's data; return its exit code, and all that it printed."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "graphmem", *arguments),
        env=service.environment(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
    return process.returncode or 0, said.decode()


async def work(ledgers: Sequence[Ledger]) -> None:
    """Wait until some more writes are acknowledged."""
    before = sum(one.acknowledged for one in ledgers)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while sum(one.acknowledged for one in ledgers) < before + SOME:
            await asyncio.sleep(0.1)


async def check(service: Service, ledgers: Sequence[Ledger]) -> Balance:
    """Compare the graph with what was acknowledged, and return what was found."""
    async with service.graph() as graph:
        balance = await compared(graph, ledgers)
    assert balance.acknowledged
    assert balance.faults == 0, balance
    return balance


async def settled(
    fault: str,
    service: Service,
    ledgers: Sequence[Ledger],
    *,
    since: float,
    over: str,
    back_seconds: float | None = None,
) -> None:
    """Check what callers saw of a fault, and the graph, and note both."""
    assert not unexplained(ledgers, ALWAYS)
    faulted.note(
        fault,
        seen=faulted.seen(ledgers, since=since),
        stored=await check(service, ledgers),
        over=over,
        back_seconds=back_seconds,
    )


async def test_a_killed_neo4j_is_started_again(service: Service) -> None:
    async with calling(service.url, CALLERS) as ledgers:
        await work(ledgers)
        began = time.monotonic()
        back = await kill_neo4j(service)
        await work(ledgers)
    await settled(
        "Neo4j is killed",
        service,
        ledgers,
        since=began,
        over="started again by itself",
        back_seconds=back,
    )


async def test_a_hanging_neo4j_holds_no_request_beyond_its_deadline_and_is_restarted(
    service: Service,
) -> None:
    neo4j = service.neo4j()
    async with calling(service.url, CALLERS) as ledgers:
        await work(ledgers)
        began = time.monotonic()
        neo4j.suspend()
        await service.restarted(neo4j.pid)
        back = await service.back()
        over = time.monotonic()
        await work(ledgers)
    slow = [
        o for one in ledgers for o in one.outcomes if o.given - o.asked > DEADLINE + LATE_SECONDS
    ]
    assert not slow
    assert any(o.code == "503" for one in ledgers for o in one.outcomes)
    await settled(
        "Neo4j hangs (SIGSTOP)",
        service,
        ledgers,
        since=began,
        over=f"restarted by itself; ready {over - began:.0f} s after it began",
        back_seconds=back,
    )


@pytest.mark.skipif(
    not hasattr(psutil.Process, "rlimit"), reason="this system has no limits for another process"
)
async def test_a_neo4j_that_lives_and_answers_nothing_but_failures_is_restarted(
    service: Service,
) -> None:
    neo4j = service.neo4j()
    async with calling(service.url, CALLERS) as ledgers:
        await work(ledgers)
        began = time.monotonic()
        # It cannot write a byte more: its database panics at the next commit, the process lives on.
        neo4j.rlimit(psutil.RLIMIT_FSIZE, (1, 1))
        await service.restarted(neo4j.pid)
        back = await service.back()
        over = time.monotonic()
        await work(ledgers)
    assert any(o.code == "503" for one in ledgers for o in one.outcomes)
    await settled(
        "Neo4j's database panics, its process lives (it can write no file)",
        service,
        ledgers,
        since=began,
        over=f"restarted by itself; ready {over - began:.0f} s after it began",
        back_seconds=back,
    )


async def test_a_killed_service_goes_on_with_its_neo4j(service: Service) -> None:
    async with calling(service.url, CALLERS) as ledgers:
        await work(ledgers)
        before, began = service.record().pid, time.monotonic()
        lasted = await kill_service(service)
        await work(ledgers)
    assert service.record().pid == before
    await settled(
        "the service is killed and started",
        service,
        ledgers,
        since=began,
        over=f"Neo4j goes on; ready {lasted:.0f} s after the kill",
    )


async def test_callers_that_hang_up_disturb_nobody(service: Service) -> None:
    async with calling(service.url, CALLERS) as ledgers:
        began = time.monotonic()
        await hang_up(service, 100)
        await work(ledgers)
    await settled(
        "100 callers hang up at once",
        service,
        ledgers,
        since=began,
        over="at once",
    )


async def test_a_signal_in_overload_ends_within_the_grace(service: Service) -> None:
    async with calling(service.url, CALLERS) as ledgers:
        began = time.monotonic()
        async with httpx.AsyncClient(
            base_url=service.url, timeout=60, limits=httpx.Limits(max_connections=None)
        ) as http:

            async def ask(number: int) -> str:
                try:
                    answer = await http.post("/api/v0/recall", json={"query": f"Item {number}?"})
                except httpx.TransportError:
                    return "cut"
                return str(answer.status_code)

            asked = [asyncio.create_task(ask(number)) for number in range(150)]
            await asyncio.sleep(1)
            lasted = await service.end()
            codes = await asyncio.gather(*asked)
        assert service.process is not None
        assert service.process.returncode == 0
        assert set(codes) <= {"200", *PASSING}
        await service.start()
        await service.back()
    await settled(
        "SIGTERM while 150 more callers wait",
        service,
        ledgers,
        since=began,
        over=f"ended {lasted:.1f} s after the signal, Neo4j too; then started",
    )


async def test_a_clock_that_is_set_back_breaks_no_order_and_ends_nothing(service: Service) -> None:
    clock = service.data_dir.with_name(CLOCK)
    try:
        async with calling(service.url, CALLERS) as ledgers:
            await work(ledgers)
            began = time.monotonic()
            set_clock(clock, -DAY_SECONDS)
            for _ in range(3):
                await work(ledgers)
    finally:
        set_clock(clock, 0)
    async with service.graph() as graph:
        rows = await graph.execute(SET_BACK, client_id=ledgers[0].client_id)
        assert rows == [{"is_set_back": True}]
        rows = await graph.execute(TIMES, client_id=ledgers[0].client_id)
        assert not rows, rows
    await settled(
        "the clock of the service is set back by a day",
        service,
        ledgers,
        since=began,
        over="nothing ends or is out of order",
    )


def set_clock(clock: Path, ahead: float) -> None:
    """Replace the file of the clock in one step: the service reads it at any time, and never an empty one."""
    written = clock.with_suffix(".new")
    written.write_text(str(ahead))
    written.replace(clock)


DAY_SECONDS = 86_400
SET_BACK = """CYPHER 25
MATCH (one:Memory {client_id: $client_id})
RETURN min(one.created_at) < datetime() - duration('PT12H') AS is_set_back"""
TIMES = """CYPHER 25
MATCH (one:Memory {client_id: $client_id})
OPTIONAL MATCH (one)-[:SUPERSEDES]->(older:Memory {client_id: $client_id})
WITH one, older
WHERE one.invalid_at < one.valid_at OR one.superseded_at < one.created_at
  OR older.superseded_at < older.created_at OR one.created_at <= older.created_at
  OR one.valid_at < older.valid_at
RETURN one.id AS id"""


@thorough
async def test_a_disk_that_is_full_refuses_writes_reads_on_and_needs_nobody_once_there_is_room(
    small_disk: Path, tmp_path: Path
) -> None:
    log = tmp_path / "service.log"
    async with (
        serving(small_disk / "data", SMALL, log=log) as cramped,
        calling(cramped.url, CALLERS) as ledgers,
    ):
        await work(ledgers)
        neo4j, began = cramped.record().pid, time.monotonic()
        # What is written when the last byte is taken makes the database fail: see test_full_disk.py.
        leave(small_disk, Settings().disk_margin_mb // 2)
        await answered(ledgers, "507", {"messages", "facts", "supersede"})
        filler = fill(small_disk)
        for _ in range(3):
            await answered(ledgers, "507", {"messages", "facts", "supersede"})
            await answered(ledgers, "200", {"recall", "search", "contextual"})
        filler.unlink()
        room = time.monotonic()
        await work(ledgers)
        lasted = time.monotonic() - room
        assert not unexplained(ledgers, ALWAYS)
        assert cramped.record().pid == neo4j
        answers = faulted.seen(ledgers, since=began)
        stored = await check(cramped, ledgers)
    assert "free" in log.read_text("utf-8")
    faulted.note(
        "the disk is filled to its last byte",
        seen=answers,
        stored=stored,
        over=f"by itself; {SOME} writes acknowledged within {lasted:.0f} s of room",
    )


async def answered(ledgers: Sequence[Ledger], code: str, kinds: set[str]) -> None:
    """Wait until one more request of these kinds has this answer, asked from now on."""
    began = time.monotonic()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any(
            one.asked >= began and one.code == code and one.kind in kinds
            for ledger in ledgers
            for one in ledger.outcomes
        ):
            await asyncio.sleep(0.1)


@thorough
async def test_a_statement_that_takes_all_of_the_heap_harms_no_other_for_long(
    service: Service,
) -> None:
    # Through the service such a statement is refused or cut off: this is another program's.
    async with service.graph() as graph, calling(service.url, CALLERS) as ledgers:
        await work(ledgers)
        began = time.monotonic()
        outcomes = await asyncio.gather(
            *(graph.impatient().execute(TOO_MUCH) for _ in range(3)), return_exceptions=True
        )
        back = await service.back()
        over = time.monotonic()
        await work(ledgers)
    assert all(isinstance(outcome, Exception) for outcome in outcomes)
    await settled(
        "Neo4j runs out of heap",
        service,
        ledgers,
        since=began,
        over=f"by itself; ready {over - began:.0f} s after it began",
        back_seconds=back,
    )


TOO_MUCH = "CYPHER 25 RETURN size([x IN range(1, 40000000) | toString(x)]) AS number"


@thorough
async def test_a_damaged_jar_of_the_right_size_is_fetched_again(
    tmp_path: Path, cache: Path
) -> None:
    copied = tmp_path / "cache"
    shutil.copytree(cache / "maven", copied / "maven")
    (copied / "models").symlink_to(cache / "models")
    [jar] = (copied / "maven").rglob("neo4j-kernel-2*.jar")
    wanted = next(
        one.sha256 for one in read_list("neo4j") if str(one).startswith("org.neo4j:neo4j-kernel:")
    )
    assert sha256_of(jar) == wanted
    whole = jar.read_bytes()
    middle = len(whole) // 2
    jar.write_bytes(whole[:middle] + bytes(100_000) + whole[middle + 100_000 :])
    with mirror(cache / "maven") as repository:
        given = SMALL | {"GRAPHMEM_CACHE_DIR": str(copied), "GRAPHMEM_MAVEN_REPOSITORY": repository}
        began = time.monotonic()
        async with serving(tmp_path / "data", given) as mended:
            lasted = time.monotonic() - began
            await mended.back()
    assert sha256_of(jar) == wanted
    assert str(jar) in mended.log.read_text("utf-8")
    faulted.note(
        "a jar in the cache is damaged, its size is right",
        seen="nothing: connections wait until it is ready",
        over=f"fetched again by itself; ready {lasted:.0f} s after the start",
    )


@pytest.fixture
def cache() -> Path:
    """The cache of these tests, with all that a start needs."""
    return config.load().cache_dir


@contextmanager
def mirror(folder: Path) -> Iterator[str]:
    """Serve a Maven repository from a folder; yield its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def test_a_damaged_store_is_named_everywhere_and_a_backup_brings_it_back(
    service: Service, tmp_path: Path
) -> None:
    async with calling(service.url, CALLERS) as ledgers:
        await work(ledgers)
    code, said = await run(service, "backup", str(tmp_path / "backup"))
    assert code == 0, said

    # While it runs: Neo4j dies, and cannot open its store again. It was stopped before, since it would
    # mend with its transaction log what it has not written out yet.
    await service.end()
    await service.start()
    await service.back()
    neo4j = service.neo4j()
    neo4j.suspend()
    damage(service, "neostore.propertystore.db")
    neo4j.kill()
    detail, answers = await refused(service)
    assert "restore" in detail
    await service.end()

    # At the start: with nodes that are read as something else, Neo4j opens it.
    code, said = await run(service, "restore", str(tmp_path / "backup"), "--replace")
    assert code == 0, said
    damage(service, "neostore.nodestore.db")
    for command in (("serve", "--port", "0"), ("doctor", "--start")):
        code, said = await run(service, *command)
        assert code == (2 if command[0] == "serve" else 1), said
        assert "unexpected" not in said
        assert "graphmem restore" in said
        assert said.count("\n") < 60

    code, said = await run(service, "restore", str(tmp_path / "backup"), "--replace")
    assert code == 0, said
    await service.start()
    await service.back()
    faulted.note(
        "the store is damaged",
        seen=answers,
        stored=await check(service, ledgers),
        over="with `graphmem restore`, which the answers, `serve` and `doctor` name; the backup was of then",
    )


async def test_no_log_of_all_this_has_a_text_or_a_password(service: Service) -> None:
    logs = [service.log, *home(service.data_dir).joinpath("logs").glob("*.log")]
    password = (service.data_dir / "password").read_text("utf-8").strip()
    for log in logs:
        found = [
            f"{log.name}: {line[:2_000]}"
            for line in log.read_text("utf-8", "replace").splitlines()
            if any(text in line for text in (password, "the pump in hall", "The price of caller"))
        ]
        assert not found


def damage(service: Service, name: str) -> None:
    """Overwrite a file of the store."""
    file = service.data_dir.joinpath(*STORE, name)
    size = file.stat().st_size
    file.write_bytes(b"\xff" * size)


async def refused(service: Service) -> tuple[str, dict[str, Any]]:
    """Ask until an answer says that the store is damaged; return its sentence, and the answers so far."""
    codes, slowest = Counter[str](), 0.0
    async with (
        asyncio.timeout(PATIENCE_SECONDS),
        httpx.AsyncClient(base_url=service.url, timeout=60) as http,
    ):
        while True:
            asked = time.monotonic()
            answer = await http.post("/api/v0/recall", json={"query": "Was the pump checked?"})
            slowest = max(slowest, time.monotonic() - asked)
            shown = answer.json()
            code = shown.get("code", "")
            codes["2xx" if answer.is_success else f"{answer.status_code} `{code}`"] += 1
            assert answer.status_code in {200, 503}, shown
            if code == "store_damaged":
                return shown["detail"], {"answers": dict(codes), "slowest_s": round(slowest, 1)}
            await asyncio.sleep(0.5)
