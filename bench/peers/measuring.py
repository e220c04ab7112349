"""What is measured of a peer: leaks, ingest, quality, tokens and latency."""

import random
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers.material import OTHER, OWN, Material, Question, Told, alike, batches
from bench.peers.peer import Failed, Named, Process, running
from bench.peers.serve import Message
from graphmem.errors import GraphmemError
from graphmem.tokens import TokenCounter

LIMIT, FIRST = 50, 10
BUDGETS = (512, 1024)
BATCH = 500
ASKED = 130
WARMED = 4
"""One in so many questions warms and is not counted."""

Result = dict[str, Any]


async def measure(
    named: Named, process: Process, given: Material, seconds: float, result: Result
) -> None:
    """Measure a peer; the result has what is known, also when it fails later."""
    tokens = TokenCounter()
    result["leaks"] = await leaks(process)
    held = sum(len(some) for some in alike()[0].values())
    for one in given.sets:
        for tenant, messages in one.messages.items():
            for batch in batches(messages, BATCH):
                await process.add(tenant, batch, invented=False)
            held += len(messages)
    result["ingest"] = {}
    filled = await fill(process, {"filler": given.filler}, seconds, result["ingest"], "small")
    for one in given.sets:
        result.setdefault("sets", {})[one.name] = await quality(named, process, one, tokens)
    known = [(one.tenant, one.text) for one in given.sets[0].questions]
    asked = random.Random(7).sample(known, min(ASKED, len(known)))
    result["latency"] = {}
    result["latency"]["small"] = {"memories": held + filled} | await latency(named, process, asked)
    if not given.fill:
        return
    more = await fill(process, given.fill, seconds, result["ingest"], "large")
    filled += more
    result["latency"]["large"] = {"memories": held + filled} | await latency(named, process, asked)
    tenant, messages = next(iter(given.fill.items()))
    large = [(tenant, question) for question in given.large_questions]
    result["latency"]["large tenant"] = {"memories": min(len(messages), more)} | await latency(
        named, process, large
    )


async def leaks(process: Process) -> Result:
    """Return how many hits are another tenant's, and how many of its own a tenant lacks."""
    messages, asked = alike()
    for tenant, some in messages.items():
        await process.add(tenant, some, invented=False)
    own = foreign = 0
    for question in asked:
        hits, _ = await process.search(OWN, question, FIRST)
        own += sum(id.startswith(f"{OWN}-") for id, _ in hits)
        foreign += sum(id.startswith(f"{OTHER}-") for id, _ in hits)
    wanted = FIRST * len(asked)
    return {"wanted": wanted, "foreign": foreign, "missing": wanted - own}


async def fill(
    process: Process,
    tenants: dict[str, list[Message]],
    most: float,
    ingest: Result,
    name: str,
) -> int:
    """Store invented messages until the seconds are over; return how many, and note the rate."""
    stored, took = 0, 0.0
    for tenant, messages in tenants.items():
        for batch in batches(messages, BATCH):
            if took > most:
                break
            took += await process.add(tenant, batch, invented=True)
            stored += len(batch)
    ingest[name] = {
        "messages": stored,
        "seconds": round(took, 1),
        "messages a second": round(stored / took) if took else None,
    }
    return stored


async def quality(named: Named, process: Process, one: Told, tokens: TokenCounter) -> Result:
    """Ask all questions of a set; return the means, in percent and in tokens."""
    rows = [await scores(named, process, question, tokens) for question in one.questions]
    means = {name: statistics.fmean(row[name] for row in rows) for name in rows[0]}
    return {"questions": len(rows)} | {name: round(value, 2) for name, value in means.items()}


async def scores(
    named: Named, process: Process, question: Question, tokens: TokenCounter
) -> dict[str, float]:
    """Ask one question; return the shares of its evidence and the tokens used, by measure."""
    hits, _ = await process.search(question.tenant, question.text, LIMIT)
    found = {id for id, _ in hits[:FIRST]} & question.evidence.keys()
    result = {f"recall@{FIRST}": 100 * len(found) / len(question.evidence)}
    for budget in BUDGETS:
        if named.has_context:
            context, _ = await process.context(question.tenant, question.text, budget)
        else:
            context = packed([text for _, text in hits], budget, tokens)
        whole = sum(content in context for content in question.evidence.values())
        result[f"evidence in {budget}"] = 100 * whole / len(question.evidence)
        result[f"tokens of {budget}"] = float(tokens.count(context))
    return result


def packed(texts: Sequence[str], budget: int, tokens: TokenCounter) -> str:
    """Return the texts that fit into a budget, in their order, a line each."""
    context = ""
    for text in texts:
        longer = f"{context}\n{text}" if context else text
        if tokens.count(longer) <= budget:
            context = longer
    return context


async def latency(named: Named, process: Process, asked: Sequence[tuple[str, str]]) -> Result:
    """Ask one after the other, the first to warm; return the median and p95 in milliseconds."""

    async def seconds(tenant: str, question: str) -> float:
        if named.has_context:
            return (await process.context(tenant, question, BUDGETS[-1]))[1]
        return (await process.search(tenant, question, FIRST))[1]

    took = [await seconds(tenant, question) for tenant, question in asked][len(asked) // WARMED :]
    cuts = statistics.quantiles(took, n=20)
    return {"p50": round(cuts[9] * 1000, 1), "p95": round(cuts[18] * 1000, 1)}


async def row(named: Named, given: Material, seconds: float, log: Path) -> Result:
    """Measure one peer from its start to its end; a failure is a result."""
    result: Result = {}
    try:
        async with running(named, given.vectors.path, log, given.vectors.embed) as process:
            result["version"] = process.version
            await measure(named, process, given, seconds, result)
    except (Failed, GraphmemError) as failure:
        result["failed"] = str(failure)
    return result
