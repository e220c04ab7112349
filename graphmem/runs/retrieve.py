"""Retrieving in a run: the spans and summaries that answer best, as many as fit into what was asked for."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from graphmem.embedding import Embedder
from graphmem.errors import InvalidInput, Unavailable
from graphmem.graph.driver import Graph
from graphmem.graph.installation import Calibration
from graphmem.graph.query import Query
from graphmem.model.pages import opened, sealed
from graphmem.model.vocabulary import Kind
from graphmem.retrieval.relevance import asked_stems
from graphmem.retrieval.sources import Found, Pool, Sources, pool
from graphmem.retrieval.understanding import Understood
from graphmem.retrieval.vocabulary import Vocabulary
from graphmem.runs.parameters import Parameters, continued
from graphmem.runs.performing import Done
from graphmem.runs.spans import run_spans
from graphmem.runs.types import LeftOutSpan, RetrievalResult, RetrievedSpan, RunQuestion
from graphmem.search.ask import Hit, ordered, weighed
from graphmem.text.words import terms, weights

POOL = 20
"""How many of the best are tried for the room that there is (S3.26)."""

RETRIEVED: frozenset[Kind] = frozenset({"span", "summary"})
"""What a run retrieves; a source type may be that of references too."""

MOST_SEEN = 2_000
"""How many candidates of each source are looked at before what was delivered already is given up."""

GROWTH = 4


class Delivered(Struct, frozen=True):
    """What a question has delivered so far, and what it was asked with."""

    params: str
    ids: list[str]


class Page(Struct, frozen=True):
    """Where a retrieval goes on: the record of the one before, and what must not come again."""

    access_id: str = ""
    seen: frozenset[str] = frozenset()


class Ahead:
    """Searches while tokens are reserved for the answer, and again where that failed.

    A search is free; only what it delivers is charged. So it need not wait for the reservation, without
    which nothing of it is delivered.
    """

    def __init__(self, search: Callable[[], Coroutine[Any, Any, list[Hit]]]) -> None:
        self._search = search
        self._begin()

    async def hits(self) -> list[Hit]:
        """Return what was found, best first. Raises `Unavailable`; asked again it is tried again."""
        try:
            return await self._task
        except Unavailable:
            self._begin()
            raise

    def drop(self) -> None:
        """Leave it: nobody asks any more."""
        self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._search())
        # A failure that nobody asks for is none.
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())


class Delivery(Struct, frozen=True):
    """What is delivered of a hit: its text, and its source."""

    text: str
    source_id: str


class Packed(Struct, frozen=True):
    """What is delivered, what did not fit, and what cannot be delivered at all."""

    taken: list[tuple[Hit, Delivery]]
    omitted: list[LeftOutSpan]
    lost: int


DELIVERED = Query("runs/delivered", Delivered)


async def search(
    question: RunQuestion,
    parameters: Parameters,
    run_id: str,
    *,
    client_id: str,
    graph: Graph,
    embedder: Embedder,
    vocabulary: Vocabulary,
    calibration: Calibration,
) -> list[Hit]:
    """Return what matches a question and was not delivered to it yet, best first.

    Raises `InvalidInput` for a cursor that this question has not given, `Unavailable`.
    """
    page, understood = await asyncio.gather(
        _page(question, parameters, run_id, client_id, graph),
        _understood(question, client_id, graph, embedder, vocabulary),
    )
    hits = await _hits(
        question, understood, page, client_id=client_id, graph=graph, calibration=calibration
    )
    return ordered(hits, question.sort_by)


async def retrieve(
    question: RunQuestion, hits: Sequence[Hit], access_id: str, *, client_id: str, graph: Graph
) -> RetrievalResult:
    """Return the best in at most `max_tokens`; a misfit is left out and the next is tried.

    Raises `Unavailable`.
    """
    best = [hit.found for hit in hits[:POOL]]
    packed = pack(hits[:POOL], await _deliveries(best, client_id, graph), question.max_tokens)
    has_more = len(hits) > len(packed.taken) + packed.lost
    return RetrievalResult(
        spans=[_span(rank, *taken) for rank, taken in enumerate(packed.taken, start=1)],
        tokens_used=sum(hit.found.token_count for hit, _ in packed.taken),
        has_more=has_more,
        cursor=sealed(access_id) if has_more else None,
        omitted=packed.omitted,
    )


def pack(hits: Sequence[Hit], deliveries: Mapping[str, Delivery | None], max_tokens: int) -> Packed:
    """Take by rank what fits; what has gone meanwhile, or is not what was stored (None), is not delivered."""
    room, lost = max_tokens, 0
    taken: list[tuple[Hit, Delivery]] = []
    omitted: list[LeftOutSpan] = []
    for hit in hits:
        id, tokens = hit.found.id, hit.found.token_count
        if id not in deliveries:
            lost += 1
        elif (delivery := deliveries[id]) is None:
            lost += 1
            omitted.append(LeftOutSpan(span_id=id, token_count=tokens, reason="damaged"))
        elif tokens > room:
            omitted.append(LeftOutSpan(span_id=id, token_count=tokens))
        else:
            room -= tokens
            taken.append((hit, delivery))
    return Packed(taken, omitted, lost)


def done(result: RetrievalResult, previous: str) -> Done:
    """Return what is charged and kept of a retrieval: ids and numbers, no text."""
    kept = replace(result, spans=[replace(span, content="") for span in result.spans])
    returned: list[dict[str, Any]] = [
        {
            "id": span.span_id,
            "rank": span.rank,
            "score": span.relevance_score,
            "tokens": span.token_count,
        }
        for span in result.spans
    ]
    return Done(
        answer=msgspec.json.encode(kept).decode(),
        tokens=result.tokens_used,
        returned=returned,
        continues=previous,
    )


async def again(answer: str, *, client_id: str, graph: Graph) -> RetrievalResult:
    """Return a retrieval that was charged before, with the texts as they are now."""
    kept = msgspec.json.decode(answer, type=RetrievalResult)
    ids = [span.span_id for span in kept.spans]
    texts = await run_spans(ids, client_id=client_id, graph=graph)
    spans = [
        replace(span, content=texts[span.span_id].text)
        for span in kept.spans
        if span.span_id in texts
    ]
    return replace(kept, spans=spans)


def previous(cursor: str | None) -> str:
    """Return the record that a cursor stands for, '' for none. Raises `InvalidInput`."""
    if cursor is None:
        return ""
    try:
        return opened(cursor)
    except ValueError as problem:
        raise _foreign() from problem


async def _page(
    question: RunQuestion, parameters: Parameters, run_id: str, client_id: str, graph: Graph
) -> Page:
    if question.cursor is None:
        return Page()
    access_id = previous(question.cursor)
    rows = await graph.rows(DELIVERED, client_id=client_id, id=run_id, access_id=access_id)
    if not rows or continued(msgspec.json.decode(rows[0].params)) != continued(parameters):
        raise _foreign()
    return Page(access_id, frozenset(rows[0].ids))


def _foreign() -> InvalidInput:
    return InvalidInput("cursor", "is not one that this question has given in this run")


async def _understood(
    question: RunQuestion,
    client_id: str,
    graph: Graph,
    embedder: Embedder,
    vocabulary: Vocabulary,
) -> Understood:
    if not isinstance(question.query, str):
        return Understood("", question.query, [], {}, [])
    embedding, shares = await asyncio.gather(
        embedder.query(question.query), vocabulary.shares(client_id, graph)
    )
    words = terms(question.query)
    return Understood(question.query, embedding, words, weights(words, shares), [])


async def _hits(
    question: RunQuestion,
    understood: Understood,
    page: Page,
    *,
    client_id: str,
    graph: Graph,
    calibration: Calibration,
) -> list[Hit]:
    """Return what matches and was not delivered yet; more is asked for where too little is new."""
    wanted = POOL + len(page.seen)
    while True:
        candidates = await pool(
            understood.embedding,
            understood.words,
            _sources(question),
            client_id=client_id,
            results=wanted,
            weight=understood.weight,
            graph=graph,
        )
        new = [one for one in candidates.found if one.kind in RETRIEVED and one.id not in page.seen]
        if len(new) > POOL or _is_all(candidates) or wanted >= MOST_SEEN:
            break
        wanted = min(wanted * GROWTH, MOST_SEEN)
    query = understood.text if asked_stems(understood.text) else None
    hits = await asyncio.to_thread(weighed, new, query, calibration)
    least = question.min_relevance or 0.0
    return [hit for hit in hits if hit.relevance > 0.0 and hit.relevance >= least]


def _sources(question: RunQuestion) -> Sources:
    types = frozenset(question.source_types or ())
    return Sources(
        kinds=frozenset() if types else RETRIEVED,
        types=types,
        ids=frozenset(question.source_ids or ()),
    )


def _is_all(candidates: Pool) -> bool:
    return candidates.all_by_vector and candidates.all_by_words


async def _deliveries(
    best: Sequence[Found], client_id: str, graph: Graph
) -> dict[str, Delivery | None]:
    """Return what can be delivered: as the search brought it where that is whole, else read again."""
    brought = {
        one.id: Delivery(text, one.source_id) for one in best if (text := one.content) is not None
    }
    others = [one.id for one in best if one.id not in brought]
    if not others:
        return {**brought}
    read = await run_spans(others, client_id=client_id, graph=graph)
    sound = {
        id: Delivery(one.text, one.source_id) if one.sound else None for id, one in read.items()
    }
    return brought | sound


def _span(rank: int, hit: Hit, delivery: Delivery) -> RetrievedSpan:
    found = hit.found
    return RetrievedSpan(
        span_id=found.id,
        source_type=found.source_type,
        source_id=delivery.source_id,
        token_count=found.token_count,
        relevance_score=hit.relevance,
        content=delivery.text,
        rank=rank,
        importance=found.importance,
        occurred_at=found.occurred_at,
        scores=hit.scores,
    )
