"""A client's whole life through a file: afterwards nothing differs, and all answers are the same."""

import asyncio
import hashlib
import json
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from neo4j.time import DateTime

from graphmem.client import Graphmem
from graphmem.errors import InvalidInput, LegalHold
from graphmem.exports import export as exporting, load as loading
from graphmem.exports.export import (
    DERIVED,
    FEWEST,
    LABELS,
    MOST,
    NOT_EXPORTED,
    ExportAsked,
    ExportPlace,
    _opened,
)
from graphmem.exports.lines import (
    Damaged,
    End,
    EndLine,
    ExportHeader,
    Lines,
    NodeLine,
    PageEnd,
    PageLine,
    chained,
    check,
    header_of,
    line,
)
from graphmem.exports.load import AnotherImport, ClientTaken, ImportedExport, load
from graphmem.facts.remember import AS_NEW
from graphmem.forgetting.expiry import LOOK_SECONDS
from graphmem.graph.plain import from_json
from graphmem.graph.schema import declared_nodes, schema_files
from graphmem.graph.scope import scope_words
from graphmem.memories.memory import LEGAL_HOLD
from graphmem.memories.types import Memory
from graphmem.model.annotations import LEAST_LIFE
from graphmem.model.pages import listing
from graphmem.runtime import Runtime
from graphmem.tokens import TOKENIZER
from tests.patterned import ASKED, live
from tests.planted import plant, plant_content, reference
from tests.thorough import THOROUGH

EXTRA = """CYPHER 25
MATCH (memory:Fact {client_id: $client, active: true})
WITH memory ORDER BY memory.id LIMIT 1
SET memory += $extra
RETURN memory.id AS id"""

NODES = """CYPHER 25
MATCH (node {client_id: $client})
WHERE NOT node:Hold AND NOT node:Audit
  AND (NOT node:Job OR node.state IN ['queued', 'running'])
RETURN labels(node) AS labels, properties(node) AS properties"""

EDGES = """CYPHER 25
MATCH (a {client_id: $client})-[edge]->(b {client_id: $client})
WHERE NOT b:Hold
RETURN coalesce(a.id, a.normalized) AS start, coalesce(b.id, b.normalized) AS end, type(edge) AS type,
  properties(edge) AS properties"""

QUESTIONS = (
    "Where are orders kept?",
    "What does Mara drink?",
    "What did the log say about the valve?",
)

LIFE = "5b0e1f5c-6d5a-4a3e-9c58-0f6f2b7d9a11"

SPRING = "2026-03-20T00:00:00Z"
MOMENTS = (SPRING, "2026-01-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-11-01T00:00:00Z")

FADING = """CYPHER 25
MATCH (episode:Episode {client_id: $client})
RETURN episode.id AS id, episode.stability AS stability, episode.difficulty AS difficulty,
  episode.last_reviewed_at AS last_reviewed_at, episode.fsrs_state AS state, episode.fsrs_step AS step,
  COUNT { (episode)<-[:RATED|RETURNED]-(:Review) } AS reviews
ORDER BY id"""

LONG = " ".join(
    f"On day {day} the crew of the Marlin logged wind force {day % 9} and a calm night."
    for day in range(40)
)


