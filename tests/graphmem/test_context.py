"""The context of a use case: which clients it reads, and how their ids are kept apart."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from graphmem.context import Context
from graphmem.errors import InvalidInput
from graphmem.model.vocabulary import bare_id, marked_id, owner_of
from graphmem.retrieval.finding import Candidate
from graphmem.retrieval.heads import Head, Standing
from tests.scripted import ScriptedGraph, scripted_context


def context(*permitted: str) -> Context:
    return scripted_context(ScriptedGraph({}), client_id="own", permitted=permitted)


def found(id: str) -> Candidate:
    return Candidate(
        id=id,
        kind="message",
        importance=0.5,
        token_count=1,
        occurred_at=datetime(2026, 1, 1, tzinfo=UTC),
        session_id="s",
    )


def test_all_that_is_permitted_is_read_unless_the_request_says_less() -> None:
    assert context("team", "hand").reading(None).reads == ("team", "hand")
    assert context("team", "hand").reading(["hand", "own", "hand"]).reads == ("hand",)
    assert context("team").reading([]).reads == ()
    for wanted in (["other"], ["team", "other"], ["*"]):
        with pytest.raises(InvalidInput, match="reads: "):
            context("team").reading(wanted)


def test_another_client_can_do_no_more_than_be_read() -> None:
    team = context("team").of("team")
    assert (team.client_id, team.permitted, team.reads, team.recorder) == ("team", (), (), None)
    assert context("team").of(None).client_id == context().of("own").client_id == "own"
    for stranger in ("other", "own"):
        with pytest.raises(InvalidInput, match="client_id: "):
            team.of(stranger)


async def test_each_client_is_asked_once_and_the_ids_of_others_are_marked() -> None:
    asked: list[str] = []

    async def work(one: Context) -> list[Candidate]:
        asked.append(one.client_id)
        return [found("1")]

    rows = await context("team", "hand").reading(None).each(work)

    assert asked == ["own", "team", "hand"]
    assert [(owner_of(row.id), bare_id(row.id)) for row in rows] == [
        ("", "1"),
        ("team", "1"),
        ("hand", "1"),
    ]
    assert len({row.session_id for row in rows}) == 3
    asked.clear()
    assert await context("team").each(work) == [found("1")]
    assert asked == ["own"]


async def test_an_id_is_looked_up_in_its_own_client_and_nowhere_else() -> None:
    asked: list[tuple[str, Sequence[str]]] = []

    async def work(one: Context, ids: list[str]) -> list[str]:
        asked.append((one.client_id, ids))
        return ids

    ids = ["1", marked_id("team", "1"), marked_id("rival", "1"), marked_id("hand", "2")]
    rows = await context("team", "hand", "more").reading(["team", "hand"]).each_of(ids, work)

    assert asked == [("own", ["1"]), ("team", ["1"]), ("hand", ["2"])]
    assert rows == ["1", marked_id("team", "1"), marked_id("hand", "2")]


def test_the_head_of_another_clients_memory_is_marked_with_its_chain() -> None:
    team = context("team").of("team")
    fields = {name: getattr(found("new"), name) for name in Candidate.__struct_fields__}
    head = Head(
        **fields,
        source_type="fact",
        source_id="",
        category="",
        scope="",
        other_categories=[],
        chain=["old", "new"],
    )
    [row] = team.marked([Standing("new", head)])
    assert row.id == marked_id("team", "new")
    assert row.head is not None
    assert row.head.chain == [marked_id("team", "old"), marked_id("team", "new")]


def test_marked_ids_of_different_clients_are_never_equal() -> None:
    assert len({marked_id(one, "x") for one in ("", "a", "a:x", "a.x", "b")}) == 5
    assert marked_id("team", "") == ""
