"""Listing entities on a real Neo4j: in order, page by page, of one client."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.errors import InvalidInput
from tests.planted import plant


async def say(memory: Graphmem, *texts: str) -> list[str]:
    rows = [{"kind": "fact", "text": text, "version": 1, "keywords": []} for text in texts]
    return await plant(memory, *rows)


async def pages(memory: Graphmem, **asked: Any) -> AsyncIterator[list[str]]:
    """Yield the normal forms of every page."""
    cursor = None
    while True:
        page = await memory.entities(**asked, cursor=cursor)
        yield [one.normalized for one in page.entities]
        if page.cursor is None:
            return
        cursor = page.cursor


async def test_every_name_stands_once_in_order_whatever_its_script(
    memory: Graphmem, rival: Graphmem
):
    await say(memory, "Zorvath met Quillon, Ottilie, Ärger, Андрей, `😀x`, `😀xy` and `ﬃx`.")
    await say(rival, "Here is Aaron.")
    names = [name async for page in pages(memory, limit=200) for name in page]
    assert names == sorted(names)
    assert {"zorvath", "quillon", "ottilie", "ärger", "андрей", "😀x", "😀xy"} <= set(names)
    for limit in (1, 2, 3):
        shown = [page async for page in pages(memory, limit=limit)]
        assert [name for page in shown for name in page] == names
        assert all(len(page) == limit for page in shown[:-1])


async def test_names_are_found_by_how_they_begin_as_they_may_be_written(memory: Graphmem):
    await say(memory, "Zorvath met Zorba, then Zürich, then Anna, then `😀x` and `😀`.")
    for given, found in (
        ("zor", ["zorba", "zorvath"]),
        ("ZOR", ["zorba", "zorvath"]),
        ("the Zorv", ["zorvath"]),
        ("😀", ["😀", "😀x"]),
        ("zu", []),
        ("o", []),
    ):
        for limit in (1, 50):
            names = [name async for page in pages(memory, name=given, limit=limit) for name in page]
            assert names == found
    with pytest.raises(InvalidInput, match="name"):
        await memory.entities(name="...")


async def test_an_entity_is_shown_with_its_aliases_and_mentions(memory: Graphmem):
    await say(memory, "We asked Anna.", "Then Anna, of Anna Schmidt, and `anna_schmidt`.")
    await memory.find_aliases()
    listed = {one.normalized: one for one in (await memory.entities(name="anna")).entities}
    whole = listed["anna schmidt"]
    assert (whole.name, whole.mentions, whole.alias_of) == ("Anna Schmidt", 1, None)
    assert [(one.name, one.rule, one.mentions) for one in whole.aliases] == [
        ("Anna", "first_name", 2),
        ("anna_schmidt", "spelling", 1),
    ]
    alias = listed["anna"]
    assert alias.alias_of is not None
    assert (alias.alias_of.name, alias.alias_of.rule) == ("Anna Schmidt", "first_name")
    assert alias.alias_of.created_at == whole.aliases[0].created_at
    assert (alias.mentions, alias.aliases) == (2, [])


@pytest.mark.parametrize("cursor", ["", "x", "%%", "YQ", "bm8==", "\ud800"])
async def test_a_cursor_that_no_list_has_given_is_refused(memory: Graphmem, cursor: str):
    with pytest.raises(InvalidInput, match="cursor"):
        await memory.entities(cursor=cursor)
