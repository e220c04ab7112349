"""Changing the embedding model, on a private Neo4j of this module's own.

The models are those of `tests/fake_models.py`, which need no download; one test changes from the real one.
"""

import asyncio
import itertools
import os
import sys
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from graphmem import config, embedding_api, reembedding, serving
from graphmem.background import WORK, Background
from graphmem.cli.reembed import _cancel, _reembed
from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.doctor import model as doctor_model, schema as doctor_schema
from graphmem.embedding import BATCH_TEXTS, URL_BATCHES, Model, discard
from graphmem.embedding_api import UrlAway
from graphmem.errors import ModelMismatch, SettingError, Unavailable
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.installation import Calibration, Installation, installation
from graphmem.graph.schema import passage_index, vector_index
from graphmem.memories import write as boundary
from graphmem.model.progress import Progress, silent
from graphmem.model.vocabulary import FIRST, KINDS, SECOND
from graphmem.observing.metrics import REEMBEDDED
from graphmem.reembedding import REEMBED, ask, give_up
from graphmem.runtime import Runtime, database, running
from graphmem.server.private import private_server
from graphmem.serving import described
from tests.fake_models import LOADED, load
from tests.stub_embeddings import Misbehaviour, stub_embeddings
from tests.thorough import THOROUGH

PLAIN, KIN, SLOW = "fake-256-plain", "fake-320-kin", "fake-320-kin-slow"
CALIBRATION = Calibration(low=0.25, high=0.75)
CLIENT = "acme"

Start = Callable[[str], Awaitable[Runtime]]


@pytest.fixture(scope="module")
async def own_settings(
    tmp_path_factory: pytest.TempPathFactory, own_server: None
) -> AsyncIterator[Settings]:
    """Settings that name a private Neo4j of this module's own."""
    private = config.load(
        data_dir=tmp_path_factory.mktemp("reembedding") / "data",
        neo4j_heap="384m",
        neo4j_page_cache="32m",
        neo4j_uri=None,
    )
    async with private_server(private) as server:
        yield config.load(
            neo4j_uri=server.uri, neo4j_user=server.user, neo4j_password=server.password
        )


@pytest.fixture
async def graph(own_settings: Settings) -> AsyncIterator[Graph]:
    """A database in which no model was ever used."""
    async with database(own_settings) as graph:
        await graph.execute("MATCH (node) WHERE NOT node:Migration DETACH DELETE node")
        for side in (FIRST, SECOND):
            for index in (side.index, side.passage_index):
                await graph.execute(f"DROP INDEX {index} IF EXISTS")
        if await graph.execute("MATCH (m:Migration {number: 3}) RETURN m.number AS number"):
            await graph.execute(vector_index(FIRST), dimensions=256)
        if await graph.execute("MATCH (m:Migration {number: 16}) RETURN m.number AS number"):
            await graph.execute(passage_index(FIRST), dimensions=256)
        yield graph


