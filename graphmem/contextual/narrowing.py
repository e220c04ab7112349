"""Narrowing: the sessions that answer a question, chosen by their summaries and their messages."""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict

from graphmem.context import Context
from graphmem.contextual.types import ContextualQuery, Narrowing
from graphmem.graph.installation import Calibration
from graphmem.graph.query import Query
from graphmem.model.vocabulary import Ranking
from graphmem.recall.ask import find_with_days
from graphmem.retrieval.filters import Filters, Validity
from graphmem.retrieval.finding import SEARCHED_TEXTS, Candidate
from graphmem.retrieval.fusion import DENSE_SHARE, Scores, by_maximum, min_max, weighted
from graphmem.retrieval.knowledge import Knowledge
from graphmem.retrieval.ranking import LONGEST_RANKED, Cues, Ranked, cues_of, ranked
from graphmem.retrieval.relevance import (
    NAMES_SHARE,
    AskedWords,
    asked_names,
    asked_stems,
    lexical_relevance,
    stems_in,
)
from graphmem.retrieval.understanding import Understood
from graphmem.retrieval.weighing import WORDED_MESSAGES
from graphmem.text.named_times import (
    Time,
    Worded,
    nearness,
    short_times,
    told_days,
    words_at,
)

BEST_MESSAGES = 3
"""The best messages of a session that decide its relevance."""

TIME_SHARE = 0.4
"""The score that a message gains for a time that the question names: its text seldom names the time."""

COVERAGE_SHARE = 0.3
"""The score that a session gains when all words of the question occur somewhere in it.

Together with the time it brings a session with evidence among the first three for 92 % of LoCoMo's
questions, where the order of recall's hits does for 88 %; each alone gains one and a half to two points.
"""

SUMMARY_SHARE = 0.05
"""The share of a session's best summary: in the session's own words it adds little to the messages."""

SPARE_SESSIONS = 10
"""The sessions that are examined beyond those wanted: some turn out to be irrelevant."""

ENOUGH: Mapping[Narrowing, float] = {"soft": 0.25, "hard": 0.05}
"""The relevance of the best session from which a question counts as answered, unless the caller sets one.

Measured on LoCoMo (docs/benchmarks.md): higher ones cost more than a point of the questions the session that
answers them. Summaries alone lie farther from questions than messages do.
"""

RELATIVE_ENOUGH: float = 0.3
"""The share of the best session's relevance that the others need, unless the caller sets `min_relevance`.

It costs no question of LoCoMo its evidence among three sessions, and leaves out the sessions that have only
words in common with the question (docs/benchmarks.md).
"""

BEGINNING_CHARACTERS = 200
"""The characters of its first message that stand for a session without a summary."""

One = TypeVar("One")


class SessionHead(Struct, frozen=True, kw_only=True):
    """A session's names and its current summary, or its beginning."""

    id: str
    external_id: str
    conversation_id: str
    started_at: datetime
    summary_id: str | None
    summary: str | None
    beginning: str | None

    @property
    def title(self) -> str:
        """Its summary, else its first message."""
        return self.summary or self.beginning or self.external_id


class ChosenSession(Struct, frozen=True):
    """A session that answers, its relevance, 0–1, and the score that it adds to all of its messages."""

    head: SessionHead
    relevance: float
    prior: float = 0.0


class SessionMatches(Struct, frozen=True):
    """By session the best messages or summaries, and the scores of these.

    `worded` holds by session the messages that share most words with the question.
    """

    best: dict[str, list[Candidate]]
    scores: dict[str, float]
    worded: dict[str, list[Candidate]] = {}


NO_MATCHES = SessionMatches({}, {})


class PooledSession(Struct, frozen=True, kw_only=True):
    """A session that may answer, its score, and the candidates that decide on it."""

    id: str
    standing: float
    best: list[Candidate]
    worded: list[Candidate]


