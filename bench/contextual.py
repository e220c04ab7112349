"""What contextual search costs as the store grows, measured in one run.

    python -m bench.contextual --sessions 2000 --out contextual.json

A client with a tenth of the sessions, then with all of them, 50 messages each, on a private Neo4j of the
run's own; written as the product writes them, with vectors of `bench.words_model`. At both sizes:

- session-local search: database hits by PROFILE and milliseconds, for the same sessions and questions;
- hard-narrowed contextual search: how many vectors are compared, stage by stage (S5: 200 + 3 · 50 = 350);
- its time against an exact scan of all messages, asked in turns;
- storage: vectors kept, and bytes of the store with and without summaries.
"""

import asyncio
import json
import random
import statistics
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec.structs import replace

from bench.comparing import Asked, cost, queries_of
from bench.latency import Ask, interleaved, say, timed
from bench.reporting import arguments, report
from bench.store import BEGINNING, words
from bench.words_model import WordsModel
from graphmem import config
from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.contextual.ask import CANDIDATES_IN_SESSIONS, IN_SESSION, find_in_sessions
from graphmem.embedding import Vector
from graphmem.retrieval.filters import NOW, Filters, scope_groups
from graphmem.retrieval.understanding import Understood
from graphmem.runtime import Runtime, running
from graphmem.text.words import lucene_query, terms

CLIENT = "told"
MESSAGES = 50
GROWTH = 10
TOP_SESSIONS = 3
THEME_WORDS = 12
"""How many words a session has for its own, beside those that all use."""

LOADED_SESSIONS = 10
SUMMARIZERS = 2
QUESTIONS = 60
PROFILED = 20
BAR = 1.2

SCAN = """CYPHER 25
MATCH (message:Message {client_id: $client_id})
WHERE message.active = true
WITH message, vector.similarity.cosine(message.embedding, $embedding) AS score
ORDER BY score DESC
LIMIT $limit
RETURN message.id AS id, message.text AS text, score
"""

SESSIONS = """CYPHER 25
MATCH (session:Session {client_id: $client_id})
RETURN session.external_id AS name, session.id AS id
"""

VECTORS = """CYPHER 25
MATCH (memory:Memory {client_id: $client_id})
UNWIND [key IN keys(memory) WHERE key STARTS WITH 'embedding' AND NOT key ENDS WITH 'truncated'] AS key
RETURN memory.kind AS kind, count(*) AS vectors, count(DISTINCT memory) AS memories
"""


class Told:
    """Sessions in invented words: each has some for its own, which its messages and its question use."""

    def __init__(self, seed: int = 5, each: int = MESSAGES) -> None:
        self._vocabulary, self._shares = words()
        self._seed = seed
        self.each = each

    def theme(self, session: int) -> list[str]:
        """Return the words of a session."""
        return random.Random(self._seed * 1_000_003 + session).choices(
            self._vocabulary[200:], k=THEME_WORDS
        )

    def messages(self, session: int) -> Iterator[dict[str, Any]]:
        """Yield what was said in a session."""
        chance = random.Random(self._seed * 7_000_003 + session)
        theme = self.theme(session)
        for place in range(self.each):
            said = chance.choices(self._vocabulary, self._shares, k=chance.randint(6, 20))
            said += chance.choices(theme, k=chance.randint(1, 4))
            chance.shuffle(said)
            yield {
                "session_id": f"session-{session}",
                "external_id": f"{session}-{place}",
                "role": "user" if place % 2 == 0 else "assistant",
                "content": " ".join(said).capitalize() + ".",
                "occurred_at": BEGINNING.replace(minute=place).isoformat(),
            }

    def question(self, session: int) -> str:
        """Return a question that one session answers."""
        chance = random.Random(self._seed * 11_000_003 + session)
        return "What about " + " ".join(chance.sample(self.theme(session), 4))


async def tell(memory: Graphmem, told: Told, sessions: range) -> None:
    """Remember sessions, some to a batch."""
    await memory.open_conversation("told")
    for start in range(sessions.start, sessions.stop, LOADED_SESSIONS):
        some = range(start, min(start + LOADED_SESSIONS, sessions.stop))
        await memory.remember("told", [one for session in some for one in told.messages(session)])


