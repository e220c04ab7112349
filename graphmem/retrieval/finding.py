"""Finding: the memories nearest in meaning and those that share words, from both indexes in one round trip.

Filters are applied inside both indexes. Conditions that an index cannot test are tested on its results, and
the limit grows until enough memories pass or none are left. If the vector index returns fewer than requested,
exact cosines are computed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from graphmem.embedding import Embedder, Vector, cosine
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.graph.scope import SCOPED, Property, scope_word
from graphmem.model.vocabulary import KINDS, Kind, Role, bare_id, owner_of
from graphmem.retrieval.filters import Filters, Sources, conditions, ranges, scope_groups
from graphmem.retrieval.fusion import DENSE_SHARE, best_first, by_maximum, min_max, weighted
from graphmem.retrieval.relevance import weighed_stems
from graphmem.retrieval.understanding import K1, Sample
from graphmem.retrieval.weighing import (
    WeighedWords,
    counted_words,
    scores_by_words,
    weighed_words,
)
from graphmem.text.passages import MOST_CHARACTERS as PASSAGE_CHARACTERS, units
from graphmem.text.words import lucene_query, scope_query, shared_weight

CLOSER = 8
"""The number of passages, those that share most words, of which one sentence is embedded by itself."""

CANDIDATES = 100
"""The default number of candidates of each leg."""

LEAST_POOL = 50
"""The least number of candidates of each leg and source."""

POOL_FACTOR = 2
"""The number of candidates of each source for one result."""

MATCHING = 1_000
"""The maximum number of matches of each leg and source, for an order other than relevance."""

MOST_CANDIDATES = 10_000
"""The maximum number of memories that a leg reads, for a filter that few memories pass."""

ONLY_RANKED = -1
"""The value of `longest_text` for candidates with only the properties that rank them."""

GROWTH = 4

_PLACES: tuple[Property, Property] = ("conversation_id", "session_id")

LONG_TEXT = 20_000
"""A text with more characters is fetched separately."""

MANY_READ = 1_000
"""The candidates from which texts are read in a thread: nothing else could be answered meanwhile."""

TEXTS_AT_ONCE = 8
"""The number of long texts that are fetched at once."""


class SpanPlace(Struct, frozen=True, kw_only=True):
    """The place of a span in its source, and the hash of its text; a damaged store may lack some of it."""

    source_type: str
    source_id: str
    start_byte: int | None
    end_byte: int | None
    sha256: str | None

    def content(self, searched: str) -> str | None:
        """Return the text of the span, if its hash matches: the searched text begins with it."""
        if self.start_byte is None or self.end_byte is None:
            return None
        content = searched.encode()[: self.end_byte - self.start_byte]
        if sha256(content).hexdigest() != self.sha256:
            return None
        return content.decode()


class FoundPassage(Struct, frozen=True, kw_only=True):
    """A passage of a long memory that a search has found: its place among the others, and its bytes."""

    place: int
    start: int
    end: int
    cosine: float | None = None
    bm25: float | None = None
    by_vector: bool = False
    text: str | None = None
    """Only of those that the index found by words."""


class Details(Struct, frozen=True, kw_only=True):
    """What an item of an answer shows of a memory besides its ranks."""

    text: str | None
    """None if it is the searched text."""
    metadata: str | None
    tags: list[str]
    session_external_id: str | None
    earlier: list[str] = []
    """The ids of the versions that it has replaced, the last ones; of a span those of its reference."""


class Candidate(Struct, frozen=True, kw_only=True):
    """A memory that a search has found, with all data for ranking, relevance and packing."""

    id: str
    kind: Kind
    importance: float
    token_count: int
    occurred_at: datetime
    external_id: str | None = None
    role: Role | None = None
    name: str | None = None
    conversation_id: str = ""
    session_id: str = ""
    idx: int | None = None
    cosine: float | None = None
    """The cosine to the nearest of the question's vectors, -1 to 1; None without a vector."""
    bm25: float | None = None
    """The score by words: of BM25 with the client's own statistics where texts were read, else that of the
    index; None if it has none of the words, or the index has not found it."""
    stems: frozenset[str] = frozenset()
    """The stems of the question that its text has, if they were counted."""
    by_vector: bool = False
    """Whether the vector leg has found it."""
    places: list[int] = []
    """The indexes of the vectors that have found it in the vector index."""
    passes: bool = True
    """Whether it passes the conditions that the indexes cannot test."""
    text: str = ""
    """The searched text; '' if it was not requested, is too long, or the memory was deleted meanwhile."""
    span: SpanPlace | None = None
    """Of a span, if texts were requested."""
    passages: list[FoundPassage] = []
    """The passages of a long memory that were found, the best first, which gives its scores too."""
    details: Details | None = None
    """Of one that stands, with its whole text, if they were requested. No two candidates of a client that
    have them are versions of one memory; see `of_both_indexes`."""

    @property
    def owner(self) -> str:
        """The client that it belongs to; '' for the caller's own."""
        return owner_of(self.id)


