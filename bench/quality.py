"""How well recall finds the evidence for questions over conversations.

    python -m bench.quality --data FILE --out report.json

Loads a set of conversations through the public API, a client for each, and asks every question that
has evidence with every ranking. Recall@k is the mean over questions of |evidence among the first k| /
|evidence|; evidence in n tokens is the share whose whole text stands in a context of at most n tokens. Of a
message that is given as an excerpt nothing counts there; shown in n tokens is the share of the evidence's
bytes that the context has, excerpts included. `by rank` is a context that is packed in the order of the
ranking, as with a limit. All long messages are cut into passages before the first question.

A set is JSON:

    {name, conversations: [{id, sessions: [{id, messages: [{id, role, name, content, occurred_at}]}],
        questions: [{id, text, category, evidence: [message id, …]}]}]}

`contextual` is contextual search, soft, with ten sessions and without neighbours, over summaries that it
has made itself; its hits stand in the order of their scores. `hard` is the same with hard narrowing, `hard 3`
with three sessions, as S5 draws it. Who asks for `contextual` gets these and the default beside it. All are
asked with the threshold that callers get, or with that of `--min-relevance`. Where no session is relevant
enough the answer falls back on everything: what it found then counts as hits, but no session was found.
`no session` is the share of questions of which that happens; `foreign no session` that of questions about
other conversations of the set, up to 50 for each.

sessions@k is the share of questions of which a session with evidence is among the first k; a ranking of
messages orders sessions by their first.

With `--beside N` everything is asked once more when ten other clients have N memories together.

A set of passages is measured as `bench.passages` says.
"""

import asyncio
import json
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bench import passages
from bench.cached import CachedModel
from bench.reporting import arguments, write
from bench.store import corpus, fill
from graphmem import config
from graphmem.client import Graphmem
from graphmem.embedding import Embedder
from graphmem.memories.passages import cut_memories
from graphmem.recall.types import Recalled
from graphmem.runtime import Runtime, running

CONTEXTUAL = "contextual"
WAYS: dict[str, dict[str, Any]] = {
    CONTEXTUAL: {"narrowing": "soft", "top_sessions": 10},
    "hard": {"narrowing": "hard", "top_sessions": 10},
    "hard 3": {"narrowing": "hard", "top_sessions": 3},
}
"""How contextual search is asked."""

RANKINGS = ("vector", "bm25", "rrf", "default", *WAYS)
SESSIONS = "CYPHER 25 MATCH (session:Session {client_id: $client_id}) RETURN session.id AS id"
CUTS = (5, 10, 20)
SESSION_CUTS = (1, 3)
DEEP = 100
"""How far down a ranking of messages is read for its order of sessions."""

BUDGETS = (512, 1024, 2048)
BY_RANK = ("1024 by rank", 200, 1024)
"""A measure's name, limit and budget: with a limit memories are packed by rank."""

APART = "adversarial"
OTHERS = 10
"""The other clients beside which everything is asked again."""

FOREIGN = 50
"""How many questions about other conversations each is asked."""

CALLERS = 4
RESAMPLES = 2_000


class Answered(Struct, frozen=True):
    """What one question scored with one ranking."""

    conversation: str
    category: str
    scores: dict[str, float]
    violations: int


class Measured(Struct, frozen=True):
    """The answers by ranking, and of contextual search the share of foreign questions without a session."""

    answered: dict[str, list[Answered]]
    foreign: dict[str, float]


class Loaded(Struct, frozen=True):
    """A conversation of the set: its messages' ids by ours, and their texts and sessions by its ids."""

    ids: dict[str, str]
    texts: dict[str, str]
    session_of: dict[str, str]


async def load(memory: Graphmem, conversation: dict[str, Any]) -> dict[str, str]:
    """Remember a conversation of the set, message by message in its order; return the set's ids by ours."""
    ids: dict[str, str] = {}
    await memory.open_conversation(conversation["id"])
    messages = [
        {
            "session_id": session["id"],
            "external_id": message["id"],
            **{key: message[key] for key in ("role", "name", "content", "occurred_at")},
        }
        for session in conversation["sessions"]
        for message in session["messages"]
    ]
    for start in range(0, len(messages), 500):
        batch = messages[start : start + 500]
        remembered = await memory.remember(conversation["id"], batch)
        given = (message["external_id"] for message in batch)
        ids |= dict(zip(remembered.ids, given, strict=True))
    await cut(memory)
    return ids


async def cut(memory: Graphmem) -> None:
    """Cut the long memories of a client into passages, as a service does soon after they are written."""
    while not await cut_memories(memory.runtime.context(memory.client_id)):
        pass


