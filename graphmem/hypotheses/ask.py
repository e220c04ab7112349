"""Retrieval by hypotheses (HyDE): search for sentences of a likely memory, within two seconds.

Failures do not raise: the answer is then empty or partial, and `degraded` names the reason.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from sys import getsizeof

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.accesses import ReadBegan, Seen, ShownMemory
from graphmem.context import Context
from graphmem.embedding import Vector
from graphmem.errors import InvalidInput, ModelFailed, Unavailable
from graphmem.graph.query import Query
from graphmem.hypotheses.prompt import (
    BlockEntry,
    injection,
    newest,
    sentences,
    shown,
    system_prompt,
    user_prompt,
    window,
)
from graphmem.hypotheses.types import Degraded, Turn, TurnAsked, TurnFact, TurnMemory
from graphmem.llm import LanguageModel
from graphmem.model.times import BEGINNING, END
from graphmem.observing.logs import traced
from graphmem.observing.metrics import DEGRADED
from graphmem.prompts.rendering import shown_since
from graphmem.retrieval.expansion import expand
from graphmem.retrieval.filters import Filters, Validity, sources_asked, validity_asked
from graphmem.retrieval.finding import Candidate, IndexQuery, find_with_passages
from graphmem.retrieval.fusion import DENSE_SHARE, Scores, best_first, by_maximum, weighted
from graphmem.retrieval.heads import Head, at_heads, heads_of
from graphmem.retrieval.ranking import LONGEST_RANKED
from graphmem.retrieval.understanding import Stopwatch
from graphmem.single_flight import TURN_BYTES, Key, SingleFlight
from graphmem.text.words import terms, weights

SECONDS = 1.9
"""The time limit for finding; the rest of two seconds is for the block and the answer."""

SEARCH_SECONDS = 0.3
"""The part of it that is reserved, after the language model, for embedding, searching and loading."""

LOAD_SECONDS = 0.15
"""The part of it that is reserved for loading the hits."""

HOP_RESULTS = 50
"""The maximum number of memories that hops add."""

PREPARE_SECONDS = 60.0
"""The time limit for preparing turns: a busy machine may need 15 s for one plan, and loses a cut off one."""

HIT_BYTES = 400
"""The memory that a hit takes: its id, the id of the hit that led to it, its place and its score."""

FAILED: Mapping[str, Degraded] = {"timeout": "llm_timeout", "empty": "llm_empty"}

log = logging.getLogger(__name__)


class FactHit(Struct, frozen=True):
    """The score of a fact, and the hit whose link led to it."""

    score: float
    hop: int = 0
    hop_from: str | None = None


class TurnHit(Struct, frozen=True):
    """A hit with the id of its fact."""

    id: str
    hit: FactHit


class TurnFindings:
    """The findings of a turn so far; a deadline leaves them as they are.

    They hold no text of memories, so that a cached turn cannot show text that was deleted meanwhile.
    """

    def __init__(self) -> None:
        self.hypotheses: list[str] = []
        self.hits: dict[str, FactHit] = {}
        """The facts that were found, by their ids, in their order."""
        self.degraded: list[Degraded] = []
        self.watch = Stopwatch()

    def lacks(self, what: Degraded, why: BaseException | None = None) -> None:
        """Note a missing part of the answer."""
        _note(what, self.degraded, why)


class LoadedFact(TurnFact, frozen=True, kw_only=True):
    """A loaded fact of a turn."""

    head: Head | None = None


TURN_FACTS = Query("hypotheses/turn_facts", LoadedFact)


def new_turns(most: int = TURN_BYTES) -> SingleFlight[TurnFindings]:
    """Return a cache of turns of `most` bytes; an incomplete turn is soon tried again."""
    return SingleFlight(lambda findings: bool(findings.degraded), size=_size, most=most)


def _size(findings: TurnFindings) -> int:
    """Return the approximate memory, in bytes, of the findings of a turn."""
    return sum(map(getsizeof, findings.hypotheses)) + HIT_BYTES * len(findings.hits)


async def prepare_turns(context: Context) -> None:
    """Run the queries of a turn once, for no client, before the first turn or after a late one. Never raises.

    A database that has just started needs longer to plan these queries than a turn may take.
    """
    nobody = replace(context, client_id="")
    asked = TurnAsked(turn_id="", window=[])
    try:
        async with asyncio.timeout(PREPARE_SECONDS):
            embeddings = await context.embedder.queries(["nobody asks"] * asked.hypotheses)
            # Each of these filters has its own query file.
            for filtered in (
                asked,
                replace(asked, conversation_id="nobody"),
                replace(asked, scopes=["nobody"]),
            ):
                await _find_nearest([], embeddings, filtered, nobody)
            hits = dict.fromkeys(map(str, range(asked.top_k)), FactHit(1.0))
            await _load_facts(hits, asked, nobody)
            await _follow_links(hits, asked, nobody)
    except Exception as problem:
        log.debug("nothing is prepared for turns: %s", traced(problem))


@asynccontextmanager
async def preparing_turns(context: Context, *, rest: float = 0.0) -> AsyncIterator[None]:
    """Prepare turns after so many seconds, beside the block: the first answers do not wait for it."""

    async def prepare() -> None:
        await asyncio.sleep(rest)
        await prepare_turns(context)

    preparing = asyncio.create_task(prepare())
    try:
        yield
    finally:
        preparing.cancel()
        await asyncio.wait([preparing])


async def hyde_retrieve(asked: TurnAsked, context: Context) -> Turn:
    """Return the facts for a turn of an agent, and a block for its prompt, within two seconds.

    The same request for the same turn of a conversation reuses the first findings; the facts are loaded
    again. Failures are named in `degraded`. Raises `InvalidInput` only.
    """
    began = context.read_begins()
    said, validity = _said(asked), _validity(asked)
    findings, cached = TurnFindings(), False
    if said:
        findings, cached = await _find_once(asked, said, validity, context)
    degraded = list(findings.degraded)
    memories = await _load(findings.hits, asked, degraded, began, context)
    if "deadline" in degraded:
        # What cut this turn off may be a plan that it threw away: without help the next ones are cut off too.
        context.afterwards.do_once("preparation of turns", partial(prepare_turns, context))
    answer = Turn(
        memories=memories,
        hypotheses=findings.hypotheses,
        injection=_injection(memories, asked.injection_tokens, began.at, context),
        cached=cached,
        degraded=degraded,
        timings=findings.watch.laps(),
    )
    count = context.tokens.count
    context.record_read("hyde", began, lambda: _seen(asked, answer, count(answer.injection)))
    return answer


async def _find_once(
    asked: TurnAsked, said: Sequence[str], validity: Validity, context: Context
) -> tuple[TurnFindings, bool]:
    """Return a turn's findings, and whether they were cached."""
    if context.turns is None:
        return await _find(asked, said, context), False
    findings: TurnFindings
    findings, cached = await context.turns.get(
        _key(asked, validity, context.client_id), lambda: _find(asked, said, context)
    )
    return findings, cached


