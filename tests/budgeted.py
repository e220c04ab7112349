"""Shared by the tests of budgeted runs: spans to find, and a check of a tree's budgets in the database."""

from collections.abc import Iterator
from typing import Any

from graphmem.client import Graphmem
from graphmem.runs.types import TreeRun

TOPICS = (
    "pricing",
    "refunds",
    "shipping",
    "security",
    "support",
    "onboarding",
    "billing",
    "exports",
)

STORED = """CYPHER 25
MATCH (run:Run {client_id: $client_id})
RETURN run.id AS id, run.max_tokens AS max_tokens, run.spent AS spent, run.given AS given,
  run.returned AS returned, run.status AS status, run.retries AS retries, run.depth AS depth,
  run.retrievals AS retrievals,
  COLLECT { MATCH (run)-[:SPAWNED]->(child:Run) RETURN child.max_tokens - child.returned } AS gave,
  COLLECT { MATCH (run)-[:HOLDS]->(hold:Hold) RETURN hold.tokens } AS holds,
  COLLECT {
    MATCH (run)-[:PERFORMED]->(access:Access) WHERE access.error IS NULL RETURN access.tokens
  } AS charged,
  COLLECT {
    MATCH (run)-[:PERFORMED]->(access:Access)-[returned:RETURNED]->(:Memory)
    RETURN returned.tokens
  } AS delivered
"""


EDGES = """CYPHER 25
MATCH (reference:Reference {client_id: $client_id, id: $id})
RETURN
  COLLECT {
    MATCH (span:Span)-[:PART_OF]->(reference) RETURN span.id ORDER BY span.start_byte
  } AS parts,
  COLLECT {
    MATCH (a:Span)-[:PART_OF]->(reference)
    MATCH (a)-[:NEXT]->(b:Span)
    RETURN [a.id, b.id] ORDER BY a.start_byte
  } AS nexts,
  COLLECT {
    MATCH (run:Run)-[:PERFORMED]->(:Access)-[:WROTE]->(reference) RETURN run.id
  } AS wrote,
  COUNT { MATCH (reference)--(other) WHERE other.client_id <> $client_id } AS foreign
"""


def span(place: int, content: str | None = None, **other: Any) -> dict[str, Any]:
    """Return a span to register."""
    topic = TOPICS[place % len(TOPICS)]
    text = (
        content or f"Note {place}: information about product {topic} and what customers ask of it."
    )
    return {
        "id": f"span-{place}",
        "source_type": "knowledge_base",
        "source_id": f"kb-{place % 4}",
        "start_byte": 0,
        "end_byte": len(text.encode()),
        "content": text,
    } | other


async def fill(memory: Graphmem, number: int = 8) -> None:
    """Register spans on some topics."""
    await memory.register_spans([span(place) for place in range(number)])


def below(tree: TreeRun) -> Iterator[TreeRun]:
    """Yield the runs of a tree, the root first."""
    yield tree
    for child in tree.children:
        yield from below(child)


def check(tree: TreeRun) -> None:
    """Assert that every budget of a tree balances, and that no run has more than exists."""
    for run in below(tree):
        assert run.spent + run.held + run.given + run.remaining == run.max_tokens
        assert min(run.spent, run.held, run.given, run.remaining) >= 0
        assert run.given == sum(child.max_tokens - child.returned for child in run.children)
    total = sum(run.spent for run in below(tree))
    assert total <= tree.max_tokens


async def check_stored(memory: Graphmem) -> list[dict[str, Any]]:
    """Assert that the stored spending of each run equals the sum of its records, and return the runs."""
    rows = await memory.runtime.graph.execute(STORED, client_id=memory.client_id)
    for row in rows:
        assert row["spent"] == sum(row["charged"]) == sum(row["delivered"])
        assert row["given"] == sum(row["gave"])
        assert row["spent"] + row["given"] + sum(row["holds"]) <= row["max_tokens"]
    return rows


async def edges_of(memory: Graphmem, reference_id: str) -> dict[str, Any]:
    """Return the edges of a reference."""
    rows = await memory.runtime.graph.execute(EDGES, client_id=memory.client_id, id=reference_id)
    return rows[0]
