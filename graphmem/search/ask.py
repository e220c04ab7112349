"""Search: the memories that match a query, with relevance and reasons, and on request along their links."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Container, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.accesses import RELEVANT, Seen, SeenMemory
from graphmem.context import Context, a_few_at_once
from graphmem.embedding import Vector
from graphmem.errors import InvalidInput
from graphmem.graph.installation import Calibration
from graphmem.memories.cards import Card, card_of, load_stored_cards
from graphmem.memories.lists import own_session_id
from graphmem.model.times import period
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import QUERY_CHARACTERS, Kind, Lack, Leg, bare_id, owner_of
from graphmem.recall.ask import expand_in_each
from graphmem.recall.compose import OMITTED_SHOWN
from graphmem.recall.types import Reason
from graphmem.retrieval.expansion import Expansion, HopPath, joined
from graphmem.retrieval.filters import Sources, sources_asked, validity_asked
from graphmem.retrieval.finding import (
    Candidate,
    Findings,
    find_matching,
    find_pool,
    together,
    unmarked,
    with_own_words,
    with_texts,
)
from graphmem.retrieval.fusion import best_first
from graphmem.retrieval.heads import Head, at_heads, heads_of
from graphmem.retrieval.listing import contain_text, find_text, list_memories
from graphmem.retrieval.relevance import (
    EVERYTHING,
    MEANING_SHARE,
    NEUTRAL,
    asked_words,
    combined,
    lexical_relevance,
    meaning,
)
from graphmem.retrieval.understanding import Understood, understand
from graphmem.retrieval.weighing import WeighedWords, weighed_words
from graphmem.search.types import (
    MOST_RESULTS,
    FoundSpan,
    LeftOut,
    SearchItem,
    SearchQuery,
    SearchResult,
    SortBy,
    SpanQuery,
    SpanSearchResult,
)

TRIED = 1_000
"""The maximum number of memories tried for a budget when a query requests all memories."""

WEIGHED_AT_ONCE = 200
"""The number of matches whose texts are fetched at once for an order other than relevance."""

FAN_OUT: Lack = "fan_out"
"""The value in `degraded` if a memory has more links than a hop follows."""


class Hit(Struct, frozen=True, kw_only=True):
    """A memory that was found, with its relevance and the scores behind it."""

    found: Candidate
    relevance: float
    scores: dict[str, float]
    ranks: dict[Leg, int] = {}
    hop: int = 0
    hop_from: str | None = None

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.found.id

    @property
    def occurred_at(self) -> datetime:
        """The time at which it happened."""
        return self.found.occurred_at

    @property
    def combined(self) -> float:
        """Relevance and importance combined, 0–1."""
        return combined(self.relevance, self.found.importance)

    def passes(self, least: float) -> bool:
        """Tell whether it matches at all, and has at least the requested relevance."""
        return self.relevance > 0.0 and self.relevance >= least


class Matches(Struct, frozen=True):
    """The memories that match by themselves, unordered, and their number."""

    hits: list[Hit]
    total: int
    exact: bool
    degraded: list[Lack]


class PackedHits(Struct, frozen=True):
    """The hits that are returned, with rank and card, and the omitted ones with the reason."""

    taken: list[tuple[int, Hit, Card]]
    omitted: list[LeftOut]
    heads: dict[str, Head]
    """The heads that have replaced superseded memories, by the ids of these."""
    twice: int
    """The number omitted because another version of theirs is shown, or the filters do not admit it."""


async def search(query: SearchQuery, context: Context, *, only: Kind | None = None) -> SearchResult:
    """Return the memories that match a query, best first, within `max_results` and `max_tokens`.

    Other clients that may be read are searched too: one order, and each item says whose it is. `only`
    restricts the search to one kind, whatever the source type. An unknown source or conversation gives
    the same empty answer as an empty one. If the embedding model fails, only words are searched and
    `degraded` contains `no_vector`. Raises `InvalidInput`, `Unavailable`.
    """
    context = context.reading(query.reads)
    began = context.read_begins()
    answer = await _answer(query, only, context)
    context.record_read("search", began, lambda: _seen(query, answer))
    return answer


async def search_spans(query: SpanQuery, context: Context) -> SpanSearchResult:
    """Return the spans that match a query, most relevant first. Raises `InvalidInput`, `Unavailable`."""
    found = asdict(await search(query.search, context, only="span"))
    del found["fan_out"]
    spans = [
        FoundSpan(
            **asdict(item),
            span_id=item.id,
            token_count=item.token_estimate,
            relevance_score=item.relevance,
        )
        for item in found.pop("items")
    ]
    return SpanSearchResult(items=spans, **found)


async def _answer(query: SearchQuery, only: Kind | None, context: Context) -> SearchResult:
    checked_text(query.query, "query", most_bytes=4 * QUERY_CHARACTERS)
    default: SortBy = "combined" if query.max_hops else "relevance"
    # Hops begin at the most relevant memories unless another order is requested.
    by_relevance = query.sort_by in {None, "relevance"}
    query = replace(query, sort_by=query.sort_by or default)
    sources = _sources(query, only)
    answer = await _find(
        query, sources, context, by_relevance=by_relevance, results=query.max_results
    )
    if by_relevance and _may_fit_more(query, answer):
        answer = await _find(query, sources, context, by_relevance=True, results=MOST_RESULTS)
    return answer


def _may_fit_more(query: SearchQuery, answer: SearchResult) -> bool:
    """Tell whether nothing found fits the budget, and a search for more results may find what does."""
    return (
        query.max_tokens is not None
        and query.match == "relevance"
        and not answer.items
        and bool(answer.omitted)
        and not answer.total_is_exact
        and query.max_results < MOST_RESULTS
    )


async def _find(
    query: SearchQuery,
    sources: Sources,
    context: Context,
    *,
    by_relevance: bool,
    results: int,
) -> SearchResult:
    """Return the answer from as many candidates as `results` need."""
    matches = await _match(query, sources, context, by_relevance=by_relevance, results=results)
    hits = ordered(matches.hits, query.sort_by)
    expansion = Expansion({})
    if query.max_hops and (query.query.strip() != EVERYTHING or query.match == "exact"):
        expansion = await _expand(hits, query, sources, context)
        own = {hit.id for hit in hits}
        hits = ordered(_with_hops(hits, expansion, query.min_relevance or 0.0), query.sort_by)
        matches = replace(matches, total=matches.total + sum(hit.id not in own for hit in hits))
    packed = await _pack(hits, query, sources, context)
    return _result(query, packed, matches, expansion)


async def _match(
    query: SearchQuery, sources: Sources, context: Context, *, by_relevance: bool, results: int
) -> Matches:
    """Return the memories that match, before links are followed."""
    if query.match == "exact":
        return await _match_exactly(query, sources, context)
    if query.session_id is not None:
        raise InvalidInput(
            "session_id", "needs match: exact; use /contextual/search to search inside sessions"
        )
    if query.query.strip() == EVERYTHING:
        return await _list_all(query, sources, context)
    return await _match_relevant(
        query, sources, context, by_relevance=by_relevance, results=results
    )


async def _expand(
    hits: Sequence[Hit], query: SearchQuery, sources: Sources, context: Context
) -> Expansion:
    """Follow the links of the best hits."""
    return await expand_in_each(
        {hit.id: hit.relevance for hit in hits[: query.max_results]},
        {hit.id: hit.relevance for hit in hits},
        context,
        hops=query.max_hops,
        steps=query.link_types,
        sources=sources,
    )


def ordered(hits: Sequence[Hit], sort_by: SortBy | None) -> list[Hit]:
    """Return the hits in an order; ties go to the newer, then to the lower id."""
    return best_first(hits, ORDERS[sort_by or "relevance"])


ORDERS: Mapping[SortBy, Callable[[Hit], float]] = {
    # All scores are equal, so that only the rule for ties decides.
    "recency": lambda hit: 0.0,
    "relevance": lambda hit: hit.relevance,
    "importance": lambda hit: hit.found.importance,
    "combined": lambda hit: hit.combined,
}


def _sources(query: SearchQuery, only: Kind | None) -> Sources:
    return sources_asked(
        query.source_types,
        query.source_ids,
        query.conversation_id,
        *period(query.since, query.until),
        only,
        validity_asked(query.as_of, query.known_as_of, query.include_superseded),
        query.tags,
    )


async def _match_exactly(query: SearchQuery, sources: Sources, context: Context) -> Matches:
    """Return the texts of a session or a conversation that contain the query; all are equally relevant."""
    if query.session_id is None and query.conversation_id is None:
        raise InvalidInput("match", "exact needs a session_id or a conversation_id to look into")
    are_all: list[bool] = []

    async def find(one: Context) -> list[Candidate]:
        found, is_all = await find_text(
            query.query,
            sources,
            session_id=await own_session_id(query.session_id, query.conversation_id, one),
            conversation_id=query.conversation_id,
            client_id=one.client_id,
            graph=one.graph,
        )
        are_all.append(is_all)
        return found

    hits = [
        Hit(found=one, relevance=1.0, scores={"exact": 1.0}) for one in await context.each(find)
    ]
    return Matches(hits, len(hits), all(are_all), [])


async def _list_all(query: SearchQuery, sources: Sources, context: Context) -> Matches:
    """Return all memories that pass the filters, up to a limit; all are equally relevant."""
    if (query.min_relevance or 0.0) > NEUTRAL:
        return Matches([], 0, True, [])
    totals: list[int] = []

    async def list_some(one: Context) -> list[Candidate]:
        found, total = await list_memories(
            sources,
            by_importance=query.sort_by in {"importance", "combined"},
            client_id=one.client_id,
            limit=query.max_results + (TRIED if query.max_tokens else OMITTED_SHOWN),
            graph=one.graph,
        )
        totals.append(total)
        return found

    found = await context.each(list_some)
    hits = [Hit(found=one, relevance=NEUTRAL, scores={}) for one in found]
    return Matches(hits, sum(totals), True, [])


async def _match_relevant(
    query: SearchQuery, sources: Sources, context: Context, *, by_relevance: bool, results: int
) -> Matches:
    """Return the memories that match by meaning or words, at least `results` if there are as many.

    Unless the most relevant are sufficient, the first in the requested order are among them.
    """
    question = await understand(
        query.query,
        client_id=context.client_id,
        embedder=context.embedder,
        vocabulary=context.vocabulary,
        knowledge=context.calibration.knowledge,
        beside=context.reads,
    )
    if not _needs_relevant(query):
        return await _match_first([], question, query, sources, context)
    candidates = await _find_in_each(
        context,
        lambda one: find_pool(
            question.embedding,
            question.words,
            sources,
            client_id=one.client_id,
            results=results,
            weight=question.weight_in(one.client_id),
            spoken=question.spoken,
            graph=one.graph,
            embedder=one.embedder,
        ),
    )
    scale, least = context.calibration, query.min_relevance or 0.0
    own = own_words(question)
    hits = await asyncio.to_thread(weighed, candidates.found, query.query, scale, own)
    matching = [hit for hit in hits if hit.passes(least)]
    is_all = _is_all(candidates, scale, least, question.embedding)
    if is_all or by_relevance:
        return Matches(matching, len(matching), is_all, question.degraded)
    return await _match_first(matching, question, query, sources, context)


async def _find_in_each(
    context: Context, find: Callable[[Context], Awaitable[Findings]]
) -> Findings:
    """Return the findings in all clients that are read."""
    if not context.reads:
        return await find(context)
    every = context.every
    parts = await a_few_at_once([partial(find, one) for one in every])
    return together(
        [
            replace(part, found=one.marked(part.found))
            for one, part in zip(every, parts, strict=True)
        ]
    )


async def load_whole(
    found: Sequence[Candidate], embedding: Vector | None, context: Context
) -> list[Candidate]:
    """Return candidates with all their properties, those of each client from there; see `with_texts`."""
    by_id = {one.id: one for one in found}

    async def load(one: Context, ids: list[str]) -> list[Candidate]:
        some = [by_id[context.as_given(id, one)] for id in ids]
        return await with_texts(
            [unmarked(candidate) for candidate in some] if context.reads else some,
            embedding,
            client_id=one.client_id,
            graph=one.graph,
        )

    return await context.each_of(by_id, load)


def _needs_relevant(query: SearchQuery) -> bool:
    """Tell whether the most relevant are wanted where others match too.

    Neither the newest nor the most important depend on them, unless links are followed or a budget filled.
    """
    by_relevance = query.sort_by not in {"recency", "importance"}
    return by_relevance or query.max_hops > 0 or query.max_tokens is not None


async def _match_first(
    relevant: Sequence[Hit],
    question: Understood,
    query: SearchQuery,
    sources: Sources,
    context: Context,
) -> Matches:
    """Return the newest or the most important of all matches, besides the most relevant.

    A match that is neither among the most relevant nor among the most important is not among the first of the
    combined order either.
    """
    scale, least = context.calibration, query.min_relevance or 0.0
    pool = await _find_in_each(
        context,
        lambda one: find_matching(
            question.embedding,
            question.words,
            sources,
            client_id=one.client_id,
            weight=question.weight_in(one.client_id),
            spoken=question.spoken,
            least_cosine=scale.low,
            graph=one.graph,
            embedder=one.embedder,
        ),
    )
    candidates = first_matching(pool.found, query.sort_by, scale)
    hits, count = await weigh_first(
        candidates,
        query.query,
        question,
        least=least,
        wanted=query.max_results + (TRIED if query.max_tokens else OMITTED_SHOWN),
        context=context,
    )
    missing = count - len(hits)
    # Unweighed candidates are counted as matches, which some may not be.
    is_exact = count == len(candidates) or (least == 0.0 and missing == 0)
    return Matches(
        list({hit.id: hit for hit in (*relevant, *hits)}.values()),
        len(candidates) - missing,
        is_exact and _is_all(pool, scale, least, question.embedding),
        question.degraded,
    )


def first_matching(
    found: Iterable[Candidate], sort_by: SortBy | None, scale: Calibration
) -> list[Candidate]:
    """Return the candidates that match by a word or by meaning, newest or most important first."""
    matching = [
        one
        for one in found
        if one.bm25 is not None or (one.cosine is not None and meaning(one.cosine, scale) > 0.0)
    ]
    by_time = sort_by == "recency"
    return best_first(matching, lambda one: 0.0 if by_time else one.importance)


async def weigh_first(
    candidates: Sequence[Candidate],
    query: str | None,
    question: Understood,
    *,
    least: float,
    wanted: int,
    context: Context,
) -> tuple[list[Hit], int]:
    """Return the first `wanted` of ranked candidates that match, and the number weighed.

    They have no rank by words: it would be the index's, which depends on all clients.
    """
    ranks = _ranks([replace(one, bm25=None) for one in candidates])
    own = own_words(question)
    hits: list[Hit] = []
    count = 0
    while count < len(candidates) and len(hits) < wanted:
        some = candidates[count : count + WEIGHED_AT_ONCE]
        whole = await load_whole(some, question.embedding, context)
        count += len(some)
        found = await asyncio.to_thread(weighed, whole, query, context.calibration, own)
        hits += [replace(hit, ranks=ranks.get(hit.id, {})) for hit in found if hit.passes(least)]
    return hits, count


def own_words(question: Understood) -> WeighedWords | None:
    """Return the words of a question as the client's own statistics weigh them; None if it has none."""
    if not question.words:
        return None
    return weighed_words(question.words, question.weight, question.spoken, question.sample)


