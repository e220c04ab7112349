"""Consolidating: what the model may do is checked against what it was shown, all of it or nothing."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.episodes import remember
from graphmem.episodes.consolidate import CONSOLIDATE
from graphmem.errors import ModelFailed
from graphmem.llm import LanguageModel
from graphmem.prompts.rendering import INSTRUCTIONS as TELLING
from tests.expired import expire_all
from tests.stub_llm import Misbehaviour, StubModel, stub_model

FACTS = """CYPHER 25
MATCH (fact:Fact {client_id: $client_id})
WITH fact ORDER BY fact.created_at, fact.id
OPTIONAL MATCH (fact)-[:SUPERSEDES]->(old:Fact {client_id: $client_id})
OPTIONAL MATCH (fact)-[:DERIVED_FROM]->(source:Episode {client_id: $client_id})
RETURN fact.id AS id, fact.text AS text, fact.active AS active, fact.category AS category,
  fact.keywords AS keywords, fact.reinforced AS reinforced, fact.version AS version,
  fact.invalid_at.year AS until, collect(DISTINCT old.id) AS supersedes,
  collect(DISTINCT source.id) AS sources"""
OPEN = """CYPHER 25
MATCH (episode:Episode {client_id: $client_id}) WHERE episode.consolidated_at IS NULL
RETURN count(episode) AS episodes"""


TOWNS = ("Bergen", "Oslo", "Narvik")
PLANNED = datetime(2999, 1, 1, tzinfo=UTC)


@pytest_asyncio.fixture
async def stub() -> AsyncIterator[StubModel]:
    async with stub_model() as started:
        yield started


@pytest_asyncio.fixture
async def thinking(memory: Graphmem, stub: StubModel) -> AsyncIterator[Graphmem]:
    """The test's client, with a language model."""
    model = LanguageModel(stub.url, "small")
    yield Graphmem(replace(memory.runtime, llm=model), memory.client_id)
    await model.close()


@pytest_asyncio.fixture
async def known(memory: Graphmem) -> dict[str, str]:
    """A conversation with three facts and one episode, by name."""
    await memory.open_conversation("c")
    about: dict[str, Any] = {
        "conversation_id": "c",
        "category": "preference",
        "keywords": ["Mara"],
    }
    ids = {
        name: (await memory.remember_fact(text, **about)).id
        for name, text in (
            ("dark", "Mara prefers dark mode"),
            ("bergen", "Mara lives in Bergen"),
            ("cat", "Mara has a cat called Ballast"),
        )
    }
    said = [{"session_id": "s", "role": "user", "content": "I moved to Oslo with Ballast."}]
    ids["episode"] = (await memory.remember_episode("c", messages=said)).id
    return ids


