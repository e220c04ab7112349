"""Superseding keeps chains linear and acyclic; a chain is shown from any member, as known at any time."""

import asyncio
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.errors import InvalidInput, MemoryNotFound, NotHead
from graphmem.facts.remember import remember_facts
from graphmem.facts.supersede import supersede_fact
from graphmem.facts.types import NewFact, NextFact
from graphmem.memories.versions import supersede
from graphmem.memories.write import Draft, Prepared, prepare, write
from graphmem.model.times import END
from graphmem.runtime import Runtime
from graphmem.summaries.summary import add_summary
from graphmem.summaries.types import NewThreadSummary
from tests.chains import MAY, STORES, chain

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


async def fact(runtime: Runtime, client_id: str, text: str, valid_at: datetime = NOW) -> Prepared:
    draft = Draft(
        id=str(uuid.uuid4()),
        client_id=client_id,
        kind="fact",
        text=text,
        search_text=text,
        embedded_text=text,
        source_type="fact",
        occurred_at=valid_at,
        valid_at=valid_at,
        created_at=valid_at,
        own={"version": 1},
    )
    [prepared] = await prepare([draft], embedder=runtime.embedder, tokens=runtime.tokens)
    return prepared


async def stored(runtime: Runtime, memory: Graphmem, text: str) -> str:
    first = await fact(runtime, memory.client_id, text)
    await runtime.graph.write(lambda tx: write(tx, [first], client_id=memory.client_id))
    return first.draft.id


async def supersede_with(
    runtime: Runtime, memory: Graphmem, head_id: str, new: Prepared, reason: str | None = None
) -> int:
    return await runtime.graph.write(
        lambda tx: supersede(
            tx, head_id, new, client_id=memory.client_id, now=NOW + timedelta(days=9), reason=reason
        )
    )


async def edges(runtime: Runtime, memory: Graphmem) -> list[tuple[str, str]]:
    rows = await runtime.graph.execute(
        "MATCH (new:Memory {client_id: $client})-[:SUPERSEDES]->(old:Memory {client_id: $client}) "
        "RETURN new.id AS new, old.id AS old",
        client=memory.client_id,
    )
    return [(row["new"], row["old"]) for row in rows]


async def test_a_new_version_ends_the_old_one(runtime: Runtime, memory: Graphmem) -> None:
    old = await stored(runtime, memory, "The Harbour plan costs 49 euros.")
    valid_at = NOW + timedelta(days=3)
    new = await fact(runtime, memory.client_id, "The Harbour plan costs 59 euros.", valid_at)

    assert await supersede_with(runtime, memory, old, new, "Ines raised it") == 2

    before, after = await memory.memory(old), await memory.memory(new.draft.id)
    assert (before.active, before.invalid_at, before.superseded_at) == (
        False,
        valid_at,
        NOW + timedelta(days=9),
    )
    assert (after.active, after.invalid_at) == (True, None)
    found = await memory.recall("What does the Harbour plan cost?")
    assert [item.id for item in found.items] == [new.draft.id]
    found = await memory.recall("What does the Harbour plan cost?", ranking="bm25")
    assert [item.id for item in found.items] == [new.draft.id]


async def test_a_version_from_the_past_replaces_all_of_the_old_one(
    runtime: Runtime, memory: Graphmem
) -> None:
    old = await stored(runtime, memory, "The deploy window is on Thursdays.")
    new = await fact(
        runtime, memory.client_id, "The deploy window is on Tuesdays.", NOW - timedelta(days=3)
    )
    await supersede_with(runtime, memory, old, new)
    replaced = await memory.memory(old)
    assert replaced.invalid_at == replaced.valid_at


def ends(valid_at: Sequence[datetime]) -> list[datetime | None]:
    """Return when each version of a chain ends: where a newer one begins first, never before itself."""
    return [
        max(began, min(newer)) if (newer := valid_at[place:]) else None
        for place, began in enumerate(valid_at, start=1)
    ]


async def test_a_correction_of_a_correction_ends_all_versions_before_it(memory: Graphmem) -> None:
    valid_at = [NOW + timedelta(days=days) for days in (0, 60, 31, 45, -3, 50, 31, 40)]
    first = await memory.remember_fact("The lamp has colour 0.", valid_at=valid_at[0])
    ids = [first.id]
    for number, began in enumerate(valid_at[1:], start=1):
        newer = await memory.supersede_fact(
            ids[-1], f"The lamp has colour {number}.", valid_at=began
        )
        ids.append(newer.id)
        stored = [await memory.memory(id) for id in ids]
        assert [one.invalid_at for one in stored] == ends(valid_at[: number + 1])