def weighed(
    found: Sequence[Candidate],
    query: str | None,
    calibration: Calibration,
    own: WeighedWords | None,
) -> list[Hit]:
    """Return the candidates with their relevance, and their rank in each leg.

    Without a query they were found only by a vector, and there are no words to match. The scores by words are
    those of `own`: the index's would tell which words occur in the memories of other clients.
    """
    if own is not None:
        worded = with_own_words([one for one in found if one.bm25 is not None], own)
        by_id = {one.id: one for one in worded}
        found = [by_id.get(one.id, one) for one in found]
    asked = asked_words(query or "", calibration.knowledge)
    ranks = _ranks(found)
    hits = []
    for one in found:
        share = asked.share(one.text) if query is not None else 0.0
        if one.cosine is None:
            relevant = share if asked.letters else lexical_relevance(query or "", one.text)
            scores = {"words": relevant}
        else:
            near = meaning(one.cosine, calibration)
            relevant = near if query is None else asked.relevance(one.cosine, share, calibration)
            scores = {"vector": one.cosine, "meaning": near, "words": share}
        if one.bm25 is not None:
            scores["bm25"] = one.bm25
        hits.append(Hit(found=one, relevance=relevant, scores=scores, ranks=ranks.get(one.id, {})))
    return hits


def _ranks(found: Sequence[Candidate]) -> dict[str, dict[Leg, int]]:
    """Return each candidate's rank in the legs that found it, from 1, with the ties of `best_first`."""
    ranks: dict[str, dict[Leg, int]] = {}
    legs: dict[Leg, list[Candidate]] = {
        "vector": best_first(
            (one for one in found if one.by_vector), lambda one: one.cosine or 0.0
        ),
        "bm25": best_first(
            (one for one in found if one.bm25 is not None), lambda one: one.bm25 or 0.0
        ),
    }
    for leg, order in legs.items():
        for rank, one in enumerate(order, start=1):
            ranks.setdefault(one.id, {})[leg] = rank
    return ranks


