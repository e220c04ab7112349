"""The server: its version, its settings, and the size of its memory compared with the stored data."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

import psutil
from msgspec import Struct

from graphmem.config import Settings, size
from graphmem.doctor.findings import Finding, note, ok, problem, refused, warning
from graphmem.errors import (
    GraphmemError,
    SchemaError,
    SettingError,
    StoreDamaged,
    Unavailable,
)
from graphmem.graph.driver import Graph, connect
from graphmem.graph.inspection import (
    ANSWERS,
    COUNTED_MEMORIES,
    SERVER_SETTINGS,
    SERVER_TIME,
    reaches_addresses,
)
from graphmem.graph.schema import check_server
from graphmem.graph.statements import STATEMENTS_AT_WORK
from graphmem.jobs.outbox import LATE_JOBS, count_open_jobs
from graphmem.model.validation import counted
from graphmem.places import DEFAULT, Address, connected, read_placement

AUTH = "dbms.security.auth_enabled"
FILES = "dbms.security.allow_csv_import_from_file_urls"
BLOCKLIST = "internal.dbms.cypher_ip_blocklist"
LANGUAGE = "db.query.default_language"
TIMEOUT = "db.transaction.timeout"
MEMORY = "db.memory.transaction.max"
QUERY_LOG = "db.logs.query.enabled"
PARAMETER_LOG = "db.logs.query.parameter_logging_enabled"
HEAP = "server.memory.heap.max_size"
PAGE_CACHE = "server.memory.pagecache.size"
NAMES = [AUTH, FILES, LANGUAGE, TIMEOUT, MEMORY, QUERY_LOG, PARAMETER_LOG, HEAP, PAGE_CACHE]

# One million memories, a store of 6.3 GB, were served well with a heap of 2 GB and a page cache of 1 GB.
HEAP_BYTES, HEAP_BYTES_PER_MEMORY = 500_000_000, 1_500
PAGE_CACHE_BYTES, PAGE_CACHE_BYTES_PER_MEMORY = 60_000_000, 1_000


class Weakness(Struct, frozen=True):
    """A setting with unsafe values."""

    name: str
    bad: frozenset[str]
    severe: bool
    what: str
    value: str


WEAKNESSES = (
    Weakness(AUTH, frozenset({"false"}), True, "whoever reaches the server reads it all", "true"),
    Weakness(
        FILES, frozenset({"true"}), False, "a query can read files of the server's machine", "false"
    ),
    Weakness(
        LANGUAGE,
        frozenset({"CYPHER_5"}),
        False,
        "a query that names no language is not understood as Cypher 25",
        "CYPHER_25",
    ),
    Weakness(
        TIMEOUT,
        frozenset({"0s", "0"}),
        False,
        "one runaway query takes the server from everybody",
        "120s",
    ),
    Weakness(
        MEMORY,
        frozenset({"0B", "0", "0.00B"}),
        False,
        "one query that collects everything takes all memory from the others",
        "256m",
    ),
)


STORE = "store"
"""The subject of the finding about a damaged store."""

LATE = timedelta(minutes=10)
"""The time after which a job that is due should have been begun."""

APART_SECONDS = 30.0
"""The difference of two clocks that is told."""


async def answers(graph: Graph, *, private: bool) -> list[Finding]:
    """Check whether the database can read at all; without that nothing else can be looked at."""
    try:
        await graph.rows(ANSWERS)
    except StoreDamaged as damaged:
        return [damage(damaged)]
    except Unavailable as failed:
        remedy = (
            "a running `graphmem serve` restarts the private Neo4j within half a minute; otherwise `graphmem "
            "stop`, look for room on its disk, and start again; if it stays, `graphmem restore` brings a "
            "backup back"
            if private
            else "look at Neo4j's log and at the room on its disk, and restart it"
        )
        return [problem("database", f"it takes connections, and {failed}", remedy)]
    return []


async def jobs(graph: Graph, now: datetime) -> list[Finding]:
    """Check whether background work was given up, or is done by nobody."""
    found = []
    counts = {row.state: row.jobs for row in await count_open_jobs(graph)}
    if dead := counts.get("dead", 0):
        found.append(
            warning(
                "jobs",
                f"{counted(dead, 'job')} of background work given up after several tries",
                "GET /api/v0/jobs?state=dead shows a client's with the kind of error; the log of that time "
                "has more",
            )
        )
    [late] = await graph.rows(LATE_JOBS, before=now - LATE)
    if late.first is not None:
        minutes = (now - late.first) // timedelta(minutes=1)
        found.append(
            warning(
                "jobs",
                f"{counted(late.jobs, 'job')} due for up to {minutes:,} minutes, which nobody does",
                "let `graphmem serve` run with GRAPHMEM_JOBS=on; if it runs, look at its log",
            )
        )
    return found or [ok("jobs", "none was given up, none is late")]


async def clock(graph: Graph, now: Callable[[], datetime]) -> list[Finding]:
    """Compare this machine's clock with the server's."""
    before = now()
    [shown] = await graph.rows(SERVER_TIME)
    after = now()
    apart = max((before - shown.now).total_seconds(), (shown.now - after).total_seconds())
    if apart < APART_SECONDS:
        return []
    ahead = "behind" if before > shown.now else "ahead of"
    return [
        warning(
            "clock",
            f"the server's clock is {apart:,.0f} s {ahead} this machine's",
            "let both follow the same time (NTP): runs, contexts and leases end by the clocks of services",
        )
    ]


async def version(graph: Graph) -> list[Finding]:
    """Check whether the server is new enough."""
    try:
        return [ok("server", f"Neo4j {await check_server(graph)}")]
    except SchemaError as error:
        return [refused("server", error)]


async def settings(graph: Graph) -> list[Finding]:
    """Check the settings that the private server always has, and another server may lack."""
    shown = {row.name: row.value or "" for row in await graph.rows(SERVER_SETTINGS, names=NAMES)}
    found = list(weak(shown))
    if await reaches_addresses(graph):
        what = "LOAD CSV can reach the network from the server's machine"
        found.append(warning("settings", what, f"set {BLOCKLIST}=0.0.0.0/0,::/0"))
    return found or [
        ok("settings", "queries read neither files nor addresses; memories are not logged")
    ]


def damage(error: StoreDamaged) -> Finding:
    """Return the finding about a damaged store."""
    what, _, remedy = str(error).partition(": ")
    return problem(STORE, what, remedy)


def weak(shown: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the weaknesses of the server's settings."""
    for one in WEAKNESSES:
        if shown.get(one.name) in one.bad:
            make = problem if one.severe else warning
            what = f"{one.name} is {shown[one.name]}: {one.what}"
            yield make("settings", what, f"set {one.name}={one.value}")
    if shown.get(QUERY_LOG, "OFF") != "OFF" and shown.get(PARAMETER_LOG, "true") == "true":
        yield warning(
            "settings",
            "the server logs queries with their parameters, and those are memories",
            f"set {QUERY_LOG}=OFF, or {PARAMETER_LOG}=false",
        )