class ContextualSearch(Struct, frozen=True, kw_only=True):
    """The first stage of contextual retrieval: the question, embedded and its words weighed once."""

    query: ContextualQuery
    question: Understood
    words: AskedWords
    times: list[Time]
    """The times that the question names."""
    days: Sequence[Worded] = ()
    """Its days and the times told from its day, each with its words."""
    today: date | None = None
    """The day of the question in the zone of the asker; relative times are read if it is given."""
    zone: tzinfo = UTC
    """The time zone of the asker."""
    knowledge: Knowledge = {}
    """How well the embedding model knows languages."""
    validity: Validity
    """The times at which memories must be valid and known."""

    def relevance(self, cosine: float | None, text: str, scale: Calibration) -> float:
        """Return the relevance, 0–1, of a memory with this text."""
        if cosine is None and not self.words.letters:
            return lexical_relevance(self.question.text, text)
        share = self.words.share(text)
        return share if cosine is None else self.words.relevance(cosine, share, scale)

    def beside(self, one: Candidate) -> str:
        """Return the words that count for a memory beside its text: who spoke, and when."""
        return f"{one.name or ''} {words_at(one.occurred_at, self.days, self.zone)}"

    def ids_of_time(self, found: Iterable[Candidate]) -> frozenset[str]:
        """Return the ids of the memories of a time of at most a month that the question names."""
        times = short_times(self.times)
        return frozenset(
            one.id for one in found if nearness(one.occurred_at, times, self.zone) == 1.0
        )

    @property
    def cues(self) -> Cues | None:
        """The cues by which its messages are ranked, if the embedding model does not know its language."""
        if not self.words.letters:
            return None
        asked = self.question
        return cues_of(asked.text, asked.words, asked.weight, asked.spoken, self.knowledge)

    def enough(self, found: Sequence[ChosenSession], narrowing: Narrowing) -> list[ChosenSession]:
        """Return the sessions that are relevant enough, none if the best is not."""
        best = max((one.relevance for one in found), default=0.0)
        given = self.query.min_relevance
        if given is not None:
            return list(found) if best >= given else []
        if best < ENOUGH[narrowing]:
            return []
        return [one for one in found if one.relevance >= RELATIVE_ENOUGH * best]

    def session_relevance(
        self, best: Sequence[Candidate], texts: Mapping[str, str], scale: Calibration
    ) -> float:
        """Return the relevance, 0–1, of a session: of its best meaning and its best share of the words.

        The name of who speaks counts as a word of the message, as it does in its vector; so does the time
        when it was said, if the question names it.
        """
        said = [(one, f"{self.beside(one)} {texts.get(one.id, '')}") for one in best]
        if any(one.cosine is None for one in best):
            return max((self.relevance(one.cosine, text, scale) for one, text in said), default=0.0)
        nearest = max((one.cosine or 0.0 for one in best), default=0.0)
        words = max((self.words.share(text) for _, text in said), default=0.0)
        return self.words.relevance(nearest, words, scale)


class NarrowedSearch(ContextualSearch, frozen=True, kw_only=True):
    """The second stage: with the sessions that answer, the best first."""

    sessions: list[ChosenSession]


SESSION_HEADS = Query("contextual/session_heads", SessionHead)


async def narrow(search: ContextualSearch, context: Context) -> NarrowedSearch:
    """Choose the sessions that answer, the best first; none when no session is relevant enough.

    By their messages alone if tags are wanted.
    """
    # Summaries have no tags.
    soft = search.query.narrowing == "soft" or search.query.tags
    choose = _choose_softly if soft else _choose_hard
    return NarrowedSearch(**asdict(search), sessions=await choose(search, context))


async def find_candidates(
    search: ContextualSearch, context: Context, *, source_type: str | None = None
) -> list[Candidate]:
    """Return the candidates of a source type, without one those of everything; also those of a named time."""
    asked, filters = search.question, filters_of(search, source_type)
    return await find_with_days(
        asked,
        filters,
        context,
        days=told_days(search.times, search.today) if search.today else [],
        zone=search.zone,
        longest_text=LONGEST_RANKED if asked.words else 0,
    )


def filters_of(search: ContextualSearch, source_type: str | None = None) -> Filters:
    """Return the filters of a source type, without one those of everything."""
    conversation = search.query.conversation_id
    return Filters(
        source_type=frozenset({source_type}) if source_type else None,
        conversation_id=frozenset({conversation}) if conversation is not None else None,
        tags=frozenset(search.query.tags or ()),
        **asdict(search.validity),
    )


async def load_heads(
    session_ids: Iterable[str],
    validity: Validity,
    context: Context,
    *,
    characters: int = BEGINNING_CHARACTERS,
) -> dict[str, SessionHead]:
    """Return the heads of existing sessions by id, with at most so many characters of their beginning."""
    rows = await context.each_of(
        dict.fromkeys(session_ids),
        lambda one, ids: one.graph.rows(
            SESSION_HEADS,
            client_id=one.client_id,
            session_ids=ids,
            characters=characters,
            **validity.of_versions,
        ),
    )
    return {row.id: row for row in rows}


