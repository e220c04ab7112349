"""Shared memories: a caller reads permitted other clients beside its own, and writes to its own alone."""

import uuid
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from graphmem.client import Graphmem
from graphmem.errors import InvalidInput, ItemNotFound, MemoryNotFound, SessionNotFound
from graphmem.exports.load import load
from graphmem.model.times import present
from graphmem.model.vocabulary import MARK_END
from graphmem.runtime import Runtime
from tests.expired import expire_all
from tests.graphmem.test_accesses import records

QUESTION = "Who has the key of the lighthouse?"
OURS = "Marta said that the lighthouse is closed in winter."
THEIRS = "The key of the lighthouse is with Henrik Aalto."
RIVALS = "Who has the key of the lighthouse? Only Olga Berg has the key of the lighthouse."


class Sharing(msgspec.Struct):
    """A caller that may read a team, the team, and a client with better matches that it may not read."""

    caller: Graphmem
    team: Graphmem
    rival: Graphmem
    ours: str
    theirs: str


async def say(memory: Graphmem, *texts: str) -> list[str]:
    """Say something in a conversation whose id several clients use, and in a session of its own."""
    said = [{"session_id": "s", "role": "user", "content": text} for text in texts]
    return (await memory.remember("talk", said, create=True)).ids


@pytest.fixture
async def sharing(runtime: Runtime, memory: Graphmem, rival: Graphmem) -> Sharing:
    team = Graphmem(runtime, f"team-{uuid.uuid4().hex}")
    [ours] = await say(memory, OURS)
    theirs = (await say(team, THEIRS, "It hangs beside the door."))[0]
    await say(rival, RIVALS)
    caller = Graphmem(runtime, memory.client_id, reads=[team.client_id])
    return Sharing(caller, team, rival, ours, theirs)


async def asked_in_every_way(memory: Graphmem, **options: Any) -> dict[str, Any]:
    """Return the answers to the question, by the way of asking."""
    return {
        "recall": await memory.recall(QUESTION, explain=True, **options),
        "rrf": await memory.recall(QUESTION, ranking="rrf", min_relevance=0.0, **options),
        "search": await memory.search(QUESTION, **options),
        "recency": await memory.search(QUESTION, sort_by="recency", **options),
        "everything": await memory.search("*", **options),
        "exact": await memory.search(
            "lighthouse", match="exact", conversation_id="talk", **options
        ),
        "hops": await memory.search(QUESTION, max_hops=2, **options),
        "soft": await memory.search_contextual(
            QUESTION, neighbours=0, top_k=1, min_relevance=0.01, **options
        ),
        "hard": await memory.search_contextual(
            QUESTION, narrowing="hard", neighbours=0, top_k=1, min_relevance=0.01, **options
        ),
        "fallback": await memory.search_contextual(QUESTION, min_relevance=1.0, **options),
    }


def shown(answer: Any) -> set[tuple[str | None, str]]:
    """Return the client and the id of each memory of an answer, taken or omitted."""
    found = {(one.client_id, one.id) for one in (*answer.items, *answer.omitted)}
    for session in getattr(answer, "contexts", ()):
        found |= {(session.client_id, one.id) for one in session.messages}
    return found


def told(answers: Iterable[Any]) -> str:
    return msgspec.json.encode(list(answers)).decode()


async def test_every_way_of_asking_reads_both_and_says_whose_it_is(sharing: Sharing) -> None:
    team = sharing.team.client_id
    answers = await asked_in_every_way(sharing.caller)

    for way, answer in answers.items():
        assert {(None, sharing.ours), (team, sharing.theirs)} <= shown(answer), way
        assert {client for client, _ in shown(answer)} == {None, team}, way
    everything = told(answers.values())
    assert "Olga" not in everything
    assert sharing.rival.client_id not in everything
    assert msgspec.json.encode(MARK_END).decode().strip('"') not in everything
    assert f"({team})" in answers["recall"].context
    assert f"({team})" in answers["soft"].prompt
    assert answers["everything"].total_count == 3
    assert answers["everything"].total_is_exact


