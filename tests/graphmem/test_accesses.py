"""What is recorded of reads: soon after the answer, once, within bounds, and no longer than it may be."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from prometheus_client import REGISTRY

from graphmem import config
from graphmem.accesses import (
    AT_ONCE,
    ReadRecord,
    Recorder,
    ShownMemory,
    forget_old_reads,
    forget_reads,
)
from graphmem.client import Graphmem
from graphmem.errors import MemoryNotFound, Unavailable
from graphmem.runtime import Runtime
from tests.planted import plant
from tests.told_sessions import tell

NOW = datetime.now(UTC)
KEPT = timedelta(days=config.load({}).keep_accesses_days)
LONG_AGO = datetime(1990, 1, 1, tzinfo=UTC)
"""So that no other test's records are old."""
RECORDS = """
MATCH (access:Access {client_id: $client})
OPTIONAL MATCH (access)-[edge:RETURNED]->(memory:Memory)
WITH access, collect({id: memory.id, rank: edge.rank, tokens: edge.tokens, score: edge.score}) AS shown
RETURN access {.*, returned: [one IN shown WHERE one.id IS NOT NULL]} AS access
ORDER BY access.at, access.id
"""


async def records(memory: Graphmem) -> list[dict[str, Any]]:
    """Return what has been recorded of a client's reads."""
    if memory.runtime.recorder is not None:
        await memory.runtime.recorder.settle()
    found = await memory.runtime.graph.execute(RECORDS, client=memory.client_id)
    return [row["access"] for row in found]


def read(memory: Graphmem, id: str, *shown: str, **more: Any) -> ReadRecord:
    """Return a read that showed these memories."""
    plain: dict[str, Any] = {
        "client_id": memory.client_id,
        "operation": "recall",
        "at": NOW,
        "duration_ms": 1.5,
        "question": "who?",
        "conversation_id": None,
        "tokens": 7,
        "found": 1,
        "shown": [ShownMemory(one, rank, 0.5, 3) for rank, one in enumerate(shown, start=1)],
    }
    return ReadRecord(id=id, **plain | more)


class Counting:
    """A database that counts, and fails as it is told."""

    def __init__(self, *, fails: bool = False, seconds: float = 0.0) -> None:
        self.batches: list[int] = []
        self._fails, self._seconds = fails, seconds

    def impatient(self) -> "Counting":
        return self

    async def change(self, query: Any, **parameters: Any) -> list[Any]:
        await asyncio.sleep(self._seconds)
        if self._fails:
            raise Unavailable("the database does not answer")
        if "rows" in parameters:
            self.batches.append(len(parameters["rows"]))
        return [type("Done", (), {"written": 0})()]


def left_undone() -> float:
    return REGISTRY.get_sample_value("graphmem_left_undone_total", {"what": "record_reads"}) or 0.0


async def test_a_record_is_written_once_with_what_was_shown(memory: Graphmem) -> None:
    one, other = await plant(
        memory, {"kind": "fact", "text": "one"}, {"kind": "fact", "text": "other"}
    )
    recorder = Recorder(memory.runtime.graph, seconds=0.0)
    for _ in range(2):
        recorder.note(lambda: read(memory, "a", other, one))
        await recorder.settle()
    [kept] = await records(memory)
    assert (kept["operation"], kept["question"], kept["tokens"]) == ("recall", "who?", 7)
    assert (kept["found"], kept["shown"], kept["duration_ms"]) == (1, 2, 1.5)
    assert (kept["run_id"], kept["params"]) == ("", "{}")
    assert "conversation_id" not in kept
    assert [
        (place["id"], place["rank"])
        for place in sorted(kept["returned"], key=lambda it: it["rank"])
    ] == [
        (other, 1),
        (one, 2),
    ]


async def test_a_question_goes_with_a_memory_that_was_deleted_before_it_was_recorded(
    memory: Graphmem,
) -> None:
    [kept, gone] = await plant(memory, *({"kind": "fact", "text": text} for text in "ab"))
    recorder = Recorder(memory.runtime.graph, seconds=0.0)
    await memory.forget(memory_ids=[gone])
    recorder.note(lambda: read(memory, "a", gone, kept))
    await recorder.settle()
    [record] = await records(memory)
    assert (record["question"], record["shown"]) == ("", 2)
    assert [one["id"] for one in record["returned"]] == [kept]


async def test_another_client_s_memory_is_not_joined(memory: Graphmem, rival: Graphmem) -> None:
    [foreign] = await plant(rival, {"kind": "fact", "text": "foreign"})
    [own] = await plant(memory, {"kind": "fact", "text": "own"})
    recorder = Recorder(memory.runtime.graph, seconds=0.0)
    recorder.note(lambda: read(memory, "a", foreign, own))
    await recorder.settle()
    [kept] = await records(memory)
    assert [(one["id"], one["rank"]) for one in kept["returned"]] == [(own, 2)]