def _key(asked: TurnAsked, validity: Validity, client_id: str) -> Key:
    """Return the cache key: all inputs of a turn's findings but its window, which grows per sub-turn."""
    return (
        client_id,
        asked.conversation_id or "",
        asked.turn_id,
        str(validity.as_of or ""),
        str(validity.known_as_of or ""),
        " ".join(sorted(set(asked.scopes or ()))),
        asked.mode,
        asked.on_failure or "",
        f"{asked.hypotheses} {asked.top_k} {asked.hop_depth}",
    )


async def _load(
    hits: Mapping[str, FactHit],
    asked: TurnAsked,
    degraded: list[Degraded],
    began: ReadBegan,
    context: Context,
) -> list[TurnMemory]:
    """Return the present state of the facts that were found, within the remaining time."""
    if not hits:
        return []
    left = SECONDS - (time.perf_counter() - began.clock)
    try:
        async with asyncio.timeout(max(left, LOAD_SECONDS)):
            return await _load_facts(hits, asked, context)
    except TimeoutError:
        _note("deadline", degraded)
    except Exception as problem:
        _note("search_failed", degraded, problem)
    return []


def _note(what: Degraded, degraded: list[Degraded], why: BaseException | None = None) -> None:
    """Note a missing part of an answer, once."""
    if what not in degraded:
        degraded.append(what)
    DEGRADED.labels(what).inc()
    log.debug("a turn goes on without something: %s%s", what, f": {traced(why)}" if why else "")