async def test_the_answer_is_that_of_one_client_with_all_the_memories(
    sharing: Sharing, runtime: Runtime
) -> None:
    whole = Graphmem(runtime, f"test-{uuid.uuid4().hex}")
    await say(whole, OURS)
    said = [
        {"session_id": "t", "role": "user", "content": text}
        for text in (THEIRS, "It hangs beside the door.")
    ]
    await whole.remember("talk", said)

    shared, single = await sharing.caller.recall(QUESTION), await whole.recall(QUESTION)

    assert [one.text for one in shared.items] == [one.text for one in single.items]
    assert [one.score for one in shared.items] == pytest.approx(
        [one.score for one in single.items], abs=0.05
    )


async def test_the_budget_holds_over_all_clients(sharing: Sharing) -> None:
    count = sharing.caller.runtime.tokens.count
    for most in range(20, 90, 7):
        recalled = await sharing.caller.recall(QUESTION, max_tokens=most)
        assert count(recalled.context) == recalled.tokens_used <= most
        found = await sharing.caller.search_contextual(QUESTION, max_tokens=most)
        assert count(found.prompt) == found.tokens_used <= most


async def test_reads_narrow_what_is_read(sharing: Sharing) -> None:
    for way, answer in (await asked_in_every_way(sharing.caller, reads=[])).items():
        assert {client for client, _ in shown(answer)} == {None}, way
    named = await sharing.caller.recall(QUESTION, reads=[sharing.team.client_id])
    assert {one.client_id for one in named.items} == {None, sharing.team.client_id}
    # One's own client is always read, and never another's.
    own = await sharing.caller.recall(QUESTION, reads=[sharing.caller.client_id])
    assert {one.client_id for one in own.items} == {None}


CALLS: dict[str, Callable[[Graphmem, str], Any]] = {
    "recall": lambda memory, other: memory.recall("x", reads=[other]),
    "explain": lambda memory, other: memory.explain("x", "some-id", client_id=other),
    "search": lambda memory, other: memory.search("x", reads=[other]),
    "contextual": lambda memory, other: memory.search_contextual("x", reads=[other]),
    "expand": lambda memory, other: memory.expand_context(memory_id="x", client_id=other),
    "memory": lambda memory, other: memory.memory("x", client_id=other),
    "memories": lambda memory, other: memory.memories(client_id=other),
    "peek": lambda memory, other: memory.peek("x", client_id=other),
    "chunk": lambda memory, other: memory.chunk("x", max_tokens=9, client_id=other),
}


@pytest.mark.parametrize("call", CALLS)
async def test_a_client_that_is_not_permitted_is_refused_like_an_unknown_one(
    call: str, sharing: Sharing
) -> None:
    told = []
    for other in (sharing.rival.client_id, "nobody-has-this-id"):
        with pytest.raises(InvalidInput) as caught:
            await CALLS[call](sharing.caller, other)
        told.append(str(caught.value).replace(other, "?"))
        with pytest.raises(InvalidInput):
            await CALLS[call](sharing.team, sharing.caller.client_id)
    assert told[0] == told[1]
    for wildcard in ("*", "team*", ""):
        with pytest.raises(InvalidInput):
            await CALLS[call](sharing.caller, wildcard)


