"""Retrieval by hypotheses (HyDE): what a relevant memory might say is searched for, in two seconds at most.

Nothing here raises: an answer that had to do without something is empty or partial, and says so.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.embedding import Embedder, Vector
from graphmem.errors import InvalidInput, ModelFailed, Unavailable
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.hypotheses.injection import Entry, injection
from graphmem.hypotheses.prompt import sentences, system_prompt, user_prompt
from graphmem.hypotheses.types import Degraded, Turn, TurnAsked, TurnFact, TurnMemory
from graphmem.hypotheses.window import window
from graphmem.llm import LanguageModel
from graphmem.model.times import BEGINNING, END
from graphmem.observing.logs import traced
from graphmem.observing.metrics import DEGRADED
from graphmem.retrieval.expansion import expand
from graphmem.retrieval.filters import Filters
from graphmem.retrieval.fusion import Scores, by_maximum, weighted
from graphmem.retrieval.holding import Holding, holding_asked
from graphmem.retrieval.nearest_facts import NearFact, Search, nearest_facts
from graphmem.retrieval.ranking import DENSE_SHARE
from graphmem.retrieval.sources import sources_asked
from graphmem.retrieval.timing import Stopwatch
from graphmem.single_flight import SingleFlight
from graphmem.text.words import terms
from graphmem.tokens import TokenCounter

SECONDS = 1.9
"""How long finding may take; what remains of two seconds is for the block and the answer."""

SEARCH_SECONDS = 0.3
"""How much of it the model leaves for embedding and searching."""

HOP_RESULTS = 50
"""How many memories hops may add."""

PREPARE_SECONDS = 15.0
"""How long preparing for the first turn may take."""

FAILED: Mapping[str, Degraded] = {"timeout": "llm_timeout", "empty": "llm_empty"}

log = logging.getLogger(__name__)


class Place(Struct, frozen=True):
    """How a memory was found: its score, and the hop that led to it."""

    score: float
    hop: int = 0
    hop_from: str | None = None


class Found:
    """What a turn has found so far; a deadline leaves it as it is."""

    def __init__(self) -> None:
        self.hypotheses: list[str] = []
        self.memories: list[TurnMemory] = []
        self.degraded: list[Degraded] = []
        self.watch = Stopwatch()

    def lacks(self, what: Degraded, why: BaseException | None = None) -> None:
        """Note what the answer has to do without."""
        self.degraded.append(what)
        DEGRADED.labels(what).inc()
        log.debug("a turn goes on without something: %s%s", what, f": {traced(why)}" if why else "")


TURN_FACTS = Query("hypotheses/turn_facts", TurnFact)


def new_turns() -> SingleFlight[Found]:
    """Return a cache of turns; one that had to do without something is soon tried again."""
    return SingleFlight(lambda found: bool(found.degraded))


class Pipeline(Struct, frozen=True, kw_only=True):
    """The collaborators of one turn's search."""

    client_id: str
    graph: Graph
    embedder: Embedder
    llm: LanguageModel | None


async def prepare(pipeline: Pipeline) -> None:
    """Have everything that a turn takes done once, for nobody, before the first turn comes.

    A database that has just started plans a turn's queries for longer than a turn may take.
    """
    nobody = replace(pipeline, client_id="")
    asked = TurnAsked(turn_id="", window=[])
    try:
        async with asyncio.timeout(PREPARE_SECONDS):
            embeddings = await pipeline.embedder.queries(["nobody asks"] * asked.hypotheses)
            await _nearest([], embeddings, asked, nobody)
            places = dict.fromkeys(map(str, range(asked.top_k)), Place(1.0))
            await _shown(places, asked, nobody)
            await _hops(places, asked, nobody)
    except Exception as problem:
        log.debug("nothing is prepared for turns: %s", traced(problem))


async def turn(
    asked: TurnAsked, pipeline: Pipeline, *, turns: SingleFlight[Found], tokens: TokenCounter
) -> Turn:
    """Return the facts that a turn should know, and the block that says so.

    The same turn of a conversation gets what was found the first time. Raises `InvalidInput` only.
    """
    said, holding = _said(asked), _holding(asked)
    found, cached = Found(), False
    if said:
        times = (str(holding.as_of or ""), str(holding.known_as_of or ""))
        key = (pipeline.client_id, asked.conversation_id or "", asked.turn_id, *times)
        found, cached = await turns.get(key, lambda: _found(asked, said, pipeline))
    entries = [
        Entry(
            text=one.text,
            category=one.category,
            scope=one.scope,
            version=one.version,
            supersedes=one.supersedes,
        )
        for one in found.memories
    ]
    return Turn(
        memories=found.memories,
        hypotheses=found.hypotheses,
        injection=injection(entries, asked.injection_tokens, tokens=tokens),
        cached=cached,
        degraded=found.degraded,
        timings=found.watch.laps(),
    )


def _said(asked: TurnAsked) -> list[str]:
    """Return the window. Raises `InvalidInput` when it comes in neither way, or in both."""
    if (asked.window is None) == (asked.messages is None):
        raise InvalidInput("window", "send either `window` or `messages`, one of the two")
    if asked.messages is not None:
        return window(asked.messages, asked.summarised_until)
    return [one for one in asked.window or [] if one.strip()]


def _holding(asked: TurnAsked) -> Holding:
    """Return at which times facts must hold. Raises `InvalidInput`."""
    return holding_asked(asked.as_of, asked.known_as_of, include_superseded=False)


