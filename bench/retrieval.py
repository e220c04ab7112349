"""How fast memory is retrieved as S2 has it, as a ratio to the bare parts it is made of.

    python -m bench.retrieval --facts 100000 --out retrieval.json

One client on a private Neo4j of the run's own: facts and a tenth as many episodes in 50 conversations. In
turns: the embedding alone; the bare queries of all four legs, run at once; `retrieve_memory` at its
default limits, in process.
"""

import asyncio
import uuid
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import asdict, replace

from bench.latency import ASKED, WARMED, Ask, interleaved, timed
from bench.reporting import arguments, report
from bench.store import STATEMENT_ROWS, Corpus, corpus, memories, questions
from graphmem import config
from graphmem.client import Graphmem
from graphmem.graph.scope import scope_word
from graphmem.memories.write import Prepared, write
from graphmem.retrieval.decay import born
from graphmem.runtime import Runtime, running
from graphmem.text.words import lucene_query, terms

CLIENT = "retrieving"
CONVERSATIONS = [str(uuid.UUID(int=4711 + place)) for place in range(50)]
FACTS_TO_AN_EPISODE = 10

VECTOR_LEG = """CYPHER 25
MATCH (m:Memory)
  SEARCH m IN (
    VECTOR INDEX memory_embedding FOR $embedding
    WHERE m.client_id = $client AND m.conversation_id = $conversation AND m.kind = $kind
    LIMIT 100
  ) SCORE AS score
RETURN m.id AS id, score
"""
WORDS_LEG = """CYPHER 25
MATCH (m:Memory)
  SEARCH m IN (FULLTEXT INDEX memory_text FOR $words LIMIT 100) SCORE AS score
RETURN m.id AS id, score
"""


def conclusions(made_of: Corpus, facts: int) -> Iterator[Prepared]:
    """Yield facts and episodes, conversation by conversation in turn."""
    number = facts + facts // FACTS_TO_AN_EPISODE
    for place, memory in enumerate(memories(made_of, CLIENT, number, 77)):
        at = memory.draft.occurred_at
        is_episode = place % (FACTS_TO_AN_EPISODE + 1) == 0
        own: dict[str, Any] = {"keywords": ["word"], "version": 1, "reinforced": 0}
        if is_episode:
            own = asdict(born(place % 10 / 10, at)) | {
                "title": memory.draft.text[:40],
                "start_at": at - timedelta(minutes=5),
                "end_at": at,
                "surprise": place % 10 / 10,
            }
        kind = "episode" if is_episode else "fact"
        draft = replace(
            memory.draft,
            kind=kind,
            source_type=kind,
            source_id="",
            conversation_id=CONVERSATIONS[place % len(CONVERSATIONS)],
            session_id="",
            category="" if is_episode else "user_fact",
            own=own,
        )
        yield replace(memory, draft=draft)


def legs(runtime: Runtime, conversation: str) -> dict[str, Ask]:
    """Return the bare parts: the embedding, and the four legs' queries at once."""
    driver, database = runtime.graph.driver, runtime.graph.database
    vectors: dict[str, list[float]] = {}

    async def run(text: str, **parameters: Any) -> None:
        async with driver.session(database=database, default_access_mode="READ") as session:
            async for _ in await session.run(text, parameters):
                pass

    async def embedding(question: str) -> None:
        vectors[question] = await runtime.embedder.query(question)

    async def queries(question: str) -> None:
        async with asyncio.TaskGroup() as group:
            for kind in ("fact", "episode"):
                scope = [
                    [scope_word(CLIENT, "client")],
                    [scope_word(CLIENT, "kind", kind)],
                    [scope_word(CLIENT, "conversation_id", conversation)],
                ]
                group.create_task(
                    run(
                        VECTOR_LEG,
                        embedding=vectors[question],
                        client=CLIENT,
                        conversation=conversation,
                        kind=kind,
                    )
                )
                group.create_task(run(WORDS_LEG, words=lucene_query(terms(question), scope)))

    return {"embedding": embedding, "all legs' bare queries": queries}


async def measure(runtime: Runtime, facts: int) -> dict[str, Any]:
    """Fill the store and time every part in turns, once warm."""
    made_of = await corpus(runtime.embedder)
    source = conclusions(made_of, facts)
    while chunk := list(islice(source, STATEMENT_ROWS)):
        await runtime.graph.write(partial(write, memories=chunk, client_id=CLIENT))
    memory = Graphmem(runtime, CLIENT)
    conversation = CONVERSATIONS[7]

    async def retrieve(question: str) -> None:
        assert (await memory.retrieve_memory(question, conversation)).found.episodic

    asks = legs(runtime, conversation) | {"retrieve_memory": retrieve}
    asked = questions(made_of, ASKED + WARMED)
    for ask in asks.values():
        await timed(ask, asked[:WARMED], 1)
    figures = await interleaved(asks, asked[WARMED:], 1)
    parts = figures["embedding"]["p50"] + figures["all legs' bare queries"]["p50"]
    return {
        "facts": facts,
        "episodes": facts // FACTS_TO_AN_EPISODE,
        "conversations": len(CONVERSATIONS),
        "milliseconds": figures,
        "p50 to embedding + all legs": round(figures["retrieve_memory"]["p50"] / parts, 2),
    }


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("retrieval", __doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="graphmem-retrieval-") as folder:
        settings = replace(config.load({}), data_dir=Path(folder) / "data")
        async with running(settings) as runtime:
            result = await measure(runtime, given.facts)
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