async def lead_a_life(memory: Graphmem) -> None:
    """Do everything of which a client has traces."""
    ids = await live(memory, LIFE)
    log = [
        {"session_id": "log", "role": "user", "name": "Ann", "content": f"{LONG} The valve broke."}
    ]
    await memory.remember(LIFE, log)
    await memory.segment(LIFE)
    await plant_content(memory, "Gold has priority support. Silver has mail.", [(0, 27), (27, 44)])
    await plant(memory, reference(source_id="kb-2", names="Pricing", text="A list of prices"))
    await memory.set_categories(["preference", "user_fact", "architectural_decision"])
    await memory.remember_fact("Mara drinks only tea", category="user_fact")
    await memory.remember_fact(
        "The valve is replaced in May",
        tags=["harbour", "to do"],
        metadata={"ticket": 17},
        expires_at=datetime(2199, 1, 1, tzinfo=UTC),
    )
    await memory.add_alias("Osaka", "Lyra Voss")
    await memory.undo_alias("Osaka")
    shown = await memory.retrieve_memory(
        "What was said in the harbour office?", conversation_id=LIFE
    )
    assert shown
    await memory.recall("What does Mara drink?")
    context = await memory.create_context(max_tokens=500)
    await memory.add_to_context(context.id, ids["tea"])
    async with memory.run(agent_type="tester", episode_id="an episode") as run:
        await run.retrieve("Where are orders kept?", max_tokens=200)
    assert memory.runtime.recorder is not None
    await memory.runtime.recorder.settle()
    extra = {
        "exact_at": DateTime(
            2026, 3, 2, 9, 30, 1, 123_456_789, tzinfo=timezone(timedelta(hours=2))
        ),
        "local_at": datetime(2026, 3, 2, 9, 30),
        "zoned_at": from_json({"datetime": "2026-10-25T02:30:00+01:00[Europe/Berlin]"}),
        "bytes": b"\x00\xff",
        "later_tags": ["a", "b"],
    }
    assert await memory.runtime.graph.execute(EXTRA, client=memory.client_id, extra=extra)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def lived(runtime: Runtime) -> Graphmem:
    """A client that has traces of everything."""
    memory = Graphmem(
        runtime, f"lived-{hashlib.sha256(str(datetime.now(UTC)).encode()).hexdigest()[:12]}"
    )
    await lead_a_life(memory)
    return memory


async def exported(memory: Graphmem, path: Path, **asked: Any) -> Path:
    # What was returned to a question is kept beside the answer, in the background.
    assert memory.runtime.recorder is not None
    await memory.runtime.recorder.settle()
    path.write_bytes(b"".join([page async for page in await memory.export(**asked)]))
    return path


async def loaded(path: Path, memory: Graphmem) -> ImportedExport:
    return await load(path, memory.runtime.context(memory.client_id))


def plain(properties: Mapping[str, Any], *without: str) -> dict[str, Any]:
    return {name: one for name, one in properties.items() if name not in {*DERIVED, *without}}


async def picture(memory: Graphmem, *without: str) -> tuple[list[str], list[str]]:
    """Return all nodes and edges of a client as texts, each with everything but what an import makes."""
    graph = memory.runtime.graph
    async with graph.driver.session(database=graph.database) as session:
        nodes = [row async for row in await session.run(NODES, client=memory.client_id)]
        edges = [row async for row in await session.run(EDGES, client=memory.client_id)]
    told = [
        f"{sorted(row['labels'])} {sorted(plain(row['properties'], *without).items())}"
        for row in nodes
    ]
    joined = [
        f"{row['start']} {row['type']} {row['end']} {sorted(row['properties'].items())}"
        for row in edges
    ]
    return sorted(told), sorted(joined)


async def answers(memory: Graphmem) -> list[Any]:
    """Ask a client all that it can be asked; return what the answers say."""
    # The patterns first: some are about the questions that were asked.
    found: list[Any] = [(await memory.pattern(name, ASKED[name])).rows for name in sorted(ASKED)]
    found += [await memory.memories(), await memory.conversations(), await memory.entities()]
    found.append(await memory.recall("What about the valve?", tags=["to do"]))
    facts = (await memory.memories(kinds=["fact"])).memories
    found += [await memory.versions(fact.id) for fact in facts]
    for question in QUESTIONS:
        found.append(await memory.recall(question, max_tokens=400))
        found.append(await memory.recall(question, as_of=SPRING, max_tokens=400))
        found.append(await memory.search_with_hops(question))
        found.append(await memory.search_contextual(question))
        found.append(await memory.retrieve_memory(question, conversation_id=LIFE, raw=True))
    return [said(msgspec.to_builtins(one)) for one in found]


def said(value: Any) -> Any:
    """Return an answer without cursors, times it took, ids made for it, and digits of scores.

    The index counts words over all clients, so the last digits differ from call to call.
    """
    if isinstance(value, dict):
        of_a_call = {"cursor", "review_id", "client_id", "ranks", "lifted_by", "last_at"}
        return {name: said(one) for name, one in value.items() if name not in of_a_call}
    if isinstance(value, list):
        return [said(one) for one in value]
    return None if isinstance(value, float) else value


