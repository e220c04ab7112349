"""Chains of versions, from any member, as known at any time."""

from datetime import datetime, timedelta

import pytest

from graphmem.errors import MemoryNotFound
from graphmem.service import Graphmem
from tests.chains import MAY, STORES, chain


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