async def test_what_was_shown_can_be_looked_at(sharing: Sharing) -> None:
    caller = sharing.caller
    whose: dict[str, Any] = {"client_id": sharing.team.client_id}
    assert (await caller.memory(sharing.theirs, **whose)).text == THEIRS
    assert (await caller.peek(sharing.theirs, **whose)).id == sharing.theirs
    assert (await caller.chunk(sharing.theirs, max_tokens=100, **whose)).content == THEIRS
    assert (await caller.memories(**whose)).total == 2
    more = await caller.expand_context(memory_id=sharing.theirs, **whose)
    assert [one.content for one in more.messages] == [THEIRS, "It hangs beside the door."]
    assert more.client_id == sharing.team.client_id
    explained = await caller.explain(QUESTION, sharing.theirs, **whose)
    assert (explained.stage, explained.client_id) == ("taken", sharing.team.client_id)
    unread = await caller.explain(QUESTION, sharing.theirs, reads=[], **whose)
    assert (unread.stage, unread.filters) == ("filtered", ["reads"])
    for look in (caller.memory, caller.peek):
        with pytest.raises(MemoryNotFound):
            await look(sharing.theirs)
        with pytest.raises(MemoryNotFound):
            await look(f"{sharing.team.client_id}{MARK_END}{sharing.theirs}")
    with pytest.raises(MemoryNotFound):
        await caller.explain(QUESTION, f"{sharing.team.client_id}{MARK_END}{sharing.theirs}")
    with pytest.raises(SessionNotFound):
        await caller.expand_context(
            session_id=f"{sharing.team.client_id}{MARK_END}{more.session_id}"
        )


async def test_writing_stays_with_ones_own(sharing: Sharing) -> None:
    caller = sharing.caller
    fact = await sharing.team.remember_fact("The lighthouse was built in 1901.")
    for refused in (
        caller.delete_memory(sharing.theirs),
        caller.annotate(sharing.theirs, tags=["x"]),
        caller.supersede_fact(fact.id, "The lighthouse was built in 1902."),
        caller.link(sharing.ours, sharing.theirs, "references"),
        caller.review(sharing.theirs, "good"),
    ):
        with pytest.raises((MemoryNotFound, InvalidInput)):
            await refused
    context = await caller.create_context(max_tokens=500)
    with pytest.raises(ItemNotFound):
        await caller.add_to_context(context.id, sharing.theirs)
    assert (await caller.forget(memory_ids=[sharing.theirs, fact.id])).total == 0
    assert (await sharing.team.memories()).total == 3


async def test_ids_that_two_clients_have_do_not_collide(
    sharing: Sharing, tmp_path: Path, runtime: Runtime
) -> None:
    """The caller's client and the team are copies of one client: all ids are the same."""
    origin, copies = Graphmem(runtime, f"test-{uuid.uuid4().hex}"), tmp_path / "copies"
    await say(origin, THEIRS, OURS)
    fact = await origin.remember_fact("Henrik Aalto is the keeper of the lighthouse.")
    copies.write_bytes(b"".join([part async for part in await origin.export()]))
    one, other = (f"test-{uuid.uuid4().hex}" for _ in range(2))
    for client_id in (one, other):
        await load(copies, runtime.context(client_id))
    ids = {memory.id for memory in (await origin.memories()).memories}
    assert fact.id in ids
    assert len(ids) == 3
    both = {(client_id, id) for client_id in (None, other) for id in ids}

    answers = await asked_in_every_way(Graphmem(runtime, one, reads=[other]))

    for way in ("recall", "rrf", "search", "recency", "everything", "hops", "fallback"):
        assert shown(answers[way]) == both, way
    sessions = {(each.client_id, each.session_id) for each in answers["soft"].contexts}
    assert {client for client, _ in sessions} == {None, other}
    assert len({id for _, id in sessions}) == 1


async def test_nothing_of_the_team_is_recorded_at_the_caller(sharing: Sharing) -> None:
    caller = sharing.caller
    await caller.recall(THEIRS)
    await caller.search(THEIRS)
    await caller.search_contextual(THEIRS)
    await caller.search_contextual(THEIRS, min_relevance=1.0)
    await caller.expand_context(memory_id=sharing.theirs, client_id=sharing.team.client_id)
    await caller.recall(OURS, reads=[])

    reads = await records(caller)

    assert [one["question"] for one in reads] == ["", "", "", "", "", OURS]
    assert [one["operation"] for one in reads[3:]] == ["contextual", "expand", "recall"]
    assert {returned["id"] for one in reads for returned in one["returned"]} == {sharing.ours}
    assert all(one["shown"] == len(one["returned"]) for one in reads)
    assert reads[0]["found"] >= 1
    assert await records(sharing.team) == []
    receipt = await sharing.team.forget(memory_ids=[sharing.theirs])
    assert receipt.memories == {"message": 1}
    for client in (sharing.team, caller):
        for gone in ({"text": THEIRS}, {"id": sharing.theirs}):
            assert (await client.verify_forgotten(**gone)).forgotten
    found = await asked_in_every_way(caller)
    assert THEIRS not in told(found.values())
    assert sharing.theirs not in told(found.values())