async def test_an_end_that_was_there_already_is_kept(runtime: Runtime, memory: Graphmem) -> None:
    old = await stored(runtime, memory, "The trial runs until the third of May.")
    ended = NOW + timedelta(days=2)
    await runtime.graph.execute(
        "MATCH (memory:Memory {client_id: $client, id: $id}) SET memory.invalid_at = $ended",
        client=memory.client_id,
        id=old,
        ended=ended,
    )
    new = await fact(runtime, memory.client_id, "The trial is over.", NOW + timedelta(days=5))
    await supersede_with(runtime, memory, old, new)
    assert (await memory.memory(old)).invalid_at == ended


async def test_only_a_head_can_be_superseded(runtime: Runtime, memory: Graphmem) -> None:
    old = await stored(runtime, memory, "Rollups live in Postgres.")
    head = await fact(runtime, memory.client_id, "Rollups live in SQLite.")
    await supersede_with(runtime, memory, old, head)
    late = await fact(runtime, memory.client_id, "Rollups live in a spreadsheet.")
    with pytest.raises(NotHead) as refused:
        await supersede_with(runtime, memory, old, late)
    assert refused.value.head_id == head.draft.id
    with pytest.raises(MemoryNotFound):
        await memory.memory(late.draft.id)


async def test_a_try_that_is_repeated_changes_nothing(runtime: Runtime, memory: Graphmem) -> None:
    old = await stored(runtime, memory, "Teodor is the platform engineer.")
    new = await fact(runtime, memory.client_id, "Teodor is the acting lead.")
    assert await supersede_with(runtime, memory, old, new) == 2
    assert await supersede_with(runtime, memory, old, new) == 2
    assert await edges(runtime, memory) == [(new.draft.id, old)]


async def test_foreign_unknown_and_other_kinds_are_refused(
    runtime: Runtime, memory: Graphmem, rival: Graphmem
) -> None:
    foreign = await stored(runtime, rival, "Ballast is a cat.")
    new = await fact(runtime, memory.client_id, "Ballast is a dog.")
    for id in (foreign, "no-such-memory"):
        with pytest.raises(MemoryNotFound):
            await supersede_with(runtime, memory, id, new)
    conversation = await memory.open_conversation()
    said = await memory.remember(
        conversation.id, [{"session_id": "s", "role": "user", "content": "Ballast sleeps."}]
    )
    with pytest.raises(InvalidInput, match="a fact cannot supersede a message"):
        await supersede_with(runtime, memory, said.ids[0], new)
    assert (await rival.memory(foreign)).active


async def test_thirty_two_writers_of_one_head_make_one_chain(
    runtime: Runtime, memory: Graphmem
) -> None:
    first = await stored(runtime, memory, "Version one.")
    drafts = [await fact(runtime, memory.client_id, f"Version of writer {n}.") for n in range(32)]

    async def insist(new: Prepared) -> None:
        head = first
        while True:
            try:
                await supersede_with(runtime, memory, head, new)
            except NotHead as refused:
                head = refused.head_id
            else:
                return

    await asyncio.gather(*map(insist, drafts))

    pairs = await edges(runtime, memory)
    newer = {old: new for new, old in pairs}
    assert len(pairs) == len(newer) == 32
    chain = [first]
    while chain[-1] in newer:
        chain.append(newer[chain[-1]])
    assert sorted(chain) == sorted([first, *(draft.draft.id for draft in drafts)])
    shown = [await memory.memory(id) for id in chain]
    assert [one.active for one in shown] == [False] * 32 + [True]
    assert all((one.superseded_at or END) < END for one in shown[:-1])


async def test_thirty_two_writers_of_one_version_have_one_winner(
    runtime: Runtime, memory: Graphmem
) -> None:
    first = await stored(runtime, memory, "The head.")
    drafts = [await fact(runtime, memory.client_id, f"Try {n}.") for n in range(32)]
    outcomes = await asyncio.gather(
        *(supersede_with(runtime, memory, first, new) for new in drafts), return_exceptions=True
    )
    assert outcomes.count(2) == 1
    assert sum(isinstance(outcome, NotHead) for outcome in outcomes) == 31