async def summarize(memory: Graphmem, ids: list[str]) -> None:
    """Summarize sessions, as the product does by itself."""
    waiting = iter(ids)

    async def summarizer() -> None:
        for id in waiting:
            await memory.summarize_session(id)

    await asyncio.gather(*(summarizer() for _ in range(SUMMARIZERS)))


async def named(memory: Graphmem) -> dict[int, str]:
    """Return the sessions' own ids by their numbers."""
    rows = await memory.runtime.graph.execute(SESSIONS, client_id=memory.client_id)
    return {int(row["name"].removeprefix("session-")): row["id"] for row in rows}


def inside(session_ids: list[str], embedding: Vector, question: str) -> Asked:
    """Return the search inside sessions as it is run."""
    scope = Filters(kind=frozenset({"message"}), session_id=frozenset(session_ids))
    return Asked(
        CANDIDATES_IN_SESSIONS,
        {
            "client_id": CLIENT,
            "session_ids": session_ids,
            "embedding": embedding,
            "words": lucene_query(terms(question), scope_groups(scope, CLIENT)),
            "limit": IN_SESSION,
            **NOW.of_messages,
        },
    )


async def locally(runtime: Runtime, told: Told, ids: dict[int, str], few: int) -> dict[str, Any]:
    """Search inside single sessions that were there from the beginning."""
    hits = []
    for session in range(PROFILED):
        question = told.question(session)
        embedding = await runtime.embedder.query(question)
        hits.append((await cost(runtime.graph, inside([ids[session]], embedding, question))).hits)
    sessions = {told.question(session): session for session in range(few)}

    async def ask(question: str) -> None:
        embedding = await runtime.embedder.query(question)
        understood = Understood(question, embedding, terms(question), {}, [])
        await find_in_sessions(understood, [ids[sessions[question]]], runtime.context(CLIENT))

    asked = list(sessions)[:QUESTIONS]
    await timed(ask, asked, 1)
    return {"db hits": statistics.fmean(hits), "milliseconds": await timed(ask, asked, 1)}


async def compared(
    memory: Graphmem, told: Told, sessions: int, questions: int = PROFILED
) -> dict[str, Any]:
    """Count what hard-narrowed search compares: of some questions the median one, and the most.

    Where the index falls short of what is asked of it, all summaries are compared once more, exactly.
    """
    counted: list[Counter[str]] = []
    for session in range(questions):

        async def ask(watched: Runtime, question: str = told.question(session)) -> None:
            await Graphmem(watched, memory.client_id).search_contextual(question, **HARD)

        stages: Counter[str] = Counter()
        for one in await queries_of(memory.runtime, ask):
            found = await cost(memory.runtime.graph, one)
            if one.query.name.startswith("retrieval/passages_"):
                # The bench tells no long messages: the index of passages is not searched at all.
                stages["passages"] += found.comparisons
                continue
            stages["messages" if one.query is CANDIDATES_IN_SESSIONS else "summaries"] += (
                # The index is asked for summaries only, and compares as many as there are at most.
                found.comparisons + found.vector_searches * sessions
            )
        counted.append(stages)
    counted.sort(key=lambda stages: stages.total())
    median = counted[len(counted) // 2]
    return {
        **median,
        "together": median.total(),
        "most of any question": counted[-1].total(),
        "sessions + 3 · messages a session": sessions + TOP_SESSIONS * told.each,
        "all messages": sessions * told.each,
    }


HARD: dict[str, Any] = {"narrowing": "hard", "top_sessions": TOP_SESSIONS}


async def against_scan(runtime: Runtime, told: Told, sessions: int) -> dict[str, Any]:
    """Time contextual search and an exact scan of all messages in turns."""
    memory = Graphmem(runtime, CLIENT)
    driver, database = runtime.graph.driver, runtime.graph.database

    def contextual(narrowing: str) -> Ask:
        async def ask(question: str) -> None:
            await memory.search_contextual(question, **HARD | {"narrowing": narrowing})

        return ask

    async def scan(question: str) -> None:
        embedding = await runtime.embedder.query(question)
        async with driver.session(database=database, default_access_mode="READ") as session:
            result = await session.run(SCAN, client_id=CLIENT, embedding=embedding, limit=15)
            [record async for record in result]

    asks = {"scan of all": scan, "hard": contextual("hard"), "soft": contextual("soft")}
    asked = [told.question(session) for session in range(QUESTIONS)]
    for ask in asks.values():
        await timed(ask, asked[:PROFILED], 1)
    figures = await interleaved(asks, asked, 1)
    return {
        "messages": sessions * MESSAGES,
        "milliseconds": figures,
        "scan to hard": round(figures["scan of all"]["p50"] / figures["hard"]["p50"], 2),
        "scan to soft": round(figures["scan of all"]["p50"] / figures["soft"]["p50"], 2),
    }


async def vectors(memory: Graphmem) -> dict[str, Any]:
    """Return the vectors that are kept of a client, by kind."""
    rows = await memory.runtime.graph.execute(VECTORS, client_id=memory.client_id)
    return {
        "vectors": {row["kind"]: row["vectors"] for row in rows},
        "vectors a memory": max(row["vectors"] / row["memories"] for row in rows),
    }


def store_bytes(settings: Settings) -> int:
    """Return how much lies in the folder of the database, its log apart; the server has stopped."""
    folders = [path for path in settings.data_dir.rglob("databases/neo4j") if path.is_dir()]
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    return sum(file.stat().st_blocks * 512 for file in files)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Runtime]:
    """Have graphmem running on the store, which is whole on the disk when it is closed."""
    async with running(settings, load=lambda settings, progress: WordsModel()) as runtime:
        yield replace(runtime, recorder=None)