class SearchedText(Struct, frozen=True):
    """The searched text of a memory."""

    id: str
    text: str


class IndexAnswer(Struct, frozen=True):
    """The answer of both indexes, in one row."""

    rows: list[Candidate]
    has_passages: bool
    """Whether the client has any passages."""


class InScope(Struct, frozen=True):
    """The number of memories in a scope."""

    memories: int


COUNT_IN_SCOPE = Query("retrieval/count_in_scope", InScope)
FOUND_IN_CLIENT = Query("retrieval/found_in_client", IndexAnswer)
FOUND_OF_KIND = Query("retrieval/found_of_kind", IndexAnswer)
FOUND_IN_CONVERSATION = Query("retrieval/found_in_conversation", IndexAnswer)
FOUND_OF_KIND_IN_CONVERSATION = Query("retrieval/found_of_kind_in_conversation", IndexAnswer)
FOUND_NOW = Query("retrieval/found_now", IndexAnswer)
FOUND_IN_SCOPE = Query("retrieval/found_in_scope", IndexAnswer)
FOUND_OF_SOURCES = Query("retrieval/found_of_sources", IndexAnswer)
PASSAGES_IN_CLIENT = Query("retrieval/passages_in_client", Candidate)
PASSAGES_IN_CONVERSATION = Query("retrieval/passages_in_conversation", Candidate)
PASSAGES_IN_SESSIONS = Query("retrieval/passages_in_sessions", Candidate)
FOUND_EXACTLY = Query("retrieval/found_exactly", Candidate)
FOUND_IN_TIME = Query("retrieval/found_in_time", Candidate)
CANDIDATES_BY_ID = Query("retrieval/candidates_by_id", Candidate)
SEARCHED_TEXTS = Query("retrieval/searched_texts", SearchedText)

NARROW: Mapping[frozenset[str], Query[IndexAnswer]] = {
    frozenset(): FOUND_IN_CLIENT,
    frozenset({"kind"}): FOUND_OF_KIND,
    frozenset({"conversation_id"}): FOUND_IN_CONVERSATION,
    frozenset({"kind", "conversation_id"}): FOUND_OF_KIND_IN_CONVERSATION,
}
"""The query files that test equalities only, with one value each.

A range in the vector index costs time in proportion to the whole store, even if all memories pass it: of
52,000 memories no range took 19 ms, two 25, five 40.
"""

USUAL = frozenset({"kind", "conversation_id", "source_type", "scope", "since", "until"})
"""The filters of the file with five ranges instead of twelve."""

NARROWING = frozenset({"conversation_id", "session_id", "source_id", "category", "scope", "tags"})
"""The filters that leave few enough memories for exact cosines of all of them, whatever their times."""


class IndexQuery(Struct, frozen=True, kw_only=True):
    """A query of both indexes: any number of vectors and of words, and the filters."""

    embeddings: Sequence[Vector] = ()
    """Without any only the words leg is searched."""
    words: Sequence[str] = ()
    """Without any only the vector leg is searched."""
    weight: Mapping[str, float] | None = None
    """The weights of the words that weigh less than 1."""
    spoken: str | None = None
    """The language of the words."""
    filters: Filters = Filters()
    wanted: int
    """The number of candidates for each vector, and for the words."""
    longest_text: int = 0
    """The maximum length, in characters, of the searched texts that are returned; see also `ONLY_RANKED`."""
    least_cosine: float = -1.0
    """The cosine from which a memory that shares no word is wanted; -1 for all."""
    sample: Sample | None = None
    """A sample of the client's memories, by which the words of the returned texts are scored; None leaves the
    scores of the index, which depend on all clients."""
    only_near: bool = False
    """Whether only the vector index is searched, and may miss some; the words still score its texts."""
    detailed: bool = False
    """Whether the candidates are returned with their details."""

    @property
    def weighed(self) -> WeighedWords | None:
        """The words with the client's own weights; None if the scores are those of the index."""
        if self.sample is None or not self.words or self.longest_text <= 0:
            return None
        return weighed_words(self.words, self.weight or {}, self.spoken, self.sample)