async def test_deleting_any_version_deletes_the_chain(runtime: Runtime, memory: Graphmem) -> None:
    ids = [await stored(runtime, memory, "One.")]
    for text in ("Two.", "Three."):
        new = await fact(runtime, memory.client_id, text)
        await supersede_with(runtime, memory, ids[-1], new)
        ids.append(new.draft.id)
    other = await stored(runtime, memory, "Something else.")
    assert (await memory.delete_memory(ids[1])).memories == 3
    for id in ids:
        with pytest.raises(MemoryNotFound):
            await memory.memory(id)
    assert (await memory.memory(other)).active


@pytest.mark.parametrize("asked", [0, 1, 2])
async def test_any_member_gives_the_whole_chain_oldest_first(memory: Graphmem, asked: int):
    ids = await chain(memory)

    found = (await memory.versions(ids[asked])).versions

    assert [one.id for one in found] == ids
    assert [one.version for one in found] == [1, 2, 3]
    assert tuple(one.text for one in found) == STORES
    assert [one.reason for one in found] == [None, *(f"instead of {old}" for old in STORES[:2])]
    assert [one.valid_at for one in found] == [MAY + timedelta(days=30 * n) for n in range(3)]
    assert [one.superseded_at for one in found] == [found[1].created_at, found[2].created_at, None]


async def test_as_known_at_a_time_the_chain_is_what_it_was_then(memory: Graphmem):
    ids = await chain(memory)
    second = (await memory.versions(ids[0])).versions[1].created_at

    async def known(moment: datetime) -> list[str]:
        asked = await memory.versions(ids[2], known_as_of=moment)
        assert all(one.superseded_at is None for one in asked.versions[-1:])
        return [one.id for one in asked.versions]

    assert await known(second) == ids[:2]
    assert await known(second - timedelta(microseconds=1)) == ids[:1]
    assert await known(MAY - timedelta(days=1)) == []


async def test_what_was_never_superseded_is_its_own_chain(memory: Graphmem):
    await memory.open_conversation("c")
    said = {"role": "user", "content": "Hello", "session_id": "s"}
    [id] = (await memory.remember("c", [said])).ids

    [only] = (await memory.versions(id)).versions
    assert (only.id, only.version, only.superseded_at, only.reason) == (id, 1, None, None)


async def test_another_client_s_chain_looks_like_none(memory: Graphmem, rival: Graphmem):
    ids = await chain(rival)

    with pytest.raises(MemoryNotFound):
        await memory.versions(ids[0])


async def test_a_clock_that_was_set_back_ends_no_version_before_it_began(
    runtime: Runtime, memory: Graphmem
) -> None:
    context = runtime.context(memory.client_id)
    yesterday = replace(context, now=lambda: NOW - timedelta(days=1))
    [first] = await remember_facts(
        [NewFact(fact="Rent is 900 euros.")], replace(context, now=lambda: NOW)
    )

    second = await supersede_fact(first.id, NextFact(fact="Rent is 950 euros."), yesterday)
    third = await supersede_fact(second.id, NextFact(fact="Rent is 990 euros."), yesterday)

    found = (await memory.versions(third.id)).versions
    assert [one.id for one in found] == [first.id, second.id, third.id]
    assert NOW == found[0].created_at < found[1].created_at < found[2].created_at
    assert [one.superseded_at for one in found[:2]] == [one.created_at for one in found[1:]]
    assert (second.created_at, third.created_at) == (found[1].created_at, found[2].created_at)
    for version in found:
        then = await memory.recall("How much is the rent?", as_of=version.valid_at)
        assert [item.text for item in then.items] == [version.text]


async def test_the_summary_of_a_clock_that_was_set_back_follows_the_one_before(
    runtime: Runtime, memory: Graphmem
) -> None:
    context = runtime.context(memory.client_id)
    told: dict[str, object] = {
        "type": "thread",
        "target_id": "t",
        "platform": "mail",
        "sentiment": "calm",
    }
    told |= {"participant_count": 2, "message_count": 3, "last_activity_at": NOW}
    moments = iter([NOW, NOW - timedelta(days=1)])
    for text in ("The lease is due.", "The lease is paid."):
        new = msgspec.convert(told | {"key_points": [text]}, NewThreadSummary)
        summary = await add_summary(new, replace(context, now=lambda: next(moments)))

    before, after = (await memory.versions(summary.id)).versions
    assert before.created_at == NOW < after.created_at
    assert before.superseded_at == after.created_at
