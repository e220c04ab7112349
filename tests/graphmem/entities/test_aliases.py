"""Joining and parting names on a real Neo4j: by the rules and by hand, again and at the same time."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.entities import aliases
from graphmem.entities.aliases import (
    ALIASES,
    OF_ONE_SPELLING,
    AliasesFound,
    ClientWithNewNames,
    NewAlias,
    UndoneAlias,
    queue_aliases,
)
from graphmem.errors import AliasNotFound, EntityNotFound, InvalidInput
from graphmem.graph.driver import Graph
from graphmem.jobs.outbox import Settled
from graphmem.runtime import Runtime
from tests.planted import plant
from tests.scripted import ScriptedGraph

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)

EDGES = """CYPHER 25
MATCH (alias:Entity {client_id: $client_id})-[edge:ALIAS_OF]->(canonical)
RETURN alias.normalized AS alias, canonical.normalized AS canonical, edge.rule AS rule, edge.of AS of,
  canonical.client_id = $client_id AS own, elementId(edge) AS id"""
NAMES = """CYPHER 25
MATCH (entity:Entity {client_id: $client_id})
RETURN entity.normalized AS name, entity.alias_due AS due,
  COUNT { (entity)-[:NOT_ALIAS_OF]-() } AS apart"""
MARK = "CYPHER 25 MATCH (e:Entity {client_id: $client_id}) SET e.alias_due = true"
FORGET = """CYPHER 25
MATCH (e:Entity {client_id: $client_id}) REMOVE e.alias_due, e.spelled, e.short"""

Joined = dict[str, tuple[str, str]]
Read = Callable[[Graphmem], Awaitable[Joined]]


@pytest.fixture
def joined(runtime: Runtime) -> Read:
    """Return what reads a client's aliases; they are one level deep and inside the client."""

    async def read(memory: Graphmem) -> Joined:
        rows = await runtime.graph.execute(EDGES, client_id=memory.client_id)
        found = {row["alias"]: (row["canonical"], row["rule"]) for row in rows}
        assert len(found) == len(rows), "a name is an alias of one name"
        assert not set(found) & {canonical for canonical, _ in found.values()}
        assert all(row["own"] for row in rows)
        return found

    return read


async def say(memory: Graphmem, *texts: str) -> list[str]:
    """Remember facts, and return their ids."""
    rows = [{"kind": "fact", "text": text, "version": 1, "keywords": []} for text in texts]
    return await plant(memory, *rows)


async def test_new_names_are_joined_once_and_nothing_else_is_looked_at(
    memory: Graphmem, joined: Read, runtime: Runtime
):
    await say(memory, "We asked Anna about retry_policy.", "Yes, Anna Schmidt wrote RetryPolicy.")
    assert await joined(memory) == {}

    found = await memory.find_aliases()
    assert (found.made, found.dropped) == (2, 0)
    expected = {
        "anna": ("anna schmidt", "first_name"),
        "retry_policy": ("retrypolicy", "spelling"),
    }
    assert await joined(memory) == expected
    nothing = AliasesFound(names=0, made=0, dropped=0)
    assert await memory.find_aliases() == nothing
    before = await runtime.graph.execute(EDGES, client_id=memory.client_id)

    await runtime.graph.execute(MARK, client_id=memory.client_id)
    again = await memory.find_aliases()
    assert (again.names, again.made, again.dropped) == (4, 0, 0)
    assert await runtime.graph.execute(EDGES, client_id=memory.client_id) == before
    await say(memory, "Well, Anna and Postgres.")
    assert (await memory.find_aliases()).names == 1, "Postgres alone is new"


async def test_another_client_s_names_neither_join_nor_make_ambiguous(
    memory: Graphmem, rival: Graphmem, joined: Read
):
    await say(memory, "We asked Anna.", "Yes, Anna Schmidt did.", "Here is retry_policy.")
    await say(rival, "We asked Anna.", "Yes, Anna Müller did.", "Here is RetryPolicy.")
    await asyncio.gather(memory.find_aliases(), rival.find_aliases())

    assert await joined(memory) == {"anna": ("anna schmidt", "first_name")}
    assert await joined(rival) == {"anna": ("anna müller", "first_name")}