async def test_reads_are_written_together_and_not_before_their_time() -> None:
    graph: Any = Counting()
    recorder = Recorder(graph, seconds=0.2)
    began = time.monotonic()
    for place in range(3):
        recorder.note(partial(_read, str(place)))
    await asyncio.sleep(0.05)
    assert graph.batches == []
    while not graph.batches:
        await asyncio.sleep(0.01)
    assert time.monotonic() - began >= 0.2
    assert graph.batches == [3]


async def test_a_hundred_are_not_waited_for() -> None:
    graph: Any = Counting()
    recorder = Recorder(graph, seconds=60.0)
    for place in range(AT_ONCE):
        recorder.note(partial(_read, str(place)))
    async with asyncio.timeout(300):
        while not graph.batches:
            await asyncio.sleep(0.01)
    assert graph.batches == [AT_ONCE]
    await recorder.end()


async def test_more_than_may_wait_is_left_out_and_counted() -> None:
    graph: Any = Counting()
    recorder, before = Recorder(graph, seconds=60.0, most=5), left_undone()
    for place in range(8):
        recorder.note(partial(_read, str(place)))
    await recorder.end()
    assert sum(graph.batches) == 5
    assert left_undone() == before + 3


async def test_a_database_that_fails_is_felt_by_nobody(caplog: pytest.LogCaptureFixture) -> None:
    graph: Any = Counting(fails=True)
    recorder, before = Recorder(graph, seconds=0.0), left_undone()
    recorder.note(lambda: _read("a"))
    await recorder.settle()
    assert left_undone() == before + 1
    assert "who?" not in caplog.text


async def test_an_end_waits_for_what_is_not_written() -> None:
    graph: Any = Counting(seconds=0.1)
    recorder = Recorder(graph, seconds=60.0)
    recorder.note(lambda: _read("a"))
    await recorder.end()
    assert graph.batches == [1]


def _read(id: str) -> ReadRecord:
    return ReadRecord(
        id=id,
        client_id="c",
        operation="recall",
        at=NOW,
        duration_ms=1.0,
        question="who?",
        conversation_id=None,
        tokens=0,
        found=0,
        shown=[],
    )


async def test_what_is_old_and_what_showed_only_what_is_gone_is_forgotten(memory: Graphmem) -> None:
    kept, gone = await plant(
        memory, {"kind": "fact", "text": "kept"}, {"kind": "fact", "text": "gone"}
    )
    recorder = Recorder(memory.runtime.graph, seconds=0.0)
    recorder.note(lambda: read(memory, "old", kept, at=NOW - KEPT - timedelta(days=1)))
    recorder.note(lambda: read(memory, "both", kept, gone))
    recorder.note(lambda: read(memory, "alone", gone))
    recorder.note(lambda: read(memory, "gap", found=0))
    await recorder.settle()
    await memory.delete_memory(gone)
    await forget_reads(client_id=memory.client_id, before=NOW - KEPT, graph=memory.runtime.graph)
    assert {one["id"] for one in await records(memory)} == {"both", "gap"}


