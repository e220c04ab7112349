"""Recall: the best context for a question within a token budget."""

from msgspec.structs import asdict

from graphmem.embedding import Embedder
from graphmem.graph.driver import Graph
from graphmem.model.text import checked_text
from graphmem.model.times import BEGINNING, END, utc
from graphmem.model.vocabulary import KINDS, QUERY_CHARACTERS
from graphmem.recall.compose import compose
from graphmem.recall.types import Question, Recalled
from graphmem.retrieval.candidates import CANDIDATES, candidates
from graphmem.retrieval.filters import Filters
from graphmem.retrieval.holding import holding_asked
from graphmem.retrieval.ranking import ranked
from graphmem.retrieval.timing import Stopwatch
from graphmem.retrieval.understanding import understood
from graphmem.retrieval.vocabulary import Vocabulary
from graphmem.tokens import TokenCounter


async def recall(
    question: Question,
    *,
    client_id: str,
    graph: Graph,
    embedder: Embedder,
    tokens: TokenCounter,
    vocabulary: Vocabulary,
) -> Recalled:
    """Return the memories that answer a question best, as a context of at most `max_tokens`.

    An unknown conversation gives an empty answer, as an empty one does. When the embedding model
    fails the words decide alone and `degraded` says so. Raises `InvalidInput`, `Unavailable`.
    """
    query = checked_text(question.query, "query", most_bytes=4 * QUERY_CHARACTERS)
    filters = _filters(question)
    watch = Stopwatch()
    asked = await understood(
        query,
        client_id=client_id,
        embedder=embedder,
        vocabulary=vocabulary,
        by_meaning=question.ranking != "bm25",
        by_words=question.ranking != "vector",
    )
    watch.lap("embed")
    found = await candidates(
        asked.embedding,
        asked.words,
        filters,
        client_id=client_id,
        wanted=max(CANDIDATES, question.limit),
        weight=asked.weight,
        graph=graph,
    )
    watch.lap("candidates")
    ranking = ranked(found, asked.words, "bm25" if asked.degraded else question.ranking)
    watch.lap("rank")
    composed = await compose(
        ranking,
        limit=question.limit,
        max_tokens=question.max_tokens,
        client_id=client_id,
        graph=graph,
        tokens=tokens,
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


def _filters(question: Question) -> Filters:
    kinds, conversation = set(question.kinds or KINDS), question.conversation_id
    then = holding_asked(question.as_of, question.known_as_of, question.include_superseded)
    return Filters(
        kind=frozenset(kinds) if kinds != set(KINDS) else None,
        conversation_id=frozenset({conversation}) if conversation is not None else None,
        since=utc(question.since, "since") if question.since else BEGINNING,
        until=utc(question.until, "until") if question.until else END,
        **asdict(then),
    )