async def test_what_sources_say_of_people_holds_within_a_source(memory: Graphmem, joined: Read):
    card = {"type": "knowledge_base", "target_id": "a", "label": "Bees"}
    [apart, _] = await memory.add_references(
        [
            card | {"description": "The hives of Anna."},
            card | {"target_id": "b", "description": "Barley, cut by Anna Schmidt."},
        ]
    )
    await memory.find_aliases()
    assert await joined(memory) == {}

    both = card | {
        "target_id": "c",
        "description": "Ask Anna, or call Anna Schmidt, our beekeeper.",
    }
    [one] = await memory.add_references([both])
    await memory.find_aliases()
    assert await joined(memory) == {"anna": ("anna schmidt", "first_name")}
    await memory.delete_memory(one.id)
    await memory.find_aliases()
    assert await joined(memory) == {}
    await say(memory, "We asked Anna.", "Yes, Anna Schmidt, and Beekeeper Zorvath.")
    await memory.delete_memory(apart.id)


async def test_a_second_anna_takes_the_alias_back_and_her_leaving_gives_it_again(
    memory: Graphmem, joined: Read
):
    await say(memory, "We asked Anna.", "Yes, Anna Schmidt did.")
    await memory.find_aliases()
    [second] = await say(memory, "Then Anna Müller came.")
    found = await memory.find_aliases()
    assert (found.names, found.made, found.dropped) == (1, 0, 1)
    assert await joined(memory) == {}

    await memory.delete_memory(second)
    assert (await memory.find_aliases()).made == 1
    assert await joined(memory) == {"anna": ("anna schmidt", "first_name")}


async def test_what_a_text_spells_out_holds_while_texts_agree(memory: Graphmem, joined: Read):
    [first, _] = await say(
        memory, "We run Continuous Integration (CI).", "Our CI is slow, and Continuous Integration."
    )
    await memory.find_aliases()
    assert await joined(memory) == {"ci": ("continuous integration", "acronym")}
    [other] = await say(memory, "The new Corporate Identity (CI) is blue.")
    await memory.find_aliases()
    assert await joined(memory) == {}

    await memory.delete_memory(other)
    await memory.find_aliases()
    assert await joined(memory) == {"ci": ("continuous integration", "acronym")}
    await memory.delete_memory(first)
    await memory.find_aliases()
    assert await joined(memory) == {}, "nobody says any more what it stands for"


async def test_an_undone_alias_is_never_made_again(
    memory: Graphmem, joined: Read, runtime: Runtime
):
    await say(memory, "We asked Anna.", "Yes, Anna Schmidt did.", "See APIs, or the API.")
    await memory.find_aliases()
    undone = await memory.undo_alias("ANNA")
    assert (undone.alias, undone.canonical, undone.rule) == ("Anna", "Anna Schmidt", "first_name")
    assert await joined(memory) == {"apis": ("api", "plural")}

    await runtime.graph.execute(MARK, client_id=memory.client_id)
    await say(memory, "Again Anna and anna-schmidt and Anna Schmidt.")
    await memory.find_aliases()
    assert "anna" not in await joined(memory)
    with pytest.raises(AliasNotFound):
        await memory.undo_alias("Anna")


async def test_what_somebody_says_goes_before_the_rules_and_can_be_undone(
    memory: Graphmem, joined: Read
):
    await say(memory, "We asked Anna.", "Yes, Anna Schmidt did.", "No, Anna Müller.")
    await memory.find_aliases()
    made = await memory.add_alias("the Anna", "Anna Müller")
    assert (made.alias, made.canonical, made.rule, made.created) == (
        *("Anna", "Anna Müller", "manual"),
        True,
    )
    assert not (await memory.add_alias("Anna", "Anna Müller")).created
    await say(memory, "Then Anna Weber.")
    await memory.find_aliases()
    assert await joined(memory) == {"anna": ("anna müller", "manual")}

    assert (await memory.add_alias("Anna", "Anna Schmidt")).created, "who says it last is right"
    assert await joined(memory) == {"anna": ("anna schmidt", "manual")}
    assert (await memory.undo_alias("Anna")).rule == "manual"
    assert await joined(memory) == {}
    await memory.add_alias("Anna", "Anna Schmidt")
    assert await joined(memory) == {"anna": ("anna schmidt", "manual")}


async def test_an_alias_of_an_alias_leads_to_the_name_of_the_group_and_back(
    memory: Graphmem, joined: Read
):
    await say(memory, "The Ledger is PostgreSQL.", "So is Postgres, our Treasury and Vault.")
    await memory.find_aliases()
    await memory.add_alias("Ledger", "Postgres")
    await memory.add_alias("PostgreSQL", "Treasury")
    assert await joined(memory) == {
        "ledger": ("treasury", "manual"),
        "postgres": ("treasury", "known"),
        "postgresql": ("treasury", "manual"),
    }
    assert (await memory.add_alias("Treasury", "Ledger")).canonical == "Postgres"
    assert await joined(memory) == {
        "ledger": ("postgres", "manual"),
        "postgresql": ("postgres", "manual"),
        "treasury": ("postgres", "manual"),
    }, "what was said stands, and the rule that would make a circle does not"
    await memory.undo_alias("Treasury")
    assert await joined(memory) == {
        "ledger": ("postgres", "manual"),
        "postgresql": ("treasury", "manual"),
    }