class Findings(Struct, frozen=True):
    """The passing candidates, and the completeness of each leg."""

    found: list[Candidate]
    all_by_vector: bool = True
    """Whether the vector leg has returned all memories that pass and are near enough."""
    all_by_words: bool = True
    least_cosine: float = -1.0
    """The upper bound of the cosines of passing memories that the vector leg has not found."""
    has_passages: bool = True
    """Whether the client may have passages."""


async def find_best(
    embedding: Vector | None,
    words: Sequence[str],
    filters: Filters,
    *,
    client_id: str,
    wanted: int = CANDIDATES,
    weight: Mapping[str, float] | None = None,
    spoken: str | None = None,
    sample: Sample | None = None,
    longest_text: int = 0,
    graph: Graph,
    embedder: Embedder | None = None,
    only_near: bool = False,
    detailed: bool = False,
) -> list[Candidate]:
    """Return the best `wanted` memories of each leg, each once, with texts of at most so many characters.

    A long memory is also found by its passages, unless `only_near` are wanted. With an embedder those that
    share most words are looked at closer: see `look_closer`. With a `sample` and texts the scores by words
    are the client's own. If they are to be `detailed`, those that the indexes found have their details.
    Raises `Unavailable`.
    """
    query = IndexQuery(
        embeddings=vectors(embedding),
        words=words,
        weight=weight,
        spoken=spoken,
        filters=filters,
        # With a small limit the graph search of the vector index misses near neighbours.
        wanted=max(LEAST_POOL, wanted),
        longest_text=longest_text,
        sample=sample,
        only_near=only_near,
        detailed=detailed,
    )
    if only_near:
        return cut((await find(query, client_id=client_id, graph=graph)).found, wanted)
    findings = await find_with_passages(query, client_id=client_id, graph=graph, embedder=embedder)
    return cut(findings.found, wanted)


async def find_with_passages(
    query: IndexQuery, *, client_id: str, graph: Graph, embedder: Embedder | None = None
) -> Findings:
    """Return all passing candidates of both legs, as `find` does, long ones also found by their passages.

    Raises `Unavailable`.
    """
    by_passages = partial(
        find_by_passages, query, client_id=client_id, graph=graph, embedder=embedder
    )
    if query.sample is None or query.sample.has_passages:
        whole, long = await asyncio.gather(
            find(query, client_id=client_id, graph=graph), by_passages()
        )
    else:
        # The sample is of some minutes ago.
        whole = await find(query, client_id=client_id, graph=graph)
        long = await by_passages() if whole.has_passages else Findings([])
    return Findings(
        with_passages(whole.found, long.found),
        whole.all_by_vector and long.all_by_vector,
        whole.all_by_words and long.all_by_words,
        max(whole.least_cosine, long.least_cosine),
    )


async def find_by_passages(
    query: IndexQuery, *, client_id: str, graph: Graph, embedder: Embedder | None = None
) -> Findings:
    """Return the long memories whose passages are nearest, or share most words, each with these.

    Raises `Unavailable`.
    """
    if query.filters.impossible:
        return Findings([])
    rows, limit = await enough(
        lambda limit: _ask_passages(query, limit, client_id, graph), _passage_legs, query.wanted
    )
    near, worded = _passage_legs(rows)
    cosines = [one.cosine or 0.0 for row in near for one in row.passages if one.by_vector]
    all_by_vector = not query.embeddings or len(near) < limit
    found = [one for one in rows if one.passes]
    if weighed := query.weighed:
        found = with_own_passages(found, weighed)
    if embedder is not None and query.embeddings and found:
        found = await look_closer(found, query, embedder)
    return Findings(
        best_passages_first(found),
        all_by_vector,
        len(worded) < limit,
        -1.0 if all_by_vector else min(cosines, default=-1.0),
    )