async def test_a_question_that_found_nothing_of_others_is_kept(sharing: Sharing) -> None:
    question = "What is closed in winter, said Marta?"
    recalled = await sharing.caller.recall(question, min_relevance=0.6)
    assert [one.client_id for one in recalled.items] == [None]
    [read] = await records(sharing.caller)
    assert read["question"] == question


async def test_what_the_team_has_let_expire_is_not_read(sharing: Sharing, runtime: Runtime) -> None:
    await sharing.team.annotate(sharing.theirs, expires_at=present() + timedelta(hours=1))
    await expire_all(sharing.team.client_id, runtime.graph)

    answers = await asked_in_every_way(sharing.caller)

    assert THEIRS not in told(answers.values())
    assert (await sharing.team.verify_forgotten(id=sharing.theirs)).forgotten


async def test_hops_stay_inside_each_client(sharing: Sharing, runtime: Runtime) -> None:
    far = await sharing.team.remember_fact("The harbour office opens at nine.")
    await sharing.team.link(sharing.theirs, far.id, "references")
    [secret] = await say(sharing.rival, "The vault is under the stairs.")
    # An edge that no client could write.
    for start in (sharing.theirs, sharing.ours):
        await runtime.graph.execute(
            "MATCH (a:Memory {id: $start}), (b:Memory {id: $end}) "
            "CREATE (a)-[:REFERENCES {created_at: datetime()}]->(b)",
            start=start,
            end=secret,
        )

    found = await sharing.caller.search(
        "key of the lighthouse", max_hops=2, min_relevance=0.01, max_results=100
    )

    hit = next(one for one in found.items if one.id == far.id)
    team = sharing.team.client_id
    assert (hit.client_id, hit.hop, hit.hop_from) == (team, 1, sharing.theirs)
    path = next(one for one in found.hop_paths if one.to_id == far.id)
    assert (path.from_id, path.client_id) == (sharing.theirs, team)
    assert secret not in told([found])


async def test_recall_follows_names_inside_each_client(sharing: Sharing) -> None:
    prose = "The warden of the northern lighthouse keeps every key in an iron box. " * 4
    away = "Henrik Aalto was born on an island without roads, schools or electric light. " * 4
    await say(sharing.team, f"{prose} Henrik Aalto is the warden.", away)
    await say(sharing.rival, f"Henrik Aalto hides the gold. {away}")

    recalled = await sharing.caller.recall(QUESTION, kinds=["message"])

    assert {one.client_id for one in recalled.items} <= {None, sharing.team.client_id}
    assert "gold" not in recalled.context


async def test_a_superseded_fact_of_the_team_is_read_as_its_head(sharing: Sharing) -> None:
    first = await sharing.team.remember_fact("Henrik Aalto has the key of the lighthouse.")
    head = await sharing.team.supersede_fact(first.id, "Ida Lind has the key of the lighthouse.")
    answers = await asked_in_every_way(sharing.caller)
    for way in ("recall", "search", "recency", "everything"):
        ids = {id for _, id in shown(answers[way])}
        assert head.id in ids, way
        assert first.id not in ids, way


async def test_a_team_that_reads_nothing_does_not_see_the_caller(sharing: Sharing) -> None:
    for way, answer in (await asked_in_every_way(sharing.team)).items():
        assert {client for client, _ in shown(answer)} == {None}, way
        assert sharing.ours not in told([answer]), way