async def test_an_episode_is_described_by_the_beginnings_of_its_messages(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await memory.open_conversation("long")
    text = "The harbour is closed. " + "A zebra crosses the quay at noon. " * 20
    said = [{"session_id": "s", "role": "user", "content": text}]
    ids = (await memory.remember("long", said)).ids
    monkeypatch.setattr(remember, "SHOWN_CHARACTERS", 22)

    kept = await memory.remember_episode("long", message_ids=ids)
    assert "harbour" in kept.summary
    assert "zebra" not in f"{kept.title} {kept.summary}"


async def facts(memory: Graphmem) -> dict[str, dict[str, Any]]:
    rows = await memory.runtime.graph.execute(FACTS, client_id=memory.client_id)
    return {row["id"]: row for row in rows}


async def unconsolidated(memory: Graphmem) -> int:
    rows = await memory.runtime.graph.execute(OPEN, client_id=memory.client_id)
    return rows[0]["episodes"]


def actions(*each: dict[str, Any]) -> str:
    return json.dumps({"actions": each})


async def test_new_reinforce_update_and_invalidate(
    thinking: Graphmem, stub: StubModel, known: dict[str, str]
) -> None:
    stub.answer = actions(
        {"action": "new", "fact": "Mara moved in May", "category": "experience"},
        {"action": "reinforce", "id": known["cat"], "episodes": [known["episode"]]},
        {
            "action": "update",
            "id": known["bergen"],
            "fact": "Mara lives in Oslo",
            "reason": "moved",
        },
        {"action": "invalidate", "id": known["dark"]},
    )
    done = await thinking.consolidate("c")
    assert (done.consolidated, done.episodes) == (True, [known["episode"]])
    assert (done.reinforced, done.invalidated) == ([known["cat"]], [known["dark"]])
    found = await facts(thinking)
    [new], [updated] = done.new, done.updated
    assert (found[new]["text"], found[new]["category"]) == ("Mara moved in May", "experience")
    assert found[new]["sources"] == found[known["cat"]]["sources"] == [known["episode"]]
    assert found[known["cat"]]["reinforced"] == 1
    assert found[updated]["text"] == "Mara lives in Oslo"
    assert (found[updated]["supersedes"], found[updated]["version"]) == ([known["bergen"]], 2)
    assert (found[updated]["keywords"], found[updated]["category"]) == (["Mara"], "preference")
    assert [found[known[name]]["active"] for name in ("dark", "bergen", "cat")] == [
        False,
        False,
        True,
    ]
    assert found[known["dark"]]["until"] < 9999
    recalled = await thinking.recall("Where does Mara live?", kinds=["fact"])
    texts = {found[item.id]["text"] for item in recalled.items}
    assert "Mara lives in Oslo" in texts
    assert texts.isdisjoint({"Mara lives in Bergen", "Mara prefers dark mode"})
    assert await unconsolidated(thinking) == 0
    again = await thinking.consolidate("c")
    assert (again.consolidated, again.reason) == (False, "nothing_new")


async def test_what_is_over_before_it_began_ends_where_it_would_have_begun(
    thinking: Graphmem, stub: StubModel, known: dict[str, str]
) -> None:
    planned = await thinking.remember_fact(
        "Mara prefers a bright mode", conversation_id="c", valid_at=PLANNED
    )
    said = [{"session_id": "s", "role": "user", "content": "It stays dark after all."}]
    await thinking.remember_episode("c", messages=said)
    stub.answer = actions({"action": "invalidate", "id": planned.id})
    assert (await thinking.consolidate("c")).invalidated == [planned.id]
    ended = await thinking.memory(planned.id)
    assert (ended.active, ended.valid_at, ended.invalid_at) == (False, PLANNED, PLANNED)


async def test_the_model_is_shown_the_facts_and_episodes_with_their_ids_and_nobody_else_s(
    thinking: Graphmem, rival: Graphmem, stub: StubModel, known: dict[str, str]
) -> None:
    await rival.open_conversation("c")
    foreign = await rival.remember_fact("Mara lives in Trondheim", conversation_id="c")
    stub.answer = actions({"action": "update", "id": foreign.id, "fact": "Mara lives in Narvik"})
    done = await thinking.consolidate("c")
    shown = stub.asked[0]["messages"][1]["content"]
    assert all(id in shown for id in known.values())
    assert "Trondheim" not in shown
    assert (len(done.new), done.updated) == (1, [])
    assert (await rival.memory(foreign.id)).active


async def test_ids_that_were_not_shown_are_new_or_nothing(
    thinking: Graphmem, stub: StubModel, known: dict[str, str]
) -> None:
    stub.answer = actions(
        {"action": "update", "id": "made-up", "fact": "Mara sails on Sundays", "episodes": ["x"]},
        {"action": "reinforce", "id": "made-up"},
        {"action": "invalidate", "id": known["episode"]},
        {"action": "new", "fact": "Mara's boat is red", "category": "boats"},
    )
    done = await thinking.consolidate("c")
    assert (len(done.new), done.updated, done.reinforced, done.invalidated) == (2, [], [], [])
    assert done.ignored == 2
    found = await facts(thinking)
    assert [found[id]["category"] for id in done.new] == ["user_fact", "user_fact"]
    assert found[done.new[0]]["sources"] == [known["episode"]]


async def test_a_known_fact_without_keywords_is_shown_to_the_model_and_updated(
    thinking: Graphmem, stub: StubModel, known: dict[str, str]
) -> None:
    await thinking.runtime.graph.execute(
        "MATCH (fact:Fact {client_id: $client}) REMOVE fact.keywords", client=thinking.client_id
    )
    stub.answer = actions({"action": "update", "id": known["bergen"], "fact": "Mara lives in Oslo"})
    [updated] = (await thinking.consolidate("c")).updated
    assert (await facts(thinking))[updated]["keywords"] == []


async def test_an_episode_does_not_change_what_was_stated_after_it(
    thinking: Graphmem, stub: StubModel, known: dict[str, str]
) -> None:
    """The job reads an episode half an hour after it ended, or years if its messages arrive late."""
    corrected = await thinking.supersede_fact(known["bergen"], "Mara lives in Trondheim")
    stub.answer = actions(
        {"action": "update", "id": corrected.id, "fact": "Mara lives in Oslo"},
        {"action": "invalidate", "id": corrected.id},
        {"action": "reinforce", "id": corrected.id},
        {"action": "update", "id": known["cat"], "fact": "Mara has a cat called Ballast in Oslo"},
    )
    done = await thinking.consolidate("c")
    assert (done.new, done.invalidated, done.ignored) == ([], [], 2)
    assert (len(done.updated), done.reinforced) == (1, [corrected.id])
    found = await thinking.memory(corrected.id)
    assert (found.active, found.invalid_at) == (True, None)
    shown = stub.asked[0]["messages"][1]["content"]
    assert f"since {corrected.valid_at.isoformat()}] Mara lives in Trondheim" in shown


async def test_an_update_keeps_the_annotations_of_the_fact(
    thinking: Graphmem, stub: StubModel, known: dict[str, str]
) -> None:
    stub.answer = actions({"action": "update", "id": known["bergen"], "fact": "Mara lives in Oslo"})
    about: dict[str, Any] = {
        "tags": ["home"],
        "metadata": {"from": "a form"},
        "expires_at": PLANNED,
    }
    again = {"fact": "Mara lives in Bergen", "conversation_id": "c", "category": "experience"}
    assert [one.action for one in await thinking.remember_facts([again])] == ["reinforced"]
    await thinking.annotate(known["bergen"], **about)

    [updated] = (await thinking.consolidate("c")).updated
    new = await thinking.memory(updated)
    assert {name: getattr(new, name) for name in about} == about
    assert new.other_categories == ["experience"]
    found = await thinking.search("Where does Mara live?", tags=["home"])
    assert [one.id for one in found.items] == [updated]


async def test_what_is_known_in_the_same_words_is_reinforced(
    thinking: Graphmem, stub: StubModel, known: dict[str, str]
) -> None:
    stub.answer = actions(
        {
            "action": "new",
            "fact": "Mara prefers the dark mode.",
            "category": "preference",
            "keywords": ["Mara"],
        }
    )
    done = await thinking.consolidate("c")
    assert (done.new, done.reinforced) == ([], [known["dark"]])


@pytest.mark.parametrize(
    "reply",
    [
        "I would rather not.",
        '{"actions": [{"action": "explode", "id": "x"}]}',
        '{"actions": [{"action": "new"}]}',
        '{"actions": [{"action": "new", "fact": "  "}]}',
        '{"actions": {"action": "new", "fact": "x"}}',
        actions(*({"action": "new", "fact": f"Fact {n}"} for n in range(101))),
    ],
)
async def test_a_reply_that_cannot_be_used_changes_nothing(
    reply: str, thinking: Graphmem, stub: StubModel, known: dict[str, str]
) -> None:
    before = await facts(thinking)
    stub.answer = reply
    with pytest.raises(ModelFailed):
        await thinking.consolidate("c")
    assert await facts(thinking) == before
    assert await unconsolidated(thinking) == 1


@pytest.mark.parametrize("misbehaviour", ["status", "garbage", "nonsense", "empty"])
async def test_a_failing_model_changes_nothing(
    misbehaviour: Misbehaviour, thinking: Graphmem, stub: StubModel, known: dict[str, str]
) -> None:
    before = await facts(thinking)
    stub.misbehaviour = misbehaviour
    with pytest.raises(ModelFailed):
        await thinking.consolidate("c")
    assert await facts(thinking) == before
    stub.misbehaviour, stub.answer = None, actions({"action": "new", "fact": "Mara moved"})
    assert len((await thinking.consolidate("c")).new) == 1


async def test_another_version_that_comes_first_leaves_the_update_as_a_new_fact(
    thinking: Graphmem, stub: StubModel, known: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = thinking.runtime.graph

    async def overtaken(*args: Any, **more: Any) -> str:
        await graph.execute(
            "CYPHER 25 MATCH (f:Memory {client_id: $client_id, id: $id}) SET f.active = false",
            client_id=thinking.client_id, id=known["bergen"],
        )  # fmt: skip
        return actions({"action": "update", "id": known["bergen"], "fact": "Mara lives in Oslo"})

    monkeypatch.setattr(thinking.runtime.llm, "reply", overtaken)
    done = await thinking.consolidate("c")
    assert (len(done.new), done.updated) == (1, [])


async def test_segmenting_lets_the_model_tell_and_queues_consolidation_when_there_is_enough(
    thinking: Graphmem, stub: StubModel, say
) -> None:
    def answer(body: dict[str, Any]) -> str:
        assert body["messages"][0]["content"] == TELLING
        return '{"title": "Harbour lights", "summary": "They spoke of the lights."}'

    stub.answer = answer
    await thinking.open_conversation("c")
    await thinking.remember("c", [say(session=f"s{n}") for n in range(2)])
    made = await thinking.segment("c")
    assert (len(made.episodes), made.by_model) == (2, 2)
    shown = await thinking.memory(made.episodes[0])
    assert shown.text == "They spoke of the lights."
    assert (await thinking.jobs(kind=CONSOLIDATE)).jobs == []
    stub.misbehaviour = "nonsense"
    await thinking.remember("c", [say(session="s3")])
    made = await thinking.segment("c")
    assert (len(made.episodes), made.by_model) == (1, 0)
    [job] = (await thinking.jobs(kind=CONSOLIDATE)).jobs
    assert (job.state, job.key) == ("queued", "c")


async def test_an_overtaken_consolidation_goes_on_with_the_other_episodes(
    thinking: Graphmem, stub: StubModel, known: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By hand beside the job, or beside a deletion: what is left is not left until the next message."""
    for n in range(5):
        said = [{"session_id": f"s{n}", "role": "user", "content": f"Boat number {n} is red."}]
        await thinking.remember_episode("c", messages=said)
    stub.answer = actions()
    calls = 0

    async def overtaken(*args: Any, **more: Any) -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            assert len((await thinking.consolidate("c")).episodes) == 5
        return actions()

    monkeypatch.setattr(thinking.runtime.llm, "reply", overtaken)
    done = await thinking.consolidate("c")
    assert (done.consolidated, len(done.episodes)) == (True, 1)
    assert await unconsolidated(thinking) == 0


@pytest.mark.parametrize("is_committed", [True, False])
async def test_a_try_counts_only_if_it_was_committed(
    thinking: Graphmem,
    stub: StubModel,
    known: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    is_committed: bool,
) -> None:
    """Its answer was lost, and another process has consolidated the episodes before the next try."""
    graph = thinking.runtime.graph
    write, tries = graph.write, 0
    stub.answer = actions({"action": "new", "fact": "Mara moved to Oslo"})

    async def try_twice(work: Any) -> Any:
        nonlocal tries
        tries += 1
        if tries > 1:
            return await write(work)

        async def fail(transaction: Any) -> None:
            await work(transaction)
            raise ValueError

        if is_committed:
            await write(work)
        else:
            with pytest.raises(ValueError):
                await write(fail)
            assert (await thinking.consolidate("c")).consolidated
        return await write(work)

    monkeypatch.setattr(type(graph), "write", lambda _, work: try_twice(work))
    done = await thinking.consolidate("c")
    assert done.consolidated == is_committed
    stated = await facts(thinking)
    assert len(stated) == 4
    assert set(done.new) <= set(stated)


async def test_what_is_left_of_a_consolidated_episode_is_not_consolidated_again(
    thinking: Graphmem, stub: StubModel
) -> None:
    """Messages expire one by one: a fact that a caller has deleted would come back each time."""

    def answer(body: dict[str, Any]) -> str:
        if body["messages"][0]["content"] == TELLING:
            return '{"title": "Mara", "summary": "Mara told of herself."}'
        return actions(*({"action": "new", "fact": f"Mara lives in {town}"} for town in TOWNS))

    stub.answer = answer
    await thinking.open_conversation("c")
    said = [{"session_id": "s", "role": "user", "content": f"I live in {one}."} for one in TOWNS]
    ids = (await thinking.remember("c", said)).ids
    await thinking.segment("c")
    wrong, right, _ = (await thinking.consolidate("c")).new
    await thinking.delete_memory(wrong)
    for id in ids[:2]:
        await thinking.annotate(id, expires_at=PLANNED)
        await expire_all(thinking.client_id, thinking.runtime.graph)
        made = await thinking.segment("c")
        assert (await thinking.memory(made.episodes[0])).consolidated_at is not None
        assert (await thinking.consolidate("c")).reason == "nothing_new"
    assert len(await facts(thinking)) == 2

    # It was derived from the message that is left, too.
    await thinking.forget(memory_ids=[ids[2]])
    assert right not in await facts(thinking)


async def test_what_is_left_of_a_forgotten_episode_is_consolidated_again(
    thinking: Graphmem, stub: StubModel, known: dict[str, str]
) -> None:
    """Its facts were forgotten with it, those of the messages that stay as well."""
    said = [{"session_id": "t", "role": "user", "content": f"I live in {one}."} for one in TOWNS]
    ids = (await thinking.remember("c", said)).ids
    await thinking.segment("c")
    stub.answer = actions()
    await thinking.consolidate("c")
    await thinking.annotate(ids[0], expires_at=PLANNED)
    await expire_all(thinking.client_id, thinking.runtime.graph)
    await thinking.segment("c")
    assert await unconsolidated(thinking) == 0

    await thinking.forget(memory_ids=[ids[1]])
    await thinking.segment("c")
    assert await unconsolidated(thinking) == 1


async def test_a_model_that_fails_fails_the_request_in_passing(
    thinking: Graphmem, stub: StubModel, known: dict[str, str]
) -> None:
    stub.misbehaviour = "status"
    with pytest.raises(ModelFailed) as failed:
        await thinking.consolidate("c")
    assert (failed.value.reason, failed.value.status) == ("refused", 500)