def with_own_words(found: Sequence[Candidate], weighed: WeighedWords) -> list[Candidate]:
    """Return candidates with their scores by words from the client's own statistics.

    Those that only the vectors found have one too: the index counts the words of all clients.
    """
    texts = {one.id: one.text for one in found if one.text}
    counted = {id: counted_words(text, weighed) for id, text in texts.items()}
    # A long text has its words within a passage or two, if it answers.
    lengths = {id: min(len(text), PASSAGE_CHARACTERS) for id, text in texts.items()}
    scores = scores_by_words(counted, lengths, weighed)
    # What is too long to be read keeps the index's score, on the scale of the others.
    scale = _scale({one.id: one.bm25 for one in found if one.bm25}, scores, weighed)
    return [
        replace(
            one,
            bm25=scores.get(one.id) if one.id in texts or one.bm25 is None else one.bm25 * scale,
            stems=frozenset() if weighed.starts else frozenset(counted.get(one.id, ())),
        )
        for one in found
    ]


def _scale(of_index: Mapping[str, float], own: Mapping[str, float], weighed: WeighedWords) -> float:
    """Return the client's own scores divided by those of the index.

    Without a text that has both, the best has the score of a usual text with each word once: the index's
    scores, as they are, would tell which words occur in the memories of other clients.
    """
    if not of_index:
        return 1.0
    both = [id for id in of_index if id in own]
    if not both:
        return sum(weighed.weights.values()) / (1 + K1) / max(of_index.values())
    return sum(own[id] for id in both) / sum(of_index[id] for id in both)


def with_own_passages(found: Sequence[Candidate], weighed: WeighedWords) -> list[Candidate]:
    """Return long memories with the scores by words of their passages from the client's own statistics."""
    texts = {
        (one.id, passage.place): passage.text
        for one in found
        for passage in one.passages
        if passage.text
    }
    counted = {key: counted_words(text, weighed) for key, text in texts.items()}
    scores = scores_by_words(counted, {key: len(text) for key, text in texts.items()}, weighed)
    return [
        replace(
            one,
            passages=[
                replace(passage, bm25=scores.get((one.id, passage.place)))
                for passage in one.passages
            ],
        )
        for one in found
    ]


async def look_closer(
    found: Sequence[Candidate], query: IndexQuery, embedder: Embedder
) -> list[Candidate]:
    """Return long memories with the cosines of single sentences where these are higher than the passages'.

    Of each of the `CLOSER` passages that share most words, the sentence that does. A line of a log or a table
    has little to do with the lines around it, and the vector of them all says little of it.
    """
    weight = weighed_stems(query.words, query.weight or {})
    worded = [
        (one, passage) for one in found for passage in one.passages if passage.bm25 is not None
    ]
    worded.sort(key=lambda pair: (-(pair[1].bm25 or 0.0), pair[0].id, pair[1].place))
    closest = {
        (one.id, passage.place): max(
            (unit.text for unit in units(passage.text)),
            key=lambda text: shared_weight(text, weight),
            default="",
        )
        for one, passage in worded[:CLOSER]
        if passage.text
    }
    vectors = await embedder.queries(list(closest.values())) if closest else []
    cosines = {
        at: max(cosine(vector, asked) for asked in query.embeddings)
        for at, vector in zip(closest, vectors, strict=True)
    }
    return [
        replace(
            one,
            passages=[
                replace(
                    passage, cosine=_best([passage.cosine, cosines.get((one.id, passage.place))])
                )
                for passage in one.passages
            ],
        )
        for one in found
    ]


def best_passages_first(found: Sequence[Candidate]) -> list[Candidate]:
    """Return long memories with their passages in order: by meaning and words together, the best first."""
    every = {(one.id, passage.place): passage for one in found for passage in one.passages}
    cosines = min_max({f"{id}/{place}": one.cosine or 0.0 for (id, place), one in every.items()})
    words = by_maximum({f"{id}/{place}": one.bm25 or 0.0 for (id, place), one in every.items()})
    scores = weighted([(DENSE_SHARE, cosines), (1 - DENSE_SHARE, words)])
    return [
        replace(
            one,
            passages=sorted(
                one.passages,
                key=lambda passage: (-scores[f"{one.id}/{passage.place}"], passage.place),
            ),
        )
        for one in found
    ]


