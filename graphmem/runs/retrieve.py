"""Retrieving in a run: the spans and summaries that answer best, within the requested number of tokens."""

import asyncio
import math
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.embedding import Vector
from graphmem.errors import InvalidInput, Unavailable
from graphmem.graph.query import Query
from graphmem.model.pages import opened, sealed
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import QUERY_CHARACTERS, Kind
from graphmem.references.spans import FullSpan, fetch_spans
from graphmem.retrieval.filters import Sources
from graphmem.retrieval.finding import Candidate, Findings, find_matching, find_pool
from graphmem.retrieval.heads import Head, at_heads, by_found_id, fetch_heads, heads_of
from graphmem.retrieval.listing import list_memories
from graphmem.retrieval.relevance import EVERYTHING, NEUTRAL, asked_stems
from graphmem.retrieval.understanding import Understood, unknown_language
from graphmem.runs import types
from graphmem.runs.performing import Done, RunOperation, impatient, new_operation, perform
from graphmem.runs.stored import fetch_run
from graphmem.runs.types import (
    LABEL_BYTES,
    LeftOutSpan,
    OnAccess,
    RetrievalResult,
    RetrievedSpan,
    RunQuestion,
    check_labels,
    continued,
)
from graphmem.search.ask import Hit, first_matching, ordered, own_words, weigh_first, weighed
from graphmem.text.languages import language
from graphmem.text.words import terms, weights

POOL = 20
"""The number of best hits from which the spans that fit are chosen."""

RETRIEVED: frozenset[Kind] = frozenset({"span", "summary"})
"""The kinds that a run retrieves; references, which may share a source type, are left out."""

MOST_SEEN = 2_000
"""The maximum number of candidates of each source that are fetched to find undelivered spans."""

GROWTH = 4
"""The factor by which the number of candidates grows while too few of them are new."""


class EarlierPages(Struct, frozen=True):
    """The spans that a question has delivered up to a page, the answers, and the parameters of that page."""

    params: str
    ids: list[str]
    answers: list[str]


class Continuation(Struct, frozen=True):
    """The start of a page: the record of the previous page, and the spans that this page passes over."""

    access_id: str = ""
    passed: frozenset[str] = frozenset()


class SearchAhead:
    """Searches while tokens are reserved for the answer, and again after the search has failed.

    A search is free; only delivered spans are charged. So it need not wait for the reservation, without
    which nothing is delivered.
    """

    def __init__(self, search: Callable[[], Coroutine[Any, Any, list[Hit]]]) -> None:
        self._search = search
        self._begin()

    async def hits(self) -> list[Hit]:
        """Return the hits, best first. Raises `Unavailable`; the next call searches again."""
        try:
            return await self._task
        except Unavailable:
            self._begin()
            raise

    def cancel(self) -> None:
        """Cancel the search, whose hits are no longer needed."""
        self._task.cancel()

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._search())
        # Retrieves the exception of an abandoned search, which asyncio would log.
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())


class SpanText(Struct, frozen=True):
    """The text of a hit that is delivered, and its source."""

    text: str
    source_type: str
    source_id: str


class PackedSpans(Struct, frozen=True):
    """The hits that fit, the omitted hits, and the number that cannot be delivered at all."""

    taken: list[tuple[Hit, SpanText]]
    omitted: list[LeftOutSpan]
    lost: int


EARLIER_PAGES = Query("runs/earlier_pages", EarlierPages)


async def retrieve(
    run_id: str, question: RunQuestion, context: Context, on_access: OnAccess | None = None
) -> RetrievalResult:
    """Return the best spans for a question, charged to the run.

    Raises `InvalidInput`, `RunNotFound`, `BudgetExhausted`, `RunEnded`, `RunTimeout`,
    `OperationReused`, `Unavailable`.
    """
    kept = types.of_question(question, run_id)
    question = _checked(question, context.embedder.model.dimensions)
    patient, context = context, impatient(context)
    operation = new_operation(
        run_id,
        "retrieve",
        kept,
        context,
        operation_id=question.operation_id,
        tokens=question.max_tokens,
    )
    # Before the operation begins: a foreign cursor leaves no record.
    page = await _continuation(question, operation, patient)
    ahead = SearchAhead(lambda: _search(question, page, context))

    async def work() -> Done[RetrievalResult]:
        hits = await ahead.hits()
        result = await _deliver(question, hits, page, operation.access_id, context)
        return _done(result, question.cursor)

    try:
        performed = await perform(operation, work, context, on_access)
    finally:
        ahead.cancel()
    result = performed.result
    if result is None:
        result = await _fetch_result(performed.answer, patient)
    return replace(result, budget=performed.budget)