@pytest.fixture
async def start(own_settings: Settings, graph: Graph) -> AsyncIterator[Start]:
    """Return what starts a graphmem with a model, as a process of its own has one."""
    async with AsyncExitStack() as stack:

        async def started(model: str) -> Runtime:
            settings = replace(own_settings, embedding_model=model)
            return await stack.enter_async_context(running(settings, load=load))

        yield started


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait less than a production does, in the same order: looking is faster than what waits for it."""
    monkeypatch.setattr(serving, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(reembedding, "ANNOUNCED", timedelta(seconds=1))
    monkeypatch.setattr(reembedding, "LAGGING", timedelta(seconds=2))
    monkeypatch.setattr(reembedding, "BATCH", 16)
    for model in LOADED.values():
        model.seen.clear()


def now() -> datetime:
    return datetime.now(UTC)


async def calibration() -> Calibration:
    return CALIBRATION


async def wanted(graph: Graph, name: str) -> Installation:
    """Ask for a model, as `graphmem reembed` does."""
    settings = config.load({}, embedding_model=name)
    model = described(load(settings, silent), settings)
    return await ask(model, calibration, id=str(uuid.uuid4()), now=now(), graph=graph)


async def stored(graph: Graph) -> Installation:
    found = await installation(graph)
    assert found is not None
    return found


async def until(graph: Graph, *states: str | None, seconds: float = 300) -> Installation:
    """Wait until the change is in one of these states; None is none."""
    async with asyncio.timeout(seconds):
        while True:
            found = await stored(graph)
            if (found.change.state if found.change else None) in states:
                return found
            await asyncio.sleep(0.05)


@asynccontextmanager
async def working(runtime: Runtime) -> AsyncIterator[None]:
    """Have a worker for the length of the block, as `graphmem serve` does."""
    background = Background(runtime, {REEMBED: WORK[REEMBED]})
    background.start()
    try:
        yield
    finally:
        await background.end()


async def changed(runtime: Runtime, name: str) -> Installation:
    """Change the model from beginning to end."""
    await wanted(runtime.graph, name)
    async with working(runtime):
        return await until(runtime.graph, None)


def said_of(id: str, place: int) -> str:
    """Return the text of a message."""
    return f"Note {id} about " + ("a car" if place % 10 == 0 else f"thing{place}")


async def written(memory: Graphmem, number: int, conversation: str = "c") -> list[str]:
    """Write messages that differ, some of them of cars; return their external ids."""
    ids = [f"{conversation}-{place}" for place in range(number)]
    said = [
        {
            "session_id": f"s{place // 20}",
            "role": "user",
            "content": said_of(id, place),
            "external_id": id,
        }
        for place, id in enumerate(ids)
    ]
    await memory.open_conversation(conversation)
    await memory.remember(conversation, said)
    return ids


async def sides(graph: Graph) -> tuple[int, int, int]:
    """Return how many memories there are, and how many have a vector on either side."""
    [row] = await graph.execute(
        "MATCH (m:Memory) RETURN count(m) AS all, count(m.embedding) AS first, "
        "count(m.embedding_2) AS second"
    )
    return row["all"], row["first"], row["second"]


async def vector_indexes(graph: Graph) -> dict[str, int]:
    """Return the dimensions of the indexes of memories, each of which has one of passages beside it."""
    every = await graph.execute("SHOW VECTOR INDEXES YIELD name, options")
    rows = [row for row in every if row["name"].startswith("memory")]
    assert {row["name"].replace("memory", "passage") for row in rows} == {
        row["name"] for row in every if row not in rows
    }
    return {row["name"]: row["options"]["indexConfig"]["vector.dimensions"] for row in rows}


async def nearest(memory: Graphmem, query: str) -> list[str]:
    """Return the external ids of what lies nearest to a question, by the vector index alone."""
    answer = await memory.recall(query, ranking="vector", limit=10)
    assert answer.degraded == []
    return [str(item.external_id) for item in answer.items]


def running_with(runtime: Runtime) -> str:
    return runtime.embedder.model.name


# S4.7 S4.8
async def test_a_store_is_embedded_anew_and_every_process_switches(start: Start, graph: Graph):
    one, two = await start(PLAIN), await start(PLAIN)
    memory, there = Graphmem(one, CLIENT), Graphmem(two, CLIENT)
    rival = Graphmem(one, "rival")
    ids = await written(memory, 60)
    await written(rival, 20)
    assert await nearest(memory, ids[7].replace("-", " ")) != []
    cars = {id for place, id in enumerate(ids) if place % 10 == 0}
    assert set(await nearest(memory, "vehicle")) != cars
    await graph.execute("MATCH (s:Session) SET s.whole_embedding = [1.0], s.whole_model = 'plain'")

    await changed(one, KIN)

    async with asyncio.timeout(300):
        while running_with(two) != KIN:
            await asyncio.sleep(0.05)
    for asked in (memory, there):
        assert set((await nearest(asked, "vehicle"))[: len(cars)]) == cars
    assert await sides(graph) == (80, 0, 80)
    [sessions] = await graph.execute(
        "MATCH (s:Session) RETURN count(*) AS all, count(s.whole_embedding) AS left"
    )
    assert sessions == {"all": 4, "left": 0}
    assert await vector_indexes(graph) == {"memory_embedding_2": 320}
    kept = await stored(graph)
    assert (kept.embedding_model, kept.dimensions, kept.embeddings) == (KIN, 320, ["embedding_2"])
    assert replace(one.calibration, knowledge={}) == CALIBRATION
    assert one.calibration == two.calibration
    assert one.graph.side == two.graph.side == SECOND
    assert one.embedder.beside is two.embedder.beside is None


async def test_the_passages_of_long_memories_are_embedded_anew_too(start: Start, graph: Graph):
    runtime = await start(PLAIN)
    memory = Graphmem(runtime, CLIENT)
    await written(memory, 3)
    told = [f"Note {place} about thing{place}." for place in range(100)]
    long = {"session_id": "s", "role": "user", "content": "\n".join([*told, "A car.", *told])}
    [id] = (await memory.remember("c", [long])).ids

    await changed(runtime, KIN)

    [row] = await graph.execute(
        "MATCH (p:Passage) RETURN count(p) AS all, count(p.embedding) AS first, "
        "count(p.embedding_2) AS second"
    )
    assert row["all"] > 5
    assert (row["first"], row["second"]) == (0, row["all"])
    answer = await memory.recall("vehicle", ranking="vector", max_tokens=100)
    assert [item.excerpt is not None for item in answer.items if item.id == id] == [True]
    assert await sides(graph) == (4, 0, 4)


# S4.15 S4.18 S4.51
async def test_until_the_switch_every_answer_comes_from_the_old_model_whole(start: Start):
    one, two = await start(PLAIN), await start(PLAIN)
    memory = Graphmem(one, CLIENT)
    ids = await written(memory, 150)
    asking = [Graphmem(one, CLIENT), Graphmem(two, CLIENT)]
    answers: list[tuple[str, str, list[str]]] = []
    ended = asyncio.Event()

    async def ask_on(asked: Graphmem) -> None:
        for place in itertools.cycle(range(1, 150, 2)):
            if ended.is_set():
                return
            name = running_with(asked.runtime)
            found = await nearest(asked, said_of(ids[place], place))
            if name == running_with(asked.runtime):
                answers.append((name, ids[place], found))
            await asyncio.sleep(0.01)

    async def asked_often(model: str) -> None:
        while [name for name, _, _ in answers].count(model) <= 40:
            await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as group:
        for asked in asking:
            group.create_task(ask_on(asked))
        await asked_often(PLAIN)
        await wanted(one.graph, SLOW)
        async with working(one):
            await until(one.graph, "embedding")
            began = len(answers)
            await until(one.graph, "switched", "cleaning", None)
            meanwhile = answers[began:]
            await until(one.graph, None)
        await asked_often(SLOW)
        ended.set()
    # Nobody waited for the vectors that were being made.
    assert PLAIN in {name for name, _, _ in meanwhile}
    # Half an index would lack half of those that were asked for.
    wrong = [(name, asked, found) for name, asked, found in answers if found[:1] != [asked]]
    assert wrong == []
    assert {len(found) for _, _, found in answers} == {10}


# S4.34
async def test_what_is_written_while_the_model_changes_is_found_at_once_and_after(
    start: Start, graph: Graph
):
    one, two = await start(PLAIN), await start(PLAIN)
    await written(Graphmem(one, CLIENT), 100)
    ended = asyncio.Event()
    ids: list[str] = []

    async def write_on(runtime: Runtime, place: int) -> None:
        memory, turn = Graphmem(runtime, CLIENT), 0
        while not ended.is_set() or turn < 6:
            word = f"Pebble{place}x{turn}"
            [kept] = await memory.remember_facts(
                [{"fact": f"{word} lies in the garden", "category": "identity"}]
            )
            answer = await memory.recall(word, ranking="vector", limit=3)
            assert kept.id in [item.id for item in answer.items]
            ids.append(kept.id)
            turn += 1

    async with asyncio.TaskGroup() as group:
        for place, runtime in enumerate((one, two)):
            group.create_task(write_on(runtime, place))
        await changed(one, SLOW)
        ended.set()
    total, first, second = await sides(graph)
    assert (total, first, second) == (100 + len(ids), 0, 100 + len(ids))
    # What was reached by the walk and by its own write alike was written with the model that holds now.
    rows = await graph.execute(
        "MATCH (m:Memory) RETURN DISTINCT size(m.embedding_2) AS length, m.other_truncated AS left"
    )
    assert rows == [{"length": 320, "left": None}]


async def test_a_job_that_was_killed_goes_on_where_it_was(
    start: Start, own_settings: Settings, graph: Graph
):
    runtime = await start(PLAIN)
    await written(Graphmem(runtime, CLIENT), 400)
    await wanted(graph, SLOW)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import asyncio; from graphmem import reembedding, serving; "
        "from datetime import timedelta; reembedding.ANNOUNCED = timedelta(); "
        "reembedding.BATCH = 16; serving.LOOK_SECONDS = 0.1; "
        "from tests.graphmem.reembedder import main; asyncio.run(main('fake-256-plain'))",
        cwd=Path(__file__).parents[2],
        env=os.environ
        | {
            "GRAPHMEM_NEO4J_URI": str(own_settings.neo4j_uri),
            "GRAPHMEM_NEO4J_USER": own_settings.neo4j_user,
            "GRAPHMEM_NEO4J_PASSWORD": own_settings.neo4j_password,
        },
    )
    try:
        async with asyncio.timeout(300):
            while (change := (await stored(graph)).change) is None or change.done < 100:
                await asyncio.sleep(0.05)
    finally:
        process.kill()
        await process.wait()
    found = await stored(graph)
    assert found.change is not None
    done = found.change.done
    assert 100 <= done < 400
    assert found.embedding_model == PLAIN
    await graph.execute("MATCH (job:Job {kind: 'reembed'}) SET job.run_at = $now", now=now())
    LOADED[SLOW].seen.clear()

    async with working(runtime):
        await until(graph, None)

    assert len(LOADED[SLOW].seen) == 400 - done
    assert await sides(graph) == (400, 0, 400)
    assert (await stored(graph)).embedding_model == SLOW


async def test_a_write_that_had_not_heard_of_the_change_is_waited_for(start: Start, graph: Graph):
    """The index of the other side is made only when whoever wrote before has ended."""
    runtime = await start(PLAIN)
    await written(Graphmem(runtime, CLIENT), 5)
    [late] = await boundary.prepare(
        [draft("late")], embedder=runtime.embedder, tokens=runtime.tokens
    )
    wrote, go = asyncio.Event(), asyncio.Event()

    async def work(transaction: Transaction) -> None:
        await boundary.write(transaction, [late], client_id=CLIENT)
        wrote.set()
        await go.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(graph.write(work))
        await wrote.wait()
        await wanted(graph, KIN)
        async with working(runtime):
            found = await until(graph, "embedding")
            await asyncio.sleep(2)
            found = await stored(graph)
            assert found.change is not None
            assert (found.change.state, found.change.indexed) == ("embedding", False)
            assert set(await vector_indexes(graph)) == {"memory_embedding"}
            go.set()
            await until(graph, None)
    assert await sides(graph) == (6, 0, 6)


async def test_a_process_that_has_not_heard_of_the_change_embeds_inside_its_write(
    start: Start, graph: Graph
):
    runtime = await start(PLAIN)
    await wanted(graph, KIN)
    async with working(runtime):
        await until(graph, "embedding")
        async with asyncio.timeout(300):
            while runtime.embedder.beside is None:
                await asyncio.sleep(0.05)
    unaware = runtime.embedder.running(runtime.embedder.model, FIRST)
    memories = await boundary.prepare([draft("late")], embedder=unaware, tokens=runtime.tokens)
    assert memories[0].beside == {}

    async def hear() -> None:
        await asyncio.sleep(0.5)
        unaware.beside = runtime.embedder.beside

    async with asyncio.TaskGroup() as group:
        group.create_task(hear())
        group.create_task(graph.write(lambda t: boundary.write(t, memories, client_id=CLIENT)))
    assert await sides(graph) == (1, 1, 1)


async def test_a_process_that_cannot_load_the_other_model_says_so_and_writes_nothing(
    start: Start, graph: Graph, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("graphmem.embedding.LOAD_SECONDS", 0.3)
    runtime = await start(PLAIN)
    memory = Graphmem(runtime, CLIENT)
    await memory.open_conversation("c")
    await wanted(graph, "fake-320-kin")
    await graph.execute(
        "MATCH (i:Installation) SET i.wanted_model = 'fake-320-missing', i.embeddings = "
        "['embedding', 'embedding_2'], i.change_state = 'embedding'"
    )
    with pytest.raises(Unavailable, match="has not loaded the other one"):
        await memory.remember("c", [{"session_id": "s", "role": "user", "content": "Hello."}])
    assert await sides(graph) == (0, 0, 0)
    assert await memory.recall("hello") is not None


async def test_what_another_model_left_is_never_taken_for_the_wanted_one_s(
    start: Start, graph: Graph
):
    """A write that still has vectors of a change that was given up leaves none of them."""
    runtime = await start(PLAIN)
    other = runtime.embedder.running(load(config.load({}, embedding_model=SLOW), silent), SECOND)
    await wanted(graph, KIN)
    async with working(runtime):
        await until(graph, "embedding")
        async with asyncio.timeout(300):
            while runtime.embedder.beside is None:
                await asyncio.sleep(0.05)
    kin = runtime.embedder.beside
    stale = runtime.embedder.running(runtime.embedder.model, FIRST)
    stale.beside = other
    memories = await boundary.prepare([draft("late")], embedder=stale, tokens=runtime.tokens)
    assert list(memories[0].beside) == [other.key]
    stale.beside = kin
    await graph.write(lambda t: boundary.write(t, memories, client_id=CLIENT))
    [row] = await graph.execute("MATCH (m:Memory) RETURN m.embedding_2 AS vector")
    assert row["vector"] == pytest.approx(LOADED[KIN].embed(["late"])[0], abs=1e-6)


# S4.13
async def test_an_empty_store_switches_too(start: Start, graph: Graph):
    runtime = await start(PLAIN)

    await changed(runtime, KIN)

    assert (await stored(graph)).embedding_model == KIN
    await written(Graphmem(runtime, CLIENT), 3)
    assert await sides(graph) == (3, 0, 3)


async def test_what_is_deleted_meanwhile_stays_deleted(start: Start, graph: Graph):
    runtime = await start(PLAIN)
    memory = Graphmem(runtime, CLIENT)
    await written(memory, 120, "gone")
    await written(memory, 30, "kept")
    await wanted(graph, SLOW)
    async with working(runtime):
        await until(graph, "embedding")
        await memory.delete_conversation("gone")
        await until(graph, None)
    assert await sides(graph) == (30, 0, 30)


# S4.38
async def test_a_change_that_is_given_up_leaves_everything_as_it_was(start: Start, graph: Graph):
    runtime = await start(PLAIN)
    memory = Graphmem(runtime, CLIENT)
    ids = await written(memory, 120)
    await wanted(graph, SLOW)
    async with working(runtime):
        async with asyncio.timeout(300):
            while not (change := (await stored(graph)).change) or change.done < 16:
                await asyncio.sleep(0.05)
        assert await give_up(id="x", now=now(), graph=graph)
        await until(graph, None)
        assert not await give_up(id="x", now=now(), graph=graph)
    assert running_with(runtime) == PLAIN
    assert await sides(graph) == (120, 120, 0)
    assert await vector_indexes(graph) == {"memory_embedding": 256}
    assert (await nearest(memory, "Note c-77 about thing77"))[0] == ids[77]
    rows = await graph.execute("MATCH (m:Memory) WHERE m.other_truncated IS NOT NULL RETURN m.id")
    assert rows == []


# S4.17 S4.37
async def test_a_model_that_cannot_be_loaded_is_told_once_and_the_old_one_goes_on(
    own_settings: Settings,
    graph: Graph,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(serving, "LOAD_AGAIN_SECONDS", 0.0)
    tried: list[str] = []

    def lacking(settings: Settings, progress: Progress) -> Model:
        if settings.embedding_model == KIN:
            tried.append(KIN)
            raise SettingError("GRAPHMEM_EMBEDDING_MODEL", f"{KIN!r} cannot be fetched: mend it")
        return load(settings, progress)

    settings = replace(own_settings, embedding_model=PLAIN)
    async with running(settings, load=lacking) as runtime:
        memory = Graphmem(runtime, CLIENT)
        ids = await written(memory, 20)
        began = asyncio.get_running_loop().time()
        await wanted(graph, KIN)
        assert asyncio.get_running_loop().time() - began < 5, "asking for it waits for nothing"
        async with asyncio.timeout(300), working(runtime):
            while len(tried) < 4:
                await asyncio.sleep(0.05)
            assert (await nearest(memory, "Note c-7 about thing7"))[0] == ids[7]
        assert await sides(graph) == (20, 20, 0)
        assert running_with(runtime) == PLAIN
        await give_up(id="x", now=now(), graph=graph)
    told = [one for one in caplog.records if "cannot follow the change" in one.getMessage()]
    assert [one.levelname for one in told if one.levelname != "DEBUG"] == ["ERROR"]


async def test_another_change_is_refused_while_one_is_under_way(start: Start, graph: Graph):
    runtime = await start(PLAIN)
    await wanted(graph, KIN)
    with pytest.raises(ModelMismatch, match=r"to 'fake-320-kin' is under way .* --cancel"):
        await wanted(graph, SLOW)
    again = await wanted(graph, KIN)
    assert again.change is not None
    assert (await wanted(runtime.graph, KIN)).change == again.change


async def test_a_change_back_uses_the_first_side_again(start: Start, graph: Graph):
    runtime = await start(PLAIN)
    memory = Graphmem(runtime, CLIENT)
    ids = await written(memory, 20)

    await changed(runtime, KIN)
    async with asyncio.timeout(300):
        while running_with(runtime) != KIN:
            await asyncio.sleep(0.05)
    await changed(runtime, PLAIN)

    assert await sides(graph) == (20, 20, 0)
    assert await vector_indexes(graph) == {"memory_embedding": 256}
    async with asyncio.timeout(300):
        while running_with(runtime) != PLAIN:
            await asyncio.sleep(0.05)
    assert (await nearest(memory, "Note c-7 about thing7"))[0] == ids[7]


async def test_a_process_may_be_set_to_the_model_before_or_after_and_to_no_third(
    start: Start, graph: Graph
):
    runtime = await start(PLAIN)
    await wanted(graph, KIN)
    early = await start(KIN)
    assert running_with(early) == PLAIN
    with pytest.raises(ModelMismatch, match=r"embedded with 'fake-256-plain' .*graphmem reembed"):
        await start(SLOW)

    async with working(runtime):
        await until(graph, None)

    late = await start(PLAIN)
    assert running_with(late) == KIN
    with pytest.raises(ModelMismatch, match=r"embedded with 'fake-320-kin'"):
        await start(SLOW)


async def test_what_a_model_could_not_see_of_a_text_is_told_of_the_new_one(
    start: Start, graph: Graph
):
    runtime = await start(PLAIN)
    memory = Graphmem(runtime, CLIENT)
    await memory.open_conversation("c")
    long = "A long story. " * 40
    await memory.remember("c", [{"session_id": "s", "role": "user", "content": long}])

    await changed(runtime, KIN)

    rows = await graph.execute(
        "MATCH (m:Memory) RETURN m.embedding_truncated AS truncated, m.other_truncated AS other"
    )
    assert rows == [{"truncated": True, "other": None}]


async def test_the_doctor_and_the_metrics_say_how_far_it_is(
    start: Start, own_settings: Settings, graph: Graph
):
    runtime = await start(PLAIN)
    await written(Graphmem(runtime, CLIENT), 1_000)
    settings = replace(own_settings, embedding_model=PLAIN)
    await wanted(graph, SLOW)

    def told() -> tuple[float, float]:
        done, left = (REEMBEDDED.labels(state)._value.get() for state in ("done", "left"))
        return done, left

    async with working(runtime):
        async with asyncio.timeout(300):
            while told()[0] < 32:
                await asyncio.sleep(0.02)
        assert sum(told()) == 1_000
        [same, far] = await doctor_model.agreement(graph, settings)
        assert (same.severity, far.severity) == ("ok", "note")
        assert "of 1,000 memories" in far.what
        assert SLOW in far.what
        assert await drift(graph, 256) == []
        await until(graph, "switched")
        assert await drift(graph, 320) == []
        await until(graph, None)
    assert await drift(graph, 320) == []
    [behind] = await doctor_model.agreement(graph, settings)
    assert (behind.severity, "names the former model" in behind.what) == ("warning", True)
    assert REEMBEDDED.labels("left")._value.get() == 0


async def drift(graph: Graph, dimensions: int) -> list[str]:
    """Return what the doctor finds wrong with the schema."""
    on = graph.on(await doctor_model.side(graph))
    found = await doctor_schema.drift(on, dimensions=dimensions)
    return [one.what for one in found if one.severity != "ok"]


async def test_the_real_model_s_store_is_changed_as_well(own_settings: Settings, graph: Graph):
    await graph.execute("DROP INDEX memory_embedding IF EXISTS")
    await graph.execute(vector_index(FIRST), dimensions=384)
    async with running(replace(own_settings, embedding_model=None), load=load) as runtime:
        memory = Graphmem(runtime, CLIENT)
        await written(memory, 12)
        await changed(runtime, KIN)
        async with asyncio.timeout(300):
            while running_with(runtime) != KIN:
                await asyncio.sleep(0.05)
        assert "c-0" in (await nearest(memory, "vehicle"))[:2]
    assert await sides(graph) == (12, 0, 12)


def draft(text: str) -> boundary.Draft:
    moment = now()
    return boundary.Draft(
        id=str(uuid.uuid4()),
        client_id=CLIENT,
        kind="fact",
        text=text,
        search_text=text,
        embedded_text=text,
        source_type="fact",
        occurred_at=moment,
        created_at=moment,
        valid_at=moment,
    )


async def test_the_command_changes_the_model_from_beginning_to_end(
    start: Start,
    own_settings: Settings,
    graph: Graph,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr("graphmem.embedding.load_model", load)
    monkeypatch.setattr("graphmem.runtime.load_model", load)
    monkeypatch.setattr("graphmem.runtime.check_model", lambda settings: None)
    runtime = await start(PLAIN)
    await written(Graphmem(runtime, CLIENT), 40)

    def settings(name: str) -> Settings:
        return replace(own_settings, embedding_model=name)

    told = await _reembed(settings(PLAIN), wait=True)
    assert told == "the memories are embedded with fake-256-plain already"
    told = await _reembed(settings(KIN), wait=False)
    assert told.startswith("fake-320-kin is asked for")
    with pytest.raises(ModelMismatch, match="--cancel"):
        await _reembed(settings(SLOW), wait=True)
    capsys.readouterr()
    told = await _reembed(settings(KIN), wait=True)
    assert told == "the memories are embedded with fake-320-kin"
    shown = capsys.readouterr().err
    # Of so few memories the stages between may be over before they are looked at.
    assert "until every process has switched" in shown
    assert await sides(graph) == (40, 0, 40)
    assert (await _cancel(settings(KIN))).startswith("no change is under way")


async def test_every_kind_is_embedded_anew_as_it_was_embedded_first(start: Start, graph: Graph):
    runtime = await start(PLAIN)
    memory = Graphmem(runtime, CLIENT)
    await memory.open_conversation("c")
    said = {"session_id": "s", "role": "user", "content": "I sail.", "name": "Ada"}
    await memory.remember("c", [said, {**said, "content": "I row.", "name": None}])
    await memory.remember_episode(
        "c", messages=[{**said, "content": "We met Tom."}], title="Meeting", summary="They met."
    )
    await memory.remember_fact("Tea is hot", category="identity", keywords=["kettle"])
    card = await memory.add_reference(
        type="knowledge_base", target_id="a.md", label="A file", description="It says much."
    )
    await memory.put_content(card.id, "The first sentence. The second sentence.")
    await memory.add_summary(
        type="thread", target_id="t", platform="mail", participant_count=2, message_count=3,
        key_points=["one", "two"], sentiment="good", last_activity_at=now(),
    )  # fmt: skip
    text = "A span of its own."
    await memory.register_span(
        source_type="knowledge_base", source_id="b.md", start_byte=0, end_byte=len(text), content=text,
        metadata={"tags": ["tagged"]},
    )  # fmt: skip
    await memory.register_span(
        source_type="knowledge_base", source_id="b.md", start_byte=0, end_byte=3
    )
    first = Counter(LOADED[PLAIN].seen)
    kinds = await graph.execute("MATCH (m:Memory) RETURN DISTINCT m.kind AS kind")
    assert {row["kind"] for row in kinds} == set(KINDS)

    await changed(runtime, KIN)

    # A search for near-duplicates may have embedded a text more than once.
    again = Counter(LOADED[KIN].seen)
    assert {"Ada: I sail.", "I row.", "Meeting\nThey met.", "Tea is hot kettle"} <= set(again)
    assert set(again) <= set(first)
    assert again.total() == (await sides(graph))[0]


async def test_a_url_that_is_away_holds_up_no_start_and_can_be_left(
    own_settings: Settings, graph: Graph
):
    plain = replace(own_settings, embedding_model=PLAIN)
    with stub_embeddings("fake-320-kin") as server:
        theirs = replace(own_settings, embedding_model=server.url)
        async with running(theirs, load=load) as runtime:
            await written(Graphmem(runtime, CLIENT), 20)
    async with running(theirs, load=load) as runtime:
        answer = await Graphmem(runtime, CLIENT).recall("a car")
        assert (answer.degraded, bool(answer.items)) == (["no_vector"], True)
    model = described(load(plain, silent), plain)
    await ask(model, calibration, id=str(uuid.uuid4()), now=now(), graph=graph)
    # As `graphmem reembed` does where nothing else runs.
    async with running(plain, load=load) as runtime, working(runtime):
        await until(graph, None)
        assert running_with(runtime) == PLAIN
    assert await sides(graph) == (20, 0, 20)


async def test_a_new_installation_needs_a_url_that_answers(own_settings: Settings, graph: Graph):
    with stub_embeddings("fake-320-kin") as server:
        theirs = replace(own_settings, embedding_model=server.url)
    with pytest.raises(UrlAway, match="start that server"):
        async with running(theirs, load=load):
            pass


BULK = 20_000 if THOROUGH else 6_000


def unreliable(number: int) -> Misbehaviour | int | None:
    """Fail every tenth request, and hang for a while."""
    if 40 <= number < 52:
        return "hang"
    return (500, 503, "reset", "html")[number // 10 % 4] if number % 10 == 0 else None


# S4.7 S4.8 S4.15
@pytest.mark.usefixtures("bulk_data")
async def test_a_url_that_fails_hangs_and_restarts_loses_nothing_and_holds_up_no_search(
    start: Start, graph: Graph, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(embedding_api, "PASSAGES_SECONDS", 6.0)
    monkeypatch.setattr(reembedding, "AWAY", timedelta(seconds=1))
    monkeypatch.setattr(reembedding, "BATCH", 128)
    with stub_embeddings("fake-320-kin") as server:
        runtime = await start(PLAIN)
        memory = Graphmem(runtime, CLIENT)
        ids = [id for c in range(BULK // 500) for id in await written(memory, 500, f"c{c}")]
        settings = config.load({}, embedding_model=server.url)
        model = await asyncio.to_thread(load, settings, silent)
        await ask(
            described(model, settings), calibration, id=str(uuid.uuid4()), now=now(), graph=graph
        )
        await asyncio.to_thread(discard, model)
        server.asked.clear()
        server.misbehave = unreliable
        asked = 0
        async with working(runtime):
            while (change := (await stored(graph)).change) and change.state != "switched":
                if asked == 20:
                    server.stop()
                if asked == 40:
                    server.start()
                id = ids[asked % len(ids)]
                if running_with(runtime) == PLAIN:
                    found = await nearest(memory, said_of(id, int(id.partition("-")[2])))
                    if running_with(runtime) == PLAIN:
                        assert (found[0], len(found)) == (id, 10)
                    asked += running_with(runtime) == PLAIN
                await asyncio.sleep(0.1)
            await until(graph, None, seconds=600)
        assert asked > 40
        assert len(server.asked) > BULK // (URL_BATCHES * BATCH_TEXTS)
        assert await sides(graph) == (BULK, 0, BULK)
        assert running_with(runtime) == "url/fake"
        assert set(await nearest(memory, "vehicle")) <= {id for id in ids if id.endswith("0")}