async def summarize(memory: Graphmem) -> None:
    """Summarize all of a client's sessions."""
    for row in await memory.runtime.graph.execute(SESSIONS, client_id=memory.client_id):
        await memory.summarize_session(row["id"])


async def answer_contextually(
    memory: Graphmem, question: dict[str, Any], loaded: Loaded, ranking: Any
) -> tuple[dict[str, float], int]:
    """Ask one question by contextual search; return its scores, and how many budgets were broken."""
    asked = WAYS[ranking] | {"top_k": 20, "neighbours": 0}
    wide = await memory.search_contextual(question["text"], **asked)
    hits = [turn for context in wide.contexts for turn in context.messages if turn.hit]
    hits.sort(key=lambda turn: (-(turn.score or 0.0), turn.id))
    order = _known([turn.id for turn in hits] or [item.id for item in wide.items], loaded)
    sessions = [context.session_external_id for context in wide.contexts]
    scores = scored(question["evidence"], order, sessions, loaded)
    scores["no session"] = float(wide.fallback is not None)
    violations = 0
    for budget in BUDGETS:
        tight = await memory.search_contextual(question["text"], max_tokens=budget, **asked)
        turns = [turn.id for context in tight.contexts for turn in context.messages]
        shown = set(_known(turns or [item.id for item in tight.items], loaded))
        evidence = question["evidence"]
        scores[f"evidence in {budget}"] = len(shown & set(evidence)) / len(evidence)
        counted = memory.runtime.tokens.count(tight.prompt)
        violations += int(counted > budget or counted != tight.tokens_used)
    return scores, violations


def _known(ids: Iterable[str], loaded: Loaded) -> list[str]:
    """Return the set's ids of messages, in their order, without what is no message of it."""
    return [loaded.ids[id] for id in ids if id in loaded.ids]