def _is_all(
    candidates: Findings, calibration: Calibration, least: float, embedding: Vector | None
) -> bool:
    """Tell whether nothing else can match: both legs are exhausted, or all others are too far away."""
    if not candidates.all_by_words:
        return False
    if candidates.all_by_vector or embedding is None:
        return True
    beyond = MEANING_SHARE * meaning(candidates.least_cosine, calibration)
    return beyond == 0.0 or beyond < least


def _with_hops(hits: Sequence[Hit], expansion: Expansion, least: float) -> list[Hit]:
    """Return the hits that match by themselves, by a hop, or by both."""
    by_id = {hit.id: hit for hit in hits}
    for id, step in expansion.reached().items():
        own = by_id.get(id)
        if own is None and not step.passes:
            continue
        hit = own or Hit(found=step, relevance=0.0, scores={})
        by_id[id] = replace(
            hit,
            relevance=joined(hit.relevance, step.inherited),
            scores=hit.scores | {"hop": step.inherited},
            hop=expansion.depth(id),
            hop_from=step.from_id,
        )
    return [hit for hit in by_id.values() if hit.passes(least)]


async def _pack(
    hits: Sequence[Hit], query: SearchQuery, sources: Sources, context: Context
) -> PackedHits:
    """Take hits by rank into `max_tokens`, at most `max_results`: one that does not fit is left out.

    Memories that were deleted meanwhile are skipped, superseded ones replaced by their heads.
    """
    found, heads = list(hits), dict[str, Head]()
    cards: dict[str, Card] = {}
    asked: set[str] = set()
    taken: list[tuple[int, Hit, Card]] = []
    # Enough for the head of each memory that the answer names, taken or omitted.
    step = query.max_results + OMITTED_SHOWN
    while not _is_full(taken, query) and (some := _next(found, asked, step)):
        stored = await context.each_of(
            some,
            lambda one, ids: load_stored_cards(
                ids,
                client_id=one.client_id,
                graph=one.graph,
                now_only=sources.validity.only_active,
            ),
        )
        cards |= {one.id: card_of(one) for one in stored}
        if new := heads_of(stored):
            admitted = await _admitted(new.values(), query, sources, context)
            found = at_heads(found, new, lambda head: head.id in admitted, _at_head)  # noqa: B023
            found = ordered(found, query.sort_by)
            heads |= new
        asked |= {*some, *(head.id for head in new.values())}
        taken = _taken(found, cards, query)
    omitted = _left_out(found, taken, cards, query.max_results)
    return PackedHits(taken, omitted, heads, len(hits) - len(found))