async def _found(asked: TurnAsked, said: Sequence[str], pipeline: Pipeline) -> Found:
    """Return what was found when the time is over, or before."""
    found = Found()
    try:
        async with asyncio.timeout(SECONDS):
            await _search(asked, said, pipeline, found)
    except TimeoutError:
        found.lacks("deadline")
    except Exception as problem:
        found.lacks("search_failed", problem)
    return found


async def _search(asked: TurnAsked, said: Sequence[str], pipeline: Pipeline, found: Found) -> None:
    found.hypotheses = await _hypotheses(asked, said, pipeline.llm, found)
    found.watch.lap("hypotheses")
    queries = found.hypotheses
    if not queries and asked.on_failure == "window":
        queries = [_last_asked(said)]
        found.lacks("window")
    if not queries:
        return
    try:
        embeddings = await pipeline.embedder.queries(queries)
    except Unavailable as problem:
        found.lacks("embedding_failed", problem)
        return
    found.watch.lap("embed")
    places = await _nearest([_last_asked(said), *queries], embeddings, asked, pipeline)
    found.memories = await _shown(places, asked, pipeline)
    found.watch.lap("search")
    if asked.hop_depth and places:
        hops = await _hops(places, asked, pipeline)
        if hops:
            found.memories = [*found.memories, *await _shown(hops, asked, pipeline)]
        found.watch.lap("hops")


async def _hypotheses(
    asked: TurnAsked, said: Sequence[str], llm: LanguageModel | None, found: Found
) -> list[str]:
    """Return what the model thinks that a memory might say; nothing when it fails."""
    if llm is None:
        found.lacks("no_llm")
        return []
    try:
        reply = await llm.reply(
            user_prompt(said, asked.hypotheses),
            instructions=system_prompt(asked.hypotheses),
            seconds=SECONDS - SEARCH_SECONDS,
        )
    except ModelFailed as problem:
        found.lacks(FAILED.get(problem.reason, "llm_error"), problem)
        return []
    written = sentences(reply, asked.hypotheses)
    if not written:
        found.lacks("llm_empty")
    return written


def _last_asked(said: Sequence[str]) -> str:
    """Return what the user said last; where nobody is marked as the user, what was said last."""
    users = [one.removeprefix("user: ") for one in said if one.startswith("user: ")]
    return users[-1] if users else said[-1]


async def _nearest(
    texts: Sequence[str], embeddings: Sequence[Vector], asked: TurnAsked, pipeline: Pipeline
) -> dict[str, Place]:
    """Return the best facts over all hypotheses, each by its best score, the best first.

    With `hybrid` the words of the turn's question and of the hypotheses are searched for, all at once.
    """
    hybrid = asked.mode == "hybrid"
    search = Search(
        embeddings=embeddings,
        words=terms("\n".join(texts)) if hybrid else (),
        filters=_filters(asked),
        wanted=asked.top_k,
    )
    near = await nearest_facts(search, client_id=pipeline.client_id, graph=pipeline.graph)
    best, when = _scores(near, hybrid=hybrid), {fact.id: fact.occurred_at for fact in near}
    order = sorted(best)
    order.sort(key=lambda one: when[one], reverse=True)
    order.sort(key=lambda one: best[one], reverse=True)
    return {id: Place(best[id]) for id in order[: asked.top_k]}


def _scores(near: Sequence[NearFact], *, hybrid: bool) -> Scores:
    """Return the cosines; with `hybrid` the words have their share."""
    cosines = {fact.id: fact.cosine for fact in near}
    if not hybrid:
        return cosines
    bm25 = by_maximum({fact.id: fact.bm25 for fact in near if fact.bm25 is not None})
    return weighted([(DENSE_SHARE, cosines), (1 - DENSE_SHARE, bm25)])


def _filters(asked: TurnAsked) -> Filters:
    return Filters(
        kind=frozenset({"fact"}),
        conversation_id=frozenset({asked.conversation_id}) if asked.conversation_id else None,
        scope=frozenset(asked.scopes) if asked.scopes else None,
        **asdict(_holding(asked)),
    )


async def _hops(
    places: Mapping[str, Place], asked: TurnAsked, pipeline: Pipeline
) -> dict[str, Place]:
    """Return the facts that the found ones are linked with, the best first; none that was found."""
    worth = {id: max(place.score, 0.0) for id, place in places.items()}
    expansion = await expand(
        worth,
        {},
        hops=asked.hop_depth,
        steps=None,
        sources=sources_asked(
            ["fact"], None, asked.conversation_id, BEGINNING, END, holding=_holding(asked)
        ),
        client_id=pipeline.client_id,
        graph=pipeline.graph,
    )
    reached = {
        id: Place(step.inherited, expansion.depth(id), step.from_id)
        for id, step in expansion.reached().items()
        if id not in places and step.passes
    }
    order = sorted(reached, key=lambda one: (-reached[one].score, one))
    return {id: reached[id] for id in order[:HOP_RESULTS]}


async def _shown(
    places: Mapping[str, Place], asked: TurnAsked, pipeline: Pipeline
) -> list[TurnMemory]:
    """Return the facts in their order; one that was deleted in between is passed over."""
    known_as_of = _holding(asked).known_as_of or END
    rows = await pipeline.graph.rows(
        TURN_FACTS,
        client_id=pipeline.client_id,
        ids=list(places),
        known_as_of=known_as_of,
        end=END,
    )
    shown = {row.id: row for row in rows if not asked.scopes or row.scope in asked.scopes}
    return [
        TurnMemory(**asdict(shown[id]), score=place.score, hop=place.hop, hop_from=place.hop_from)
        for id, place in places.items()
        if id in shown
    ]
