"""Every block of the Cypher cookbook is executed on the seed story, and gives the answer that stands there.

`make cookbook` writes the answers; without it a document that says something else fails.
"""

import asyncio
import os
import uuid
from difflib import unified_diff
from typing import Any

import pytest
import pytest_asyncio
from msgspec import Struct

from examples.tour import tour
from graphmem.client import Graphmem
from graphmem.retrieval.decay import retrievability
from graphmem.runtime import Runtime
from tests.cookbook import (
    DOCUMENT,
    Recipe,
    anchors,
    open_nodes,
    recipes,
    rewritten,
    says_the_same,
    table,
)

WRITE = os.environ.get("GRAPHMEM_COOKBOOK") == "write"

RECIPES = recipes(DOCUMENT.read_text("utf-8"))
HEADINGS = [recipe.heading for recipe in RECIPES]

TWINS = """
MATCH (one {client_id: $one})
CREATE (one)<-[:TWIN_OF]-(twin:$(labels(one)))
SET twin = one {
  .*,
  client_id: $other,
  text: 'rival ' + one.text,
  title: 'rival ' + one.title,
  label: 'rival ' + one.label,
  name: 'rival ' + one.name,
  external_id: 'rival ' + one.external_id,
  agent_type: 'rival ' + one.agent_type
}
"""
"""Another client's copy of every node, told by its name."""

CROSSED = """
MATCH (start {client_id: $one})-[edge]->(end {client_id: $one})
MATCH (start)<-[:TWIN_OF]-(twin_start), (end)<-[:TWIN_OF]-(twin_end)
CREATE (start)-[out:$(type(edge))]->(twin_end)
CREATE (twin_start)-[in:$(type(edge))]->(end)
CREATE (twin_start)-[among:$(type(edge))]->(twin_end)
SET out = properties(edge), in = properties(edge), among = properties(edge)
"""
"""Every edge again, from one client to the other, back, and among the copies."""

PARTED = """
MATCH ({client_id: $other})-[told:TWIN_OF]->({client_id: $one})
DELETE told
"""
"""No edge that tells a copy from its original is left."""

INDEXES = """
SHOW INDEXES YIELD type, labelsOrTypes, properties
WHERE type = 'RANGE' AND properties[0] = 'client_id'
RETURN labelsOrTypes AS labels, properties
"""


class Kitchen(Struct):
    """The story's client, the answers before and after its graph was joined to a rival's, the indexes."""

    memory: Graphmem
    answers: dict[str, str]
    crossed: dict[str, str]
    indexes: list[dict[str, Any]]


AT_ONCE = 4
"""How many recipes are asked at a time."""