def _next(hits: Sequence[Hit], asked: Container[str], most: int) -> list[str]:
    """Return the ids of the next hits to fetch cards for."""
    return [hit.id for hit in hits if hit.id not in asked][:most]


def _is_full(taken: Sequence[tuple[int, Hit, Card]], query: SearchQuery) -> bool:
    """Tell whether nothing more can be taken."""
    used = sum(card.token_estimate for _, _, card in taken)
    return len(taken) == query.max_results or used == query.max_tokens


async def _admitted(
    heads: Iterable[Head], query: SearchQuery, sources: Sources, context: Context
) -> Collection[str]:
    """Return the ids of the heads that the search would find itself, whatever their relevance."""
    ids = {head.id for head in heads if sources.admit(head)}
    if query.match != "exact" or not ids:
        return ids
    return await context.each_of(
        ids,
        lambda one, own: contain_text(query.query, own, client_id=one.client_id, graph=one.graph),
    )


def _at_head(hit: Hit, head: Head) -> Hit:
    """Return a head with the relevance of the version that was found."""
    return replace(hit, found=head)


def _taken(
    hits: Sequence[Hit], cards: Mapping[str, Card], query: SearchQuery
) -> list[tuple[int, Hit, Card]]:
    """Return the hits that fit, with their ranks and cards, as far as their cards are loaded."""
    room = query.max_tokens
    taken: list[tuple[int, Hit, Card]] = []
    for rank, hit in enumerate(hits, start=1):
        card = cards.get(hit.id)
        if card and len(taken) < query.max_results and _fits(card, room):
            taken.append((rank, hit, card))
            room = None if room is None else room - card.token_estimate
    return taken


