"""Long memories on a real Neo4j: found by their passages, shown as excerpts, deleted with them."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.graph.driver import Graph
from graphmem.graph.schema import schema_files
from graphmem.memories import passages as long_memories
from graphmem.memories.passages import PASSAGES_JOB, cut_memories, queue_passages
from graphmem.model.vocabulary import SourceType
from graphmem.prompts.truncation import LEFT_OUT
from graphmem.recall.types import Item
from graphmem.retrieval import understanding
from graphmem.runtime import Runtime

NEEDLE = "Odette renewed the certificate of the mail relay by hand."
QUESTION = "Who renewed the certificate of the mail relay?"
PARAPHRASED = "Which person extended the mail server's TLS credentials manually?"
CLOSE = 0.6
"""A cosine that the log as a whole does not have: the model reads its beginning only."""
LINES = [
    f"{hour:02d}:{minute:02d} disk {minute % 7} is fine"
    for hour in range(5)
    for minute in range(60)
]
LOG = "\n".join([*LINES[:200], NEEDLE, *LINES[200:]])
SMALL = 300

PASSAGES = """CYPHER 25
MATCH (passage:Passage {client_id: $client_id})
RETURN count(passage) AS passages, count(passage.embedding) AS embedded"""

Count = Callable[[str], Awaitable[int]]


async def passages_of(memory: Graphmem) -> int:
    [row] = await memory.runtime.graph.execute(PASSAGES, client_id=memory.client_id)
    assert row["embedded"] == row["passages"]
    return row["passages"]


async def remember(memory: Graphmem, text: str = LOG, **more: Any) -> str:
    await memory.open_conversation("c")
    said = {"session_id": "s", "role": "tool", "content": text, **more}
    return (await memory.remember("c", [said])).ids[0]


async def found(memory: Graphmem, **options: Any) -> list[Item]:
    return (await memory.recall(QUESTION, max_tokens=SMALL, **options)).items


async def test_what_stands_in_the_middle_is_found_at_once_and_shown_as_an_excerpt(memory: Graphmem):
    id = await remember(memory)
    answer = await memory.recall(QUESTION, max_tokens=SMALL)

    [item] = answer.items
    assert item.id == id
    assert item.excerpt is not None
    assert answer.tokens_used <= SMALL
    assert item.text in answer.context
    assert item.text.startswith(f"{LEFT_OUT} ")
    shown = LOG.encode()[item.excerpt.start : item.excerpt.end].decode()
    assert item.text == f"{LEFT_OUT} {shown} {LEFT_OUT}"
    assert NEEDLE in shown.split("\n")
    assert set(shown.split("\n")) <= {*LINES, NEEDLE}
    assert item.excerpt.scores.keys() == {"vector", "bm25"}
    assert item.token_count == memory.runtime.tokens.count(LOG)


async def test_the_room_that_is_left_goes_to_the_excerpt(memory: Graphmem):
    await remember(memory)

    assert (await memory.recall(QUESTION, max_tokens=SMALL)).tokens_used > 0.85 * SMALL


async def test_a_text_that_fits_well_is_shown_whole(memory: Graphmem):
    await remember(memory)
    [item] = (await memory.recall(QUESTION, max_tokens=20_000)).items

    assert item.text == LOG
    assert item.excerpt is None


async def test_another_client_s_passages_are_not_found(memory: Graphmem, rival: Graphmem):
    await remember(rival)
    await remember(memory, "The harbour light is red.")

    assert [item.text for item in await found(memory)] == ["The harbour light is red."]


async def test_a_client_is_asked_for_passages_only_if_it_has_any(
    memory: Graphmem, rival: Graphmem, monkeypatch: pytest.MonkeyPatch
):
    rows, asked = Graph.rows, list[str]()

    async def watched(self: Graph, query: Any, **parameters: Any) -> Any:
        asked.append(query.name)
        return await rows(self, query, **parameters)

    monkeypatch.setattr(understanding, "FRESH_SECONDS_WHILE_SMALL", 1_000.0)
    monkeypatch.setattr(Graph, "rows", watched)
    await remember(rival)
    await remember(memory, "The harbour light is red.")
    await found(memory)
    assert "retrieval/passages_in_client" not in asked

    # The sample that tells of none is used on.
    await remember(memory)
    assert NEEDLE in "".join(item.text for item in await found(memory))
    assert asked.count("retrieval/sampled_texts") == 1
    assert asked.count("retrieval/passages_in_client") == 1


async def test_the_filters_hold_for_the_memory_of_a_passage(memory: Graphmem):
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    await remember(memory, occurred_at=moment)
    await memory.open_conversation("other")

    assert await found(memory, conversation_id="c", kinds=["message"], since=moment)
    assert not await found(memory, conversation_id="other")
    assert not await found(memory, kinds=["fact"])
    assert not await found(memory, since=moment + timedelta(seconds=1))
    assert not await found(memory, until=moment)
    assert not await found(memory, as_of=moment - timedelta(days=1))
    assert await found(memory, as_of=moment)


async def test_a_superseded_long_fact_gives_its_place_to_its_head(memory: Graphmem):
    long = f"{'The mail relay runs in the cellar of the mill. ' * 30}{NEEDLE}"
    fact = (await memory.remember_fact(long)).id
    head = await memory.supersede_fact(fact, f"{long} Nobody else may.")

    assert [item.id for item in await found(memory)] == [head.id]
    [then] = await found(memory, known_as_of=head.created_at - timedelta(microseconds=1))
    assert then.id == fact


async def test_contextual_search_shows_an_excerpt_within_its_budget(memory: Graphmem):
    await remember(memory, "Here is the log of last night.")
    id = await remember(memory)
    answer = await memory.search_contextual(QUESTION, max_tokens=SMALL)

    [hit] = [turn for one in answer.contexts for turn in one.messages if turn.id == id]
    assert hit.excerpt is not None
    assert NEEDLE in hit.content
    assert NEEDLE in answer.prompt
    assert SMALL >= answer.tokens_used > 0.7 * SMALL
    assert LOG.encode()[hit.excerpt.start : hit.excerpt.end].decode() in hit.content


async def test_search_finds_what_stands_in_the_middle(memory: Graphmem):
    id = await remember(memory)
    await remember(memory, "The mail is fine.", session_id="t")
    every: tuple[list[SourceType] | None, ...] = (None, ["message"])
    for types in every:
        answer = await memory.search(PARAPHRASED, source_types=types, max_results=1)
        [item] = answer.items
        assert (item.id, answer.total_is_exact) == (id, True)
        assert item.scores["vector"] > CLOSE
    assert not (await memory.search(PARAPHRASED, source_types=["fact"])).items
    assert not (await memory.search(PARAPHRASED, conversation_id="other")).items


async def test_the_newest_match_is_found_by_its_passages_too(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
):
    id = await remember(memory)
    # As with a client that has more matches than the most relevant ones.
    monkeypatch.setattr("graphmem.search.ask._is_all", lambda *_: False)
    answer = await memory.search(PARAPHRASED, sort_by="recency")

    assert [item.id for item in answer.items] == [id]
    assert answer.items[0].scores["vector"] > CLOSE


async def test_a_turn_recalls_a_long_fact_by_what_stands_in_its_middle(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
):
    # A busy machine may need longer than the two seconds of a turn.
    monkeypatch.setattr("graphmem.hypotheses.ask.SECONDS", 30.0)
    fact = await memory.remember_fact(LOG)
    for number in range(3):
        await memory.remember_fact(f"Mail number {number} was sent to the mill.")
    turn = await memory.hyde_retrieve(
        "t", window=[f"user: {PARAPHRASED}"], mode="pure", top_k=1, on_failure="window"
    )

    assert [one.id for one in turn.memories] == [fact.id]


async def test_without_a_budget_contextual_search_shows_it_whole(memory: Graphmem):
    id = await remember(memory)
    answer = await memory.search_contextual(QUESTION)

    [hit] = [turn for one in answer.contexts for turn in one.messages if turn.id == id]
    assert hit.content == LOG
    assert hit.excerpt is None


async def test_passages_are_deleted_with_their_memory(memory: Graphmem, nodes_of: Count):
    await memory.open_conversation("c")
    before = await nodes_of(memory.client_id)
    id = await remember(memory)
    assert await passages_of(memory) > 10

    assert (await memory.delete_memory(id)).memories == 1
    assert await passages_of(memory) == 0
    await remember(memory)
    assert (await memory.delete_conversation("c")).memories == 1
    assert await nodes_of(memory.client_id) < before + 1


async def test_what_a_write_leaves_is_cut_by_the_job_and_found_then(
    memory: Graphmem, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(long_memories, "EMBEDDED_AT_ONCE", 3)
    monkeypatch.setattr(long_memories, "PIECE", 4)
    await remember(memory)
    assert await passages_of(memory) == 3
    now = datetime.now(UTC)
    await queue_passages(now=now, new_id=lambda: f"job-{memory.client_id}", graph=runtime.graph)
    jobs = (await memory.jobs(kind=PASSAGES_JOB)).jobs
    assert [job.kind for job in jobs] == [PASSAGES_JOB]

    assert await cut_memories(runtime.context(memory.client_id), seconds=60)

    whole = await passages_of(memory)
    assert whole > 10
    assert NEEDLE in (await found(memory))[0].text
    # There is nothing left: done again it changes nothing.
    assert await cut_memories(runtime.context(memory.client_id), seconds=60)
    assert await passages_of(memory) == whole


async def test_memories_from_before_there_were_passages_are_cut_by_the_job(
    memory: Graphmem, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(long_memories, "CUT_KINDS", frozenset())
    await remember(memory)
    assert await passages_of(memory) == 0
    assert not await found(memory)
    [mark] = [one for one in schema_files()[15].statements if "passages_due = true" in one]
    await runtime.graph.execute(mark)

    assert await cut_memories(runtime.context(memory.client_id), seconds=60)
    assert NEEDLE in (await found(memory))[0].text


async def test_two_workers_do_not_cut_a_memory_twice(
    memory: Graphmem, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(long_memories, "EMBEDDED_AT_ONCE", 0)
    monkeypatch.setattr(long_memories, "PIECE", 4)
    await remember(memory)
    [memory_to_cut] = await runtime.graph.rows(
        long_memories.NEXT_TO_CUT, client_id=memory.client_id
    )
    context = runtime.context(memory.client_id)
    await long_memories._cut_further(memory_to_cut, context)
    await long_memories._cut_further(memory_to_cut, context)

    assert await passages_of(memory) == 4
