"""Reads beside a supersede on a real Neo4j: of a chain each shows one version, never two and never none."""

import asyncio
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.graph.driver import Graph
from graphmem.hypotheses.ask import new_turns
from graphmem.runs.session import RunSession
from tests.thorough import THOROUGH

QUESTION = "Which rate does the harbour plan have?"
NUMBER = re.compile(r"harbour plan has rate (\d+)")
DIGEST = re.compile(r"Digest (\d+)")

Read = Callable[["Chains"], Awaitable[list[str]]]


def rate(number: int) -> str:
    return f"The harbour plan has rate {number}."


class Chains:
    """A fact and a session's summary that change, and how far they are."""

    def __init__(self, memory: Graphmem) -> None:
        self.memory = memory
        self.conversation = str(uuid.uuid4())
        self.session = ""
        self.fact = ""
        self.runs: asyncio.Queue[RunSession] = asyncio.Queue()
        self.begun = self.written = 0

    async def start(self) -> None:
        await self.memory.open_conversation(self.conversation)
        said = [
            {"session_id": "s", "role": "user", "content": QUESTION},
            {"session_id": "s", "role": "assistant", "content": "The harbour plan has its rates."},
        ]
        [id, _] = (await self.memory.remember(self.conversation, said)).ids
        self.session = (await self.memory.memory(id)).session_id or ""
        kept = await self.memory.remember_fact(rate(0), conversation_id=self.conversation)
        self.fact = kept.id
        await self._summarize()

    async def change(self) -> None:
        """Write the next version of both."""
        self.begun += 1
        self.fact = (await self.memory.supersede_fact(self.fact, rate(self.begun))).id
        await self._summarize()
        self.written = self.begun

    async def _summarize(self) -> None:
        await self.memory.add_summary(
            type="session",
            target_id=self.session,
            text=f"Digest {self.begun} of the rates of the harbour plan.",
        )


async def recall(chains: Chains) -> list[str]:
    return [one.text for one in (await chains.memory.recall(QUESTION, kinds=["fact"])).items]


async def search(chains: Chains) -> list[str]:
    found = await chains.memory.search(QUESTION, source_types=["fact"])
    return [one.snippet or "" for one in found.items]


async def everything(chains: Chains) -> list[str]:
    found = await chains.memory.search("*", source_types=["fact"])
    return [one.snippet or "" for one in found.items]


async def raw(chains: Chains) -> list[str]:
    found = await chains.memory.retrieve_memory(QUESTION, chains.conversation, raw=True)
    assert all(one.invalid_at is None for one in found.found.semantic)
    return [one.fact for one in found.found.semantic]


async def of_a_category(chains: Chains) -> list[str]:
    found = await chains.memory.retrieve_memory(QUESTION, chains.conversation, category="user_fact")
    return [found.markdown]


async def pre_retrieve(chains: Chains) -> list[str]:
    found = await chains.memory.context_pre_retrieve(QUESTION, chains.conversation)
    return [found.markdown]


async def contextual(chains: Chains) -> list[str]:
    found = await chains.memory.search_contextual(QUESTION, min_relevance=0.0)
    return [one.summary or "" for one in found.contexts]


async def contextual_fallback(chains: Chains) -> list[str]:
    found = await chains.memory.search_contextual("rate", min_relevance=1.0)
    assert found.fallback
    return [one.text for one in found.items if one.kind == "fact"]


async def turn(chains: Chains) -> list[str]:
    asked: dict[str, Any] = {"window": [f"user: {QUESTION}"], "on_failure": "window"}
    found = await chains.memory.hyde_retrieve(str(uuid.uuid4()), **asked)
    return [one.text for one in found.memories]


async def known_turn(chains: Chains) -> list[str]:
    asked: dict[str, Any] = {"window": [f"user: {QUESTION}"], "on_failure": "window"}
    found = await chains.memory.hyde_retrieve("turn", **asked)
    return [found.injection]


async def run_of(chains: Chains) -> RunSession:
    budget = {"max_tokens": 1_000_000, "max_time_ms": 3_600_000, "max_retries": 3}
    return await chains.memory.run(agent_type="reader", episode_id="e", budget=budget)


async def run_retrieve(chains: Chains) -> list[str]:
    if chains.runs.empty():
        chains.runs.put_nowait(await run_of(chains))
    run = chains.runs.get_nowait()
    found = await run.retrieve("digest of the rates", max_tokens=200)
    chains.runs.put_nowait(run)
    return [one.content for one in found.spans]


READS: list[Read] = [
    recall,
    search,
    everything,
    raw,
    of_a_category,
    pre_retrieve,
    contextual,
    contextual_fallback,
    turn,
    known_turn,
    run_retrieve,
]
PATTERNS: dict[Read, re.Pattern[str]] = {contextual: DIGEST, run_retrieve: DIGEST}