def _fits(card: Card, room: int | None) -> bool:
    return room is None or card.token_estimate <= room


def _left_out(
    hits: Sequence[Hit],
    taken: list[tuple[int, Hit, Card]],
    cards: Mapping[str, Card],
    most: int,
) -> list[LeftOut]:
    """Name the hits that were not taken; none that is deleted, or that may be superseded by now."""
    last = taken[-1][0] if taken else 0
    ids = {hit.id for _, hit, _ in taken}
    left = [
        (rank, hit)
        for rank, hit in enumerate(hits, start=1)
        if hit.id in cards and hit.id not in ids
    ]

    def reason(rank: int) -> Reason:
        return "beyond_limit" if len(taken) == most and rank > last else "no_room"

    return [
        LeftOut(
            id=bare_id(hit.id),
            client_id=hit.found.owner or None,
            rank=rank,
            relevance=hit.relevance,
            combined_score=hit.combined,
            token_estimate=cards[hit.id].token_estimate,
            reason=reason(rank),
        )
        for rank, hit in left[:OMITTED_SHOWN]
    ]


def _result(
    query: SearchQuery, packed: PackedHits, matches: Matches, expansion: Expansion
) -> SearchResult:
    items = [_item(rank, hit, card, packed.heads) for rank, hit, card in packed.taken]
    total = matches.total - packed.twice
    return SearchResult(
        items=[_unmarked(item) for item in items],
        total_count=total,
        total_is_exact=matches.exact and not expansion.cut_at,
        tokens_used=sum(item.token_estimate for item in items),
        omitted=packed.omitted,
        omitted_total=total - len(items),
        degraded=[*matches.degraded, *([FAN_OUT] if expansion.cut_at else [])],
        hops_used=max((item.hop for item in items), default=0),
        hop_paths=[_unmarked_path(path) for path in _paths(items, expansion, packed.heads)],
        fan_out=[id for id in expansion.cut_at if not owner_of(id)][:OMITTED_SHOWN],
        query=query,
    )


