"""A running graphmem: what its settings open."""

import asyncio
import re
from itertools import pairwise
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

import graphmem
from graphmem import config, runtime as watching
from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.embedding import Embedder
from graphmem.errors import SettingError, StoreUnreadable
from graphmem.graph import inspection
from graphmem.graph.installation import Calibration
from graphmem.retrieval.understanding import Vocabulary
from graphmem.runtime import Runtime, Watch, _exchange, running
from graphmem.server.private import PrivateServer
from graphmem.serving import Serving
from graphmem.tokens import TokenCounter
from tests.fake_models import FakeModel
from tests.scripted import ScriptedGraph


@pytest.mark.parametrize(("record", "kept"), [("on", 1), ("off", 0)])
async def test_reads_are_recorded_unless_it_is_off(
    record: str, kept: int, memory: Graphmem, neo4j_settings: Settings
) -> None:
    async with running(replace(neo4j_settings, record=record)) as started:
        await Graphmem(started, memory.client_id).recall("Where is the ferry?")
    rows = await memory.runtime.graph.execute(
        "MATCH (read:Access {client_id: $client}) RETURN count(read) AS reads",
        client=memory.client_id,
    )
    assert rows[0]["reads"] == kept


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"embedding_model": "/nowhere/model"}, "GRAPHMEM_EMBEDDING_MODEL: there is no folder"),
        ({"embedding_model": "no-such-model"}, "GRAPHMEM_EMBEDDING_MODEL: .*fastembed knows no"),
        ({"embedding_model": "http://x"}, "GRAPHMEM_EMBEDDING_MODEL: .*does not say which model"),
        ({"reranker": "no-such-encoder"}, "GRAPHMEM_RERANKER: .*fastembed knows no"),
        ({"reranker": "./nowhere"}, "GRAPHMEM_RERANKER: there is no folder"),
    ],
)
async def test_a_model_that_cannot_be_is_told_before_a_database_is_started(
    given: dict[str, str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "database", lambda *_: pytest.fail("it started"))
    with pytest.raises(SettingError, match=told):
        async with running(config.load({}, data_dir=tmp_path, **given)):
            pass


async def test_a_request_keeps_the_model_that_it_began_with() -> None:
    """Else a vector of the former model could meet the index of the next."""
    first = Serving(ScriptedGraph({}), Embedder(FakeModel("fake-384-plain")), Calibration(0.4, 0.7))
    second = Serving(
        ScriptedGraph({}), Embedder(FakeModel("fake-256-plain")), Calibration(0.5, 0.8)
    )
    runtime = Runtime(
        config.load({}, record="off"),
        first.graph,
        first.embedder,
        TokenCounter(),
        Vocabulary(first.graph),
        first.calibration,
    )
    before = runtime.context("lea")

    _exchange(runtime, second)
    after = runtime.context("lea")

    for context, serving in ((before, first), (after, second)):
        assert context.graph is serving.graph
        assert context.embedder is serving.embedder
        assert context.calibration is serving.calibration
        await serving.embedder.close()


class Unstartable:
    """A private server that cannot be started, until it can."""

    uri, user, password = "bolt://127.0.0.1:1", "neo4j", ""

    def __init__(self, problem: Exception | None = None) -> None:
        self.problem = problem
        self.looks: list[float] = []

    async def ensure(self) -> bool:
        self.looks.append(asyncio.get_running_loop().time())
        if self.problem is not None:
            raise self.problem
        return False


async def test_a_server_that_cannot_be_started_is_tried_less_often_and_its_damage_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(watching, "WATCH_SECONDS", 0.05)
    monkeypatch.setattr(watching, "MOST_PAUSE_SECONDS", 0.4)
    server, told = Unstartable(StoreUnreadable("Neo4j cannot open the store")), []
    graph = ScriptedGraph(
        {"graph/statements_at_work": [], "graph/answers": [inspection.Answered(1)]}
    )
    monkeypatch.setattr(graph, "refuse_writes", lambda full: None)
    monkeypatch.setattr(graph, "impatient", lambda: graph)
    monkeypatch.setattr(graph, "report_damage", lambda one: told.append(one and one.code))
    watch = Watch(cast(PrivateServer, server), graph, config.load({}, data_dir=tmp_path))
    watching_task = asyncio.create_task(watch.run())
    async with asyncio.timeout(10):
        while len(server.looks) < 6:
            await asyncio.sleep(0.01)
        assert set(told) == {"store_damaged"}
        server.problem = None
        while None not in told:
            await asyncio.sleep(0.01)
    watching_task.cancel()

    gaps = [later - earlier for earlier, later in pairwise(server.looks)]
    assert gaps[0] < gaps[3]


class Joined(Unstartable):
    """A private server that another process has started anew at another port."""

    async def ensure(self) -> bool:
        self.uri = "bolt://127.0.0.1:2"
        return False


async def test_a_server_that_another_process_started_anew_is_followed_and_not_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    graph, found = ScriptedGraph({}), asyncio.Event()

    async def reconnect(uri: str, user: str, password: str) -> None:
        assert uri == "bolt://127.0.0.1:2"
        found.set()

    monkeypatch.setattr(watching, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(graph, "refuse_writes", lambda full: None)
    monkeypatch.setattr(graph, "report_damage", lambda one: None)
    monkeypatch.setattr(graph, "reconnect", reconnect)
    monkeypatch.setattr(watching, "count_restart", lambda _: pytest.fail("it was counted"))
    caplog.set_level("INFO", "graphmem.runtime")
    settings = config.load({}, data_dir=tmp_path)
    watching_task = asyncio.create_task(Watch(cast(PrivateServer, Joined()), graph, settings).run())
    async with asyncio.timeout(10):
        await found.wait()
    watching_task.cancel()
    assert "another process has started the private Neo4j anew" in caplog.messages
    assert graph.asked == []


async def test_a_data_folder_that_is_gone_is_told_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(watching, "WATCH_SECONDS", 0.01)
    server, told = Unstartable(FileNotFoundError("no such folder")), []
    graph = ScriptedGraph({})
    monkeypatch.setattr(graph, "refuse_writes", lambda full: None)
    monkeypatch.setattr(graph, "report_damage", lambda one: told.append(str(one)))
    settings = config.load({}, data_dir=tmp_path / "gone")
    watching_task = asyncio.create_task(Watch(cast(PrivateServer, server), graph, settings).run())
    async with asyncio.timeout(10):
        while not told:
            await asyncio.sleep(0.01)
    watching_task.cancel()
    assert "its data folder is gone" in told[0]
    assert "graphmem restore" in told[0]


def test_requests_take_the_model_from_their_context_only() -> None:
    """The runtime's own may be exchanged between two lines."""
    package = Path(graphmem.__file__).parent
    known = {"runtime.py", "serving.py", "background.py", "metrics.py"}
    taken = {
        path.name
        for path in [*package.rglob("*.py"), *(package.parent / "api").rglob("*.py")]
        if re.search(r"runtime\.(embedder|calibration)\b", path.read_text(encoding="utf-8"))
    }
    assert taken <= known