def unit_vector(given: Sequence[float], dimensions: int) -> Vector:
    """Return an embedding as a vector of length 1. Raises `InvalidInput`."""
    if len(given) != dimensions:
        raise InvalidInput(
            "query", f"is a vector of {len(given)} numbers; the embedding model's have {dimensions}"
        )
    largest = max(map(abs, given))
    if not math.isfinite(largest) or largest == 0.0:
        raise InvalidInput(
            "query",
            "is a vector of zeros or has a component that is not a number; send an embedding",
        )
    # Divided by the largest first: neither square nor sum can overflow or vanish then.
    scaled = [value / largest for value in given]
    length = math.sqrt(sum(value * value for value in scaled))
    return [value / length for value in scaled]


def _checked(question: RunQuestion, dimensions: int) -> RunQuestion:
    """Return a question with a valid text, or with a vector of length 1. Raises `InvalidInput`."""
    check_labels(operation_id=question.operation_id, cursor=question.cursor)
    for place, id in enumerate(question.source_ids or ()):
        checked_text(id, f"source_ids[{place}]", most_bytes=4 * LABEL_BYTES)
    if isinstance(question.query, str):
        checked_text(question.query, "query", most_bytes=4 * QUERY_CHARACTERS)
        return question
    return replace(question, query=unit_vector(question.query, dimensions))


async def _search(question: RunQuestion, page: Continuation, context: Context) -> list[Hit]:
    """Return the hits that no earlier page has dealt with, best first. Raises `Unavailable`."""
    understood = await _understand(question, context)
    return ordered(await _hits(question, understood, page, context), question.sort_by)


async def _deliver(
    question: RunQuestion,
    hits: Sequence[Hit],
    page: Continuation,
    access_id: str,
    context: Context,
) -> RetrievalResult:
    """Return the best hits in at most `max_tokens`: one that does not fit is left out, the next is tried."""
    hits, best = await _present(question, hits, page, context)
    texts = await _texts([hit.found for hit in best], context)
    packed = pack(best, texts, question.max_tokens)
    has_more = len(hits) > len(packed.taken) + packed.lost
    return RetrievalResult(
        spans=[_span(rank, *taken) for rank, taken in enumerate(packed.taken, start=1)],
        tokens_used=sum(hit.found.token_count for hit, _ in packed.taken),
        has_more=has_more,
        cursor=sealed(access_id) if has_more else None,
        omitted=packed.omitted,
        degraded=unknown_language(_spoken(question), context.calibration.knowledge),
    )


def _spoken(question: RunQuestion) -> str | None:
    """Return the language of a question; None for a vector."""
    return language(question.query) if isinstance(question.query, str) else None


async def _present(
    question: RunQuestion, hits: Sequence[Hit], page: Continuation, context: Context
) -> tuple[list[Hit], list[Hit]]:
    """Return all hits and the best of them, those superseded since they were found as their heads.

    What was deleted since is in neither.
    """
    asked = [hit.id for hit in hits[:POOL]]
    rows = await fetch_heads(asked, client_id=context.client_id, graph=context.graph)
    sources, there = _sources(question), {row.id for row in rows}
    gone = set(asked) - by_found_id(rows).keys()

    def admits(head: Head) -> bool:
        return head.id not in page.passed and sources.admit(head)

    left = [hit for hit in hits if hit.id not in gone]
    present = at_heads(left, heads_of(rows), admits, lambda hit, head: replace(hit, found=head))
    present = ordered(present, question.sort_by)
    return present, [hit for hit in present if hit.id in there]


