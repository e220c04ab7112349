"""Sessions are summarized when asked and by themselves: one summary holds, and links come with it."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from graphmem.background import WORK
from graphmem.client import Graphmem
from graphmem.conversations.remember import IDLE, MANY_NEW, SUMMARIZE_SESSIONS
from graphmem.errors import InvalidInput, SessionNotFound
from graphmem.jobs.outbox import Claim, Job
from graphmem.llm import LanguageModel
from graphmem.memories.write import prepare
from graphmem.sessions import summarize
from graphmem.sessions.digest import topics
from graphmem.summaries import summary
from graphmem.summaries.summary import prepare_summary
from graphmem.summaries.types import Summary
from tests.stub_llm import stub_model
from tests.told_sessions import BUG, tell

ACTIVE = """CYPHER 25
MATCH (summary:Summary {client_id: $client_id})-[:SUMMARIZES]->(session:Session {client_id: $client_id})
RETURN session.external_id AS session, summary.version AS version, summary.active AS active,
  summary.embedding IS NOT NULL AS embedded
ORDER BY session, version"""
EDGES = """CYPHER 25
MATCH (here:Session {client_id: $client_id})-[link:RELATES_TO]->(there:Session)
RETURN here.external_id AS here, there.external_id AS there, link.basis AS basis, link.score AS score,
  link.entities AS entities, there.client_id AS client_id, toString(link.created_at) AS known_at