async def test_after_a_round_trip_nothing_differs_and_all_answers_are_the_same(
    lived: Graphmem, rival: Graphmem, tmp_path: Path
) -> None:
    before = await picture(lived)
    path = await exported(lived, tmp_path / "life.jsonl")
    report = await loaded(path, rival)

    after = await picture(rival)
    assert len(before[0]) > 60
    assert {label for label in LABELS if label != "Job"} <= labels_in(before[0])
    assert after == before
    assert (report.nodes, report.edges) == (len(before[0]), len(before[1]))
    assert (report.embedded, report.resumed, report.changed) == (0, False, False)
    assert await answers(rival) == await answers(lived)


ASKED_IN_ALL = 200 if THOROUGH else 50


async def questions(memory: Graphmem) -> list[str]:
    """Return questions of three words each from the texts of a client's memories."""
    chance = random.Random(20)
    texts = sorted({one.text for one in await all_memories(memory)})
    return [
        f"What about {' '.join(chance.sample(words, min(3, len(words))))}?"
        for words in (chance.choice(texts).split() for _ in range(ASKED_IN_ALL))
    ]


async def all_memories(memory: Graphmem) -> list[Memory]:
    """Return all versions of all memories."""
    pages = memory.pages(memory.memories, include_superseded=True, limit=200)
    return [one async for page in pages for one in page.memories]


def way_of_asking(
    memory: Graphmem, place: int, question: str, known: Sequence[Memory]
) -> Awaitable[Any]:
    """Return one of ten ways of asking, in turn; `known` are the client's memories in order."""
    one = known[place % len(known)]
    moment = MOMENTS[place % len(MOMENTS)]
    ways: list[Callable[[], Awaitable[Any]]] = [
        lambda: memory.recall(question, max_tokens=300),
        lambda: memory.recall(question, max_tokens=300, as_of=moment),
        lambda: memory.recall(question, tags=["to do"]),
        lambda: memory.search(question, max_results=8),
        lambda: memory.search_with_hops(question),
        lambda: memory.search_contextual(question),
        lambda: memory.retrieve_memory(question, conversation_id=LIFE, raw=True),
        lambda: memory.versions(one.id),
        lambda: memory.memory(one.id),
        lambda: memory.memories(kinds=[one.kind], as_of=moment, include_superseded=True),
    ]
    return ways[place % len(ways)]()


async def test_after_a_round_trip_many_questions_have_the_same_answers(
    lived: Graphmem, rival: Graphmem, tmp_path: Path, bulk_data: None
) -> None:
    asked = await questions(lived)
    every = await all_memories(lived)
    # What has versions or fades comes first: the ways that take a memory take these.
    known = sorted(every, key=lambda one: (one.kind not in {"fact", "episode"}, one.id))
    await loaded(await exported(lived, tmp_path / "life.jsonl"), rival)
    found: list[list[Any]] = [[], []]
    for place, question in enumerate(asked):
        for answers_, memory in zip(found, (lived, rival), strict=True):
            answer = await way_of_asking(memory, place, question, known)
            answers_.append(said(msgspec.to_builtins(answer)))

    assert len(found[0]) == ASKED_IN_ALL
    assert [
        (asked[place], place % 10)
        for place, (before, after) in enumerate(zip(*found, strict=True))
        if before != after
    ] == []
    assert sum(one not in ({}, []) and bool(one) for one in found[0]) == ASKED_IN_ALL
    assert await fading(lived) == await fading(rival) != []
    chains = [(await rival.versions(one.id)).versions for one in known[:20]]
    assert max(map(len, chains)) > 1


async def fading(memory: Graphmem) -> list[dict[str, Any]]:
    """Return all that decides how the episodes of a client fade, exactly."""
    return await memory.runtime.graph.execute(FADING, client=memory.client_id)


def labels_in(nodes: list[str]) -> set[str]:
    return {label for label in LABELS if any(f"'{label}'" in node for node in nodes)}