def _injection(memories: Sequence[TurnMemory], budget: int, now: datetime, context: Context) -> str:
    entries = [
        BlockEntry(
            text=one.text,
            category=one.category,
            scope=one.scope,
            version=one.version,
            supersedes=one.supersedes,
            since=shown_since(one.valid_at, now, with_versions=False),
        )
        for one in memories
    ]
    return injection(entries, budget, tokens=context.tokens)


def _said(asked: TurnAsked) -> list[str]:
    """Return the window. Raises `InvalidInput` unless it is given in exactly one of two ways."""
    if (asked.window is None) == (asked.messages is None):
        raise InvalidInput("window", "send either `window` or `messages`, one of the two")
    if asked.messages is not None:
        return window(asked.messages, asked.summarised_until)
    return [one for one in asked.window or [] if one.strip()]


def _validity(asked: TurnAsked) -> Validity:
    """Return the times at which facts must be valid and known. Raises `InvalidInput`."""
    return validity_asked(asked.as_of, asked.known_as_of, include_superseded=False)


async def _find(asked: TurnAsked, said: Sequence[str], context: Context) -> TurnFindings:
    """Return the findings at the deadline, or earlier."""
    findings = TurnFindings()
    try:
        async with asyncio.timeout(SECONDS - LOAD_SECONDS):
            await _search(asked, said, findings, context)
    except TimeoutError:
        findings.lacks("deadline")
    except Exception as problem:
        findings.lacks("search_failed", problem)
    return findings


async def _search(
    asked: TurnAsked, said: Sequence[str], findings: TurnFindings, context: Context
) -> None:
    """Search in stages, and keep the findings of each."""
    findings.hypotheses = await _write_hypotheses(asked, said, context.llm, findings)
    findings.watch.lap("hypotheses")
    queries = findings.hypotheses
    if not queries and asked.on_failure == "window":
        queries = [_last_asked(said)]
        findings.lacks("window")
    if not queries:
        return
    try:
        embeddings = await context.embedder.queries(queries)
    except Unavailable as problem:
        findings.lacks("embedding_failed", problem)
        return
    findings.watch.lap("embed")
    hits = await _find_nearest([_last_asked(said), *queries], embeddings, asked, context)
    findings.hits = hits
    findings.watch.lap("search")
    if asked.hop_depth and hits:
        findings.hits = hits | await _follow_links(hits, asked, context)
        findings.watch.lap("hops")


async def _write_hypotheses(
    asked: TurnAsked, said: Sequence[str], llm: LanguageModel | None, findings: TurnFindings
) -> list[str]:
    """Generate hypotheses with the language model; return none if it fails."""
    if llm is None:
        findings.lacks("no_llm")
        return []
    try:
        reply = await llm.reply(
            user_prompt(newest(said), asked.hypotheses),
            instructions=system_prompt(asked.hypotheses),
            seconds=SECONDS - SEARCH_SECONDS,
        )
    except ModelFailed as problem:
        findings.lacks(FAILED.get(problem.reason, "llm_error"), problem)
        return []
    written = sentences(reply, asked.hypotheses)
    if not written:
        findings.lacks("llm_empty")
    return written


def _last_asked(said: Sequence[str]) -> str:
    """Return the last message of the user; if none is marked as the user's, the last of all."""
    users = (one.removeprefix("user: ") for one in reversed(said) if one.startswith("user: "))
    return shown(next(users, said[-1]))


