"""Clients in two real Neo4js: each is served where the file puts it, moves whole, and fails alone."""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from graphmem_api.app import create_app
from msgspec import Struct

from graphmem import config
from graphmem.background import Backgrounds
from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.errors import ClientMoves, PlaceUnavailable, Unavailable
from graphmem.exports.load import load
from graphmem.model.progress import silent
from graphmem.places import at_place
from graphmem.runtime import Runtime, running
from graphmem.server.private import PrivateServer, private_server
from graphmem.warming import warm

TOPICS = ("harbour", "bridge", "orchard", "lighthouse", "archive", "kiln", "ferry", "quarry")
QUESTIONS = [
    f"What did Ada say about the {topic} in year {year}?" for topic in TOPICS for year in (1, 4)
]
SMALL = {"neo4j_heap": "400m", "neo4j_page_cache": "64m"}


class Servers(Struct):
    """Two servers, and the places file that names the second."""

    home: PrivateServer
    other: PrivateServer
    file: Path

    def settings(self, **more: Any) -> Settings:
        """Return the settings of a service on both."""
        home = self.home
        return config.load(
            {},
            neo4j_uri=home.uri,
            neo4j_user=home.user,
            neo4j_password=home.password,
            places_file=self.file,
            **more,
        )

    def put(self, *entries: str) -> None:
        """Write the file anew, with these entries of clients."""
        place = f'[places.other]\nuri = "{self.other.uri}"\npassword_file = "secret"\n'
        (self.file.parent / "secret").write_text(self.other.password, "utf-8")
        clients = "".join(f"\n[[clients]]\n{entry}\n" for entry in entries)
        self.file.write_text(place + clients, "utf-8")


@pytest_asyncio.fixture(scope="module")
async def servers(
    own_server: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Servers]:
    """Two private servers of these tests' own."""
    folder = tmp_path_factory.mktemp("places")
    cache = {name: os.environ.get(name, "") for name in ("GRAPHMEM_CACHE_DIR",)}
    async with AsyncExitStack() as stack:
        home, other = [
            await stack.enter_async_context(
                private_server(config.load(cache, data_dir=folder / name, **SMALL))
            )
            for name in ("home", "other")
        ]
        yield Servers(home, other, folder / "places.toml")


@pytest_asyncio.fixture(scope="module")
async def service(servers: Servers) -> AsyncIterator[Runtime]:
    """A running graphmem on both servers."""
    servers.put()
    async with running(servers.settings(record="off")) as started:
        yield started


async def tell(memory: Graphmem, year: int) -> list[str]:
    """Store a message on each topic; return the ids."""
    told = [
        {
            "role": "user",
            "name": "Ada",
            "content": f"In year {year} the {topic} cost {at + year} crowns.",
        }
        for at, topic in enumerate(TOPICS)
    ]
    return (await memory.remember("talk", told, create=True)).ids


async def answers(memory: Graphmem) -> list[str]:
    """Return what is answered to every question."""
    return [(await memory.recall(question)).context for question in QUESTIONS]


async def stored(settings: Settings, place: str, client_id: str) -> set[str]:
    """Return the ids of a client's memories at a place, as an operator's command sees them."""
    async with running(at_place(with_place(settings, place))) as there:
        memory = Graphmem(there, client_id)
        pages = [page async for page in memory.pages(memory.memories, limit=200)]
    return {one.id for page in pages for one in page.memories}


def with_place(settings: Settings, place: str) -> Settings:
    """Return the settings of a command that names a place."""
    return config.load(
        {},
        neo4j_uri=settings.neo4j_uri,
        neo4j_user=settings.neo4j_user,
        neo4j_password=settings.neo4j_password,
        places_file=settings.places_file,
        place=place,
    )