async def test_old_records_of_every_client_go_and_no_others(
    memory: Graphmem, rival: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphmem.accesses.READS_AT_ONCE", 2)
    [shown] = await plant(memory, {"kind": "fact", "text": "kept"})
    old = LONG_AGO - timedelta(days=1)
    recorder = Recorder(memory.runtime.graph, seconds=0.0)
    for place in range(5):
        recorder.note(partial(read, memory, f"old-{place}", shown, at=old))
    recorder.note(lambda: read(memory, "just", shown, at=LONG_AGO))
    recorder.note(lambda: read(rival, "theirs", at=old, found=0))
    await recorder.settle()
    run = await memory.run(agent_type="lead", episode_id="ep")
    await memory.runtime.graph.execute(
        "CYPHER 25 MATCH (access:Access {client_id: $client, run_id: $run}) SET access.at = $old",
        client=memory.client_id,
        run=run.id,
        old=old,
    )

    assert await forget_old_reads(before=LONG_AGO, graph=memory.runtime.graph) >= 6

    assert await records(rival) == []
    assert {one["id"] for one in await records(memory)} == {f"start-{run.id}", "just"}
    assert [one.text for one in (await memory.recall("kept", kinds=["fact"])).items] == ["kept"]


async def test_the_recorder_keeps_them_as_long_as_the_settings_say(memory: Graphmem) -> None:
    old = NOW - timedelta(days=400)
    for kept, left in (
        (None, {"old", "new"}),
        (timedelta(days=500), {"old", "new"}),
        (KEPT, {"new"}),
    ):
        recorder = Recorder(memory.runtime.graph, kept=kept, seconds=0.0)
        recorder.note(lambda: read(memory, "old", at=old, found=0))
        recorder.note(lambda: read(memory, "new", found=0))
        await recorder.settle()
        assert {one["id"] for one in await records(memory)} == left


async def test_a_question_goes_with_its_conversation(memory: Graphmem) -> None:
    for id in ("one", "other"):
        await memory.open_conversation(id)
        await memory.remember(
            id, [{"session_id": "s", "role": "user", "content": f"The {id} harbour is closed"}]
        )
        await memory.recall("Which harbour is closed?", conversation_id=id)
    await memory.recall("Which harbour is closed?", limit=1)
    assert len(await records(memory)) == 3
    await memory.delete_conversation("one")
    left = await records(memory)
    assert [one.get("conversation_id") for one in left if one.get("conversation_id")] == ["other"]
    await memory.delete_conversation("other")
    assert await records(memory) == []


async def test_a_read_of_a_conversation_that_is_gone_leaves_nothing(memory: Graphmem) -> None:
    recorder = Recorder(memory.runtime.graph, seconds=0.0)
    recorder.note(lambda: read(memory, "a", conversation_id="gone"))
    await recorder.settle()
    assert await records(memory) == []


async def test_recording_can_be_turned_off(runtime: Runtime, memory: Graphmem) -> None:
    assert config.load({}).record == "on"
    assert config.load({"GRAPHMEM_RECORD": "off"}).record == "off"
    silent = Graphmem(replace(runtime, recorder=None), memory.client_id)
    await silent.recall("anything?")
    assert await records(memory) == []


CONVERSATION = "550e8400-e29b-41d4-a716-446655440001"


async def test_every_way_of_asking_leaves_a_record(memory: Graphmem) -> None:
    await memory.open_conversation(CONVERSATION)
    await memory.remember(
        CONVERSATION, [{"session_id": "s", "role": "user", "content": "The harbour light is red"}]
    )
    await memory.remember_fact("The harbour light is red", conversation_id=CONVERSATION)
    asked = "What colour is the harbour light?"
    await memory.recall(asked, conversation_id=CONVERSATION)
    await memory.search(asked, source_types=["fact"], conversation_id=CONVERSATION)
    await memory.retrieve_memory(asked, CONVERSATION)
    await memory.retrieve_memory(asked, CONVERSATION, raw=True)
    await memory.context_pre_retrieve(asked, CONVERSATION)
    await memory.hyde_retrieve("t", conversation_id=CONVERSATION, window=[f"user: {asked}"])
    await memory.search_contextual(asked, conversation_id=CONVERSATION)
    kept = await records(memory)
    assert sorted(one["operation"] for one in kept) == [
        "context_pre_retrieve",
        "contextual",
        "hyde",
        "recall",
        "retrieve_memory",
        "retrieve_memory",
        "search",
    ]
    for one in kept:
        assert asked in one["question"]
        assert one["conversation_id"] == CONVERSATION
        assert one["duration_ms"] > 0
        # Without a language model a turn finds nothing.
        assert bool(one["returned"]) == (one["operation"] != "hyde"), one["operation"]
        assert (one["found"] > 0) == (one["operation"] != "hyde"), one["operation"]


async def test_telling_more_leaves_a_record_too(memory: Graphmem, rival: Graphmem) -> None:
    # S5.20
    for one in (memory, rival):
        await tell(one, "bug")
    found = await memory.search_contextual("What was that auth bug?", top_k=1, neighbours=0)
    [hit] = found.contexts[0].messages
    more = await memory.expand_context(memory_id=hit.id, direction="later", max_tokens=40)
    nothing = await memory.expand_context(memory_id=hit.id, max_tokens=1)
    with pytest.raises(MemoryNotFound):
        await rival.expand_context(memory_id=hit.id)
    assert await records(rival) == []
    kept = await records(memory)
    assert [one["operation"] for one in kept] == ["contextual", "expand", "expand"]
    told, empty = kept[1:]
    shown = sorted(told["returned"], key=lambda one: one["rank"])
    assert [one["id"] for one in shown] == [turn.id for turn in more.messages]
    assert (told["found"], told["tokens"]) == (len(more.messages), more.tokens_used)
    assert (told["question"], told["conversation_id"]) == ("", "c")
    assert (empty["returned"], empty["found"], nothing.messages) == ([], 0, [])
    # Nobody asked for anything that is not known.
    assert (await memory.pattern("knowledge_gaps")).rows == []


async def test_a_recall_of_what_is_not_known_is_a_gap(memory: Graphmem) -> None:
    await memory.open_conversation("c")
    await memory.remember(
        "c", [{"session_id": "s", "role": "user", "content": "The bakery closes at six"}]
    )
    await memory.recall("When does the bakery close?")
    await memory.recall("Who won the chess tournament in Reykjavik?")
    found = {one["question"]: one["found"] for one in await records(memory)}
    assert found["When does the bakery close?"] == 1
    assert found["Who won the chess tournament in Reykjavik?"] == 0