async def _ask_passages(
    query: IndexQuery, limit: int, client_id: str, graph: Graph
) -> list[Candidate]:
    filters = query.filters
    active = [scope_word(client_id, "active")]
    groups = [group for group in scope_groups(filters, client_id) if group != active]
    conversations, sessions = (sorted(filters.values(name) or ()) for name in _PLACES)
    file, where = PASSAGES_IN_CLIENT, {}
    if sessions:
        file = PASSAGES_IN_SESSIONS
    elif len(conversations) == 1:
        file, where = PASSAGES_IN_CONVERSATION, {"conversation_id": conversations[0]}
    return await graph.rows(
        file,
        client_id=client_id,
        vectors=_numbered(query.embeddings),
        words=lucene_query(query.words, groups, query.weight, query.spoken),
        limit=limit,
        longest=query.longest_text,
        now_only=filters.only_active,
        **where,
        **conditions(filters),
    )


def _passage_legs(rows: Sequence[Candidate]) -> list[list[Candidate]]:
    """Return the memory of each passage that the vectors, and that the words have found."""
    return [
        [row for row in rows for one in row.passages if one.by_vector],
        [row for row in rows for one in row.passages if one.bm25 is not None],
    ]


def with_passages(found: Sequence[Candidate], long: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates and long memories, each once; one that was found by its passages has their scores."""
    joined = {one.id: one for one in united([*found, *long])}
    for one in long:
        own, best = joined[one.id], one.passages[0]
        joined[one.id] = replace(
            own,
            cosine=_best([own.cosine, best.cosine]),
            bm25=_best([own.bm25, best.bm25]),
            passages=one.passages,
            details=None,
        )
    return list(joined.values())


def _best(scores: Iterable[float | None]) -> float | None:
    return max((score for score in scores if score is not None), default=None)


async def find_pool(
    embedding: Vector | None,
    words: Sequence[str],
    sources: Sources,
    *,
    client_id: str,
    results: int,
    weight: Mapping[str, float],
    spoken: str | None = None,
    graph: Graph,
    embedder: Embedder,
) -> Findings:
    """Return the candidates of every source, each once, with their searched texts.

    Each kind and each source type is searched separately, so that a common one does not crowd out a rare one.
    Raises `Unavailable`.
    """
    query = IndexQuery(
        embeddings=vectors(embedding),
        words=words,
        weight=weight,
        spoken=spoken,
        wanted=max(LEAST_POOL, POOL_FACTOR * results),
        longest_text=LONG_TEXT,
    )
    pool = await _find_of_sources(
        query, sources, client_id=client_id, graph=graph, embedder=embedder
    )
    return replace(pool, found=await _with_long_texts(pool.found, client_id, graph))


async def find_matching(
    embedding: Vector | None,
    words: Sequence[str],
    sources: Sources,
    *,
    client_id: str,
    weight: Mapping[str, float],
    spoken: str | None = None,
    least_cosine: float,
    graph: Graph,
    embedder: Embedder,
) -> Findings:
    """Return the matches, whatever the requested number: at most 1,000 of each leg and source.

    For orders whose first results need not be among the most relevant. A memory that shares no word
    needs the `least_cosine`. The candidates have only the properties that rank them, without a cosine if
    only words found them; see `with_texts`. Raises `Unavailable`.
    """
    query = IndexQuery(
        embeddings=vectors(embedding),
        words=words,
        weight=weight,
        spoken=spoken,
        wanted=MATCHING,
        longest_text=ONLY_RANKED,
        least_cosine=least_cosine,
    )
    return await _find_of_sources(
        query, sources, client_id=client_id, graph=graph, embedder=embedder
    )


async def with_texts(
    found: Sequence[Candidate], embedding: Vector | None, *, client_id: str, graph: Graph
) -> list[Candidate]:
    """Return candidates of `find_matching` with all their properties; those deleted since are omitted."""
    rows = await graph.rows(
        CANDIDATES_BY_ID,
        client_id=client_id,
        ids=[one.id for one in found],
        unscored=[one.id for one in found if one.cosine is None],
        vectors=_numbered(vectors(embedding)),
        longest=LONG_TEXT,
    )
    whole = {row.id: row for row in rows}
    known = [_ranked_as(one, whole[one.id]) for one in found if one.id in whole]
    return await _with_long_texts(known, client_id, graph)


async def load_candidates(
    ids: Sequence[str], *, client_id: str, graph: Graph
) -> dict[str, Candidate]:
    """Return candidates by id, without a text or a score; those that are deleted are omitted."""
    if not ids:
        return {}
    rows = await graph.rows(
        CANDIDATES_BY_ID, client_id=client_id, ids=list(ids), unscored=[], vectors=[], longest=0
    )
    return {row.id: row for row in rows}


def _ranked_as(ranked: Candidate, whole: Candidate) -> Candidate:
    """Return a whole candidate with the scores with which it was found."""
    return replace(
        whole,
        cosine=whole.cosine if ranked.cosine is None else ranked.cosine,
        bm25=ranked.bm25,
        by_vector=ranked.by_vector,
        places=ranked.places,
        passages=ranked.passages,
    )


async def _find_of_sources(
    query: IndexQuery, sources: Sources, *, client_id: str, graph: Graph, embedder: Embedder
) -> Findings:
    """Return the candidates of every source, each once; long ones are also found by their passages."""
    branches, long = await asyncio.gather(
        asyncio.gather(
            *(
                find(replace(query, filters=filters), client_id=client_id, graph=graph)
                for filters in sources.branches
            )
        ),
        asyncio.gather(
            *(
                find_by_passages(
                    replace(query, filters=filters),
                    client_id=client_id,
                    graph=graph,
                    embedder=embedder,
                )
                for filters in sources.of_passages
            )
        ),
    )
    found = with_passages(
        united(one for branch in branches for one in branch.found),
        [one for branch in long for one in branch.found],
    )
    return replace(together([*branches, *long]), found=found)


def together(parts: Sequence[Findings]) -> Findings:
    """Return the findings of searches of different memories as one."""
    return Findings(
        [one for part in parts for one in part.found],
        all(part.all_by_vector for part in parts),
        all(part.all_by_words for part in parts),
        max((part.least_cosine for part in parts), default=-1.0),
    )


def unmarked(one: Candidate) -> Candidate:
    """Return a candidate of another client with the ids that it has there."""
    return replace(one, id=bare_id(one.id), session_id=bare_id(one.session_id))


async def find(query: IndexQuery, *, client_id: str, graph: Graph) -> Findings:
    """Return all passing candidates of both legs, each memory once.

    A leg returns `wanted` passing memories, or all; more if more were read. Raises `Unavailable`.
    """
    if query.filters.impossible:
        return Findings([])
    exactly = await _has_few_tagged(query, client_id, graph)
    answer, limit = await enough(
        lambda limit: _ask(query, limit, client_id, graph),
        lambda answer: [
            *([] if exactly else _by_vectors(answer.rows, query)),
            _by_words(answer.rows),
        ],
        query.wanted,
    )
    rows = answer.rows
    near = _by_vectors(rows, query)
    # Where far fewer are near enough than were asked for, they are all: the index misses some only where
    # hardly more pass than were asked for.
    is_cut = not exactly and query.least_cosine > -1.0 and all(len(leg) < limit / 2 for leg in near)
    is_short = exactly or (
        not is_cut
        and not query.only_near
        and any(falls_short(leg, limit, query.wanted) for leg in near)
    )
    if is_short:
        rows = united([*await _find_exactly(query, client_id, graph), *rows])
    found = [one for one in rows if one.passes]
    if weighed := query.weighed:
        many = len(found) > MANY_READ
        found = (
            await asyncio.to_thread(with_own_words, found, weighed)
            if many
            else with_own_words(found, weighed)
        )
    return Findings(
        found,
        not query.embeddings or is_cut or (is_short and _count_by_vector(found) < query.wanted),
        len(_by_words(rows)) < limit,
        min((one.cosine or 0.0 for one in found if one.by_vector), default=-1.0),
        answer.has_passages,
    )


async def _has_few_tagged(query: IndexQuery, client_id: str, graph: Graph) -> bool:
    """Tell whether exact cosines of all memories with the requested tags can be computed.

    The vector index cannot filter by tags: it would be read ever further for a rare one.
    """
    if not query.filters.tags or not query.embeddings:
        return False
    [tagged] = await graph.rows(
        COUNT_IN_SCOPE,
        client_id=client_id,
        scope=scope_query(scope_groups(query.filters, client_id)),
        most=MOST_CANDIDATES,
    )
    return tagged.memories < MOST_CANDIDATES


async def _ask(query: IndexQuery, limit: int, client_id: str, graph: Graph) -> IndexAnswer:
    """Return the results of both indexes.

    Where the database has nothing else to do they are searched at the same time, if the details of what they
    find tell versions apart.
    """
    if not (query.detailed and query.embeddings and query.words and graph.is_idle):
        return await _ask_once(query, limit, client_id, graph)
    worded, near = await asyncio.gather(
        _ask_once(query, limit, client_id, graph, by_vectors=False),
        _ask_once(replace(query, words=()), limit, client_id, graph),
    )
    return IndexAnswer(
        of_both_indexes(worded.rows, near.rows), worded.has_passages or near.has_passages
    )


def of_both_indexes(worded: Sequence[Candidate], near: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates of two statements, each once.

    One whose newer version the later statement has found loses its details, as if it had ended during a
    single statement. So does a span of a content that replaced another: it does not say which of its spans.
    """
    every = [*near, *worded]
    replaced = {id for one in every if one.details for id in one.details.earlier}
    unsure = {
        one.id
        for one in every
        if one.details is None
        or not one.passes
        or one.id in replaced
        or (one.kind == "span" and one.details.earlier)
    }
    refused = {one.id for one in every if not one.passes}
    return [
        replace(one, details=None, passes=one.id not in refused) if one.id in unsure else one
        for one in united(every)
    ]


async def _ask_once(
    query: IndexQuery, limit: int, client_id: str, graph: Graph, *, by_vectors: bool = True
) -> IndexAnswer:
    """Return the results of one statement: those by words, and unless it is told otherwise by vectors."""
    filters = query.filters
    file, parameters = _file_for(filters)
    [answer] = await graph.rows(
        file,
        client_id=client_id,
        vectors=_numbered(query.embeddings),
        words=lucene_query(
            [] if query.only_near else query.words,
            scope_groups(filters, client_id),
            query.weight,
            query.spoken,
        ),
        limit=limit,
        longest=query.longest_text,
        least=(1 + query.least_cosine) / 2,
        by_vectors=by_vectors,
        detailed=query.detailed,
        **parameters,
    )
    return answer


def _file_for(filters: Filters) -> tuple[Query[IndexAnswer], dict[str, Any]]:
    """Return the query file with the fewest tests for these filters, and its parameters."""
    single: dict[str, Any] = {
        name: next(iter(values))
        for name in SCOPED
        if (values := filters.values(name)) is not None and len(values) == 1
    }
    if len(single) == len(filters.shape) and frozenset(single) in NARROW:
        return NARROW[frozenset(single)], single
    if filters.shape <= USUAL:
        file = FOUND_NOW
    elif filters.shape <= USUAL | {"source_id"}:
        file = FOUND_OF_SOURCES
    else:
        file = FOUND_IN_SCOPE
    every = ranges(filters) | conditions(filters) | {"now_only": filters.only_active}
    return file, {name: value for name, value in every.items() if name in file.parameters}


async def _find_exactly(query: IndexQuery, client_id: str, graph: Graph) -> list[Candidate]:
    """Return the nearest by exact cosine: the index may miss some if hardly more exist than wanted."""
    filters = query.filters
    common = {
        "client_id": client_id,
        "vectors": _numbered(query.embeddings),
        "limit": query.wanted,
        "longest": query.longest_text,
    } | conditions(filters)
    if filters.timed and not filters.shape & NARROWING:
        return await graph.rows(
            FOUND_IN_TIME,
            kinds=sorted(filters.values("kind") or KINDS),
            actives=filters.validity.actives,
            **common,
        )
    scope = scope_query(scope_groups(filters, client_id))
    return await graph.rows(FOUND_EXACTLY, scope=scope, most=MOST_CANDIDATES, **common)


def vectors(embedding: Vector | None) -> list[Vector]:
    """Return the vectors of a question that may have none."""
    return [] if embedding is None else [embedding]


def _numbered(embeddings: Sequence[Vector]) -> list[dict[str, Any]]:
    return [{"place": place, "vector": embedding} for place, embedding in enumerate(embeddings)]


def _by_vectors(found: Sequence[Candidate], query: IndexQuery) -> list[list[Candidate]]:
    """Return the candidates of each vector in the index."""
    places = range(len(query.embeddings))
    return [[one for one in found if place in one.places] for place in places]


def _by_words(found: Iterable[Candidate]) -> list[Candidate]:
    return [one for one in found if one.bm25 is not None]


def _count_by_vector(found: Iterable[Candidate]) -> int:
    return sum(one.by_vector for one in found)


def united(found: Iterable[Candidate]) -> list[Candidate]:
    """Return each candidate once; the first of two keeps its cosine, and gets the scores of both."""
    by_id: dict[str, Candidate] = {}
    for one in found:
        first = by_id.get(one.id)
        by_id[one.id] = _joined(first, one) if first else one
    return list(by_id.values())


def _joined(first: Candidate, other: Candidate) -> Candidate:
    return replace(
        first,
        by_vector=first.by_vector or other.by_vector,
        bm25=_best([first.bm25, other.bm25]),
    )


def cut(found: Sequence[Candidate], wanted: int) -> list[Candidate]:
    """Return the best `wanted` of each leg; a candidate beyond a leg's cut loses that leg."""
    nearest = _best_ids(
        [one for one in found if one.by_vector], lambda one: one.cosine or 0.0, wanted
    )
    matching = _best_ids(_by_words(found), lambda one: one.bm25 or 0.0, wanted)
    return [
        _left_to(one, one.id in nearest, one.id in matching)
        for one in found
        if one.id in nearest or one.id in matching
    ]


def _left_to(one: Candidate, by_vector: bool, by_words: bool) -> Candidate:
    """Return a candidate without the legs whose cut it is beyond."""
    if by_vector == one.by_vector and (by_words or one.bm25 is None):
        return one
    return replace(one, by_vector=by_vector, bm25=one.bm25 if by_words else None)


def _best_ids(
    leg: Sequence[Candidate], score: Callable[[Candidate], float], wanted: int
) -> set[str]:
    best = leg if len(leg) <= wanted else best_first(leg, score)[:wanted]
    return {one.id for one in best}


async def _with_long_texts(
    found: Sequence[Candidate], client_id: str, graph: Graph
) -> list[Candidate]:
    """Return the candidates with all their texts."""
    long = [one.id for one in found if not one.text]
    texts: dict[str, str] = {}
    for start in range(0, len(long), TEXTS_AT_ONCE):
        some = long[start : start + TEXTS_AT_ONCE]
        rows = await graph.rows(SEARCHED_TEXTS, client_id=client_id, ids=some)
        texts |= {row.id: row.text for row in rows}
    return [replace(one, text=texts.get(one.id, "")) if not one.text else one for one in found]


class Passing(Protocol):
    """A memory that an index has found."""

    @property
    def passes(self) -> bool:
        """Whether it passes the conditions that the index cannot test."""
        ...


Answer = TypeVar("Answer")
Legs = Callable[[Answer], Sequence[Sequence[Passing]]]
"""Returns the results of each leg, a search of one index."""


async def enough(
    ask: Callable[[int], Awaitable[Answer]], legs: Legs[Answer], wanted: int
) -> tuple[Answer, int]:
    """Search until enough memories pass or none are left; return the answer, and the last limit of each leg.

    `ask` takes the limit of a leg: `wanted` at first, at most `MOST_CANDIDATES`.
    """
    limit = wanted
    while True:
        found = await ask(limit)
        if limit >= MOST_CANDIDATES or not any(
            len(leg) >= limit and _passing(leg) < wanted for leg in legs(found)
        ):
            return found, limit
        limit = min(limit * GROWTH, MOST_CANDIDATES)


def falls_short(leg: Sequence[Passing], limit: int, wanted: int) -> bool:
    """Tell whether a leg has returned fewer than its limit, and too few of them pass."""
    return len(leg) < limit and _passing(leg) < wanted


def _passing(leg: Sequence[Passing]) -> int:
    return sum(one.passes for one in leg)
