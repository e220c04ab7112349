"""Exact search: parts of texts, whatever their case, in one session or conversation."""

import pytest

from graphmem.client import Graphmem
from graphmem.errors import InvalidInput
from graphmem.retrieval import listing
from graphmem.search.types import SearchResult
from tests.told_sessions import tell

SAID = [
    ("s", "Die STRASSE nach Oslo, 100% sicher * wirklich"),
    ("s", "Die Straße ist nass: validate_tok und mehr"),
    ("t", "Nothing of the kind, straS-se"),
    ("t", "Die straße, again"),
    ("t", "The oﬃce cafe\u0301 in three strata"),
]


async def said(memory: Graphmem) -> dict[str, str]:
    await memory.open_conversation("c")
    await memory.remember(
        "c",
        [{"session_id": name, "role": "user", "content": content} for name, content in SAID],
    )
    rows = await memory.runtime.graph.execute(
        "CYPHER 25 MATCH (s:Session {client_id: $client_id}) RETURN s.external_id AS name, s.id AS id",
        client_id=memory.client_id,
    )
    return {row["name"]: row["id"] for row in rows}


def texts(found: SearchResult) -> set[str]:
    return {item.snippet or "" for item in found.items}


async def test_a_part_of_a_text_is_found_whatever_its_case(
    memory: Graphmem, rival: Graphmem
) -> None:
    # S5.17
    ids = await said(memory)
    await said(rival)
    whole = await memory.search("strasse", match="exact", conversation_id="c")
    assert texts(whole) == {SAID[0][1], SAID[1][1], SAID[3][1]}
    assert (whole.total_count, whole.total_is_exact) == (3, True)
    assert {item.relevance for item in whole.items} == {1.0}
    inside = await memory.search("STRAßE", match="exact", session_id=ids["t"])
    assert texts(inside) == {SAID[3][1]}
    part = await memory.search("idate_to", match="exact", session_id=ids["s"])
    assert texts(part) == {SAID[1][1]}
    joined = await memory.search("OFFICE CAFÉ", match="exact", conversation_id="c")
    assert texts(joined) == {SAID[4][1]}
    star = await memory.search("*", match="exact", conversation_id="c")
    assert texts(star) == {SAID[0][1]}
    elsewhere = await memory.search(
        "strasse", match="exact", session_id=ids["s"], conversation_id="d"
    )
    assert (elsewhere.items, elsewhere.total_count) == ([], 0)
    foreign = await rival.search("strasse", match="exact", session_id=ids["s"])
    assert foreign.items == []


async def test_other_searches_stay_as_they_were(memory: Graphmem) -> None:
    # S5.16 S5.35 S5.36
    await tell(memory, "garden")
    found = await memory.recall("Where does the basil go?")
    assert "basil" in found.context
    everything = await memory.search("*", source_types=["message"])
    assert everything.total_count == 3


async def test_it_looks_into_a_session_or_a_conversation_and_says_so(memory: Graphmem) -> None:
    with pytest.raises(InvalidInput, match="match"):
        await memory.search("x", match="exact")
    with pytest.raises(InvalidInput, match="session_id"):
        await memory.search("x", session_id="s")
    with pytest.raises(InvalidInput, match="query"):
        await memory.search(" ", match="exact", conversation_id="c")


async def test_what_is_not_read_is_admitted(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await said(memory)
    monkeypatch.setattr(listing, "MOST_READ", 3)
    monkeypatch.setattr(listing, "READ_AT_ONCE", 1)
    found = await memory.search("stra", match="exact", conversation_id="c")
    assert (found.total_count, found.total_is_exact) == (3, False)