async def test_the_scope_words_are_those_that_a_write_makes(
    lived: Graphmem, rival: Graphmem, tmp_path: Path
) -> None:
    await loaded(await exported(lived, tmp_path / "life.jsonl"), rival)
    for memory in (lived, rival):
        rows = await memory.runtime.graph.execute(
            "MATCH (node:Memory {client_id: $client}) RETURN properties(node) AS own",
            client=memory.client_id,
        )
        for row in rows:
            own = row["own"]
            assert set(own["scope_words"].split()) == set(
                scope_words(memory.client_id, own).split()
            )
    words = "MATCH (p:Passage {client_id: $client}) RETURN collect(DISTINCT p.scope_words) AS words"
    [mine] = await lived.runtime.graph.execute(words, client=lived.client_id)
    [theirs] = await lived.runtime.graph.execute(words, client=rival.client_id)
    assert len(mine["words"]) == len(theirs["words"]) > 0
    assert not set(" ".join(mine["words"]).split()) & set(" ".join(theirs["words"]).split())


async def test_vectors_that_are_not_in_the_file_are_made_anew(
    lived: Graphmem, rival: Graphmem, tmp_path: Path
) -> None:
    path = await exported(lived, tmp_path / "life.jsonl", vectors=False)
    whole = await exported(lived, tmp_path / "whole.jsonl")
    report = await loaded(path, rival)

    assert (path.read_bytes().count(b"float32"), whole.read_bytes().count(b"float32") > 20) == (
        0,
        True,
    )
    assert report.embedded > 20
    caches = ("whole_embedding", "whole_model", "embedding")
    assert await picture(rival, *caches) == await picture(lived, *caches)
    for memory in (rival, lived):
        hit = (await memory.search("Where are orders kept?", source_types=["fact"])).items[0]
        assert hit.relevance > 0.5


async def test_vectors_of_another_model_are_not_taken(
    lived: Graphmem, rival: Graphmem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(lived.runtime.embedder), "key", "another@model")
    path = await exported(lived, tmp_path / "life.jsonl")
    monkeypatch.undo()

    assert header_of(path.read_bytes().partition(b"\n")[0]).embedding_model == "another@model"
    assert (await loaded(path, rival)).embedded > 20


async def test_an_export_that_is_continued_after_any_page_is_the_same_file(
    lived: Graphmem, tmp_path: Path
) -> None:
    pages = [page async for page in await lived.export()]
    assert len(pages) > 8
    for place in (1, len(pages) // 2, len(pages) - 2):
        cursor = msgspec.json.decode(pages[place].splitlines()[-1])["page"]["cursor"]
        assert [page async for page in await lived.export(cursor=cursor)] == pages[place + 1 :]
    with pytest.raises(InvalidInput, match="cursor"):
        await lived.export(cursor=cursor, vectors=False)
    with pytest.raises(InvalidInput, match="cursor"):
        await lived.for_client("another").export(cursor=cursor)


PLACE = ExportPlace("Memory", "", FEWEST, MOST, 0, 0, chained("", b""), "", "a@model")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("label", "Audit"),
        ("limit", -1),
        ("limit", 0),
        ("limit", 50_000_000),
        ("limit_after", FEWEST - 1),
        ("limit_after", MOST + 1),
        ("nodes", -1),
        ("edges", 2**64),
        ("sha256", "of nothing"),
    ],
)
def test_a_forged_cursor_is_refused(name: str, value: Any) -> None:
    listed = listing(ExportAsked(), "acme")
    sealed = listed.sealed(msgspec.json.encode(PLACE).decode())
    assert _opened(listed, sealed, PLACE.model) == PLACE
    place = json.dumps(msgspec.to_builtins(PLACE) | {name: value})
    with pytest.raises(InvalidInput, match=r"^cursor: is not one that this list has given"):
        _opened(listed, listed.sealed(place), PLACE.model)


