"""Recall: the best context for a question within a token budget."""

from msgspec.structs import asdict

from graphmem.accesses import Seen, ShownMemory
from graphmem.context import RELEVANT, Context
from graphmem.graph.installation import Calibration
from graphmem.model.text import checked_text
from graphmem.model.times import BEGINNING, END, utc
from graphmem.model.vocabulary import KINDS, QUERY_CHARACTERS, Ranking
from graphmem.recall.compose import compose
from graphmem.recall.types import Item, Question, Recalled
from graphmem.retrieval.filters import Filters, validity_asked
from graphmem.retrieval.finding import CANDIDATES, find_best
from graphmem.retrieval.ranking import LONGEST_RANKED, cues_of, ranked
from graphmem.retrieval.relevance import asked_stems, matched_shares, relevance
from graphmem.retrieval.understanding import Stopwatch, understand

CANDIDATE_TOKENS = 40
"""The tokens for which a leg has one candidate: both legs then fill the budget with short messages too."""

MOST_CANDIDATES = 1_000
"""The maximum number of candidates of each leg, whatever the budget."""


async def recall(question: Question, context: Context) -> Recalled:
    """Return the memories that answer a question best, as a text of at most `max_tokens`.

    An unknown conversation gives the same empty answer as one without memories. If the embedding model fails,
    only words are searched and `degraded` contains `no_vector`. Raises `InvalidInput`, `Unavailable`.
    """
    began = context.read_begins()
    answer = await _answer(question, context)
    context.record_read("recall", began, lambda: _seen(question, answer, context.calibration))
    return answer


async def _answer(question: Question, context: Context) -> Recalled:
    query = checked_text(question.query, "query", most_bytes=4 * QUERY_CHARACTERS)
    filters = _filters(question)
    watch = Stopwatch()
    asked = await understand(
        query,
        client_id=context.client_id,
        embedder=context.embedder,
        vocabulary=context.vocabulary,
        by_meaning=question.ranking != "bm25",
        by_words=question.ranking != "vector",
    )
    watch.lap("embed")
    order: Ranking = "bm25" if asked.degraded else question.ranking
    by_text = order == "default"
    found = await find_best(
        asked.embedding,
        asked.words,
        filters,
        client_id=context.client_id,
        wanted=_candidates(question),
        weight=asked.weight,
        longest_text=LONGEST_RANKED if by_text else 0,
        graph=context.graph,
    )
    watch.lap("candidates")
    cues = cues_of(query, asked.words, asked.weight) if by_text else None
    ranking = ranked(found, asked.words, order, cues)
    watch.lap("rank")
    composed = await compose(
        ranking, filters, context, limit=question.limit, max_tokens=question.max_tokens
    )
    watch.lap("compose")
    return Recalled(
        items=composed.items,
        context=composed.context,
        tokens_used=composed.tokens_used,
        omitted=composed.omitted,
        omitted_total=composed.omitted_total,
        degraded=asked.degraded,
        timings=watch.laps() if question.explain else None,
    )


def _candidates(question: Question) -> int:
    """Return the number of candidates of each leg: enough to fill the budget, or the limit if it is set."""
    if question.limit is not None:
        return max(CANDIDATES, question.limit)
    return max(CANDIDATES, min(question.max_tokens // CANDIDATE_TOKENS, MOST_CANDIDATES))


def _filters(question: Question) -> Filters:
    kinds, conversation = set(question.kinds or KINDS), question.conversation_id
    then = validity_asked(question.as_of, question.known_as_of, question.include_superseded)
    return Filters(
        kind=frozenset(kinds) if kinds != set(KINDS) else None,
        conversation_id=frozenset({conversation}) if conversation is not None else None,
        since=utc(question.since, "since") if question.since else BEGINNING,
        until=utc(question.until, "until") if question.until else END,
        **asdict(then),
    )


def _seen(question: Question, answer: Recalled, scale: Calibration) -> Seen:
    """Return the record of a recall; it counts the memories that a search would call relevant."""
    return Seen(
        question=question.query,
        conversation_id=question.conversation_id,
        tokens=answer.tokens_used,
        found=_relevant(question.query, answer.items, scale),
        shown=[ShownMemory(one.id, one.rank, one.score, one.token_count) for one in answer.items],
    )


def _relevant(query: str, items: list[Item], scale: Calibration) -> int:
    shares = matched_shares(asked_stems(query), [item.text for item in items])
    return sum(
        relevance(item.scores.get("vector", -1.0), share, scale) >= RELEVANT
        for item, share in zip(items, shares, strict=True)
    )