ORDER BY here, there, basis"""
EDGES_BEFORE = EDGES.replace(
    "(here:Session {client_id: $client_id})",
    "(:Summary {client_id: $client_id, id: $id})-[:SUPERSEDES]->(here)",
)
AGED = """CYPHER 25
MATCH (session:Session {client_id: $client_id})
SET session.last_active_at = session.last_active_at - duration({hours: 1})"""


async def summarized(memory: Graphmem) -> list[dict[str, Any]]:
    return await memory.runtime.graph.execute(ACTIVE, client_id=memory.client_id)


async def edges(memory: Graphmem) -> list[dict[str, Any]]:
    return await memory.runtime.graph.execute(EDGES, client_id=memory.client_id)


async def whole(memory: Graphmem, session_id: str) -> bool:
    """Tell whether a session has its vector as a whole."""
    [row] = await memory.runtime.graph.execute(
        "CYPHER 25 MATCH (s:Session {client_id: $client_id, id: $id}) "
        "RETURN s.whole_embedding IS NOT NULL AS whole",
        client_id=memory.client_id,
        id=session_id,
    )
    return row["whole"]


async def job(memory: Graphmem) -> Job:
    [one] = (await memory.jobs(kind=SUMMARIZE_SESSIONS)).jobs
    return one


async def run_job(memory: Graphmem) -> None:
    one = await job(memory)
    held = Claim(
        client_id=memory.client_id,
        id=one.id,
        kind=one.kind,
        key=one.key,
        payload="{}",
        state="running",
        attempts=1,
        lease="lease",
    )
    await WORK[SUMMARIZE_SESSIONS](held, memory.runtime)


async def test_a_session_is_summarized_in_its_own_words(memory: Graphmem) -> None:
    # S5.2 S5.5 S5.22
    ids = await tell(memory, "bug")
    made = await memory.summarize_session(ids["bug"])
    assert made.type == "session"
    assert made.target_id == ids["bug"]
    assert any(content.split(":")[0] in made.text for _, content in BUG)
    said = " ".join(content for _, content in BUG).replace("`", "")
    assert made.key_points
    assert all(point in said for point in made.key_points)
    assert made.topics
    assert any("JWT" in topic or "auth" in topic.lower() for topic in made.topics)
    assert made.last_activity_at == datetime(2026, 3, 3, 9, len(BUG) - 1, tzinfo=UTC)
    assert await summarized(memory) == [
        {"session": "bug", "version": 1, "active": True, "embedded": True}
    ]
    found = await memory.search("JWT validation", source_types=["session_summary"])
    assert [item.id for item in found.items] == [made.id]


async def test_the_same_again_is_no_new_version_and_more_messages_are(memory: Graphmem) -> None:
    ids = await tell(memory, "bug")
    first = await memory.summarize_session(ids["bug"])
    assert (await memory.summarize_session(ids["bug"])).id == first.id
    more = "The exp field is missing in every JWT that the old mobile app sends, about 300 a day."
    await memory.remember("c", [{"session_id": "bug", "role": "user", "content": more}])
    second = await memory.summarize_session(ids["bug"])
    assert (second.id != first.id, second.version) == (True, 2)
    assert [(one["version"], one["active"]) for one in await summarized(memory)] == [
        (1, False),
        (2, True),
    ]


async def test_summarizing_at_the_same_time_leaves_one_that_holds(memory: Graphmem) -> None:
    ids = await tell(memory, "bug", "deploy")
    await asyncio.gather(
        *(memory.summarize_session(ids[name]) for name in ("bug", "deploy") for _ in range(4))
    )
    found = await summarized(memory)
    assert sum(one["active"] for one in found if one["session"] == "bug") == 1
    assert sum(one["active"] for one in found if one["session"] == "deploy") == 1


async def test_what_is_not_there_or_foreign_or_empty_is_not_summarized(
    memory: Graphmem, rival: Graphmem
) -> None:
    ids = await tell(memory, "garden")
    for other, id in ((memory, "nothing"), (rival, ids["garden"])):
        with pytest.raises(SessionNotFound):
            await other.summarize_session(id)
    listed = await memory.runtime.graph.execute(
        "CYPHER 25 MATCH (m:Message {client_id: $client_id}) RETURN m.id AS id",
        client_id=memory.client_id,
    )
    for row in listed:
        await memory.delete_memory(row["id"])
    with pytest.raises(InvalidInput, match="session_id"):
        await memory.summarize_session(ids["garden"])


async def test_one_deleted_while_it_is_summarized_leaves_nothing(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await tell(memory, "garden")

    async def late(*args: Any, **more: Any) -> Any:
        prepared = await prepare(*args, **more)
        await memory.delete_conversation("c")
        return prepared

    monkeypatch.setattr(summary, "prepare", late)
    with pytest.raises(SessionNotFound):
        await memory.summarize_session(ids["garden"])
    left = await memory.runtime.graph.execute(
        "CYPHER 25 MATCH (n {client_id: $client_id}) RETURN count(n) AS nodes",
        client_id=memory.client_id,
    )
    assert left == [{"nodes": 0}]


async def test_a_model_summarizes_where_there_is_one_and_its_failure_does_not_matter(
    memory: Graphmem,
) -> None:
    ids = await tell(memory, "garden")
    async with stub_model() as stub:
        model = LanguageModel(stub.url, "stub")
        told = Graphmem(replace(memory.runtime, llm=model), memory.client_id)
        stub.answer = json.dumps(
            {"summary": "They repot the tomatoes.", "key_points": ["Thirty litres."], "topics": []}
        )
        made = await told.summarize_session(ids["garden"])
        assert (made.text, made.key_points) == ("They repot the tomatoes.", ["Thirty litres."])
        assert "basil goes between" in stub.asked[0]["messages"][-1]["content"]
        stub.answer = "no json"
        again = await told.summarize_session(ids["garden"])
        assert again.version == 2
        assert "tomatoes" in again.text
        await model.close()


async def test_a_session_is_summarized_by_itself_when_it_is_idle(memory: Graphmem) -> None:
    # S5.26
    await tell(memory, "bug", "deploy")
    due = await job(memory)
    assert due.run_at - datetime.now(UTC) > IDLE - timedelta(minutes=2)
    await run_job(memory)
    assert await summarized(memory) == []
    await memory.runtime.graph.execute(AGED, client_id=memory.client_id)
    await run_job(memory)
    assert [one["session"] for one in await summarized(memory)] == ["bug", "deploy"]
    assert {one["basis"] for one in await edges(memory)} >= {"entities"}
    await run_job(memory)
    assert len(await summarized(memory)) == 2


async def test_a_caller_s_own_summary_stands_until_there_are_new_messages(memory: Graphmem) -> None:
    ids = await tell(memory, "bug")
    own = await memory.add_summary(
        type="session", target_id=ids["bug"], text="Expired tokens were let in, until last week."
    )
    await memory.runtime.graph.execute(AGED, client_id=memory.client_id)
    await run_job(memory)
    assert [(one["version"], one["active"]) for one in await summarized(memory)] == [(1, True)]
    assert await whole(memory, ids["bug"])
    assert (await memory.summary(own.id)).active
    await memory.remember("c", [{"session_id": "bug", "role": "user", "content": BUG[0][1]}])
    await memory.runtime.graph.execute(AGED, client_id=memory.client_id)
    await run_job(memory)
    assert [one["version"] for one in await summarized(memory)] == [1, 2]
    assert not (await memory.summary(own.id)).active


async def test_a_session_whose_own_summary_was_deleted_is_summarized(memory: Graphmem) -> None:
    ids = await tell(memory, "bug")
    own = await memory.add_summary(type="session", target_id=ids["bug"], text="All is well.")
    await memory.delete_memory(own.id)
    await memory.runtime.graph.execute(AGED, client_id=memory.client_id)
    await run_job(memory)
    assert [(one["version"], one["active"]) for one in await summarized(memory)] == [(1, True)]


async def test_a_summary_of_a_thread_or_of_a_part_is_not_that_of_its_session(
    memory: Graphmem,
) -> None:
    ids = await tell(memory, "bug")
    await memory.add_summary(
        type="thread",
        target_id=ids["bug"],
        platform="chat",
        participant_count=2,
        message_count=len(BUG),
        key_points=["Expired tokens were let in."],
        sentiment="calm",
        last_activity_at="2026-03-03T09:00:00Z",
    )
    await memory.runtime.graph.execute(AGED, client_id=memory.client_id)
    await run_job(memory)
    listed = (await memory.summaries()).summaries
    assert sorted(one.type for one in listed) == ["session", "thread"]


@pytest.mark.parametrize("asked", [True, False])
async def test_a_caller_s_own_summary_that_comes_meanwhile_is_not_followed(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    ids = await tell(memory, "bug")
    await memory.runtime.graph.execute(AGED, client_id=memory.client_id)
    given: list[Summary] = []

    async def late(*args: Any, **more: Any) -> Any:
        prepared = await prepare_summary(*args, **more)
        if not given:
            given.append(
                await memory.add_summary(type="session", target_id=ids["bug"], text="Mended.")
            )
        return prepared

    monkeypatch.setattr(summarize, "prepare_summary", late)
    if asked:
        # It was asked for: it follows the caller's own, and says the version that it is.
        assert (await memory.summarize_session(ids["bug"])).version == 2
    else:
        await run_job(memory)
    assert len(await summarized(memory)) == 1 + asked
    assert (await memory.summary(given[0].id)).active is not asked
    assert await whole(memory, ids["bug"])


async def test_after_a_memory_is_erased_a_session_is_summarized_anew(memory: Graphmem) -> None:
    ids = await tell(memory, "bug")
    await memory.add_summary(type="session", target_id=ids["bug"], text="Mended.")
    [first, *_] = (await memory.memories(kinds=["message"], conversation_id="c")).memories
    await memory.forget(memory_ids=[first.id])
    await memory.runtime.graph.execute(AGED, client_id=memory.client_id)
    await run_job(memory)
    [active] = [one for one in (await memory.summaries()).summaries if one.target_id == ids["bug"]]
    assert active.text != "Mended."


async def test_waiting_for_one_session_is_not_put_off_by_another(memory: Graphmem) -> None:
    await tell(memory, "garden")
    first = (await job(memory)).run_at
    await asyncio.sleep(0.01)
    await memory.remember("c", [{"session_id": "trip", "role": "user", "content": "To Vienna."}])
    assert (await job(memory)).run_at == first


async def test_twenty_new_messages_are_enough(memory: Graphmem) -> None:
    await memory.open_conversation("c")
    lines = [
        {"session_id": "s", "role": "user", "content": f"The harbour ferry number {n} is late."}
        for n in range(2 * MANY_NEW)
    ]
    await memory.remember("c", lines[: MANY_NEW - 1])
    assert (await job(memory)).run_at > datetime.now(UTC) + timedelta(minutes=25)
    await memory.remember("c", lines[MANY_NEW - 1 : MANY_NEW])
    assert (await job(memory)).run_at <= datetime.now(UTC)
    await run_job(memory)
    assert [one["version"] for one in await summarized(memory)] == [1]
    await memory.remember("c", lines[MANY_NEW : 2 * MANY_NEW - 1])
    await run_job(memory)
    assert [one["version"] for one in await summarized(memory)] == [1]


async def test_links_come_with_the_summary_and_are_replaced_with_it(
    memory: Graphmem, rival: Graphmem
) -> None:
    # S5.10 S5.26 S5.39
    mine = await tell(memory)
    theirs = await tell(rival)
    for other, ids in ((rival, theirs), (memory, mine)):
        for name in ("deploy", "garden", "trip", "bug"):
            await other.summarize_session(ids[name])
    found = await edges(memory)
    assert {(one["here"], one["there"]) for one in found if one["basis"] == "entities"} == {
        ("bug", "deploy"),
        ("deploy", "bug"),
    }
    [shared] = [one for one in found if one["basis"] == "entities" and one["here"] == "bug"]
    assert shared["entities"] == ["validate_token()"]
    assert 0.25 <= shared["score"] <= 1
    assert {one["client_id"] for one in found} == {memory.client_id}
    assert all(one["known_at"] for one in found)
    new = await memory.add_summary(
        type="session", target_id=mine["bug"], text="Nothing of interest."
    )
    again = await edges(memory)
    assert [one for one in again if one["here"] == "bug" and one["basis"] == "similarity"] == []
    [kept] = [one for one in again if one["here"] == "bug"]
    # What was known before stays known since then.
    assert (kept["there"], kept["known_at"]) == ("deploy", shared["known_at"])
    # What it was linked to before stands at the summary of before.
    before = [one | {"here": None} for one in found if one["here"] == "bug"]
    old = await memory.runtime.graph.execute(EDGES_BEFORE, id=new.id, client_id=memory.client_id)
    assert [one | {"here": None} for one in old] == before
    assert before


def test_topics_are_what_recurs_and_what_is_named_but_nobody_who_speaks() -> None:
    said = [
        "Mara says the clock drift is back.",
        "The clock drift shows in `auth/token.py` again.",
        "Teodor looks at it.",
    ]
    found = topics(said, ["Mara"])
    assert "clock drift" in found
    assert "auth/token.py" in found
    assert "Teodor" in found
    assert "Mara" not in found