async def all_answered(memory: Graphmem) -> dict[str, str]:
    """Ask every recipe, and return the answers by their headings."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(recipe: Recipe) -> str:
        async with free:
            return await answered(memory, recipe)

    return dict(zip(HEADINGS, await asyncio.gather(*map(one, RECIPES)), strict=True))


async def answered(memory: Graphmem, recipe: Recipe) -> str:
    """Ask as an operator does, behind the guard."""
    found = await memory.cypher(recipe.query, {"client_id": memory.client_id}, timeout_ms=60_000)
    assert not found.truncated
    return table(found.columns, found.rows)


@pytest_asyncio.fixture(scope="module")
async def kitchen(runtime: Runtime, whole_story: None) -> Kitchen:
    """The story, freshly loaded and asked as the tour asks it."""
    memory = Graphmem(runtime, f"cookbook-{uuid.uuid4().hex}")
    with pytest.MonkeyPatch.context() as patch:
        # The tour asks a turn again that was late, which is recorded too: here it has the time it needs.
        patch.setattr("graphmem.hypotheses.ask.SECONDS", 60.0)
        await tour(memory)
    assert runtime.recorder is not None
    await runtime.recorder.settle()
    answers = await all_answered(memory)
    if WRITE:
        DOCUMENT.write_text(rewritten(DOCUMENT.read_text("utf-8"), answers), "utf-8")
    rival = {"one": memory.client_id, "other": f"rival-{uuid.uuid4().hex}"}
    await runtime.graph.execute(TWINS, **rival)
    await runtime.graph.execute(CROSSED, **rival)
    await runtime.graph.execute(PARTED, **rival)
    crossed = await all_answered(memory)
    return Kitchen(memory, answers, crossed, await runtime.graph.execute(INDEXES))


def test_there_is_much_to_ask_and_each_question_is_explained() -> None:
    assert len(RECIPES) == DOCUMENT.read_text("utf-8").count("\n### ") >= 24
    assert len(set(HEADINGS)) == len(RECIPES)
    for recipe in RECIPES:
        assert recipe.heading.endswith("?")
        assert recipe.words.endswith(".")
        assert "$client_id" in recipe.query


async def test_sessions_of_one_name_in_several_conversations_are_not_taken_for_one(
    memory: Graphmem,
) -> None:
    """The days of `apr` are within those of `all`; each conversation has a session `same`."""
    for conversation_id, session, day, said in (
        (
            "a",
            "same",
            "2025-03-01",
            "They asked Zanzibar Freight about a crane in Zanzibar Freight.",
        ),
        ("a", "same", "2025-03-02", "We wrote to Zanzibar Freight, and to Quayside Crane."),
        ("b", "same", "2025-03-05", "A letter from Zanzibar Freight. We asked Quayside Crane."),
        ("b", "all", "2025-04-01", "It goes on."),
        ("b", "all", "2025-04-20", "As said by Marlow Dock, the owner of Marlow Dock."),
        ("a", "apr", "2025-04-02", "Meanwhile somebody saw Gantry Hill there."),
        ("a", "apr", "2025-04-03", "He was seen by Gantry Hill again."),
        ("a", "may", "2025-05-01", "The end."),
    ):
        message = {
            "role": "user",
            "session_id": session,
            "content": said,
            "occurred_at": f"{day}T12:00:00Z",
        }
        await memory.remember(conversation_id, [message], create=True)
    asked = {recipe.heading: recipe.query for recipe in RECIPES}

    async def rows(heading: str) -> list[list[Any]]:
        found = await memory.cypher(asked[heading], {"client_id": memory.client_id})
        return [list(row.values()) for row in found.rows]

    assert await rows("Where was nothing said for a long time?") == [
        ["same", "all", 27],
        ["all", "may", 11],
        ["same", "same", 3],
    ]
    assert await rows("What came up once and never again?") == [["Gantry Hill", 2, "apr"]]


async def test_the_answers_are_what_the_story_gives(kitchen: Kitchen) -> None:
    written = {one.heading: one.answer for one in recipes(DOCUMENT.read_text("utf-8"))}
    wrong = [
        line
        for heading, answer in kitchen.answers.items()
        if not says_the_same(answer, written[heading])
        for line in (f"### {heading}", *changes(written[heading], answer))
    ]
    assert not wrong, "\n".join(["make cookbook writes them anew:", *wrong])


def test_only_the_last_digit_of_a_decimal_may_differ() -> None:
    written = "| a | b |\n| --- | --- |\n| s01 | 0.9 |"
    assert says_the_same(written, written)
    assert says_the_same(written, written.replace("0.9", "0.8"))
    for other in ("0.7", "0.85", "s9", "9", ""):
        assert not says_the_same(written, written.replace("0.9", other))
    assert not says_the_same(written, written.replace("s01", "s02"))
    assert not says_the_same(written, written + "\n| s02 | 0.9 |")


def changes(old: str, new: str) -> list[str]:
    """Return the lines of an answer that have changed."""
    return list(unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0))[2:]


async def test_every_question_has_an_answer(kitchen: Kitchen) -> None:
    assert set(kitchen.answers) == set(HEADINGS)
    nothing = [heading for heading, answer in kitchen.answers.items() if "\n" not in answer]
    assert not nothing, "a question without an answer shows nothing"


def test_every_node_names_its_client() -> None:
    found = {recipe.heading: open_nodes(recipe.query) for recipe in RECIPES}
    wrong = [f"{heading}: {' '.join(nodes)}" for heading, nodes in found.items() if nodes]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("query", "nodes"),
    [
        ("MATCH (a:Fact {client_id: $client_id})-[:X]->(b:Fact) RETURN a", ["(b:Fact)"]),
        ("MATCH (a:Fact {client_id: $client_id})--() RETURN a", ["()"]),
        ("MATCH (:Fact {client_id: $client_id})--(:Fact) RETURN 1", ["(:Fact)"]),
        (
            "MATCH (a:Fact {client_id: $client_id})(()-->(:Fact)){1,2}(b) RETURN b",
            ["(:Fact)", "(b)"],
        ),
        ("MATCH (a {client_id: $client_id}) MATCH (a)-->(b {id: 1}) RETURN a", ["(b {id: 1})"]),
        ("MATCH (a:Memory) SEARCH a IN (…) WHERE a.client_id = $client_id RETURN count(a)", []),
        ("MATCH (a:Memory) SEARCH a IN (…) WHERE a.kind = 'fact' RETURN a", ["(a:Memory)"]),
    ],
)
def test_a_node_without_its_client_is_seen(query: str, nodes: list[str]) -> None:
    assert open_nodes(query) == nodes


async def test_forged_edges_to_another_client_change_nothing(kitchen: Kitchen) -> None:
    assert len(kitchen.crossed) == len(RECIPES)
    changed = [
        line
        for heading, answer in kitchen.crossed.items()
        if answer != kitchen.answers[heading]
        for line in (f"### {heading}", *changes(kitchen.answers[heading], answer))
    ]
    assert not changed, "\n".join(changed)


async def test_an_index_that_begins_with_the_client_can_serve(kitchen: Kitchen) -> None:
    # Whether it does, the planner decides by how much there is: the story alone is little.
    def served(recipe: Recipe) -> bool:
        asked_about = anchors(recipe.query)
        return any(
            set(index["properties"]) <= asked_about.get(label, set())
            for index in kitchen.indexes
            for label in index["labels"]
        )

    unserved = [recipe.heading for recipe in RECIPES if not served(recipe)]
    assert not unserved, "\n".join(unserved)


async def test_a_client_of_nothing_gets_no_answers(kitchen: Kitchen) -> None:
    nobody = kitchen.memory.for_client(f"nobody-{uuid.uuid4().hex}")
    answers = await all_answered(nobody)
    answering = [f"{heading}\n{one}" for heading, one in answers.items() if one != "Nothing."]
    assert not answering, "\n".join(answering)


async def test_the_decay_curves_are_those_of_the_retrieval(kitchen: Kitchen) -> None:
    found = await kitchen.memory.cypher(
        "MATCH (episode:Episode {client_id: $client_id})"
        " RETURN episode.title AS title, episode.stability AS stability",
        {"client_id": kitchen.memory.client_id},
    )
    stability = {row["title"]: row["stability"] for row in found.rows}
    head, _, *lines = kitchen.answers["How fast are episodes forgotten?"].splitlines()
    days = [int(column.split("_")[1]) for column in head.strip("| ").split(" | ")[2:]]
    assert len(days) >= 4
    for line in lines:
        title, _, *curve = line.strip("| ").split(" | ")
        assert [float(value) for value in curve] == [
            pytest.approx(retrievability(stability[title], day), abs=0.00051) for day in days
        ]


def test_an_answer_is_rewritten_and_nothing_else() -> None:
    text = "# Title\n\n### One?\n\nWords.\n\n```cypher\nRETURN 1 AS one\n```\n\nold\n\n## Part\n\nMore.\n"
    new = rewritten(text, {"One?": table(["one"], [{"one": 1}])})
    assert new == text.replace("old", "| one |\n| --- |\n| 1 |")
    assert rewritten(new, {"One?": "old"}) == text