async def measured(settings: Settings, told: Told, sessions: range, few: int) -> dict[str, Any]:
    """Let the store grow to so many sessions, and measure."""
    async with opened(settings) as runtime:
        await tell(Graphmem(runtime, CLIENT), told, sessions)
    bare = store_bytes(settings)
    say(f"{sessions.stop} sessions are told")
    async with opened(settings) as runtime:
        memory = Graphmem(runtime, CLIENT)
        ids = await named(memory)
        await summarize(memory, [ids[session] for session in sessions])
        say(f"{sessions.stop} sessions are summarized")
        result: dict[str, Any] = {
            "sessions": sessions.stop,
            "messages": sessions.stop * MESSAGES,
            "inside one session": await locally(runtime, told, ids, few),
            "compared, hard": await compared(memory, told, sessions.stop),
            "against a scan": await against_scan(runtime, told, sessions.stop),
            "storage": await vectors(memory),
        }
    whole = store_bytes(settings)
    result["storage"] |= {
        "store bytes": whole,
        f"before the last {len(sessions)} sessions were summarized": bare,
        "bytes a message": round(whole / (sessions.stop * MESSAGES)),
        "summaries add": round(whole / bare - 1, 4),
    }
    return result


async def measure(settings: Settings, sessions: int) -> dict[str, Any]:
    """Measure with a tenth of the sessions, then with all; return both and what grew."""
    told = Told()
    few = max(sessions // GROWTH, 1)
    small = await measured(settings, told, range(few), few)
    say(json.dumps(small))
    large = await measured(settings, told, range(few, sessions), few)
    return {
        "few": small,
        "many": large,
        "inside one session, many to few": _ratios(small, large, lambda one: one["db hits"])
        | _ratios(small, large, lambda one: one["milliseconds"]["p50"], "p50"),
        "bar": BAR,
    }


def _ratios(
    small: dict[str, Any],
    large: dict[str, Any],
    of: Callable[[dict[str, Any]], float],
    name: str = "db hits",
) -> dict[str, float]:
    key = "inside one session"
    return {name: round(of(large[key]) / of(small[key]), 3)}


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("contextual", __doc__)
    parser.add_argument("--sessions", type=int, default=2_000, help="of 50 messages each")
    given = parser.parse_args()
    with TemporaryDirectory(prefix="graphmem-contextual-") as folder:
        settings = replace(config.load({}), data_dir=Path(folder) / "data", embedding_model=None)
        result = await measure(settings, given.sessions)
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