async def test_who_says_the_opposite_turns_an_alias_round(memory: Graphmem, joined: Read):
    await say(memory, "The Ledger is ours.", "The Treasury is ours.", "The Vault is ours.")
    await memory.add_alias("Ledger", "Treasury")
    assert (await memory.add_alias("Treasury", "Ledger")).canonical == "Ledger"
    assert await joined(memory) == {"treasury": ("ledger", "manual")}
    await memory.add_alias("Ledger", "Vault")
    await memory.add_alias("Vault", "Treasury")
    assert await joined(memory) == {
        "treasury": ("ledger", "manual"),
        "vault": ("ledger", "manual"),
    }, "all three still mean the same, in a circle that the last word has opened"


async def test_names_that_nothing_mentions_cannot_be_joined(memory: Graphmem, rival: Graphmem):
    await say(rival, "We asked Anna.", "Yes, Anna Schmidt did.")
    await rival.find_aliases()
    await say(memory, "We asked Zorvath.")

    for alias, canonical in (("Anna", "Zorvath"), ("Zorvath", "Anna"), ("no such", "Zorvath")):
        with pytest.raises(EntityNotFound):
            await memory.add_alias(alias, canonical)
    with pytest.raises(AliasNotFound):
        await memory.undo_alias("Anna")
    with pytest.raises(InvalidInput, match="two names"):
        await memory.add_alias("Zorvath", "the ZORVATH's")
    for blank in ("...", "—", "x" * 150):
        with pytest.raises(InvalidInput, match="is no name"):
            await memory.undo_alias(blank)


async def test_a_deleted_conversation_takes_its_names_with_their_aliases(
    memory: Graphmem, runtime: Runtime, joined: Read
):
    for id in ("kept", "gone"):
        await memory.open_conversation(id)
    line = {"role": "user", "session_id": "s"}
    await memory.remember("kept", [{**line, "content": "We asked Anna about our APIs."}])
    said = "Anna Schmidt runs Continuous Integration (CI), the Postgres, PostgreSQL and the API."
    await memory.remember("gone", [{**line, "content": said}])
    await memory.find_aliases()
    await memory.undo_alias("CI")
    assert set(await joined(memory)) == {"anna", "apis", "postgres"}

    await memory.delete_conversation("gone")
    assert await joined(memory) == {}
    rows = await runtime.graph.execute(NAMES, client_id=memory.client_id)
    assert {row["name"]: row["apart"] for row in rows} == {"anna": 0, "apis": 0}
    await memory.find_aliases()
    assert await joined(memory) == {}


async def test_the_name_on_which_an_alias_stands_leaves_nothing_behind(
    memory: Graphmem, joined: Read, runtime: Runtime
):
    await say(memory, "The Ledger is ours.", "The Treasury is ours.")
    [middle] = await say(memory, "The Vault is ours.")
    await memory.add_alias("Ledger", "Vault")
    await memory.add_alias("Vault", "Treasury")
    assert (await joined(memory))["ledger"] == ("treasury", "manual")

    await memory.delete_memory(middle)
    assert await joined(memory) == {}
    rows = await runtime.graph.execute(NAMES, client_id=memory.client_id)
    assert "vault" not in {row["name"] for row in rows}


async def test_names_of_a_replaced_span_go_with_its_text(memory: Graphmem, runtime: Runtime):
    place: dict[str, Any] = {
        "id": "s",
        "source_type": "knowledge_base",
        "source_id": "kb",
        "start_byte": 0,
    }
    old, new = "Zorvath Quillon (ZQ) was here.", "Ottilie Kranewitt was here."
    await memory.register_span(**place, end_byte=len(old), content=old)
    await memory.register_span(**place, end_byte=len(new), content=new)

    rows = await runtime.graph.execute(NAMES, client_id=memory.client_id)
    assert {row["name"] for row in rows} == {"ottilie kranewitt"}


