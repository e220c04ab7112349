"""Annotations on a real Neo4j: returned as they came, changed without a new version, filtered in lists."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.errors import ConversationNotFound, InvalidInput, MemoryNotFound, TooLarge
from graphmem.facts import supersede
from graphmem.references import reference

METADATA: dict[str, Any] = {"z": [1, 1.5, None, True], "a": {"ü": "“quoted” \n"}}
LATER = datetime(2099, 1, 1, tzinfo=UTC)


async def said(memory: Graphmem, *tags: str) -> str:
    """Remember a message with these tags; return its id."""
    await memory.open_conversation("c")
    message = {
        "session_id": "s",
        "role": "user",
        "content": " ".join(["said", *tags]),
        "tags": tags,
    }
    return (await memory.remember("c", [message])).ids[0]


async def tagged(memory: Graphmem, *tags: str) -> set[str]:
    """Return the ids of the listed memories that have all of the tags."""
    found = await memory.memories(tags=tags)
    assert found.total == len(found.memories)
    return {one.id for one in found.memories}


async def test_every_annotated_kind_returns_what_came(memory: Graphmem) -> None:
    await memory.open_conversation("c")
    given: Any = {"metadata": METADATA, "tags": ["b", "a", "b"], "expires_at": LATER}
    message = {"session_id": "s", "role": "user", "content": "We meet in Ghent."}
    ids = (await memory.remember("c", [message | given])).ids
    ids.append((await memory.remember_fact("Mara lives in Ghent", **given)).id)
    ids.append((await memory.remember_episode("c", message_ids=ids[:1], **given)).id)
    card = await memory.add_reference(type="offer", target_id="bees", label="Bees", **given)
    assert (card.metadata, card.tags, card.expires_at) == (METADATA, ["b", "a"], LATER)

    for id in (*ids, card.id):
        one = await memory.memory(id)
        assert (one.metadata, one.tags, one.expires_at) == (METADATA, ["b", "a"], LATER)
        assert list(one.metadata or ()) == ["z", "a"]
    assert {one.tags == ["b", "a"] for one in (await memory.memories()).memories} == {True}


async def test_a_change_leaves_the_rest_and_makes_no_version(
    memory: Graphmem, rival: Graphmem
) -> None:
    first = (await memory.remember_fact("Mara keeps bees", tags=["old"], metadata=METADATA)).id
    second = (await memory.supersede_fact(first, "Mara keeps goats")).id
    assert (await memory.memory(second)).metadata == METADATA

    changed = await memory.annotate(first, tags=["new"], expires_at=LATER)

    assert (changed.tags, changed.metadata, changed.expires_at) == (["new"], METADATA, LATER)
    assert (await memory.memory(second)).tags == ["new"]
    assert len((await memory.versions(second)).versions) == 2
    bare = await memory.annotate(second, tags=[], metadata=None, expires_at=None)
    assert (bare.tags, bare.metadata, bare.expires_at) == (None, None, None)
    with pytest.raises(MemoryNotFound):
        await rival.annotate(first, tags=["theirs"])


async def test_lists_hold_what_has_all_tags(memory: Graphmem, rival: Graphmem) -> None:
    both, one = await said(memory, "x", "y"), await said(memory, "x")
    await said(rival, "x", "y")

    assert await tagged(memory, "x") == {both, one}
    assert await tagged(memory, "x", "y") == {both}
    assert await tagged(memory, "z") == set()
    found = await memory.messages("c", tags=["y"])
    assert ([one.id for one in found.messages], found.total) == ([both], 1)
    found = await memory.messages("c", session_id="s", order="newest", tags=["y"])
    assert ([one.id for one in found.messages], found.total) == ([both], 1)
    await memory.annotate(both, tags=["z"])
    assert await tagged(memory, "y") == set()
    assert await tagged(memory, "z") == {both}


async def test_a_conversation_is_annotated_and_listed_by_tag(
    memory: Graphmem, rival: Graphmem
) -> None:
    await memory.open_conversation("plain")
    await memory.open_conversation("c", title="Ghent", metadata=METADATA, tags=["x"])

    kept = await memory.open_conversation("c")
    assert (kept.title, kept.metadata, kept.tags, kept.created) == ("Ghent", METADATA, ["x"], False)
    found = await memory.conversations(tags=["x"])
    assert ([one.id for one in found.conversations], found.total) == (["c"], 1)
    assert found.conversations[0].metadata == METADATA
    changed = await memory.change_conversation("c", title=None, tags=["y"])
    assert (changed.title, changed.metadata, changed.tags) == (None, METADATA, ["y"])
    assert (await memory.conversations(tags=["x"])).conversations == []
    with pytest.raises(ConversationNotFound):
        await rival.change_conversation("c", tags=["theirs"])


async def test_a_repeated_fact_gains_tags_and_lasts_longest(memory: Graphmem) -> None:
    soon = LATER - timedelta(days=900)
    kept = await memory.remember_fact("Mara keeps bees", tags=["a"], expires_at=soon)

    await memory.remember_fact("Mara keeps bees", tags=["b"], expires_at=LATER)
    one = await memory.memory(kept.id)
    assert (one.tags, one.expires_at) == (["a", "b"], LATER)
    await memory.remember_fact("Mara keeps bees", expires_at=soon)
    assert (await memory.memory(kept.id)).expires_at == LATER
    await memory.remember_fact("Mara keeps bees")
    assert (await memory.memory(kept.id)).expires_at is None


async def test_the_spans_of_a_content_share_its_tags(memory: Graphmem) -> None:
    card = await memory.add_reference(type="offer", target_id="bees", label="Bees", tags=["x"])
    content = await memory.put_content(card.id, "Twelve hives stand in the orchard.")
    [span] = content.spans

    assert await tagged(memory, "x") == {card.id, span.id}
    await memory.annotate(card.id, tags=["y"])
    assert await tagged(memory, "y") == {card.id, span.id}
    assert (await memory.references(tags=["y"])).references[0].id == card.id
    assert (await memory.references(tags=["x"])).references == []
    again = await memory.put_content(card.id, "Eleven hives stand in the orchard.")
    assert await tagged(memory, "y") == {again.id, *(one.id for one in again.spans)}


@pytest.mark.parametrize(
    ("given", "error", "field"),
    [
        ({"metadata": {"text": "x" * 4_096}}, TooLarge, "metadata"),
        ({"metadata": ["no", "object"]}, InvalidInput, "metadata"),
        ({"tags": ["a,b"]}, InvalidInput, "tags[0]"),
        ({"tags": ["x" * 65]}, InvalidInput, "tags[0]"),
        ({"tags": [" x"]}, InvalidInput, "tags[0]"),
        ({"tags": [str(place) for place in range(33)]}, InvalidInput, "tags"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, InvalidInput, "expires_at"),
        ({"expires_at": "2099-01-01T00:00:00"}, InvalidInput, "expires_at"),
        ({}, InvalidInput, "body"),
    ],
)
async def test_annotations_out_of_bounds_are_refused(
    memory: Graphmem, given: Any, error: type[InvalidInput], field: str
) -> None:
    id = await said(memory)
    with pytest.raises(error) as refused:
        await memory.annotate(id, **given)
    assert refused.value.field == field


def once_during(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, change: Callable[[], Awaitable[object]]
) -> None:
    """Make a change while a function of a module works for the first time."""
    work, changes = getattr(module, name), [change]

    async def working(*given: Any, **named: Any) -> Any:
        while changes:
            await changes.pop()()
        return await work(*given, **named)

    monkeypatch.setattr(module, name, working)


@pytest.mark.parametrize("conversation_id", [None, "c"])
async def test_a_version_inherits_what_is_changed_while_it_is_written(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch, conversation_id: str | None
) -> None:
    await memory.open_conversation("c")
    text = "Mara keeps bees"
    first = await memory.remember_fact(
        text, tags=["old"], expires_at=LATER, conversation_id=conversation_id
    )

    async def change() -> None:
        await memory.annotate(first.id, tags=["new"], metadata=METADATA, expires_at=None)
        again = await memory.remember_fact(
            text, tags=["more"], importance=0.9, conversation_id=conversation_id
        )
        assert again.id == first.id

    once_during(monkeypatch, supersede, "prepare", change)
    second = await memory.supersede_fact(first.id, "Mara keeps goats")

    head = await memory.memory(second.id)
    assert (head.tags, head.metadata, head.expires_at) == (["new", "more"], METADATA, None)
    assert head.importance == 0.9
    assert len((await memory.versions(first.id)).versions) == 2


@pytest.mark.parametrize("contents", [["Bees."], ["Bees.", "Goats."]])
async def test_a_content_shares_what_is_changed_while_it_is_stored(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch, contents: list[str]
) -> None:
    card = await memory.add_reference(type="offer", target_id="bees", label="Bees", tags=["old"])
    *before, content = contents
    for earlier in before:
        await memory.put_content(card.id, earlier)
    once_during(
        monkeypatch,
        reference,
        "prepare_within_limits",
        lambda: memory.annotate(card.id, tags=["new"], expires_at=LATER),
    )
    stored = await memory.put_content(card.id, content)

    ids = [card.id, stored.id, *(span.id for span in stored.spans)]
    for id in ids:
        one = await memory.memory(id)
        assert (one.tags, one.expires_at) == (["new"], LATER)
    assert await tagged(memory, "old") == set()


async def test_what_a_repetition_adds_is_shared_by_all_versions(memory: Graphmem) -> None:
    first = await memory.remember_fact("Mara keeps bees", tags=["old"], expires_at=LATER)
    second = await memory.supersede_fact(first.id, "Mara keeps goats")
    again = await memory.remember_fact("Mara keeps goats", tags=["new"])

    assert again.id == second.id
    for id in (first.id, second.id):
        one = await memory.memory(id)
        assert (one.tags, one.expires_at) == (["old", "new"], None)
    found = await memory.memories(tags=["new"], include_superseded=True)
    assert {one.id for one in found.memories} == {first.id, second.id}