async def _find_nearest(
    texts: Sequence[str], embeddings: Sequence[Vector], asked: TurnAsked, context: Context
) -> dict[str, FactHit]:
    """Return the best facts over all hypotheses, each by its best score, best first.

    With `hybrid` one search covers the words of the turn's question and of all hypotheses.
    """
    hybrid = asked.mode == "hybrid"
    words = terms("\n".join(texts)) if hybrid else []
    sample = await context.vocabulary.sample(context.client_id) if hybrid else None
    query = IndexQuery(
        embeddings=embeddings,
        words=words,
        weight=weights(words, sample.shares) if sample else None,
        sample=sample,
        longest_text=LONGEST_RANKED if sample else 0,
        filters=_filters(asked),
        wanted=asked.top_k,
    )
    findings = await find_with_passages(
        query, client_id=context.client_id, graph=context.graph, embedder=context.embedder
    )
    near = findings.found
    scores = _scores(near, hybrid=hybrid)
    facts = {fact.id: fact for fact in near}.values()
    order = best_first(facts, lambda fact: scores[fact.id])
    return {fact.id: FactHit(scores[fact.id]) for fact in order[: asked.top_k]}


def _scores(near: Sequence[Candidate], *, hybrid: bool) -> Scores:
    """Return the cosines; with `hybrid` combined with the scores of the words."""
    cosines = {fact.id: fact.cosine or 0.0 for fact in near}
    if not hybrid:
        return cosines
    bm25 = by_maximum({fact.id: fact.bm25 for fact in near if fact.bm25 is not None})
    return weighted([(DENSE_SHARE, cosines), (1 - DENSE_SHARE, bm25)])


def _filters(asked: TurnAsked) -> Filters:
    return Filters(
        kind=frozenset({"fact"}),
        conversation_id=frozenset({asked.conversation_id}) if asked.conversation_id else None,
        scope=frozenset(asked.scopes) if asked.scopes else None,
        **asdict(_validity(asked)),
    )


async def _follow_links(
    hits: Mapping[str, FactHit], asked: TurnAsked, context: Context
) -> dict[str, FactHit]:
    """Return the facts that are linked with the hits, best first, without the hits."""
    worth = {id: max(hit.score, 0.0) for id, hit in hits.items()}
    expansion = await expand(
        worth,
        {},
        hops=asked.hop_depth,
        steps=None,
        sources=sources_asked(
            ["fact"], None, asked.conversation_id, BEGINNING, END, validity=_validity(asked)
        ),
        scopes=asked.scopes,
        client_id=context.client_id,
        graph=context.graph,
    )
    reached = [step for id, step in expansion.reached().items() if id not in hits and step.passes]
    return {
        step.id: FactHit(step.inherited, expansion.depth(step.id), step.from_id)
        for step in best_first(reached, lambda step: step.inherited)[:HOP_RESULTS]
    }


async def _load_facts(
    hits: Mapping[str, FactHit], asked: TurnAsked, context: Context
) -> list[TurnMemory]:
    """Return the facts in their order, those replaced meanwhile as the present or that time has them.

    Deleted ones, and those that did not hold at the requested times, are dropped.
    """
    filters, validity = _filters(asked), _validity(asked)
    rows = await context.graph.rows(
        TURN_FACTS,
        client_id=context.client_id,
        ids=list(hits),
        now_only=validity.only_active,
        end=END,
        **validity.conditions,
    )
    facts = {row.id: row for row in rows if not asked.scopes or row.scope in asked.scopes}
    heads = heads_of(rows)
    found = [TurnHit(id, hit) for id, hit in hits.items()]
    shown = at_heads(found, heads, filters.admit, lambda one, head: TurnHit(head.id, one.hit))
    return [_memory(facts[one.id], one.hit, heads) for one in shown if one.id in facts]


def _memory(fact: LoadedFact, hit: FactHit, heads: Mapping[str, Head]) -> TurnMemory:
    before = heads.get(hit.hop_from or "")
    return TurnMemory(
        **{name: getattr(fact, name) for name in TurnFact.__struct_fields__},
        score=hit.score,
        hop=hit.hop,
        hop_from=before.id if before else hit.hop_from,
    )


def _seen(asked: TurnAsked, answer: Turn, tokens: int) -> Seen:
    """Return the record of a turn; its question is its window's last message. All facts count as found."""
    said = asked.window or window(asked.messages or [], asked.summarised_until)
    return Seen(
        question=shown(said[-1]) if said else "",
        conversation_id=asked.conversation_id,
        tokens=tokens,
        found=len(answer.memories),
        shown=[
            ShownMemory(one.id, rank, one.score)
            for rank, one in enumerate(answer.memories, start=1)
        ],
    )