async def statements(graph: Graph, *, private: bool) -> list[Finding]:
    """Check whether the server still runs operators' statements that were cut off and do not end."""
    lost = [one for one in await graph.rows(STATEMENTS_AT_WORK) if one.is_cut_off]
    if not lost:
        return [ok("statements", "the server works on no statement that was cut off")]
    longest = max(one.seconds for one in lost)
    what = (
        f"{counted(len(lost), 'statement')} of operators that nobody waits for, since {longest:.0f} s: each "
        "takes a processor, and the server cannot interrupt it"
    )
    if private:
        remedy = (
            "wait: a running `graphmem serve` restarts the private Neo4j within half a minute, or within ten "
            "minutes if it has just restarted it; or end every graphmem process"
        )
    else:
        remedy = (
            "restart Neo4j, since TERMINATE TRANSACTION does not end it; GET /cypher/audit marks it with "
            "still_running"
        )
    return [warning("statements", what, remedy)]


async def fits(graph: Graph, pid: int | None = None) -> list[Finding]:
    """Check whether heap and page cache are large enough for the stored memories.

    `pid` is the private server's process: only its command line shows the size of the heap.
    """
    shown = {row.name: row.value or "" for row in await graph.rows(SERVER_SETTINGS, names=NAMES)}
    [row] = await graph.rows(COUNTED_MEMORIES)
    heap = _heap_of(pid) if pid else shown.get(HEAP, "")
    return list(too_small(heap, shown.get(PAGE_CACHE, ""), row.memories))


def too_small(heap: str, page_cache: str, memories: int) -> Iterator[Finding]:
    """Yield a finding for each of the two sizes, for this number of memories."""
    for name, variable, shown, needed in (
        ("heap", HEAP, heap, HEAP_BYTES + HEAP_BYTES_PER_MEMORY * memories),
        (
            "page cache",
            PAGE_CACHE,
            page_cache,
            PAGE_CACHE_BYTES + PAGE_CACHE_BYTES_PER_MEMORY * memories,
        ),
    ):
        if not shown:
            yield note(
                "size", f"the server does not say how large its {name} is", f"set {variable}"
            )
        elif size(shown) < needed:
            yield warning(
                "size",
                f"a {name} of {shown} is small for {memories:,} memories",
                f"raise it to {-(-needed // 2**20):,}m: {variable}, or "
                f"GRAPHMEM_NEO4J_{name.upper().replace(' ', '_')} for the private server",
            )
        else:
            yield ok("size", f"a {name} of {shown} is enough for {memories:,} memories")


def _heap_of(pid: int) -> str:
    try:
        flags = psutil.Process(pid).cmdline()
    except psutil.Error:
        return ""
    return next((flag.removeprefix("-Xmx") for flag in flags if flag.startswith("-Xmx")), "")


PLACE_SECONDS = 15.0
"""The time in which the server of a place must answer."""


async def places(settings: Settings) -> list[Finding]:
    """Check the places file: each place answers, and each client's place is described."""
    if settings.places_file is None:
        return []
    try:
        placement = read_placement(settings.places_file)
    except SettingError as error:
        return [refused("places", error)]
    known = {DEFAULT, *placement.places}
    unknown = sorted({one.place for one in placement.clients} - known)
    found = [
        problem(
            "places",
            f"clients are put into the place {name!r}, which the file does not describe",
            f"add [places.{name}], or name another place",
        )
        for name in unknown
    ]
    looks = (_place(settings, name, one) for name, one in placement.places.items())
    return found + await asyncio.gather(*looks)


async def _place(settings: Settings, name: str, address: Address) -> Finding:
    remedy = f"start its Neo4j or mend [places.{name}]; `graphmem doctor --place {name}` says more"
    try:
        there = connected(settings, name, address)
        async with asyncio.timeout(PLACE_SECONDS):
            graph = await connect(
                address.uri, there.neo4j_user, there.neo4j_password, there.neo4j_database
            )
            await graph.close()
    except (GraphmemError, TimeoutError) as error:
        reason = str(error) if isinstance(error, SettingError) else "no Neo4j lets graphmem in"
        return problem("places", f"the place {name!r} is away: {reason}", remedy)
    return ok("places", f"the place {name!r} answers")