async def test_of_too_many_none_is_meant(memory: Graphmem, joined: Read):
    family = [f"Z{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(OF_ONE_SPELLING + 5)]
    await say(memory, "We asked Anna.", *(f"Yes, Anna {name} did." for name in family))
    await memory.find_aliases()
    assert await joined(memory) == {}


async def test_looking_at_fewer_together_finds_the_same(
    memory: Graphmem, joined: Read, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(aliases, "MOST_AROUND", 3)
    monkeypatch.setattr(aliases, "TAKEN_AT_ONCE", 5)
    await say(memory, "We asked Anna about retry_policy, the APIs, then Postgres.")
    await say(memory, "Yes, Anna Schmidt wrote RetryPolicy, the API, then PostgreSQL.")
    await memory.find_aliases()
    assert await joined(memory) == {
        "anna": ("anna schmidt", "first_name"),
        "apis": ("api", "plural"),
        "postgres": ("postgresql", "known"),
        "retry_policy": ("retrypolicy", "spelling"),
    }


async def test_names_from_before_aliases_were_looked_for_are_found_by_hand(
    memory: Graphmem, joined: Read, runtime: Runtime
):
    await say(memory, "We asked Anna.", "Yes, Anna Schmidt did.")
    await runtime.graph.execute(FORGET, client_id=memory.client_id)
    assert (await memory.find_aliases()).made == 1
    assert await joined(memory) == {"anna": ("anna schmidt", "first_name")}


class Twice:
    """A graph of which every transaction's answer gets lost, so that it is run again."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    async def write(self, work: Any) -> Any:
        await self._graph.write(work)
        return await self._graph.write(work)


async def test_a_lost_answer_changes_nothing(memory: Graphmem, joined: Read, runtime: Runtime):
    await say(memory, "We asked Anna about our Ledger.", "Yes, Anna Schmidt did.")
    await memory.find_aliases()
    graph = cast(Graph, Twice(runtime.graph))
    twice = replace(runtime.context(memory.client_id), graph=graph, now=lambda: NOW)
    undone = await aliases.undo_alias(UndoneAlias(alias="Anna"), twice)
    assert (undone.canonical, undone.rule) == ("Anna Schmidt", "first_name")
    made = await aliases.add_alias(NewAlias(alias="Ledger", canonical="Anna"), twice)
    assert made.created
    assert await joined(memory) == {"ledger": ("anna", "manual")}


async def test_many_at_once_come_to_what_one_after_the_other_would(
    memory: Graphmem, joined: Read, runtime: Runtime
):
    """Writers, finders, one who joins and one who deletes: then everything is decided anew."""
    texts = [
        *("We asked Anna.", "Yes, Anna Schmidt did.", "See retry_policy.", "See RetryPolicy."),
        *("An API.", "Some APIs.", "Use Postgres.", "Use PostgreSQL.", "See retry.py."),
        *("See src/retry.py.", "We run Continuous Integration (CI).", "Our CI is slow."),
    ]
    await say(memory, "The Ledger is ours.", "The Treasury is ours.")

    async def write(text: str) -> None:
        await say(memory, text)
        [gone] = await say(memory, f"{text} Then Anna Müller left.")
        await memory.find_aliases()
        await memory.delete_memory(gone)

    async def insist() -> None:
        for _ in range(5):
            await memory.add_alias("Ledger", "Treasury")
            await memory.undo_alias("Ledger")

    await asyncio.gather(*map(write, texts), insist())
    await memory.find_aliases()
    at_once = await joined(memory)
    assert at_once == {
        "anna": ("anna schmidt", "first_name"),
        "apis": ("api", "plural"),
        "ci": ("continuous integration", "acronym"),
        "postgres": ("postgresql", "known"),
        "retry.py": ("src/retry.py", "path"),
        "retry_policy": ("retrypolicy", "spelling"),
    }
    await runtime.graph.execute(MARK, client_id=memory.client_id)
    again = await memory.find_aliases()
    assert (again.made, again.dropped) == (0, 0)
    assert await joined(memory) == at_once


async def test_every_client_with_new_names_gets_one_job():
    graph = ScriptedGraph(
        {
            "entities/clients_with_new_names": [ClientWithNewNames("a"), ClientWithNewNames("b")],
            "jobs/postpone": [Settled("j")],
        }
    )
    await queue_aliases(now=NOW, new_id=lambda: str(uuid.uuid4()), graph=graph)
    asked = [(one["client_id"], one["jobs"]) for name, one in graph.asked if "jobs" in one]
    assert [client for client, _ in asked] == ["a", "b"]
    assert {(job["kind"], job["key"]) for _, jobs in asked for job in jobs} == {(ALIASES, ALIASES)}


async def test_a_name_waits_until_it_is_looked_at(memory: Graphmem, runtime: Runtime):
    await say(memory, "We asked Zorvath.")
    rows = await runtime.graph.execute(NAMES, client_id=memory.client_id)
    assert [row["due"] for row in rows] == [True]
    await memory.find_aliases()
    rows = await runtime.graph.execute(NAMES, client_id=memory.client_id)
    assert [row["due"] for row in rows] == [None]