async def _choose_softly(search: ContextualSearch, context: Context) -> list[ChosenSession]:
    """Choose by messages and summaries together."""
    messages, summaries = await asyncio.gather(
        _match_messages(search, context), _match_summaries(search, context)
    )
    chosen = await _choose_relevant(search, _pooled(messages, summaries), context)
    return search.enough(chosen, "soft")[: search.query.top_sessions]


async def _choose_hard(search: ContextualSearch, context: Context) -> list[ChosenSession]:
    """Choose by summaries first, and fill up with sessions that have none."""
    wanted = search.query.top_sessions
    summaries = await _match_summaries(search, context)
    summarized = await _choose_relevant(search, _pooled(NO_MATCHES, summaries), context)
    chosen = search.enough(summarized, "hard")[:wanted]
    if len(chosen) == wanted:
        return chosen
    messages = await _match_messages(search, context)
    known = {one.head.id for one in chosen} | set(summaries.best)
    pool = [one for one in _pooled(messages, NO_MATCHES) if one.id not in known]
    others = await _choose_relevant(search, pool, context)
    plain = [one for one in others if one.head.summary_id is None]
    return [*chosen, *search.enough(plain, "soft")][:wanted]


async def _match_messages(search: ContextualSearch, context: Context) -> SessionMatches:
    found = await find_candidates(search, context, source_type="message")
    order = answering(found, search)
    scores = {one.id: score for one, score in order}
    bm25 = {one.id: one.bm25 for one in found if one.bm25 is not None}
    worded = [one for one in found if one.id in bm25]
    return SessionMatches(
        best_of_sessions(found, scores), scores, best_of_sessions(worded, bm25, WORDED_MESSAGES)
    )


async def _match_summaries(search: ContextualSearch, context: Context) -> SessionMatches:
    found = await find_candidates(search, context, source_type="session_summary")
    scores = hybrid(found)
    return SessionMatches(best_of_sessions(found, scores), scores)


async def _choose_relevant(
    search: ContextualSearch, pool: Sequence[PooledSession], context: Context
) -> list[ChosenSession]:
    """Choose the sessions that are relevant by a summary or a message, the best first."""
    pool = pool[: 2 * search.query.top_sessions + SPARE_SESSIONS]
    heads, texts = await asyncio.gather(
        load_heads([one.id for one in pool], search.validity, context),
        _load_texts([one for session in pool for one in (*session.best, *session.worded)], context),
    )
    return _relevant(search, pool, heads, texts, context.calibration)


async def _load_texts(found: Sequence[Candidate], context: Context) -> dict[str, str]:
    rows = await context.each_of(
        sorted({one.id for one in found}),
        lambda one, ids: one.graph.rows(SEARCHED_TEXTS, client_id=one.client_id, ids=ids),
    )
    return {row.id: row.text for row in rows}


def _relevant(
    search: ContextualSearch,
    pool: Sequence[PooledSession],
    heads: Mapping[str, SessionHead],
    texts: Mapping[str, str],
    scale: Calibration,
) -> list[ChosenSession]:
    """Return the existing sessions that are relevant at all, the best first; ties go to the newer."""
    worded = {one.id: [texts.get(each.id, "") for each in one.worded] for one in pool}
    covered = coverage(search.question.words, search.question.weight, worded)
    prior = {id: COVERAGE_SHARE * share for id, share in covered.items()}
    trust = 1 - NAMES_SHARE * unknown_names(search.query.query, _said(pool, texts))
    order = [one for one in pool if one.id in heads]
    order.sort(key=lambda one: heads[one.id].started_at, reverse=True)
    order.sort(key=lambda one: one.standing + prior[one.id], reverse=True)
    chosen = [
        ChosenSession(
            heads[one.id], trust * search.session_relevance(one.best, texts, scale), prior[one.id]
        )
        for one in order
    ]
    return [one for one in chosen if one.relevance > 0.0]