def foreign(
    conversation: dict[str, Any], conversations: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return questions about other conversations: a sample, always the same."""
    others = [
        question
        for other in conversations
        if other is not conversation
        for question in other["questions"]
        if question["evidence"] and question["category"] != APART
    ]
    return random.Random(conversation["id"]).sample(others, min(len(others), FOREIGN))


async def fallbacks(
    memories: Mapping[str, Graphmem],
    conversations: Sequence[dict[str, Any]],
    ranking: str,
) -> float | None:
    """Return the share of foreign questions for which no session is found, in percent."""
    fallen = []
    for conversation in conversations:
        for question in foreign(conversation, conversations):
            memory = memories[conversation["id"]]
            found = await memory.search_contextual(question["text"], **WAYS[ranking])
            fallen.append(found.fallback is not None)
    return round(100 * statistics.fmean(fallen), 2) if fallen else None


def scored(
    evidence: list[str], order: list[str], sessions: Sequence[str], loaded: Loaded
) -> dict[str, float]:
    """Return what an order of messages and one of sessions are worth, by measure."""
    scores = {f"recall@{k}": len(set(order[:k]) & set(evidence)) / len(evidence) for k in CUTS}
    ranks = [order.index(id) + 1 for id in evidence if id in order]
    scores["mrr"] = 1 / min(ranks) if ranks else 0.0
    right = {loaded.session_of[id] for id in evidence if id in loaded.session_of}
    for k in SESSION_CUTS:
        scores[f"sessions@{k}"] = float(not right.isdisjoint(sessions[:k]))
    return scores


async def answer(
    memory: Graphmem, question: dict[str, Any], loaded: Loaded, ranking: Any
) -> tuple[dict[str, float], int]:
    """Ask one question; return its scores by measure, and how many budgets were broken."""
    evidence = question["evidence"]
    wide = await memory.recall(
        question["text"], limit=DEEP, max_tokens=200_000, kinds=["message"], ranking=ranking
    )
    order = [item.external_id for item in wide.items if item.external_id]
    sessions = list(dict.fromkeys(loaded.session_of[id] for id in order))
    scores = scored(evidence, order, sessions, loaded)
    violations = broken(memory, wide, 200_000)
    for name, limit, budget in (*((f"{one}", None, one) for one in BUDGETS), BY_RANK):
        tight = await memory.recall(
            question["text"], limit=limit, max_tokens=budget, kinds=["message"], ranking=ranking
        )
        whole, shown = shares(evidence, tight, loaded)
        scores[f"evidence in {name}"], scores[f"shown in {name}"] = whole, shown
        violations += broken(memory, tight, budget)
    return scores, violations


def shares(evidence: Sequence[str], recalled: Recalled, loaded: Loaded) -> tuple[float, float]:
    """Return the share of the evidence that a context has as a whole, and that of its bytes."""
    whole = [id in loaded.texts and loaded.texts[id] in recalled.context for id in evidence]
    excerpts = {one.external_id: one.excerpt for one in recalled.items if one.excerpt}
    parts = [
        (excerpt.end - excerpt.start) / len(loaded.texts[id].encode())
        if (excerpt := excerpts.get(id)) and not is_whole
        else float(is_whole)
        for id, is_whole in zip(evidence, whole, strict=True)
    ]
    return statistics.fmean(whole), statistics.fmean(parts)


def broken(memory: Graphmem, recalled: Recalled, budget: int) -> int:
    """Return 1 when a context is longer than its budget or than it says."""
    counted = memory.runtime.tokens.count(recalled.context)
    return int(counted > budget or counted != recalled.tokens_used)


async def load_all(
    runtime: Runtime, conversations: Sequence[dict[str, Any]], rankings: Iterable[str]
) -> dict[str, Loaded]:
    """Remember every conversation in a client of its own; return them by their id in the set."""
    loaded: dict[str, Loaded] = {}
    for conversation in conversations:
        id = conversation["id"]
        memory = memory_of(runtime, conversation)
        said = [
            (message, session["id"])
            for session in conversation["sessions"]
            for message in session["messages"]
        ]
        loaded[id] = Loaded(
            await load(memory, conversation),
            {message["id"]: message["content"] for message, _ in said},
            {message["id"]: session for message, session in said},
        )
        if not WAYS.keys().isdisjoint(rankings):
            await summarize(memory)
        say(f"loaded {id}: {len(said)} messages")
    return loaded


def memory_of(runtime: Runtime, conversation: Mapping[str, Any]) -> Graphmem:
    """Return the client of a conversation of the set."""
    return Graphmem(runtime, f"quality-{conversation['id']}")


async def ask_all(
    runtime: Runtime,
    conversations: Sequence[dict[str, Any]],
    rankings: Iterable[str],
    loaded: Mapping[str, Loaded],
) -> Measured:
    """Ask every question that has evidence with each ranking."""
    memories = {one["id"]: memory_of(runtime, one) for one in conversations}
    callers = asyncio.Semaphore(CALLERS)

    async def ask(conversation: dict[str, Any], question: dict[str, Any], ranking: str) -> Answered:
        async with callers:
            id = conversation["id"]
            way = answer_contextually if ranking in WAYS else answer
            scores, violations = await way(memories[id], question, loaded[id], ranking)
            return Answered(id, question["category"], scores, violations)

    answered = {}
    for ranking in rankings:
        started = time.perf_counter()
        answered[ranking] = await asyncio.gather(
            *(
                ask(conversation, question, ranking)
                for conversation in conversations
                for question in conversation["questions"]
                if question["evidence"]
            )
        )
        say(f"asked with {ranking}: {time.perf_counter() - started:.0f} s")
    fallen = {
        ranking: share
        for ranking in rankings
        if ranking in WAYS
        and (share := await fallbacks(memories, conversations, ranking)) is not None
    }
    return Measured(answered, fallen)


def report(measured: Measured) -> dict[str, Any]:
    """Return the means over all, by category, and the adversarial questions apart, in percent."""
    answered = measured.answered
    result: dict[str, Any] = {"rankings": {}}
    for ranking, answers in answered.items():
        plain = [answer for answer in answers if answer.category != APART]
        by_category = defaultdict(list)
        for answer in answers:
            by_category[answer.category].append(answer)
        result["rankings"][ranking] = {
            "overall": means(plain) | {"intervals": intervals(plain)},
            "categories": {name: means(some) for name, some in sorted(by_category.items())},
            "budget_violations": sum(answer.violations for answer in answers),
        }
        if ranking in measured.foreign:
            result["rankings"][ranking]["foreign no session"] = measured.foreign[ranking]
    if {"default", CONTEXTUAL} <= answered.keys():
        result["contextual beyond default"] = {
            name: round(
                result["rankings"][CONTEXTUAL]["overall"][name]
                - result["rankings"]["default"]["overall"][name],
                2,
            )
            for name in ("recall@10", "sessions@3")
        }
    return result


def means(answers: Sequence[Answered]) -> dict[str, float]:
    """Return each measure's mean in percent, and how many questions it is of."""
    measures = answers[0].scores if answers else {}
    return {"questions": len(answers)} | {
        name: round(100 * statistics.fmean(answer.scores[name] for answer in answers), 2)
        for name in measures
    }


def intervals(answers: Sequence[Answered]) -> dict[str, list[float]]:
    """Return 95 % intervals of each mean by a bootstrap that resamples whole conversations."""
    chance = random.Random(0)
    by_conversation = defaultdict(list)
    for answer in answers:
        by_conversation[answer.conversation].append(answer.scores)
    clusters = list(by_conversation.values())
    sums = [
        {name: sum(scores[name] for scores in cluster) for name in cluster[0]} | {"n": len(cluster)}
        for cluster in clusters
    ]
    drawn: dict[str, list[float]] = defaultdict(list)
    for _ in range(RESAMPLES):
        sample = chance.choices(sums, k=len(sums))
        size = sum(cluster["n"] for cluster in sample)
        for name in answers[0].scores:
            drawn[name].append(100 * sum(cluster[name] for cluster in sample) / size)
    return {
        name: [round(cut, 2) for cut in statistics.quantiles(values, n=40)[::38]]
        for name, values in drawn.items()
    }


async def fill_beside(runtime: Runtime, number: int) -> None:
    """Write so many memories of other clients."""
    made_of = await corpus(runtime.embedder)
    for place in range(OTHERS):
        await fill(runtime, made_of, f"beside-{place}", number // OTHERS, 10 + place)
        say(f"other client {place + 1} of {OTHERS}")
    await runtime.graph.execute("CALL db.awaitIndexes(600)")


def beside(alone: Mapping[str, Any], after: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return what was found beside other memories, and by how many points it differs."""
    differences = {
        ranking: {
            name: round(figures["overall"][name] - alone[ranking]["overall"][name], 2)
            for name in ("recall@10", "evidence in 1024")
        }
        for ranking, figures in after.items()
    }
    return {"memories of others": number, "rankings": after, "difference": differences}


@asynccontextmanager
async def store() -> AsyncIterator[Runtime]:
    """Have a graphmem of the benchmark's own running, with embeddings remembered."""
    with TemporaryDirectory(prefix="graphmem-quality-") as folder:
        settings = config.load()
        if not settings.neo4j_uri:
            settings = replace(settings, data_dir=Path(folder))
        async with running(settings, lambda stage, done=0, total=0: None) as runtime:
            cached = CachedModel(runtime.embedder.model, settings.cache_dir / "bench")
            embedder = Embedder(cached)
            try:
                yield replace(runtime, embedder=embedder)
            finally:
                await embedder.close()


def say(line: str) -> None:
    """Tell how far it is."""
    print(line, file=sys.stderr, flush=True)


def show(result: dict[str, Any]) -> None:
    """Print the overall figures as a table."""
    names = [f"recall@{k}" for k in CUTS] + ["mrr"] + [f"sessions@{k}" for k in SESSION_CUTS]
    names += [f"evidence in {budget}" for budget in BUDGETS]
    print(f"{'':12}" + "".join(f"{name:>17}" for name in names) + f"{'violations':>12}")
    for ranking, figures in result["rankings"].items():
        row = "".join(f"{figures['overall'][name]:>17.2f}" for name in names)
        print(f"{ranking:12}{row}{figures['budget_violations']:>12}")
    for ranking, figures in result["rankings"].items():
        if "foreign no session" in figures:
            told = figures["overall"]["no session"], figures["foreign no session"]
            print(
                f"{ranking}: no session for {told[0]} % of the questions, {told[1]} % of foreign ones"
            )


async def main() -> None:
    """Measure a set and write the report."""
    parser = arguments("quality", __doc__)
    parser.add_argument("--data", type=Path, required=True, help="the evaluation set, a JSON file")
    parser.add_argument("--ranking", action="append", choices=RANKINGS, help="only these rankings")
    parser.add_argument(
        "--min-relevance", type=float, help="another threshold of contextual search"
    )
    parser.add_argument(
        "--beside", type=int, default=0, help="ask again beside so many memories of other clients"
    )
    given = parser.parse_args()
    if given.min_relevance is not None:
        for way in WAYS.values():
            way["min_relevance"] = given.min_relevance
    data = json.loads(given.data.read_text(encoding="utf-8"))
    async with store() as runtime:
        result = {"data": data["name"], "embedding_model": runtime.embedder.model.name}
        if "passages" in data:
            result |= await passages.measure(runtime, data)
            passages.show(result)
        else:
            asked = dict.fromkeys(given.ranking or RANKINGS)
            if CONTEXTUAL in asked:
                asked = dict.fromkeys(["default", *asked, *WAYS])
            conversations = data["conversations"]
            loaded = await load_all(runtime, conversations, asked)
            result |= report(await ask_all(runtime, conversations, asked, loaded))
            show(result)
            if given.beside:
                await fill_beside(runtime, given.beside)
                after = report(await ask_all(runtime, conversations, asked, loaded))
                show(after)
                result["beside"] = beside(result["rankings"], after["rankings"], given.beside)
    write(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