async def test_an_export_is_not_continued_with_the_vectors_of_another_model(
    lived: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_vectors, without = [
        [page async for page in await lived.export(vectors=vectors)] for vectors in (True, False)
    ]
    cursor, bare = [
        msgspec.json.decode(one[2].splitlines()[-1])["page"]["cursor"]
        for one in (with_vectors, without)
    ]
    monkeypatch.setattr(type(lived.runtime.embedder), "key", "another@model")

    with pytest.raises(InvalidInput, match=r"^cursor: .* another@model: begin the export anew"):
        await lived.export(cursor=cursor)
    rest = [page async for page in await lived.export(cursor=bare, vectors=False)]
    assert rest == without[3:]


async def test_vectors_that_a_file_of_the_same_model_lacks_are_made(
    memory: Graphmem, rival: Graphmem, tmp_path: Path
) -> None:
    for text in ("Mara keeps bees", "Mara sells stamps", "Mara drinks tea"):
        await memory.remember_fact(text, category="user_fact")
    path = await exported(memory, tmp_path / "whole.jsonl")
    lines = [one for one in path.read_bytes().splitlines() if one.startswith(b'{"node"')]
    nodes = [msgspec.json.decode(one, type=NodeLine) for one in lines]
    facts = [one.properties for one in nodes if "Fact" in one.node]
    del facts[0]["embedding"]
    key = memory.runtime.embedder.key
    report = await loaded(forged(tmp_path / "lacking.jsonl", memory, *nodes, model=key), rival)

    assert (len(facts), report.embedded) == (3, 1)
    vectors = (
        "MATCH (m:Fact {client_id: $client}) RETURN m.id AS id, m.embedding AS own ORDER BY id"
    )
    mine = await memory.runtime.graph.execute(vectors, client=memory.client_id)
    theirs = await memory.runtime.graph.execute(vectors, client=rival.client_id)
    for one, other in zip(mine, theirs, strict=True):
        assert other["own"] == pytest.approx(one["own"], abs=1e-3)


class Killed(Exception):
    """The import ended in the middle."""


@pytest.mark.parametrize("phase", ["nodes", "edges", "embedding"])
async def test_an_import_that_ended_anywhere_goes_on_there(
    phase: str,
    lived: Graphmem,
    rival: Graphmem,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(loading, "NODES_AT_ONCE", 20)
    monkeypatch.setattr(loading, "EDGES_AT_ONCE", 20)
    path = await exported(lived, tmp_path / "life.jsonl", vectors=phase != "embedding")
    asked = 0

    def kill(stage: str, done: int = 0, total: int = 0) -> None:
        nonlocal asked
        asked += phase in stage
        if phase in stage and (asked == 3 or phase == "embedding"):
            raise Killed

    with pytest.raises(Killed):
        await load(path, rival.runtime.context(rival.client_id), kill)
    with pytest.raises(AnotherImport, match="another file"):
        await loaded(await exported(lived, tmp_path / "other.jsonl"), rival)
    assert (await loaded(path, rival)).resumed
    caches = ("whole_embedding", "whole_model", "embedding") if phase == "embedding" else ()
    assert await picture(rival, *caches) == await picture(lived, *caches)


async def test_a_client_that_has_something_is_refused(lived: Graphmem, tmp_path: Path) -> None:
    path = await exported(lived, tmp_path / "life.jsonl")
    with pytest.raises(ClientTaken, match="--client"):
        await loaded(path, lived)


async def test_a_client_whose_memories_were_deleted_takes_its_export_again(
    memory: Graphmem, tmp_path: Path
) -> None:
    fact = await memory.remember_fact("Mara keeps bees")
    await memory.recall("What does Mara keep?")
    await memory.create_context(max_tokens=500)
    path = await exported(memory, tmp_path / "life.jsonl")
    before = await picture(memory)
    await memory.delete_memory(fact.id)
    await loaded(path, memory)

    assert await picture(memory) == before


EXPIRED = """CYPHER 25
MATCH (memory:Memory {client_id: $client, id: $id})
SET memory.expires_at = datetime('2026-01-01T00:00:00Z')
RETURN memory.id AS id"""


async def held(memory: Graphmem) -> str | None:
    """Return the reason of a client's legal hold."""
    [hold] = await memory.runtime.graph.change(LEGAL_HOLD, client_id=memory.client_id)
    return hold.reason


async def test_a_legal_hold_travels_and_comes_before_memories_that_have_expired(
    memory: Graphmem, rival: Graphmem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "NODES_AT_ONCE", 1)
    fact = await memory.remember_fact("Mara keeps bees", category="user_fact")
    await memory.begin_hold("case 116")
    assert await memory.runtime.graph.execute(EXPIRED, client=memory.client_id, id=fact.id)
    path = await exported(memory, tmp_path / "held.jsonl")
    pages = 0

    def kill(stage: str, done: int = 0, total: int = 0) -> None:
        nonlocal pages
        pages += "nodes" in stage
        if pages == 2:
            raise Killed

    with pytest.raises(Killed):
        await load(path, rival.runtime.context(rival.client_id), kill)
    # The memory is written, the client's own node is on a later page; a read deletes what has expired.
    await asyncio.sleep(LOOK_SECONDS)
    assert [one.id for one in (await rival.memories()).memories] == [fact.id]
    assert (await loaded(path, rival)).legal_hold == "case 116"
    assert await held(rival) == await held(memory) == "case 116"
    with pytest.raises(LegalHold, match="case 116"):
        await rival.delete_memory(fact.id)


async def test_nothing_expires_before_an_import_has_ended(
    memory: Graphmem, rival: Graphmem, tmp_path: Path
) -> None:
    conversation = await memory.open_conversation()
    said = [{"role": "user", "content": f"The boat {n} is at sea"} for n in range(3)]
    ids = (await memory.remember(conversation.id, said)).ids
    await memory.remember_episode(conversation.id, message_ids=ids)
    soon = datetime.now(UTC) + LEAST_LIFE + timedelta(seconds=1)
    await memory.annotate(ids[1], expires_at=soon)
    path = await exported(memory, tmp_path / "life.jsonl")

    def kill(stage: str, done: int = 0, total: int = 0) -> None:
        if "edges" in stage:
            raise Killed

    with pytest.raises(Killed):
        await load(path, rival.runtime.context(rival.client_id), kill)
    await asyncio.sleep((soon - datetime.now(UTC)).total_seconds() + LOOK_SECONDS)
    await rival.memories()
    await loaded(path, rival)

    # As where nothing was interrupted: the episode goes with its message, and the others are joined.
    await asyncio.sleep(LOOK_SECONDS)
    left = [one.id for one in (await rival.memories(order="oldest")).memories]
    assert left == [one.id for one in (await memory.memories(order="oldest")).memories]
    assert set(left) == {ids[0], ids[2]}
    assert (await picture(rival))[1] == (await picture(memory))[1]


async def test_what_ends_by_itself_has_its_job_in_the_imported_client_too(
    memory: Graphmem, rival: Graphmem, tmp_path: Path
) -> None:
    await memory.create_context(max_tokens=500)
    await memory.run(agent_type="tester", episode_id="an episode")
    await loaded(await exported(memory, tmp_path / "life.jsonl"), rival)

    waiting = (await rival.jobs()).jobs
    assert {(one.kind, one.state) for one in waiting} == {
        ("sweep_contexts", "queued"),
        ("sweep_runs", "queued"),
    }
    assert waiting == (await memory.jobs()).jobs


async def test_an_import_keeps_the_hold_that_its_client_has(
    memory: Graphmem, rival: Graphmem, tmp_path: Path
) -> None:
    await memory.remember_fact("Mara keeps bees", category="user_fact")
    await rival.begin_hold("case 117")
    free = await loaded(await exported(memory, tmp_path / "free.jsonl"), rival)
    await memory.begin_hold("case 118")
    other = rival.for_client(f"{rival.client_id}-other")
    await other.begin_hold("case 119")
    under_hold = await loaded(await exported(memory, tmp_path / "held.jsonl"), other)

    assert (free.legal_hold, under_hold.legal_hold) == ("case 117", "case 119")
    assert (await held(rival), await held(other)) == ("case 117", "case 119")


def forged(path: Path, memory: Graphmem, *nodes: NodeLine, model: str | None = None) -> Path:
    """Write a file with these nodes and right hashes, whose vectors are said to be those of a model."""
    header = ExportHeader(
        client_id=memory.client_id,
        schema=1,
        tokenizer=TOKENIZER,
        embedding_model=model,
        began_at=datetime.now(UTC),
    )
    first, lines = line(header), b"".join(map(line, nodes))
    sha256 = chained(chained("", first), lines)
    page = PageLine(PageEnd(len(nodes), 0, sha256, ""))
    end = EndLine(End(nodes=len(nodes), edges=0, sha256=sha256, changed=False))
    path.write_bytes(first + lines + line(page) + line(end))
    return path


@pytest.mark.parametrize("exists", [True, False])
async def test_a_file_cannot_put_another_client_under_a_legal_hold(
    exists: bool, memory: Graphmem, rival: Graphmem, tmp_path: Path
) -> None:
    if exists:
        await rival.set_categories(["pets"])
    node = NodeLine(["Client"], {"client_id": rival.client_id, "legal_hold": "x"})
    before = await picture(rival)

    with pytest.raises(Damaged, match="the property 'client_id', which no export has"):
        await loaded(forged(tmp_path / "forged.jsonl", memory, node), memory)
    assert await picture(rival) == before


async def test_the_settings_of_a_file_never_rename_the_client(
    memory: Graphmem, rival: Graphmem
) -> None:
    await rival.set_categories(["pets"])
    given = {"client_id": rival.client_id, "legal_hold": "x", "categories": ["boats"]}
    await memory.runtime.graph.change(
        loading.IMPORT_CLIENT, client_id=memory.client_id, properties=given
    )

    assert (await held(memory), await held(rival)) == ("x", None)
    assert await memory.runtime.graph.execute(
        "MATCH (client:Client) WHERE client.client_id IN $ids "
        "RETURN client.client_id AS id, client.categories AS categories ORDER BY id",
        ids=[memory.client_id, rival.client_id],
    ) == [
        {"id": rival.client_id, "categories": ["pets"]},
        {"id": memory.client_id, "categories": ["boats"]},
    ]


async def test_a_fact_of_a_file_without_what_only_facts_have_is_made_whole(
    memory: Graphmem, rival: Graphmem, tmp_path: Path
) -> None:
    await plant(memory, {"kind": "fact", "text": "Mara keeps bees", **dict.fromkeys(AS_NEW)})
    await loaded(await exported(memory, tmp_path / "life.jsonl"), rival)

    assert await rival.runtime.graph.execute(
        "MATCH (fact:Fact {client_id: $client}) "
        "RETURN fact.keywords AS keywords, fact.version AS version, fact.reinforced AS reinforced",
        client=rival.client_id,
    ) == [{"keywords": [], "version": 1, "reinforced": 0}]


LATE_END = """CYPHER 25
MATCH (memory:Memory {client_id: $client, id: $id})
SET memory.invalid_at = datetime('2026-05-01T00:00:00Z')
RETURN memory.id AS id"""


async def test_the_versions_of_an_older_export_end_where_a_newer_one_begins_first(
    memory: Graphmem, rival: Graphmem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await memory.remember_fact("It costs 49 €", valid_at="2026-03-01T00:00:00Z")
    second = await memory.supersede_fact(first.id, "It costs 59 €", valid_at="2026-05-01T00:00:00Z")
    await memory.supersede_fact(second.id, "It costs 54 €", valid_at="2026-04-01T00:00:00Z")
    assert await memory.runtime.graph.execute(LATE_END, client=memory.client_id, id=first.id)
    files = schema_files()
    monkeypatch.setattr(exporting, "schema_files", lambda: files[:17])  # those of 0.2.0
    await loaded(await exported(memory, tmp_path / "life.jsonl"), rival)

    april = datetime(2026, 4, 1, tzinfo=UTC)
    assert (await rival.memory(first.id)).invalid_at == april


async def test_an_edge_forged_to_another_client_s_memory_is_not_exported(
    memory: Graphmem, rival: Graphmem, tmp_path: Path
) -> None:
    mine = await memory.remember_fact("Mara drinks only tea")
    theirs = await rival.remember_fact("Mara drinks only rum")
    [row] = await memory.runtime.graph.execute(
        "MATCH (mine:Memory {id: $mine}), (theirs:Memory {id: $theirs}) "
        "CREATE (mine)-[:RELATES_TO]->(theirs) RETURN count(*) AS forged",
        mine=mine.id,
        theirs=theirs.id,
    )
    assert row["forged"] == 1
    text = (await exported(memory, tmp_path / "forged.jsonl")).read_text()
    assert mine.id in text
    assert theirs.id not in text


async def test_what_is_written_meanwhile_is_told(
    lived: Graphmem, rival: Graphmem, tmp_path: Path
) -> None:
    await loaded(await exported(lived, tmp_path / "life.jsonl"), rival)
    pages = await rival.export()
    first = await anext(pages)
    await rival.remember_fact("Mara has a parrot", category="user_fact")
    path = tmp_path / "changed.jsonl"
    path.write_bytes(first + b"".join([page async for page in pages]))

    assert check(path).end.changed


def is_damaged(path: Path) -> bool:
    try:
        check(path)
    except Damaged:
        return True
    return False


async def test_no_byte_can_change_unseen(lived: Graphmem, tmp_path: Path) -> None:
    path = await exported(lived, tmp_path / "life.jsonl")
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    pages = [place for place, one in enumerate(lines) if one.startswith(b'{"page"')]
    broken = {
        "changed": whole.replace(b"drinks only tea", b"drinks only rum", 1),
        "short": whole[:-20],
        "without an end": b"".join(lines[:-1]),
        "without a line": b"".join(lines[:3] + lines[4:]),
        "without a page": b"".join(lines[: pages[0] + 1] + lines[pages[1] + 1 :]),
        "another header": whole.replace(b"lived-", b"other-", 1),
        "longer": whole + b"{}\n",
        "no export": b"{}\n",
    }
    for name, content in broken.items():
        path.write_bytes(content)
        assert is_damaged(path), name
    assert lines[-1].startswith(b'{"end":')
    for place in (pages[1], -1):
        for number in (b'"nodes":', b'"edges":'):
            changed = lines[place].replace(number, number + b"9", 1)
            path.write_bytes(b"".join(changed if one is lines[place] else one for one in lines))
            with pytest.raises(
                Damaged, match=r"nodes and [\d,]+ edges where it tells of .*\b9[\d,]+\b"
            ):
                check(path)
    path.write_bytes(whole)
    assert check(path).end.nodes > 60


def test_every_label_of_a_client_is_exported_or_is_not_for_a_reason() -> None:
    declared = {
        "Memory" if node.is_memory else label
        for label, node in declared_nodes().items()
        if "client_id" in node.properties
    }

    assert declared == {*LABELS, *NOT_EXPORTED}


async def test_a_node_that_is_there_twice_is_refused(memory: Graphmem, tmp_path: Path) -> None:
    cat, dog = ({"name": name, "normalized": name} for name in ("cat", "dog"))
    nodes = [NodeLine(["Entity"], one) for one in (cat, dog, cat)]
    with pytest.raises(Damaged, match="in the lines 1 to 5 has the identity of another one"):
        await loaded(forged(tmp_path / "forged.jsonl", memory, *nodes), memory)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"node": ["Installation"], "properties": {}}, "not a client's"),
        ({"node": ["Memory"], "properties": {}}, "not a client's"),
        ({"node": ["Audit"], "properties": {}}, "not a client's"),
        (
            {"node": ["Entity"], "properties": {"name": {"map": 1}, "normalized": "a"}},
            "'map' is no type",
        ),
        ({"node": "Entity"}, "cannot be read"),
        ({"node": ["Client"], "properties": {"client_id": "victim"}}, "'client_id', which no"),
        ({"node": ["Client"], "properties": {"import_place": "nodes 7"}}, "'import_place'"),
        ({"node": ["Client"], "properties": {"legal_hold": 7}}, "legal hold is no text"),
        (
            {"node": ["Memory", "Message"], "properties": {"active": True}},
            "without the property 'category'",
        ),
        (
            {"node": ["Entity"], "properties": {"name": "a", "normalized": None}},
            r"'normalized' \(line 9\)",
        ),
    ],
)
def test_a_forged_node_is_refused(line: dict[str, Any], reason: str) -> None:
    page = Lines([msgspec.json.encode(line)], [9], 0)
    with pytest.raises(Damaged, match=reason):
        loading._nodes(page, _any_loading())


def test_a_forged_edge_is_refused() -> None:
    edge = {"edge": "OWNS", "from": ["Entity", "a"], "to": ["Entity", "b"]}
    with pytest.raises(Damaged, match="unknown type 'OWNS'"):
        loading._edges(Lines([msgspec.json.encode(edge)], [9], 0), _any_loading())


def _any_loading() -> Any:
    return None
