"""Contextual retrieval: the sessions that answer, their messages that do, and the messages around these.

A search passes four stages, each of which adds to the value of the one before: `ContextualSearch` (the
question), `NarrowedSearch` (sessions), `AnsweredSearch` (hits and related sessions), `SurroundedSearch`
(the messages around the hits).
"""

import asyncio
import itertools
from collections.abc import Mapping, Sequence

from msgspec.structs import asdict, replace

from graphmem.accesses import RELEVANT, Seen, SeenMemory
from graphmem.context import Context
from graphmem.contextual.assemble import (
    AnsweredSearch,
    NearbyTurn,
    SurroundedSearch,
    assembled,
)
from graphmem.contextual.narrowing import (
    ContextualSearch,
    NarrowedSearch,
    answering,
    by_time,
    filters_of,
    find_candidates,
    load_heads,
    narrow,
)
from graphmem.contextual.types import ContextualQuery, ContextualResult, OmittedTurn
from graphmem.graph.installation import Calibration
from graphmem.graph.query import Query
from graphmem.model.times import zone_of
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import QUERY_CHARACTERS, bare_id
from graphmem.recall.abstaining import judgement, unheard_names
from graphmem.recall.compose import pack, unmarked_item
from graphmem.retrieval.filters import NOW, Filters, Validity, passing, scope_groups, validity_asked
from graphmem.retrieval.finding import (
    CANDIDATES,
    Candidate,
    IndexQuery,
    find_best,
    find_by_passages,
    with_own_words,
    with_passages,
)
from graphmem.retrieval.ranking import LONGEST_RANKED
from graphmem.retrieval.relevance import EVERYTHING, asked_words, meaning, weighed_stems
from graphmem.retrieval.understanding import Understood, understand
from graphmem.search.ask import load_whole
from graphmem.sessions.related import RelatedSession, find_related_sessions
from graphmem.text.named_times import named_days, named_times
from graphmem.text.words import lucene_query

IN_SESSION = 500
"""The most messages of a session that are ranked: the nearest ones."""

MOST_CROSS_LINKS = 5
"""The most related sessions of an answer."""

FALLBACK_TOKENS = 2_048
"""The length of an answer that falls back on everything, unless `max_tokens` is given."""

Hits = dict[str, list[tuple[Candidate, float]]]

CANDIDATES_IN_SESSIONS = Query("contextual/candidates_in_sessions", Candidate)
TURNS_AROUND = Query("contextual/turns_around", NearbyTurn)


async def search_contextual(query: ContextualQuery, context: Context) -> ContextualResult:
    """Return the sessions that answer, with their messages that do and the messages around these.

    Other clients that may be read are asked too, and each session says whose it is. With `as_of` or
    `known_as_of` only the messages, summaries and links of that time are found. When no session is relevant
    enough everything is searched, and `fallback` is `global`. An unknown conversation gives an empty answer.
    When the embedding model fails the words alone decide, and `degraded` holds `no_vector`. Raises
    `InvalidInput`, `Unavailable`.
    """
    context = context.reading(query.reads)
    began = context.read_begins()
    answer = await _answer(await _understand(query, context), context)
    context.record_read("contextual", began, lambda: _seen(query, answer))
    return answer


async def _understand(query: ContextualQuery, context: Context) -> ContextualSearch:
    checked_text(query.query, "query", most_bytes=4 * QUERY_CHARACTERS)
    validity = validity_asked(query.as_of, query.known_as_of, include_superseded=False)
    zone = zone_of(query.time_zone)
    today = (query.as_of or context.now()).astimezone(zone).date()
    question = await understand(
        query.query,
        client_id=context.client_id,
        embedder=context.embedder,
        vocabulary=context.vocabulary,
        knowledge=context.calibration.knowledge,
        beside=context.reads,
        today=today,
    )
    return ContextualSearch(
        query=query,
        question=question,
        words=asked_words(query.query, context.calibration.knowledge),
        knowledge=context.calibration.knowledge,
        times=named_times(query.query, today),
        days=named_days(query.query, today),
        today=today,
        zone=zone,
        validity=validity,
    )


async def _answer(search: ContextualSearch, context: Context) -> ContextualResult:
    narrowed = await narrow(search, context)
    if not narrowed.sessions:
        return await _search_everything(search, context)
    surrounded = await _surround(await _find_messages(narrowed, context), context)
    return await asyncio.to_thread(assembled, surrounded, context.tokens)


