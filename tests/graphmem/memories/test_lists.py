"""Listing memories of any kind on a real Neo4j, against a model of the list."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.conversations import show
from graphmem.errors import InvalidInput
from graphmem.memories import lists
from graphmem.memories.types import ListedMemory
from graphmem.model import pages

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


async def listed(memory: Graphmem, **asked: Any) -> list[ListedMemory]:
    """Return the memories of all pages, of two each."""
    found, cursor = [], None
    while True:
        answer = await memory.memories(**{"limit": 2} | asked, cursor=cursor)
        found += answer.memories
        assert len(found) <= answer.total
        cursor = answer.cursor
        if cursor is None:
            assert answer.total == len(found)
            return found


@pytest.fixture
async def told(memory: Graphmem, rival: Graphmem) -> Graphmem:
    """A client with messages of two conversations, facts and an episode; a rival has some too."""
    for who in (memory, rival):
        for conversation in ("c", "d"):
            await who.open_conversation(conversation)
            await who.remember(
                conversation,
                [
                    {
                        "session_id": f"s{place % 2}",
                        "role": "user",
                        "content": f"{conversation}{place}",
                        "external_id": f"chat-{place}",
                        "occurred_at": NOON + timedelta(hours=place),
                    }
                    for place in range(3)
                ],
            )
        await who.remember_facts(
            [
                {"fact": "Mara lives in Ghent", "category": "identity"},
                {"fact": "Mara keeps bees", "category": "interest", "scope": "team"},
            ]
        )
    said = (await memory.messages("c")).messages
    await memory.remember_episode("c", message_ids=[one.id for one in said])
    return memory


async def test_every_kind_is_listed_with_its_whole_text(told: Graphmem) -> None:
    found = await listed(told)

    assert sorted(one.text for one in found if one.kind == "message") == [
        *("c0", "c1", "c2", "d0", "d1", "d2")
    ]
    assert {one.kind for one in found} == {"message", "fact", "episode"}
    assert len({one.id for one in found}) == len(found)
    times = [one.occurred_at for one in found]
    assert times == sorted(times, reverse=True)
    backwards = [one.id for one in await listed(told, order="oldest")]
    by_time = sorted(found, key=lambda one: (one.occurred_at, one.id))
    assert backwards == [one.id for one in by_time]


NARROWED: list[tuple[dict[str, Any], set[str]]] = [
    ({"kinds": ["fact"]}, {"Mara lives in Ghent", "Mara keeps bees"}),
    ({"kinds": ["fact"], "category": "interest"}, {"Mara keeps bees"}),
    ({"kinds": ["fact"], "scope": "team"}, {"Mara keeps bees"}),
    ({"kinds": ["message"], "conversation_id": "d"}, {"d0", "d1", "d2"}),
    ({"external_id": "chat-1"}, {"c1", "d1"}),
    ({"external_id": "chat-1", "order": "oldest"}, {"c1", "d1"}),
    ({"external_id": "chat-1", "conversation_id": "d"}, {"d1"}),
    ({"external_id": "chat-9"}, set()),
    ({"kinds": ["message"], "since": NOON + timedelta(hours=2)}, {"c2", "d2"}),
    ({"kinds": ["message"], "until": NOON + timedelta(hours=1)}, {"c0", "d0"}),
    ({"source_type": "plan_summary"}, set()),
    ({"conversation_id": "unheard-of"}, set()),
]


async def test_filters_narrow_the_list_and_its_number(told: Graphmem) -> None:
    for asked, texts in NARROWED:
        found = await listed(told, **asked)

        assert {one.text for one in found} == texts, asked
        assert len(found) == len(texts), asked


async def test_a_session_s_messages_are_listed_by_its_own_id(told: Graphmem) -> None:
    session = next(one for one in (await told.sessions("d")).sessions if one.external_id == "s0")

    found = await listed(told, session_id=session.id)

    assert [(one.text, one.session_external_id) for one in found] == [("d2", "s0"), ("d0", "s0")]


@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_a_page_ends_with_the_characters_of_its_texts(
    told: Graphmem, monkeypatch: pytest.MonkeyPatch, order: Any
) -> None:
    for module in (pages, lists, show):
        monkeypatch.setattr(module, "PAGE_CHARACTERS", 3)
    first = await told.memories(kinds=["message"], order=order)
    assert (len(first.memories), first.total) == (2, 6)
    every = await listed(told, kinds=["message"], order=order, limit=200)
    assert len({one.id for one in every}) == len(every) == 6

    for session in (None, "s0"):
        seen: list[str] = []
        cursor = None
        while cursor is not None or not seen:
            page = await told.messages("c", order=order, cursor=cursor, session_id=session)
            assert len(page.messages) <= 2
            seen += [one.text for one in page.messages]
            cursor = page.cursor
        said = ["c0", "c2"] if session else ["c0", "c1", "c2"]
        assert seen == (said if order == "oldest" else said[::-1])

    only = await told.memories(external_id="chat-1", order=order)
    assert len(only.memories) == 2


async def test_the_name_of_a_session_goes_before_the_own_id_of_another(told: Graphmem) -> None:
    session = next(one for one in (await told.sessions("d")).sessions if one.external_id == "s0")
    named = [{"session_id": session.id, "role": "user", "content": "confusing"}]
    await told.remember("d", named)

    places: dict[str, Any] = {"conversation_id": "d", "session_id": session.id}
    kept = await told.remember_episode(
        "d", range={"session_id": session.id, "from_idx": 0, "to_idx": 1}
    )
    [only] = await listed(told, **places, kinds=["message"])
    assert (only.text, kept.message_ids) == ("confusing", [only.id])
    assert (await told.forget(**places)).memories["message"] == 1
    assert len(await listed(told, session_id=session.id, kinds=["message"])) == 2


async def test_superseded_versions_are_listed_where_they_are_asked_for(memory: Graphmem) -> None:
    [first] = await memory.remember_facts([{"fact": "Mara lives in Ghent"}])
    second = await memory.supersede_fact(first.id, fact="Mara lives in Lyon")

    assert [one.text for one in await listed(memory)] == ["Mara lives in Lyon"]
    everything = await listed(memory, include_superseded=True)
    assert {one.id for one in everything} == {first.id, second.id}
    assert {one.active for one in everything} == {True, False}
    before = await memory.memory(first.id)
    then = await listed(memory, known_as_of=before.created_at)
    assert [one.id for one in then] == [first.id]


async def test_a_cursor_goes_with_its_filters(told: Graphmem) -> None:
    cursor = (await told.memories(limit=1)).cursor

    with pytest.raises(InvalidInput, match=r"^cursor: "):
        await told.memories(kinds=["fact"], cursor=cursor)


@pytest.mark.parametrize("order", ["newest", "oldest"])
@pytest.mark.parametrize("seed", range(3))
async def test_beside_random_histories_nothing_comes_twice_and_nothing_is_missing(
    seed: int, order: Any, memory: Graphmem
) -> None:
    chance = random.Random(seed)
    await memory.open_conversation("c")
    facts: list[str] = []

    async def change() -> None:
        match chance.choice(("say", "state", "supersede", "delete")):
            case "say":
                moment = NOON + timedelta(hours=chance.randrange(20))
                said = {"session_id": "s", "role": "user", "content": "x", "occurred_at": moment}
                throughout_not.update((await memory.remember("c", [said] * 2)).ids)
            case "state":
                [kept] = await memory.remember_facts([{"fact": f"Lamp {len(facts)} burns red"}])
                facts.append(kept.id)
                throughout_not.add(kept.id)
            case "supersede" if facts:
                old = facts.pop(chance.randrange(len(facts)))
                new = await memory.supersede_fact(old, fact=f"Lamp {old} burns green")
                facts.append(new.id)
                throughout_not.update((old, new.id))
            case "delete" if facts:
                old = facts.pop(chance.randrange(len(facts)))
                await memory.delete_memory(old)
                throughout_not.add(old)

    throughout_not: set[str] = set()
    for _ in range(12):
        await change()
    before = {one.id for one in await listed(memory, limit=200)}
    throughout_not.clear()

    seen, cursor = [], None
    while True:
        page = await memory.memories(limit=3, order=order, cursor=cursor)
        seen += [one.id for one in page.memories]
        cursor = page.cursor
        if cursor is None or len(seen) > 200:
            break
        await change()

    assert len(set(seen)) == len(seen)
    assert before - throughout_not <= set(seen)
    assert cursor is None