def pack(hits: Sequence[Hit], texts: Mapping[str, SpanText | None], max_tokens: int) -> PackedSpans:
    """Take the hits that fit, by rank. Deleted ones (absent) and damaged ones (None) are not delivered."""
    room, lost = max_tokens, 0
    taken: list[tuple[Hit, SpanText]] = []
    omitted: list[LeftOutSpan] = []
    for hit in hits:
        id, tokens = hit.found.id, hit.found.token_count
        if id not in texts:
            lost += 1
        elif (text := texts[id]) is None:
            lost += 1
            omitted.append(LeftOutSpan(span_id=id, token_count=tokens, reason="damaged"))
        elif tokens > room:
            omitted.append(LeftOutSpan(span_id=id, token_count=tokens))
        else:
            room -= tokens
            taken.append((hit, text))
    return PackedSpans(taken, omitted, lost)


def _done(result: RetrievalResult, cursor: str | None) -> Done[RetrievalResult]:
    """Return a retrieval with its charge and its record: ids and numbers, no text."""
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
        result=result,
        tokens=result.tokens_used,
        returned=returned,
        continues=_previous(cursor),
    )


async def _fetch_result(answer: str, context: Context) -> RetrievalResult:
    """Return the result of a retrieval that was charged before, with the texts that still exist."""
    kept = msgspec.json.decode(answer, type=RetrievalResult)
    texts = await fetch_spans([span.span_id for span in kept.spans], context)
    left_out = {
        span.span_id: reason
        for span in kept.spans
        if (reason := _withheld(span, texts.get(span.span_id)))
    }
    spans = [
        replace(span, content=texts[span.span_id].text)
        for span in kept.spans
        if span.span_id not in left_out
    ]
    gone = [
        LeftOutSpan(span_id=span.span_id, token_count=span.token_count, reason=reason)
        for span in kept.spans
        if (reason := left_out.get(span.span_id))
    ]
    return replace(kept, spans=spans, omitted=[*kept.omitted, *gone])


def _withheld(span: RetrievedSpan, text: FullSpan | None) -> Literal["damaged", "deleted"] | None:
    """Return the reason why a span that was charged before is not delivered again, None if it is.

    Registered again with another number of tokens, it is not what the run has paid for.
    """
    if text is None or text.token_count != span.token_count:
        return "deleted"
    return None if text.sound else "damaged"


def _previous(cursor: str | None) -> str:
    """Return the id of the record in a cursor, '' for none. Raises `InvalidInput`."""
    if cursor is None:
        return ""
    try:
        return opened(cursor)
    except ValueError as problem:
        raise _foreign() from problem


async def _continuation(
    question: RunQuestion, operation: RunOperation, context: Context
) -> Continuation:
    """Return the start of a page from its cursor.

    Raises `InvalidInput` for a cursor of another question or run, `RunNotFound`, `Unavailable`.
    """
    if question.cursor is None:
        return Continuation()
    access_id = _previous(question.cursor)
    rows = await context.graph.rows(
        EARLIER_PAGES, client_id=context.client_id, id=operation.run_id, access_id=access_id
    )
    if not rows or continued(msgspec.json.decode(rows[0].params)) != continued(
        operation.parameters
    ):
        await fetch_run(
            operation.run_id, client_id=context.client_id, now=context.now(), graph=context.graph
        )
        raise _foreign()
    return Continuation(access_id, frozenset(rows[0].ids) | _undeliverable(rows[0], question))


def _undeliverable(pages: EarlierPages, question: RunQuestion) -> set[str]:
    """Return the spans that earlier pages have named as damaged, or as too large for this page as well."""
    return {
        one.span_id
        for answer in pages.answers
        for one in msgspec.json.decode(answer, type=RetrievalResult).omitted
        if one.reason != "no_room" or one.token_count > question.max_tokens
    }


def _foreign() -> InvalidInput:
    return InvalidInput("cursor", "is not one that this question has given in this run")


async def _understand(question: RunQuestion, context: Context) -> Understood:
    if not isinstance(question.query, str):
        return Understood("", question.query, [], {}, [])
    embedding, sample = await asyncio.gather(
        context.embedder.query(question.query),
        context.vocabulary.sample(context.client_id, context.graph),
    )
    spoken = language(question.query)
    words = terms(question.query, spoken)
    weight = weights(words, sample.shares)
    return Understood(question.query, embedding, words, weight, [], spoken, sample=sample)