async def test_a_moved_client_answers_as_before_and_nothing_acknowledged_is_lost(
    servers: Servers, service: Runtime, tmp_path: Path
) -> None:
    memory, stayer = Graphmem(service, "mover"), Graphmem(service, "stayer")
    acknowledged = [id for year in range(4) for id in await tell(memory, year)]
    refused = asyncio.Event()

    async def go_on() -> None:
        for year in range(4, 10_000):
            try:
                acknowledged.extend(await tell(memory, year))
                # No more memories than a leg has candidates: which of those alike it leaves out is chance.
                await asyncio.sleep(0.3)
            except ClientMoves:
                refused.set()
                return

    writing = asyncio.create_task(go_on())
    await asyncio.sleep(1)
    servers.put('id = "mover"\nwrites = "off"')
    await writing
    assert refused.is_set()
    await tell(stayer, 1)
    before = await answers(memory)

    file = tmp_path / "mover.jsonl"
    with file.open("wb") as lines:
        async for part in await memory.export():
            lines.write(part)
    async with running(at_place(with_place(service.settings, "other"))) as there:
        await load(file, there.context("mover"), silent)
    servers.put('id = "mover"\nplace = "other"')

    assert await answers(memory) == before
    assert set(acknowledged) <= await stored(service.settings, "other", "mover")
    new = await tell(memory, 20_000)
    assert set(new) <= await stored(service.settings, "other", "mover")
    assert set(new).isdisjoint(await stored(service.settings, "default", "mover"))
    assert await stored(service.settings, "other", "stayer") == set()
    listed = [one.id for one in (await memory.clients()).clients]
    assert listed.count("mover") == 1
    assert "stayer" in listed


async def test_background_work_is_done_at_each_place_but_not_for_a_client_that_moves(
    servers: Servers, service: Runtime
) -> None:
    servers.put('prefix = "worker-"\nplace = "other"', 'id = "resting"\nwrites = "off"')
    assert service.places is not None
    at_home, there = service.works_for, (await opened(service, "other")).works_for
    assert at_home("anybody")
    assert not at_home("worker-1")
    assert not at_home("resting")
    assert there("worker-1")
    assert not there("anybody")
    workers = Backgrounds(service)
    await workers.start()
    memory = Graphmem(service, "worker-1")
    await tell(memory, 1)
    await memory.consolidate("talk")
    await warm(await opened(service, "other"))
    await workers.end()
    assert len(workers._workers) == 2


async def opened(service: Runtime, place: str) -> Runtime:
    """Return the running graphmem of a place, once it is open."""
    assert service.places is not None
    for _ in range(300):
        with contextlib.suppress(PlaceUnavailable):
            return service.places._runtime(place)
        await asyncio.sleep(0.1)
    raise AssertionError(f"the place {place} does not open")


async def test_an_unknown_place_is_a_sentence_for_its_clients_only(
    servers: Servers, service: Runtime
) -> None:
    servers.put('id = "lost"\nplace = "nowhere"')
    with pytest.raises(PlaceUnavailable, match="'nowhere'"):
        await Graphmem(service, "lost").recall("Where am I?")
    await Graphmem(service, "stayer").recall("What about the kiln?")


async def asked_again(memory: Graphmem) -> None:
    """Ask for some seconds."""
    for _ in range(100):
        await memory.recall("What about the kiln?")
        await asyncio.sleep(0.1)


async def test_with_one_server_killed_the_clients_of_the_other_notice_nothing(
    servers: Servers, service: Runtime
) -> None:
    servers.put('id = "mover"\nplace = "other"')
    await opened(service, "other")
    mover, stayer = Graphmem(service, "mover"), Graphmem(service, "stayer")
    await tell(stayer, 2)
    quiet = await answers(stayer)
    ended = asyncio.Event()

    async def ask_on() -> list[BaseException]:
        seen: list[BaseException] = []
        while not ended.is_set():
            try:
                same = await answers(stayer) == quiet
            except Exception as problem:
                seen.append(problem)
            else:
                seen += [] if same else [AssertionError("another answer than before")]
        return seen

    asking = asyncio.create_task(ask_on())
    os.kill(servers.other.pid, signal.SIGKILL)
    with pytest.raises(Unavailable):
        await asked_again(mover)
    for _ in range(100):
        if service.places and service.places.states()["other"]:
            break
        await asyncio.sleep(0.1)
    with pytest.raises(PlaceUnavailable, match="'other'"):
        await mover.recall("What about the kiln?")
    transport = httpx.ASGITransport(app=create_app(service))  # type: ignore[arg-type]
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        ready = await http.get("/health/ready")
        asked = await http.get("/api/v0/conversations", headers={"x-client-id": "mover"})
        metrics = (await http.get("/metrics")).text
    assert ready.status_code == 200
    assert ready.json()["places"] == {"default": "ready", "other": "away"}
    assert (asked.status_code, asked.json()["code"]) == (503, "place_unavailable")
    assert 'graphmem_place_up{place="other"} 0.0' in metrics
    ended.set()
    assert await asking == []
    await tell(stayer, 3)
    async with running(servers.settings(record="off")) as started:
        await Graphmem(started, "stayer").recall("What about the kiln?")
