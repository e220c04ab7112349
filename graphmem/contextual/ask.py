"""Contextual retrieval: the sessions that answer, what was said in them, and what stands around it (S5)."""

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.contextual.assemble import Assembly, Chosen, NearbyTurn, SessionHead, assembled
from graphmem.contextual.narrowing import (
    COVERAGE_SHARE,
    WORDED_MESSAGES,
    answering,
    best_of_sessions,
    coverage,
    hybrid,
    in_order,
    session_standing,
)
from graphmem.contextual.session_messages import in_sessions
from graphmem.contextual.types import ContextualQuery, ContextualResult, OmittedTurn
from graphmem.embedding import Embedder
from graphmem.graph.driver import Graph
from graphmem.graph.installation import Calibration
from graphmem.graph.query import Query
from graphmem.model.text import checked_text
from graphmem.model.vocabulary import QUERY_CHARACTERS
from graphmem.recall.compose import compose
from graphmem.retrieval.candidates import Candidate, candidates
from graphmem.retrieval.filters import Filters
from graphmem.retrieval.holding import NOW_ONLY, Holding, holding_asked
from graphmem.retrieval.ranking import ranked
from graphmem.retrieval.relevance import asked_stems, lexical_relevance, matched_share, relevance
from graphmem.retrieval.sources import SEARCHED_TEXTS
from graphmem.retrieval.understanding import Understood, understood
from graphmem.retrieval.vocabulary import Vocabulary
from graphmem.sessions.related import related
from graphmem.sessions.types import RelatedSession
from graphmem.text.named_times import named_times
from graphmem.tokens import TokenCounter

SPARE_SESSIONS = 10
"""How many sessions more than wanted are looked at: some turn out to be irrelevant."""

BEGINNING_CHARACTERS = 200
"""How much of its first message stands for a session without a summary."""

MOST_CROSS_LINKS = 5
"""How many related sessions an answer names."""

FALLBACK_TOKENS = 2_048
"""How long the answer is that falls back on everything, unless something else is asked for."""


class Reading(Struct, frozen=True, kw_only=True):
    """A client, what reading its memories takes, and which of their versions are read."""

    client_id: str
    graph: Graph
    embedder: Embedder
    tokens: TokenCounter
    vocabulary: Vocabulary
    calibration: Calibration
    holding: Holding = NOW_ONLY


class Found(Struct, frozen=True):
    """What was found of sessions: by session the best of their messages or summaries, and their scores.

    `worded` are by session the messages that share most words with the question.
    """

    best: dict[str, list[Candidate]]
    scores: dict[str, float]
    worded: dict[str, list[Candidate]] = {}


NOTHING = Found({}, {})

SESSION_HEADS = Query("contextual/session_heads", SessionHead)
TURNS_AROUND = Query("contextual/turns_around", NearbyTurn)


async def contextual_search(query: ContextualQuery, reading: Reading) -> ContextualResult:
    """Return the sessions that answer, with their messages that do and what stands around these.

    With times what had been said, summarized and linked by then, as far as that was known. Where no
    session is relevant enough everything is searched, and `fallback` says so. An unknown
    conversation gives an empty answer. When the embedding model fails the words decide alone and `degraded`
    says so. Raises `InvalidInput`, `Unavailable`.
    """
    checked_text(query.query, "query", most_bytes=4 * QUERY_CHARACTERS)
    then = holding_asked(query.as_of, query.known_as_of, include_superseded=False)
    reading = replace(reading, holding=then)
    asked = await understood(
        query.query,
        client_id=reading.client_id,
        embedder=reading.embedder,
        vocabulary=reading.vocabulary,
    )
    chosen = await _chosen(query, asked, reading)
    if not chosen:
        return await _everything(query, asked, reading)
    ids = [one.head.id for one in chosen]
    hits, links = await asyncio.gather(
        _hits(query, asked, chosen, reading), _links(query, ids, reading)
    )
    turns = await _turns(hits, query.neighbours, reading)
    titles = await _titles(links, reading)
    assembly = Assembly(
        chosen=chosen,
        scores=_matching(hits, turns, asked, reading),
        turns=turns,
        links=[link for link in links if link.session_id in titles],
        titles=titles,
        neighbours=query.neighbours,
    )
    return await asyncio.to_thread(
        assembled, assembly, query.max_tokens, asked.degraded, reading.tokens
    )