def _paths(
    items: Sequence[SearchItem], expansion: Expansion, heads: Mapping[str, Head]
) -> list[HopPath]:
    """Return the steps to all items; a step that several share is listed once, as it was walked."""
    found_as = {head.id: id for id, head in heads.items()}
    paths: dict[tuple[str, str], HopPath] = {}
    for item in items:
        for step in expansion.path(found_as.get(item.id, item.id)):
            from_id, to_id = _shown_id(step.from_id, heads), _shown_id(step.to_id, heads)
            paths.setdefault((from_id, to_id), replace(step, from_id=from_id, to_id=to_id))
    return list(paths.values())


def _unmarked(item: SearchItem) -> SearchItem:
    """Return an item with the ids that its client knows."""
    if item.client_id is None:
        return item
    return replace(
        item,
        id=bare_id(item.id),
        hop_from=None if item.hop_from is None else bare_id(item.hop_from),
    )


def _unmarked_path(path: HopPath) -> HopPath:
    if not (owner := owner_of(path.to_id)):
        return path
    return replace(path, from_id=bare_id(path.from_id), to_id=bare_id(path.to_id), client_id=owner)


def _shown_id(id: str, heads: Mapping[str, Head]) -> str:
    return heads[id].id if id in heads else id


def _item(rank: int, hit: Hit, card: Card, heads: Mapping[str, Head]) -> SearchItem:
    return SearchItem(
        id=card.id,
        client_id=owner_of(card.id) or None,
        kind=card.kind,
        source_type=card.source_type,
        source_id=card.source_id,
        rank=rank,
        label=card.label,
        relevance=hit.relevance,
        importance=card.importance,
        combined_score=hit.combined,
        token_estimate=card.token_estimate,
        snippet=card.snippet,
        metadata=card.metadata,
        occurred_at=card.occurred_at,
        scores=hit.scores,
        ranks=hit.ranks,
        hop=hit.hop,
        hop_from=None if hit.hop_from is None else _shown_id(hit.hop_from, heads),
    )


def _seen(query: SearchQuery, answer: SearchResult) -> Seen:
    """Return the record of a search."""
    hits = [
        SeenMemory(
            one.id,
            one.rank,
            one.combined_score,
            one.client_id,
            one.relevance >= RELEVANT,
            one.token_estimate,
        )
        for one in answer.items
    ]
    return Seen.of(
        query.query, hits, conversation_id=query.conversation_id, tokens=answer.tokens_used
    )