async def _find_messages(search: NarrowedSearch, context: Context) -> AnsweredSearch:
    hits, links = await asyncio.gather(_find_hits(search, context), _find_links(search, context))
    return AnsweredSearch(**asdict(search), hits=hits, links=links)


async def _find_hits(search: NarrowedSearch, context: Context) -> Hits:
    """Return by session the messages that answer best, with their scores."""
    prior = {one.head.id: one.prior for one in search.sessions}
    found = await context.each_of(
        prior,
        lambda one, ids: find_in_sessions(
            search.question,
            ids,
            one,
            validity=search.validity,
            tags=frozenset(search.query.tags or ()),
        ),
    )
    if search.words.letters:
        found = await load_whole(found, search.question.embedding, context)
    hits: Hits = {id: [] for id in prior}
    for one, score in answering(found, search):
        of_session = hits[one.session_id]
        if len(of_session) < search.query.top_k:
            of_session.append((one, score + prior[one.session_id]))
    return hits


async def find_in_sessions(
    question: Understood,
    session_ids: Sequence[str],
    context: Context,
    *,
    validity: Validity = NOW,
    tags: frozenset[str] = frozenset(),
) -> list[Candidate]:
    """Return the messages of some sessions, each with its exact cosine and its score by words.

    Reads nothing but these sessions. Without a vector the messages that share words. Raises `Unavailable`.
    """
    inside = Filters(
        kind=frozenset({"message"}),
        session_id=frozenset(session_ids),
        tags=tags,
        **asdict(validity),
    )
    weight = question.weight_in(context.client_id)
    if question.embedding is None:
        return await find_best(
            None,
            question.words,
            inside,
            client_id=context.client_id,
            wanted=IN_SESSION,
            weight=weight,
            spoken=question.spoken,
            sample=question.sample,
            longest_text=LONGEST_RANKED,
            graph=context.graph,
        )
    groups = scope_groups(inside, context.client_id)
    # Texts are read for their words only.
    asked = IndexQuery(
        embeddings=[question.embedding],
        words=question.words,
        weight=weight,
        spoken=question.spoken,
        filters=inside,
        wanted=CANDIDATES,
        sample=question.sample,
        longest_text=LONGEST_RANKED if question.words else 0,
    )
    found, long = await asyncio.gather(
        context.graph.rows(
            CANDIDATES_IN_SESSIONS,
            client_id=context.client_id,
            session_ids=list(session_ids),
            embedding=question.embedding,
            words=lucene_query(question.words, groups, weight, question.spoken),
            limit=IN_SESSION,
            tags=passing(tags),
            longest=asked.longest_text,
            **validity.of_messages,
        ),
        find_by_passages(
            asked, client_id=context.client_id, graph=context.graph, embedder=context.embedder
        ),
    )
    if weighed := asked.weighed:
        found = with_own_words(found, weighed)
    return with_passages(found, long.found)


async def _find_links(search: NarrowedSearch, context: Context) -> list[RelatedSession]:
    """Return the sessions that the chosen ones are related to, without these: once for each reason."""
    chosen = [one.head.id for one in search.sessions]
    found = await find_related_sessions(
        chosen, context, conversation_id=search.query.conversation_id, validity=search.validity
    )
    links: dict[tuple[str, str], RelatedSession] = {}
    if context.reads:
        found = sorted(found, key=lambda link: -link.score)
    for link in found:
        if link.session_id not in chosen:
            links.setdefault((link.session_id, link.basis), link)
    named = list(dict.fromkeys(id for id, _ in links))[:MOST_CROSS_LINKS]
    return [link for link in links.values() if link.session_id in named]


async def _surround(search: AnsweredSearch, context: Context) -> SurroundedSearch:
    turns = await _load_turns(search, context)
    return SurroundedSearch(
        **asdict(search),
        turns=turns,
        scores=_matching(search, turns, context.calibration),
        titles=await _load_titles(search, context),
    )