async def _chosen(query: ContextualQuery, asked: Understood, reading: Reading) -> list[Chosen]:
    """Return the sessions that answer, the best first; none that is not relevant enough."""
    if query.narrowing == "soft":
        messages, summaries = await asyncio.gather(
            _messages(query, asked, reading), _summaries(query, asked, reading)
        )
        return await _relevant(query, asked, messages, summaries, set(), reading)
    summaries = await _summaries(query, asked, reading)
    by_summary = await _relevant(query, asked, NOTHING, summaries, set(), reading)
    if len(by_summary) >= query.top_sessions:
        return by_summary
    # A session without a summary is not invisible: it fills the places that summaries leave.
    messages = await _messages(query, asked, reading)
    known = {one.head.id for one in by_summary} | set(summaries.best)
    others = await _relevant(query, asked, messages, NOTHING, known, reading)
    plain = [one for one in others if one.head.summary_id is None]
    return [*by_summary, *plain][: query.top_sessions]


async def _messages(query: ContextualQuery, asked: Understood, reading: Reading) -> Found:
    """Return the sessions' best messages, those of a time that is named before their like."""
    found = await _found("message", query, asked, reading)
    scores = {
        one.id: score for one, score in answering(found, asked.words, named_times(asked.text))
    }
    bm25 = {one.id: one.bm25 for one in found if one.bm25 is not None}
    worded = [one for one in found if one.id in bm25]
    return Found(
        best_of_sessions(found, scores), scores, best_of_sessions(worded, bm25, WORDED_MESSAGES)
    )


async def _summaries(query: ContextualQuery, asked: Understood, reading: Reading) -> Found:
    found = await _found("session_summary", query, asked, reading)
    scores = hybrid(found)
    return Found(best_of_sessions(found, scores), scores)


async def _found(
    source_type: str | None, query: ContextualQuery, asked: Understood, reading: Reading
) -> list[Candidate]:
    return await candidates(
        asked.embedding,
        asked.words,
        _filters(query, reading, source_type),
        client_id=reading.client_id,
        weight=asked.weight,
        graph=reading.graph,
    )


def _filters(query: ContextualQuery, reading: Reading, source_type: str | None) -> Filters:
    conversation = query.conversation_id
    return Filters(
        source_type=frozenset({source_type}) if source_type else None,
        conversation_id=frozenset({conversation}) if conversation is not None else None,
        **asdict(reading.holding),
    )


async def _relevant(
    query: ContextualQuery,
    asked: Understood,
    messages: Found,
    summaries: Found,
    without: set[str],
    reading: Reading,
) -> list[Chosen]:
    """Return the best sessions that are relevant enough, by their summary or one of their messages."""
    standing = session_standing(messages.best, summaries.best, messages.scores, summaries.scores)
    pool = [id for id in in_order(standing) if id not in without]
    pool = pool[: 2 * query.top_sessions + SPARE_SESSIONS]
    told = {id: [*messages.best.get(id, []), *summaries.best.get(id, [])] for id in pool}
    worded = {id: messages.worded.get(id, []) for id in pool}
    heads, texts = await asyncio.gather(
        _heads(pool, reading),
        _searched([one for some in (told, worded) for of in some.values() for one in of], reading),
    )
    prior = _prior(asked, worded, texts)
    order = [id for id in pool if id in heads]
    order.sort(key=lambda session: heads[session].started_at, reverse=True)
    order.sort(key=lambda session: standing[session] + prior[session], reverse=True)
    stems = asked_stems(asked.text)

    def relevant(one: Candidate) -> float:
        return _relevance(asked, stems, one.cosine, texts.get(one.id, ""), reading.calibration)

    chosen = [
        Chosen(heads[id], max(map(relevant, told[id]), default=0.0), prior[id]) for id in order
    ]
    passing = [one for one in chosen if one.relevance > 0.0]
    return [one for one in passing if one.relevance >= query.min_relevance][: query.top_sessions]


def _prior(
    asked: Understood, worded: Mapping[str, Sequence[Candidate]], texts: Mapping[str, str]
) -> dict[str, float]:
    """Return for each session what it adds to its messages that it covers the question."""
    found = {id: [texts.get(one.id, "") for one in some] for id, some in worded.items()}
    covered = coverage(asked.words, asked.weight, found)
    return {id: COVERAGE_SHARE * share for id, share in covered.items()}


def _relevance(
    asked: Understood, stems: frozenset[str], cosine: float | None, text: str, scale: Calibration
) -> float:
    if cosine is None:
        return lexical_relevance(asked.text, text)
    return relevance(cosine, matched_share(stems, text), scale)