def _said(pool: Sequence[PooledSession], texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the texts that decide on the sessions, each with the name of who speaks."""
    for session in pool:
        for one in (*session.best, *session.worded):
            yield f"{one.name or ''} {texts.get(one.id, '')}"


def _pooled(messages: SessionMatches, summaries: SessionMatches) -> list[PooledSession]:
    """Return the sessions of both, the best first."""
    standing = session_standing(messages.best, summaries.best, messages.scores, summaries.scores)
    return [
        PooledSession(
            id=id,
            standing=standing[id],
            best=[*messages.best.get(id, []), *summaries.best.get(id, [])],
            worded=messages.worded.get(id, []),
        )
        for id in in_order(standing)
    ]


def answering(
    found: Sequence[Candidate], search: ContextualSearch
) -> list[tuple[Candidate, float]]:
    """Return the messages as recall ranks them, with a bonus for those of a named time."""
    return [(one.candidate, score) for one, score in by_time(found, search)]


def by_time(
    found: Sequence[Candidate], search: ContextualSearch, ranking: Ranking = "default"
) -> list[tuple[Ranked, float]]:
    """Return the candidates in an order, with their scores, to which being of a named time adds."""
    times, zone = search.times, search.zone
    scored = [
        (one, one.score + TIME_SHARE * nearness(one.candidate.occurred_at, times, zone))
        for one in ranked(found, search.question.words, ranking, search.cues)
    ]
    return sorted(scored, key=lambda one: -one[1])


def hybrid(found: Sequence[Candidate]) -> Scores:
    """Return each candidate's cosine and words' score as one, 0–1."""
    cosines = {one.id: one.cosine for one in found if one.cosine is not None}
    bm25 = {one.id: one.bm25 for one in found if one.bm25 is not None}
    if not cosines:
        return by_maximum(bm25)
    return weighted([(DENSE_SHARE, min_max(cosines)), (1 - DENSE_SHARE, by_maximum(bm25))])


def best_of_sessions(
    found: Sequence[Candidate], scores: Mapping[str, float], most: int = BEST_MESSAGES
) -> dict[str, list[Candidate]]:
    """Return each session's best candidates, the best first; those of no session are left out."""
    best: dict[str, list[Candidate]] = defaultdict(list)
    for one in sorted(found, key=lambda one: (-scores[one.id], one.id)):
        if one.session_id and len(best[one.session_id]) < most:
            best[one.session_id].append(one)
    return dict(best)


def session_standing(
    messages: Mapping[str, Sequence[Candidate]],
    summaries: Mapping[str, Sequence[Candidate]],
    message_scores: Mapping[str, float],
    summary_scores: Mapping[str, float],
) -> Scores:
    """Return the score of each session: that of its best message, and a small share of its summary's."""
    return weighted(
        [
            (1.0, {id: message_scores[best[0].id] for id, best in messages.items()}),
            (SUMMARY_SHARE, {id: summary_scores[best[0].id] for id, best in summaries.items()}),
        ]
    )


def coverage(
    words: Iterable[str], weight: Mapping[str, float], texts: Mapping[str, Iterable[str]]
) -> Scores:
    """Return for each session the share of a question's words that its texts hold, 1 for the best, 0–1.

    Words that one message lacks are in another: the session as a whole answers the question. `weight`
    holds the words that weigh less than 1.
    """
    weights = {stem: weight.get(word, 1.0) for word in words for stem in asked_stems(word)}
    return by_maximum(
        {
            session: sum(
                weights[stem]
                for stem in weights.keys() & frozenset[str]().union(*map(stems_in, some))
            )
            for session, some in texts.items()
        }
    )


def unknown_names(question: str, said: Iterable[str]) -> float:
    """Return the share of a question's names of which no word occurs in the texts, 0–1; 0 without names."""
    asked = [asked_stems(name) for name in asked_names(question)]
    if not asked:
        return 0.0
    known = frozenset[str]().union(*map(stems_in, said))
    return sum(known.isdisjoint(one) for one in asked) / len(asked)


def in_order(scores: Mapping[str, float]) -> list[str]:
    """Return the ids by descending score; ties go to the lower id."""
    return sorted(scores, key=lambda one: (-scores[one], one))


def around(turns: Sequence[One], hits: Collection[int], reach: int) -> dict[int, list[int]]:
    """Return for each hit, by its index in `turns`, the indexes within reach that no hit before it has.

    A hit is not a neighbour of another hit.
    """
    taken = set(hits)
    neighbours: dict[int, list[int]] = {}
    for hit in sorted(hits):
        within = range(max(0, hit - reach), min(len(turns), hit + reach + 1))
        neighbours[hit] = [place for place in within if place not in taken]
        taken |= set(neighbours[hit])
    return neighbours