async def _load_turns(search: AnsweredSearch, context: Context) -> dict[str, list[NearbyTurn]]:
    """Return by session the hits and the messages around them, in their order."""
    reach = search.query.neighbours
    found = {one.id: one for some in search.hits.values() for one, _ in some}

    async def load(one: Context, ids: list[str]) -> list[NearbyTurn]:
        hits = [found[context.as_given(id, one)] for id in ids]
        return await one.graph.rows(
            TURNS_AROUND,
            client_id=one.client_id,
            places=[
                {
                    "session_id": bare_id(hit.session_id) if one.mark else hit.session_id,
                    "idx": hit.idx,
                }
                for hit in hits
            ],
            before=reach,
            after=reach + 1,
            **search.validity.of_messages,
        )

    rows = await context.each_of(found, load)
    turns: dict[str, list[NearbyTurn]] = {id: [] for id in search.hits}
    for row in sorted(rows, key=lambda row: row.idx):
        turns[row.session_id].append(row)
    return turns


def _matching(
    search: AnsweredSearch, turns: Mapping[str, Sequence[NearbyTurn]], scale: Calibration
) -> dict[str, float]:
    """Return the hits that are relevant by their meaning or a word, with their scores."""
    texts = {turn.id: turn.content for some in turns.values() for turn in some}
    hits = [hit for of_session in search.hits.values() for hit in of_session]
    of_time = search.ids_of_time(one for one, _ in hits)
    return {
        one.id: score
        for one, score in hits
        if one.id in texts
        and (one.id in of_time or search.relevance(one.cosine, texts[one.id], scale) > 0.0)
    }


async def _load_titles(search: AnsweredSearch, context: Context) -> dict[str, str]:
    """Return the titles of the related sessions: the summary, else the first message."""
    titles = {link.session_id: link.summary for link in search.links if link.summary}
    plain = [link.session_id for link in search.links if not link.summary]
    heads = await load_heads(plain, search.validity, context) if plain else {}
    return titles | {id: head.title for id, head in heads.items()}


async def _search_everything(search: ContextualSearch, context: Context) -> ContextualResult:
    """Return the answer of a search over everything, marked as a fallback."""
    query, question = search.query, search.question
    candidates = await find_candidates(search, context)
    of_time = search.ids_of_time(candidates)
    found = [
        one
        for one in candidates
        if query.query.strip() == EVERYTHING
        or one.id in of_time
        or _matches(one, context.calibration)
    ]
    filters = filters_of(search)
    judge = judgement(
        question,
        found,
        await unheard_names(question, filters, context),
        context.calibration,
        search.zone,
        search.today,
    )
    packing = await pack(
        [one for one, _ in by_time(found, search, "bm25" if question.lacks_vector else "default")],
        filters,
        context,
        words=weighed_stems(question.words, question.weight),
        limit=query.top_sessions * query.top_k,
        max_tokens=query.max_tokens or FALLBACK_TOKENS,
        zone=search.zone,
    )
    composed = packing.compose()
    sessions = {one.id: bare_id(one.session_id) if one.owner else one.session_id for one in found}
    return ContextualResult(
        contexts=[],
        cross_links=[],
        fallback="global",
        items=[unmarked_item(one) for one in judge.judged(composed.items, {}, composed.judged)],
        prompt=composed.context,
        tokens_used=composed.tokens_used,
        omitted=[
            OmittedTurn(
                id=bare_id(one.id) if one.client_id else one.id,
                client_id=one.client_id,
                session_id=sessions.get(one.id) or None,
                hit=True,
                tokens=one.tokens,
                reason=one.reason,
            )
            for one in composed.omitted
        ],
        omitted_total=composed.omitted_total,
        degraded=question.degraded,
    )


def _matches(found: Candidate, scale: Calibration) -> bool:
    """Tell whether a memory means anything that was asked, or shares a word with it."""
    return found.bm25 is not None or meaning(found.cosine or 0.0, scale) > 0.0


def _seen(query: ContextualQuery, answer: ContextualResult) -> Seen:
    """Return the record of the hits; when no session was relevant enough none counts as found.

    A question that is answered with a session of another client is not kept, whether or not it shows a hit.
    """
    ranks = itertools.count(1)
    hits = [
        SeenMemory(one.id, next(ranks), one.score or 0.0, context.client_id, is_relevant=True)
        for context in answer.contexts
        for one in context.messages
        if one.hit
    ]
    hits += [
        SeenMemory(one.id, next(ranks), one.score, one.client_id, one.relevance >= RELEVANT)
        for one in answer.items
    ]
    question = "" if any(one.client_id for one in answer.contexts) else query.query
    seen = Seen.of(question, hits, conversation_id=query.conversation_id, tokens=answer.tokens_used)
    return replace(seen, found=0 if answer.fallback else len(hits))