@pytest_asyncio.fixture
async def chains(memory: Graphmem, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Chains]:
    """A fact and a summary of a client without a language model."""
    for deadline in ("SECONDS", "PREPARE_SECONDS"):
        monkeypatch.setattr(f"graphmem.hypotheses.ask.{deadline}", 300.0)
    plain = replace(memory.runtime, llm=None, turns=new_turns())
    chains = Chains(Graphmem(plain, memory.client_id))
    await chains.start()
    yield chains


async def wrong_reads(
    chains: Chains, ways: list[Read] = READS, *, reads: int, changes: int
) -> list[str]:
    """Read in all ways while versions are written; return what wrong reads showed.

    Each way reads as often as told, spread over the changes, and neither side is far ahead of the other: so
    a version is written during every read.
    """
    wrong: list[str] = []
    done = dict.fromkeys(ways, 0)
    step = asyncio.Condition()
    each = changes // reads

    async def moved() -> None:
        async with step:
            step.notify_all()

    async def write() -> None:
        for _ in range(changes):
            async with step:
                await step.wait_for(lambda: chains.begun < each * (min(done.values()) + 2))
            await chains.change()
            await moved()

    async def check(read: Read) -> None:
        least = chains.written
        text = "\n".join(await read(chains))
        shown = {int(number) for number in PATTERNS.get(read, NUMBER).findall(text)}
        if len(shown) != 1 or not least <= min(shown) <= chains.begun:
            wrong.append(f"{read.__name__}: {sorted(shown)} of {least}–{chains.begun}")

    async def go_on(read: Read) -> None:
        for _ in range(reads):
            async with step:
                await step.wait_for(lambda: chains.begun >= each * done[read])
            await check(read)
            done[read] += 1
            await moved()

    async with asyncio.TaskGroup() as group:
        for work in (write(), *map(go_on, ways)):
            group.create_task(work)
    return wrong


@pytest.mark.usefixtures("bulk_data")
async def test_one_version_is_shown_beside_many_writes(chains: Chains):
    reads, changes = (50, 200) if THOROUGH else (10, 40)
    assert await wrong_reads(chains, reads=reads, changes=changes) == []


async def recall_of_everything(chains: Chains) -> list[str]:
    return [one.text for one in (await chains.memory.recall(QUESTION)).items]


async def remember_boats(memory: Graphmem, conversation: str) -> None:
    """Remember so many messages that the index need not be completed by exact cosines."""
    said = [{"session_id": "long", "role": "user", "content": f"Boat {n}."} for n in range(150)]
    await memory.remember(conversation, said)


async def test_a_recall_of_one_statement_shows_one_version_beside_many_writes(
    chains: Chains, monkeypatch: pytest.MonkeyPatch
):
    await remember_boats(chains.memory, chains.conversation)
    rows = Graph.rows
    asked: Counter[str] = Counter()

    async def counted(self: Graph, query: Any, **parameters: Any) -> Any:
        asked[query.name] += 1
        return await rows(self, query, **parameters)

    monkeypatch.setattr(Graph, "rows", counted)
    reads, changes = (400, 400) if THOROUGH else (80, 80)
    wrong = await wrong_reads(chains, [recall_of_everything], reads=reads, changes=changes)

    assert wrong == []
    # Only where a version changes during the search, the texts are read once more.
    assert asked["recall/texts"] < reads / 2


def searched_in_turn(
    monkeypatch: pytest.MonkeyPatch, first: str, write: Callable[[], Awaitable[Any]]
) -> Counter[str]:
    """Write between the searches of both indexes, of which one is made first; return what is asked for."""
    rows, asked, written = Graph.rows, Counter[str](), asyncio.Event()

    async def in_turn(self: Graph, query: Any, **parameters: Any) -> Any:
        asked[query.name] += 1
        if query.name != "retrieval/found_in_client" or written.is_set():
            return await rows(self, query, **parameters)
        if parameters["by_vectors"] != (first == "vectors"):
            await written.wait()
            return await rows(self, query, **parameters)
        answers = await rows(self, query, **parameters)
        await write()
        written.set()
        return answers

    monkeypatch.setattr(Graph, "is_idle", True)
    monkeypatch.setattr(Graph, "rows", in_turn)
    return asked


@pytest.mark.parametrize("first", ["words", "vectors"])
@pytest.mark.parametrize("changes", [0, 1, 4])
async def test_what_is_superseded_between_the_searches_of_both_indexes_is_shown_as_its_head(
    chains: Chains, monkeypatch: pytest.MonkeyPatch, first: str, changes: int
):
    await remember_boats(chains.memory, chains.conversation)

    async def write() -> None:
        for _ in range(changes):
            await chains.change()

    asked = searched_in_turn(monkeypatch, first, write)
    text = "\n".join(await recall_of_everything(chains))

    assert NUMBER.findall(text) == DIGEST.findall(text) == [str(changes)]
    assert asked["retrieval/found_in_client"] == 2
    assert asked["recall/texts"] == (1 if changes else 0)