async def _hits(
    question: RunQuestion, understood: Understood, page: Continuation, context: Context
) -> list[Hit]:
    """Return the hits that were not delivered yet, from more candidates if too few are new."""
    if understood.text.strip() == EVERYTHING:
        return await _everything(question, page, context)
    if question.sort_by != "relevance":
        return await _first_hits(question, understood, page, context)
    wanted = POOL + len(page.passed)
    while True:
        candidates = await find_pool(
            understood.embedding,
            understood.words,
            _sources(question),
            client_id=context.client_id,
            results=wanted,
            weight=understood.weight,
            spoken=understood.spoken,
            graph=context.graph,
            embedder=context.embedder,
        )
        new = [
            one for one in candidates.found if one.kind in RETRIEVED and one.id not in page.passed
        ]
        if len(new) > POOL or _is_all(candidates) or wanted >= MOST_SEEN:
            break
        wanted = min(wanted * GROWTH, MOST_SEEN)
    own = own_words(understood)
    hits = await asyncio.to_thread(weighed, new, _words(understood), context.calibration, own)
    return [hit for hit in hits if hit.passes(question.min_relevance or 0.0)]


async def _everything(question: RunQuestion, page: Continuation, context: Context) -> list[Hit]:
    """Return all undelivered spans, the newest or the most important; all are equally relevant."""
    if (question.min_relevance or 0.0) > NEUTRAL:
        return []
    found, _ = await list_memories(
        _sources(question),
        by_importance=question.sort_by == "importance",
        client_id=context.client_id,
        limit=POOL + len(page.passed) + 1,
        graph=context.graph,
        among=RETRIEVED,
    )
    new = [one for one in found if one.id not in page.passed]
    return [Hit(found=one, relevance=NEUTRAL, scores={}) for one in new]


async def _first_hits(
    question: RunQuestion, understood: Understood, page: Continuation, context: Context
) -> list[Hit]:
    """Return the newest or the most important undelivered hits of all matches."""
    pool = await find_matching(
        understood.embedding,
        understood.words,
        _sources(question),
        client_id=context.client_id,
        weight=understood.weight,
        spoken=understood.spoken,
        least_cosine=context.calibration.low,
        graph=context.graph,
        embedder=context.embedder,
    )
    new = [one for one in pool.found if one.kind in RETRIEVED and one.id not in page.passed]
    hits, _ = await weigh_first(
        first_matching(new, question.sort_by, context.calibration),
        _words(understood),
        understood,
        least=question.min_relevance or 0.0,
        wanted=POOL + 1,
        context=context,
    )
    return hits


def _words(understood: Understood) -> str | None:
    """Return the question's text, None if it has no words to match."""
    return understood.text if asked_stems(understood.text) else None


def _sources(question: RunQuestion) -> Sources:
    types = frozenset(question.source_types or ())
    return Sources(
        kinds=frozenset() if types else RETRIEVED,
        types=types,
        ids=frozenset(question.source_ids or ()),
    )


def _is_all(candidates: Findings) -> bool:
    return candidates.all_by_vector and candidates.all_by_words


async def _texts(best: Sequence[Candidate], context: Context) -> dict[str, SpanText | None]:
    """Return the texts of hits: as the search returned them if they are whole, else read again."""
    texts: dict[str, SpanText | None] = {
        one.id: SpanText(text, one.span.source_type, one.span.source_id)
        for one in best
        if one.span and (text := one.span.content(one.text)) is not None
    }
    others = [one.id for one in best if one.id not in texts]
    if others:
        for id, one in (await fetch_spans(others, context)).items():
            texts[id] = SpanText(one.text, one.source_type, one.source_id) if one.sound else None
    return texts


def _span(rank: int, hit: Hit, delivered: SpanText) -> RetrievedSpan:
    found = hit.found
    return RetrievedSpan(
        span_id=found.id,
        source_type=delivered.source_type,
        source_id=delivered.source_id,
        token_count=found.token_count,
        relevance_score=hit.relevance,
        content=delivered.text,
        rank=rank,
        importance=found.importance,
        occurred_at=found.occurred_at,
        scores=hit.scores,
    )
