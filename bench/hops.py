"""What a hop costs: the same search with and without one, measured in one run.

    python -m bench.hops --memories 100000 --out hops.json

One client on a private Neo4j of the run's own: references with ten links each on average, some of them
hubs with a thousand. Vectors are near those of real embeddings.
"""

import asyncio
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from bench.latency import ASKED, WARMED, Ask, interleaved, say, timed
from bench.reporting import arguments, report
from bench.store import STATEMENT_ROWS, Corpus, corpus, memories, questions
from graphmem import config
from graphmem.client import Graphmem
from graphmem.memories.write import Prepared, write
from graphmem.runtime import Runtime, running

CLIENT = "linked"
LINKS = 10
"""How many links a memory has on average; a link is one of two memories."""

HUBS = 20
HUB_LINKS = 1_000
LINKS_AT_ONCE = 5_000
BAR = 1.5
"""One hop may cost half as much again."""

LINK = """CYPHER 25
UNWIND $pairs AS pair
MATCH (here:Memory {client_id: $client_id, id: pair[0]})
MATCH (there:Memory {client_id: $client_id, id: pair[1]})
CREATE (here)-[:RELATES_TO {score: pair[2]}]->(there)
FINISH
"""


def references(made_of: Corpus, number: int) -> Iterator[Prepared]:
    """Yield references whose texts and vectors are those of the store's messages."""
    for place, memory in enumerate(memories(made_of, CLIENT, number, 5)):
        draft = replace(
            memory.draft,
            kind="reference",
            source_type="knowledge_base",
            source_id=f"kb-{place}",
            conversation_id="",
            session_id="",
            own={"label": f"Page {place}", "description": memory.draft.text, "version": 1},
        )
        yield replace(memory, draft=draft)


def links(ids: list[str], seed: int = 31) -> Iterator[list[Any]]:
    """Yield pairs of memories with a score: between any two, and from the hubs."""
    chance = random.Random(seed)
    hubs = chance.sample(ids, min(HUBS, len(ids)))
    spread = (
        (hub, other) for hub in hubs for other in chance.sample(ids, min(HUB_LINKS, len(ids)))
    )
    plain = len(ids) * LINKS // 2 - len(hubs) * min(HUB_LINKS, len(ids))
    between = ((chance.choice(ids), chance.choice(ids)) for _ in range(max(plain, 0)))
    for pairs in (spread, between):
        for here, there in pairs:
            if here != there:
                yield [here, there, round(chance.random(), 3)]


async def fill(runtime: Runtime, made_of: Corpus, number: int) -> list[str]:
    """Write the references and their links; return the references' ids."""
    ids: list[str] = []
    source = references(made_of, number)
    while chunk := [memory for _, memory in zip(range(STATEMENT_ROWS), source, strict=False)]:
        ids += [memory.draft.id for memory in chunk]
        await runtime.graph.write(partial(write, memories=chunk, client_id=CLIENT))
    say(f"{len(ids)} memories")
    pairs = list(links(ids))
    for start in range(0, len(pairs), LINKS_AT_ONCE):
        some = pairs[start : start + LINKS_AT_ONCE]
        await runtime.graph.execute(LINK, client_id=CLIENT, pairs=some)
    say(f"{len(pairs)} links")
    return ids


async def measure(runtime: Runtime, number: int) -> dict[str, Any]:
    """Fill the store and measure a search with no, one, two and three hops."""
    made_of = await corpus(runtime.embedder)
    await fill(runtime, made_of, number)
    memory = Graphmem(runtime, CLIENT)
    asked = questions(made_of, ASKED + WARMED)

    def hopping(hops: int) -> Ask:
        return lambda question: memory.search(question, max_hops=hops, sort_by="combined")

    asks: dict[str, Ask] = {f"{hops} hops": hopping(hops) for hops in range(4)}
    for ask in asks.values():
        await timed(ask, asked[:WARMED], 1)
    figures = await interleaved(asks, asked[WARMED:], 1)
    used = [(await memory.search(question, max_hops=1)).hops_used for question in asked[:WARMED]]
    ratio = round(figures["1 hops"]["p50"] / figures["0 hops"]["p50"], 2)
    return {
        "memories": number,
        "links a memory": LINKS,
        "hubs": HUBS,
        "links a hub": HUB_LINKS,
        "milliseconds": figures,
        "p50 of one hop to none": ratio,
        "bar": BAR,
        "passed": ratio <= BAR,
        "share of answers that a hop added to": round(sum(used) / len(used), 2),
    }


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("hops", __doc__)
    parser.add_argument("--memories", type=int, default=100_000)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="graphmem-hops-") as folder:
        settings = replace(config.load({}), data_dir=Path(folder) / "data")
        async with running(settings) as runtime:
            result = await measure(runtime, given.memories)
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
