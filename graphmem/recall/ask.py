"""Recall: the best context for a question within a token budget."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import partial

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.accesses import RELEVANT, Seen, SeenMemory
from graphmem.context import Context, a_few_at_once
from graphmem.model.times import END, period, zone_of
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import (
    KINDS,
    QUERY_CHARACTERS,
    GivenStep,
    Lack,
    Ranking,
    bare_id,
    marked_id,
    owner_of,
)
from graphmem.recall.abstaining import (
    Admitted,
    Judgement,
    judgement,
    least_relevance,
    relevance_by_id,
    relevant_enough,
    unheard_names,
)
from graphmem.recall.compose import Packing, pack, unmarked_item, unmarked_omitted
from graphmem.recall.types import ExplainedQuestion, Explanation, Question, Recalled
from graphmem.recall.why import (
    compared,
    exact_ranks,
    excluding,
    lifted,
    load_memory,
    sentence,
)
from graphmem.retrieval.expansion import Expansion, expand, joined
from graphmem.retrieval.filters import Filters, Sources, validity_asked
from graphmem.retrieval.finding import (
    CANDIDATES,
    Candidate,
    SearchedText,
    cut,
    find_best,
    load_candidates,
)
from graphmem.retrieval.fusion import best_first
from graphmem.retrieval.ranking import LONGEST_RANKED, Ranked, cues_of, ranked
from graphmem.retrieval.relevance import weighed_stems
from graphmem.retrieval.reranking import Reranked, fetch_texts, reranked
from graphmem.retrieval.understanding import Stopwatch, Understood, understand
from graphmem.retrieval.weighing import chat_share
from graphmem.text.named_times import told_days
from graphmem.text.words import terms

SEEDS = 5
"""The first memories, whose names are followed: on HotpotQA three gain as much, ten no more."""

HOP = "hop"
"""The name of the score that a hop adds."""


def is_prose(ranking: Sequence[Ranked]) -> bool:
    """Tell whether the memories are passages or long answers.

    A name connects a few of these; in a chat it connects nearly all messages, and says nothing.
    """
    return bool(ranking) and not chat_share(one.candidate.token_count for one in ranking)


async def chained(ranking: Sequence[Ranked], filters: Filters, context: Context) -> list[Ranked]:
    """Return a ranking of prose with the memories that are titled with a name in its first ones.

    Raises `Unavailable`.
    """
    best = ranking[0].score
    own = {one.id: min(1.0, max(0.0, one.score / best)) for one in ranking} if best > 0 else {}
    if not own:
        return list(ranking)
    expansion = await expand_in_each(
        {one.id: own[one.id] for one in ranking[:SEEDS]},
        own,
        context,
        hops=1,
        steps=["mentions"],
        sources=_sources(filters),
        titled_only=True,
    )
    reached = expansion.reached()
    others = [id for id in reached if id not in own]

    async def load(one: Context, ids: list[str]) -> Iterable[Candidate]:
        known = await load_candidates(ids, client_id=one.client_id, graph=one.graph)
        return known.values()

    found = await context.each_of(others, load)
    inherited = {id: row.inherited for id, row in reached.items()}
    return with_hop(ranking, own, inherited, {one.id: one for one in found})


async def expand_in_each(
    seeds: Mapping[str, float],
    own: Mapping[str, float],
    context: Context,
    *,
    hops: int,
    steps: Sequence[GivenStep] | None,
    sources: Sources,
    titled_only: bool = False,
) -> Expansion:
    """Follow the links of some memories, each inside its own client; see `expand`. Raises `Unavailable`."""

    def inside(scores: Mapping[str, float], one: Context) -> dict[str, float]:
        if not context.reads:
            return dict(scores)
        return {bare_id(id): score for id, score in scores.items() if owner_of(id) == one.mark}

    async def follow(one: Context) -> Expansion:
        return await expand(
            inside(seeds, one),
            inside(own, one),
            hops=hops,
            steps=steps,
            sources=sources,
            titled_only=titled_only,
            client_id=one.client_id,
            graph=one.graph,
        )

    every = context.every
    expansions = await a_few_at_once([partial(follow, one) for one in every])
    if not context.reads:
        return expansions[0]
    return Expansion.of_clients(
        {one.mark: part for one, part in zip(every, expansions, strict=True)}, own
    )


def with_hop(
    ranking: Sequence[Ranked],
    own: Mapping[str, float],
    inherited: Mapping[str, float],
    found: Mapping[str, Candidate],
) -> list[Ranked]:
    """Return a ranking with the scores that a hop adds, and with the memories that only the hop has found."""
    first, only = ranking[0], [Ranked(candidate=one, score=0.0) for one in found.values()]
    every = [*ranking, *only]
    gained = {
        one.id: first.score * joined(own.get(one.id, 0.0), inherited.get(one.id, 0.0)) - one.score
        for one in every
    }
    hop = {id: more for id, more in gained.items() if more > 0.0}
    signals, weights = {**first.signals, HOP: hop}, {**first.weights, HOP: 1.0}
    scored = {
        one.id: replace(
            one, score=one.score + hop.get(one.id, 0.0), signals=signals, weights=weights
        )
        for one in every
    }
    order = best_first((one.candidate for one in scored.values()), lambda one: scored[one.id].score)
    return [scored[one.id] for one in order]


def _sources(filters: Filters) -> Sources:
    wanted = filters.kind
    return Sources(
        kinds=frozenset(kind for kind in KINDS if wanted is None or kind in wanted),
        conversation_id=next(iter(filters.conversation_id or ()), None),
        tags=frozenset(filters.tags),
        since=filters.since,
        until=filters.until,
        validity=filters.validity,
    )


CANDIDATE_TOKENS = 40
"""The tokens for which a leg has one candidate: both legs then fill the budget with short messages too."""

MOST_CANDIDATES = 1_000
"""The maximum number of candidates of each leg, whatever the budget."""

MOST_DAYS_TOLD = 2
"""The number of times in a question whose memories are looked for by the time alone."""

OF_DAYS = 40
"""The number of candidates of each leg for such a time."""


async def recall(question: Question, context: Context) -> Recalled:
    """Return the memories that answer a question best, as a text of at most `max_tokens`.

    Other clients that may be read are asked too: one ranking, one budget, and each memory says whose it is.
    An unknown conversation gives the same empty answer as one without memories. If the embedding model fails,
    only words are searched and `degraded` contains `no_vector`; if it does not know the question's language,
    words and spelling lead and `degraded` contains `language`; without the word of a reranker that is set,
    `no_reranker`. Raises `InvalidInput`, `Unavailable`.
    """
    context = context.reading(question.reads)
    began = context.read_begins()
    answer = await _answer(question, context)
    context.record_read("recall", began, lambda: _seen(question, answer))
    return answer


class RankedSearch(Struct, frozen=True, kw_only=True):
    """A question after its search: the ranking of all candidates, and those that may answer."""

    asked: Understood
    filters: Filters
    ranking: list[Ranked]
    degraded: list[Lack]
    judge: Judgement
    admitted: Admitted
    by_worth: bool
    """Whether the budget is filled by worth: for the default order, unless a limit is set."""

    @property
    def weights(self) -> dict[str, float]:
        """The weights of the signals, the same for all candidates; empty without any."""
        return dict(self.ranking[0].weights) if self.ranking else {}


async def _answer(question: Question, context: Context) -> Recalled:
    watch = Stopwatch()
    search = await _search(question, context, watch)
    composed = (await _pack(search, question, context)).compose()
    watch.lap("compose")
    items = search.judge.judged(composed.items, search.admitted.relevance, composed.judged)
    if question.explain:
        items = lifted(items, search.ranking)
    return Recalled(
        items=[unmarked_item(one) for one in items],
        context=composed.context,
        tokens_used=composed.tokens_used,
        omitted=[unmarked_omitted(one) for one in composed.omitted],
        omitted_total=composed.omitted_total,
        abstained=question.may_abstain and not search.admitted.ranking,
        degraded=search.degraded,
        timings=watch.laps() if question.explain else None,
        weights=search.weights if question.explain else None,
    )


async def _search(question: Question, context: Context, watch: Stopwatch) -> RankedSearch:
    query = checked_text(question.query, "query", most_bytes=4 * QUERY_CHARACTERS)
    filters, zone = _filters(question), zone_of(question.time_zone)
    now = (question.as_of or context.now()).astimezone(zone)
    knowledge = context.calibration.knowledge
    asked = await understand(
        query,
        client_id=context.client_id,
        embedder=context.embedder,
        vocabulary=context.vocabulary,
        knowledge=knowledge,
        by_meaning=question.ranking != "bm25",
        by_words=question.ranking != "vector",
        beside=context.reads,
        today=now.date(),
    )
    watch.lap("embed")
    order: Ranking = "bm25" if asked.lacks_vector else question.ranking
    by_text = order == "default"
    longest_text = LONGEST_RANKED if by_text or asked.words else 0
    cues = (
        cues_of(query, asked.words, asked.weight, asked.spoken, knowledge, now) if by_text else None
    )
    found, unheard = await asyncio.gather(
        find_with_days(
            asked,
            filters,
            context,
            days=told_days(cues.times, now.date()) if cues else [],
            zone=zone,
            wanted=_candidates(question),
            longest_text=longest_text,
        ),
        unheard_names(asked, filters, context),
    )
    watch.lap("candidates")
    ranking = ranked(found, asked.words, order, cues)
    if by_text and is_prose(ranking):
        ranking = await chained(ranking, filters, context)
    watch.lap("rank")
    read = Reranked(ranking)
    if by_text and context.reranker is not None:
        read = await reranked(
            ranking, query, context.reranker, partial(_fetch_texts, context=context)
        )
        watch.lap("rerank")
    judge = judgement(asked, found, unheard, context.calibration, zone, now.date())
    return RankedSearch(
        asked=asked,
        filters=filters,
        ranking=read.ranking,
        degraded=[*asked.degraded, *read.degraded],
        judge=judge,
        admitted=await relevant_enough(read.ranking, question, judge, context),
        by_worth=by_text and question.limit is None,
    )


async def find_with_days(
    asked: Understood,
    filters: Filters,
    context: Context,
    *,
    days: Sequence[tuple[date, date]],
    zone: tzinfo,
    wanted: int = CANDIDATES,
    longest_text: int = 0,
) -> list[Candidate]:
    """Return the best candidates of each leg, then those of the first of some times; see `_find_of_days`."""
    found, of_days = await asyncio.gather(
        find_in_each(asked, filters, context, wanted=wanted, longest_text=longest_text),
        _find_of_days(asked, filters, context, days[:MOST_DAYS_TOLD], zone),
    )
    known = {one.id for one in found}
    return [*found, *(one for one in of_days if one.id not in known)]


async def _find_of_days(
    asked: Understood,
    filters: Filters,
    context: Context,
    days: Iterable[tuple[date, date]],
    zone: tzinfo,
) -> list[Candidate]:
    """Return the nearest memories of some times, each from its first to its last day in a zone.

    They are found though they share neither words nor meaning with the question; without its vector none. To
    search for its words at a time would read all memories with these. Raises `Unavailable`.
    """
    narrowed = [
        replace(filters, since=max(filters.since, since), until=min(filters.until, until))
        for since, until in (_moments(first, last, zone) for first, last in days)
    ]
    found = await asyncio.gather(
        *(
            find_in_each(
                asked, one, context, wanted=OF_DAYS, longest_text=LONGEST_RANKED, only_near=True
            )
            for one in narrowed
            if one.since < one.until
        )
    )
    return list({one.id: one for some in found for one in some}.values())


def _moments(first: date, last: date, zone: tzinfo) -> tuple[datetime, datetime]:
    """Return the beginning of a day and the end of another one in a zone, in UTC."""
    try:
        # The day on which clocks are changed has 23 or 25 hours.
        since, until = (
            datetime.combine(day, time.min, zone).astimezone(UTC)
            for day in (first, last + timedelta(days=1))
        )
        return since, until
    except OverflowError:
        return END, END


async def _fetch_texts(places: Mapping[str, int | None], *, context: Context) -> list[SearchedText]:
    """Return the texts that a reranker reads, those of each client from there."""

    async def fetch(one: Context, ids: list[str]) -> list[SearchedText]:
        own = {id: places[context.as_given(id, one)] for id in ids}
        return await fetch_texts(own, client_id=one.client_id, graph=one.graph)

    return await context.each_of(places, fetch)


async def find_in_each(
    asked: Understood,
    filters: Filters,
    context: Context,
    *,
    wanted: int = CANDIDATES,
    longest_text: int = 0,
    only_near: bool = False,
) -> list[Candidate]:
    """Return the best candidates of each leg over all clients that are read. Raises `Unavailable`."""
    found = await context.each(
        lambda one: find_best(
            asked.embedding,
            asked.words,
            filters,
            client_id=one.client_id,
            wanted=wanted,
            weight=asked.weight_in(one.client_id),
            spoken=asked.spoken,
            sample=asked.sample,
            longest_text=longest_text,
            graph=one.graph,
            embedder=one.embedder,
            only_near=only_near,
            # Those of a time are read by another statement than the others.
            detailed=not only_near,
        )
    )
    return cut(found, wanted) if context.reads else found


async def _pack(search: RankedSearch, question: Question, context: Context) -> Packing:
    return await pack(
        search.admitted.ranking,
        search.filters,
        context,
        words=weighed_stems(search.asked.words or terms(question.query), search.asked.weight),
        limit=question.limit,
        max_tokens=question.max_tokens,
        by_worth=search.by_worth,
        zone=zone_of(question.time_zone),
    )


async def explain(question: ExplainedQuestion, context: Context) -> Explanation:
    """Return the stage at which a memory falls out of the answer to a question, and by how much.

    Raises `InvalidInput`, `MemoryNotFound`, also for a memory of another client, and `Unavailable`.
    """
    filters = _filters(question)
    context, owner = context.reading(question.reads), context.of(question.client_id)
    unread = ["reads"] if owner.mark and owner.mark not in context.reads else []
    memory = await load_memory(question.memory_id, filters, owner)
    search = await _search(question, context, Stopwatch())
    explanation = Explanation(
        memory_id=memory.id,
        client_id=owner.mark or None,
        external_id=memory.external_id,
        kind=memory.kind,
        stage="filtered",
        filters=[*unread, *excluding(memory, question, filters)],
        superseded_by=memory.superseded_by,
        min_relevance=least_relevance(question),
        weights=search.weights,
        candidates=len(search.ranking),
        degraded=search.degraded,
    )
    places = {one.id: (rank, one) for rank, one in enumerate(search.ranking, 1)}
    if explanation.filters:
        pass
    elif place := places.get(marked_id(owner.mark, memory.id)):
        explanation = await _explain_ranked(explanation, *place, search, question, context)
    else:
        ranks, scores = await exact_ranks(memory, search.asked, filters, owner)
        explanation = replace(explanation, stage="not_a_candidate", ranks=ranks, scores=scores)
    return replace(explanation, reason=sentence(explanation))


async def _explain_ranked(
    explanation: Explanation,
    rank: int,
    one: Ranked,
    search: RankedSearch,
    question: Question,
    context: Context,
) -> Explanation:
    """Return the explanation of a candidate: its scores, and the memory that it lost against."""
    known = search.admitted.relevance
    if one.id not in known:
        known = await relevance_by_id([one], search.judge, context)
    admitted = [relevant.id for relevant in search.admitted.ranking]
    is_admitted = one.id in admitted
    if is_admitted:
        rank = admitted.index(one.id) + 1
    explanation = replace(
        explanation,
        relevance=known.get(one.id),
        rank=rank,
        score=one.score,
        scores=one.scores,
        ranks=dict(one.ranks),
    )
    if not is_admitted:
        return replace(explanation, stage="below_min_relevance")
    packing = await _pack(search, question, context)
    items = packing.compose().items
    if any(item.id == one.id for item in items):
        return replace(explanation, stage="taken")
    last = compared(items[-1]) if items else None
    needed, left = packing.room(one.candidate)
    beyond = len(items) == question.limit and last is not None and rank > last.rank
    return replace(
        explanation,
        stage="outranked" if beyond else "no_room",
        last_taken=last,
        tokens_needed=needed,
        tokens_left=left,
    )


def _candidates(question: Question) -> int:
    """Return the number of candidates of each leg: enough to fill the budget, or the limit if it is set."""
    if question.limit is not None:
        return max(CANDIDATES, question.limit)
    return max(CANDIDATES, min(question.max_tokens // CANDIDATE_TOKENS, MOST_CANDIDATES))


def _filters(question: Question) -> Filters:
    kinds, conversation = set(question.kinds or KINDS), question.conversation_id
    since, until = period(question.since, question.until)
    then = validity_asked(question.as_of, question.known_as_of, question.include_superseded)
    return Filters(
        kind=frozenset(kinds) if kinds != set(KINDS) else None,
        conversation_id=frozenset({conversation}) if conversation is not None else None,
        tags=frozenset(question.tags or ()),
        since=since,
        until=until,
        **asdict(then),
    )


def _seen(question: Question, answer: Recalled) -> Seen:
    """Return the record of a recall; it counts the memories that a search would call relevant."""
    hits = [
        SeenMemory(
            one.id, one.rank, one.score, one.client_id, one.relevance >= RELEVANT, one.token_count
        )
        for one in answer.items
    ]
    return Seen.of(
        question.query, hits, conversation_id=question.conversation_id, tokens=answer.tokens_used
    )