@pytest.mark.parametrize("first", ["words", "vectors"])
async def test_of_a_content_that_is_replaced_between_both_searches_the_new_one_is_shown(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch, first: str
):
    await memory.open_conversation("c")
    await remember_boats(memory, "c")
    # Of what the reference itself would show, the words find nothing.
    card = await memory.add_reference(type="knowledge_base", target_id="k", label="Kumquats")
    await memory.put_content(card.id, rate(0))

    searched_in_turn(monkeypatch, first, lambda: memory.put_content(card.id, rate(1)))
    found = await memory.recall(QUESTION)

    assert [one.text for one in found.items if one.kind == "span"] == [rate(1)]


LOADING: dict[Read, str] = {
    recall: "recall/texts",
    search: "memories/cards",
    everything: "memories/cards",
    raw: "retrieve_memory/found_facts",
    of_a_category: "retrieve_memory/found_facts",
    pre_retrieve: "retrieve_memory/found_facts",
    contextual_fallback: "recall/texts",
    turn: "hypotheses/turn_facts",
    run_retrieve: "retrieval/heads",
}


@pytest.mark.parametrize("read", LOADING, ids=lambda read: read.__name__)
async def test_what_is_superseded_before_it_is_loaded_is_shown_as_its_head(
    chains: Chains, read: Read, monkeypatch: pytest.MonkeyPatch
):
    rows = Graph.rows

    async def late(self: Graph, query: Any, **parameters: Any) -> Any:
        if query.name == LOADING[read]:
            monkeypatch.setattr(Graph, "rows", rows)
            await chains.change()
        return await rows(self, query, **parameters)

    monkeypatch.setattr(Graph, "rows", late)
    text = "\n".join(await read(chains))

    assert PATTERNS.get(read, NUMBER).findall(text) == ["1"]


async def test_a_head_that_the_filters_refuse_is_not_shown(
    chains: Chains, monkeypatch: pytest.MonkeyPatch
):
    rows = Graph.rows

    async def late(self: Graph, query: Any, **parameters: Any) -> Any:
        if query.name == "retrieve_memory/found_facts":
            monkeypatch.setattr(Graph, "rows", rows)
            await chains.memory.supersede_fact(chains.fact, rate(1), category="goal")
        return await rows(self, query, **parameters)

    monkeypatch.setattr(Graph, "rows", late)
    assert NUMBER.findall("\n".join(await of_a_category(chains))) == []


async def test_a_known_turn_shows_the_head(chains: Chains):
    await known_turn(chains)
    await chains.change()
    assert NUMBER.findall("\n".join(await known_turn(chains))) == ["1"]


async def test_two_versions_that_were_found_are_one_item(
    chains: Chains, monkeypatch: pytest.MonkeyPatch
):
    """The legs of a search read at different moments: here one of them before the write."""
    before = await chains.memory.search(QUESTION, source_types=["fact"])
    rows = Graph.rows
    old: list[Any] = []

    async def both(self: Graph, query: Any, **parameters: Any) -> Any:
        answers = await rows(self, query, **parameters)
        if query.name.startswith("retrieval/found_") and not old:
            old.extend(answers[0].rows)
            await chains.change()
            [after] = await rows(self, query, **parameters)
            answers = [replace(after, rows=[*old, *after.rows])]
        return answers

    monkeypatch.setattr(Graph, "rows", both)
    found = await chains.memory.search(QUESTION, source_types=["fact"])

    assert old
    assert [one.snippet for one in found.items] == [rate(1)]
    assert (found.total_count, found.omitted_total) == (before.total_count, 0)


async def test_a_part_of_a_content_gives_its_place_to_the_part_of_the_new_one(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
):
    card = await memory.add_reference(type="knowledge_base", target_id="plans", label="Plans")
    await memory.put_content(card.id, "The harbour plan has a berth.\n" + "Filler of words. " * 200)
    rows = Graph.rows

    async def late(self: Graph, query: Any, **parameters: Any) -> Any:
        if query.name == "memories/cards":
            monkeypatch.setattr(Graph, "rows", rows)
            await memory.put_content(card.id, "The harbour plan has two berths.")
        return await rows(self, query, **parameters)

    monkeypatch.setattr(Graph, "rows", late)
    found = await memory.search_spans("harbour plan berth")

    assert [one.snippet for one in found.items] == ["The harbour plan has two berths."]
