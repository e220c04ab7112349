"""Every statement is in the audit: who sent it, what it said, and how it ended."""

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.errors import CypherMistake, CypherRefused, GraphmemError, InvalidInput, TookTooLong
from graphmem.exploring.running import KEPT, forget, run_statement
from graphmem.exploring.types import AuditEntry, CypherAsked, Sender
from graphmem.graph.driver import Graph
from graphmem.graph.statements import metadata
from graphmem.runtime import Runtime

SLOW = "UNWIND range(1, 100000000000) AS x RETURN count(x)"


async def entries(memory: Graphmem, **wanted: Any) -> list[AuditEntry]:
    return (await memory.cypher_audit(client_id=memory.client_id, **wanted)).entries


@pytest.mark.parametrize(
    ("statement", "limits", "error", "outcome", "code"),
    [
        ("RETURN $x AS x", {}, None, "answered", None),
        ("CREATE (n:Intruder)", {}, CypherRefused, "refused", "cypher_write"),
        ("RETURN 1; RETURN 2", {}, CypherRefused, "refused", "cypher_statements"),
        ("RETRUN 1", {}, CypherMistake, "mistaken", "cypher_mistake"),
        ("RETURN $missing", {}, CypherMistake, "mistaken", "cypher_mistake"),
        (SLOW, {"timeout_ms": 150}, TookTooLong, "cut_off", "took_too_long"),
    ],
)
async def test_a_statement_is_kept_with_how_it_ended(
    statement: str,
    limits: dict[str, Any],
    error: type[GraphmemError] | None,
    outcome: str,
    code: str | None,
    memory: Graphmem,
) -> None:
    # B3
    before = datetime.now(UTC)
    with pytest.raises(error) if error else nullcontext():
        await memory.cypher(statement, {"x": "sesame"}, **limits)
    [entry] = await kept(memory)
    assert (entry.query, entry.client_id, entry.via) == (statement, memory.client_id, "python")
    assert (entry.outcome, entry.code) == (outcome, code)
    assert entry.parameters == ["x"]
    assert before <= entry.at <= datetime.now(UTC)
    assert entry.milliseconds is not None
    assert (entry.rows, entry.truncated) == ((1, False) if error is None else (None, None))


async def test_an_entry_says_that_the_database_still_works_on_it(
    memory: Graphmem, runtime: Runtime
) -> None:
    """Its own transaction stands for one that cannot be interrupted: it is open until the test ends it."""
    with pytest.raises(CypherRefused):
        await memory.cypher("CREATE (n:Intruder)")
    [entry] = await kept(memory)
    assert not entry.still_running
    async with runtime.graph.reading(fetch_size=1) as session:
        carried = metadata(entry.id, 1.0)
        async with await session.begin_transaction(metadata=carried) as transaction:
            await (await transaction.run("RETURN 1")).consume()
            [entry] = await kept(memory)
            assert entry.still_running


async def kept(memory: Graphmem) -> list[AuditEntry]:
    """Return the entries, when none is running: the end of what was cut off may be kept a little later."""
    await memory.runtime.afterwards.settle()
    return await entries(memory)


async def test_a_statement_that_cannot_be_kept_is_not_run(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise OSError("no audit")

    monkeypatch.setattr("graphmem.exploring.running.begin", broken)
    monkeypatch.setattr(Graph, "reading", lambda *_, **__: pytest.fail("it was run"))
    with pytest.raises(OSError, match="no audit"):
        await memory.cypher("RETURN 1")


async def test_an_end_that_cannot_be_kept_does_not_spoil_the_answer(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any, **__: Any) -> None:
        raise OSError("sesame")

    monkeypatch.setattr("graphmem.exploring.running.forget", broken)
    assert (await memory.cypher("RETURN 1 AS x")).rows == [{"x": 1}]
    await memory.runtime.afterwards.settle()
    assert "not done after an answer: the end of a statement in the audit: OSError" in caplog.text
    assert "sesame" not in caplog.text


async def test_no_text_of_a_statement_is_in_a_log(
    memory: Graphmem, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await memory.cypher("RETURN 'sesame-4711' AS x, $y AS y", {"y": "quince-4711"})
    with pytest.raises(CypherRefused):
        await memory.cypher("CREATE (n:Intruder {x: 'sesame-4711'})")
    with pytest.raises(CypherMistake):
        await memory.cypher("RETURN 'sesame-4711' + ")
    ours = [record for record in caplog.records if not record.name.startswith("neo4j")]
    assert not [one for one in ours if "4711" in one.getMessage()]


async def test_the_list_is_newest_first_and_goes_on(memory: Graphmem, rival: Graphmem) -> None:
    for number in range(5):
        await memory.cypher(f"RETURN {number}")
    await rival.cypher("RETURN 'rival'")
    first = await memory.cypher_audit(client_id=memory.client_id, limit=3)
    assert [one.query for one in first.entries] == ["RETURN 4", "RETURN 3", "RETURN 2"]
    rest = await memory.cypher_audit(client_id=memory.client_id, limit=3, cursor=first.cursor)
    assert [one.query for one in rest.entries] == ["RETURN 1", "RETURN 0"]
    assert rest.cursor is None
    assert [one.query for one in await entries(rival)] == ["RETURN 'rival'"]
    both = (await memory.cypher_audit(limit=200)).entries
    assert {memory.client_id, rival.client_id} <= {one.client_id for one in both}


async def test_entries_are_found_by_how_they_ended(memory: Graphmem) -> None:
    await memory.cypher("RETURN 1")
    with pytest.raises(CypherRefused):
        await memory.cypher("CREATE (n:Intruder)")
    await memory.runtime.afterwards.settle()
    assert [one.code for one in await entries(memory, outcome="refused")] == ["cypher_write"]
    assert await entries(memory, outcome="cut_off") == []
    with pytest.raises(InvalidInput):
        await memory.cypher_audit(outcome="lost")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        await memory.cypher_audit(cursor="x")


async def test_an_entry_that_is_too_old_is_forgotten(memory: Graphmem, runtime: Runtime) -> None:
    now = datetime.now(UTC)
    old = sender("old", memory, now - KEPT - timedelta(seconds=1))
    young = sender("young", memory, now - KEPT + timedelta(hours=1))
    for one in (old, young):
        await asked_once(one, runtime)
    while await forget(now=now, graph=runtime.graph):
        pass
    assert [one.id for one in await entries(memory)] == ["young"]


async def test_beyond_a_number_the_oldest_are_forgotten(memory: Graphmem, runtime: Runtime) -> None:
    long_ago = datetime.now(UTC) - KEPT + timedelta(days=1)
    for number in range(3):
        one = sender(f"{number}", memory, long_ago + timedelta(seconds=number))
        await asked_once(one, runtime)
    [row] = await runtime.graph.execute("MATCH (one:Audit) RETURN count(one) AS kept")
    assert await forget(now=one.at, graph=runtime.graph, most=row["kept"]) == 0
    assert len(await entries(memory)) == 3
    # Some of the oldest go at a time, whosever they are.
    assert await forget(now=one.at, graph=runtime.graph, most=row["kept"] - 1) > 0


async def asked_once(sender: Sender, runtime: Runtime) -> None:
    await run_statement(
        CypherAsked(query="RETURN 1"),
        sender,
        graph=runtime.graph,
        afterwards=runtime.afterwards,
        statements=runtime.statements,
    )
    await runtime.afterwards.settle()


def sender(id: str, memory: Graphmem, at: datetime) -> Sender:
    return Sender(id=id, client_id=memory.client_id, at=at)