async def _hits(
    query: ContextualQuery, asked: Understood, chosen: Sequence[Chosen], reading: Reading
) -> dict[str, list[tuple[Candidate, float]]]:
    """Return by session the messages that answer best, with their scores."""
    prior = {one.head.id: one.prior for one in chosen}
    found = await in_sessions(
        asked.embedding,
        asked.words,
        list(prior),
        client_id=reading.client_id,
        weight=asked.weight,
        holding=reading.holding,
        graph=reading.graph,
    )
    hits: dict[str, list[tuple[Candidate, float]]] = {id: [] for id in prior}
    for one, score in answering(found, asked.words, named_times(asked.text)):
        of_session = hits[one.session_id]
        if len(of_session) < query.top_k:
            of_session.append((one, score + prior[one.session_id]))
    return hits


async def _turns(
    hits: Mapping[str, Sequence[tuple[Candidate, float]]], reach: int, reading: Reading
) -> dict[str, list[NearbyTurn]]:
    """Return by session the hits and what stands around them, in their order."""
    rows = await reading.graph.rows(
        TURNS_AROUND,
        client_id=reading.client_id,
        places=[
            {"session_id": one.session_id, "idx": one.idx}
            for of_session in hits.values()
            for one, _ in of_session
        ],
        before=reach,
        after=reach + 1,
        **reading.holding.of_messages,
    )
    turns: dict[str, list[NearbyTurn]] = {id: [] for id in hits}
    for row in sorted(rows, key=lambda row: row.idx):
        turns[row.session_id].append(row)
    return turns


def _matching(
    hits: Mapping[str, Sequence[tuple[Candidate, float]]],
    turns: Mapping[str, Sequence[NearbyTurn]],
    asked: Understood,
    reading: Reading,
) -> dict[str, float]:
    """Return the hits that match by their meaning or a word, with their scores."""
    stems = asked_stems(asked.text)
    texts = {turn.id: turn.content for some in turns.values() for turn in some}
    return {
        one.id: score
        for of_session in hits.values()
        for one, score in of_session
        if one.id in texts
        and _relevance(asked, stems, one.cosine, texts[one.id], reading.calibration) > 0.0
    }


async def _links(
    query: ContextualQuery, shown: Sequence[str], reading: Reading
) -> list[RelatedSession]:
    """Return the sessions that those shown are related to, without these: once for each reason."""
    found = await related(
        shown,
        client_id=reading.client_id,
        conversation_id=query.conversation_id,
        holding=reading.holding,
        graph=reading.graph,
    )
    links: dict[tuple[str, str], RelatedSession] = {}
    for link in found:
        if link.session_id not in shown:
            links.setdefault((link.session_id, link.basis), link)
    named = list(dict.fromkeys(id for id, _ in links))[:MOST_CROSS_LINKS]
    return [link for link in links.values() if link.session_id in named]


async def _titles(links: Sequence[RelatedSession], reading: Reading) -> dict[str, str]:
    """Return what heads each of the sessions that are linked: its summary, else its first message."""
    titles = {link.session_id: link.summary for link in links if link.summary}
    plain = [link.session_id for link in links if not link.summary]
    heads = await _heads(plain, reading) if plain else {}
    return titles | {id: head.title for id, head in heads.items()}


async def _heads(session_ids: Sequence[str], reading: Reading) -> dict[str, SessionHead]:
    rows = await reading.graph.rows(
        SESSION_HEADS,
        client_id=reading.client_id,
        session_ids=list(dict.fromkeys(session_ids)),
        characters=BEGINNING_CHARACTERS,
        **reading.holding.of_versions,
    )
    return {row.id: row for row in rows}


async def _searched(found: Sequence[Candidate], reading: Reading) -> dict[str, str]:
    rows = await reading.graph.rows(
        SEARCHED_TEXTS, client_id=reading.client_id, ids=sorted({one.id for one in found})
    )
    return {row.id: row.text for row in rows}


async def _everything(
    query: ContextualQuery, asked: Understood, reading: Reading
) -> ContextualResult:
    """Return what a search over everything finds, flagged as such."""
    found = await _found(None, query, asked, reading)
    composed = await compose(
        ranked(found, asked.words, "bm25" if asked.degraded else "default"),
        limit=query.top_sessions * query.top_k,
        max_tokens=query.max_tokens or FALLBACK_TOKENS,
        client_id=reading.client_id,
        graph=reading.graph,
        tokens=reading.tokens,
    )
    sessions = {one.id: one.session_id for one in found}
    return ContextualResult(
        contexts=[],
        cross_links=[],
        fallback="global",
        items=composed.items,
        prompt=composed.context,
        tokens_used=composed.tokens_used,
        omitted=[
            OmittedTurn(
                id=one.id,
                session_id=sessions[one.id] or None,
                hit=True,
                tokens=one.tokens,
                reason=one.reason,
            )
            for one in composed.omitted
        ],
        omitted_total=composed.omitted_total,
        degraded=asked.degraded,
    )
