"""Abstaining: the relevance of a memory by itself, and whether any memory answers at all."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, tzinfo
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context, a_few_at_once
from graphmem.graph.installation import Calibration
from graphmem.graph.query import Query
from graphmem.recall.compose import judged_texts, load_texts, read_whole, text_found
from graphmem.recall.types import Item, Question
from graphmem.retrieval.filters import Filters, scope_groups
from graphmem.retrieval.finding import Candidate
from graphmem.retrieval.ranking import Ranked
from graphmem.retrieval.relevance import (
    EVERYTHING,
    NAMES_SHARE,
    NEUTRAL,
    AskedWords,
    asked_names,
    asked_stems,
    asked_words,
    stems_in,
)
from graphmem.retrieval.understanding import Understood
from graphmem.text.named_times import (
    AskedFor,
    Time,
    Worded,
    asked_for,
    is_short,
    nearness,
    worded_times,
    words_at,
)
from graphmem.text.words import lucene_query, stem, terms

ENOUGH = 0.22
"""The relevance of the best memory from which a question counts as answered, unless the caller sets one.

Measured on LoCoMo (docs/benchmarks.md): from .25 on, one conversation in two loses more than 3 % of its
questions; at .2 the one that is most like the others answers a fifth of the questions to those.
"""

JUDGED = 20
"""The first memories of a ranking, which decide on abstaining: the others change nothing measurable."""

PASSAGE = 1_000
"""The characters within which words are counted together: a long log has a little of every question."""

LONGEST_JUDGED = 50_000
"""The characters that are judged of a text of which no passage was found: all texts are read at once."""

MANY_CHARACTERS = 50_000
"""The characters from which texts are judged in a thread: nothing else could be answered meanwhile."""


class NamedMemory(Struct, frozen=True):
    """A name of the question, by its place, that occurs in some memory."""

    place: int


NAMES_FOUND = Query("recall/names_found", NamedMemory)


class Judgement(Struct, frozen=True, kw_only=True):
    """Everything besides a memory on which its relevance depends."""

    asked: str
    words: AskedWords
    trust: float
    """Less than 1 if names of the question occur in no memory."""
    scale: Calibration
    days: Sequence[Worded] = ()
    """The times of at most a month that the question names, each with its words."""
    all_of: Sequence[Time] = ()
    """The times of a question that names at most kinds of memories beside: what was said then answers it."""
    asked_for: AskedFor = "a subject"
    zone: tzinfo = UTC
    """The time zone of the asker."""

    @property
    def is_for_any(self) -> bool:
        """Whether the question names neither a subject nor a time: the nearest memories answer it."""
        return self.asked_for != "a subject" and not self.all_of

    def relevance(
        self, cosine: float | None, name: str | None, moment: datetime, *texts: str
    ) -> float:
        """Return the relevance, 0–1, of a memory by its text, or by parts of it that were found.

        Without a cosine it is the share of the question's words. The speaker's name counts as a word of
        the message, as it does in its vector; so does the time when it was said, if the question names it and
        it is at most a month.
        """
        is_for_all = self.is_for_any and self.asked_for == "anything"
        if is_for_all or self.asked.strip() == EVERYTHING:
            return NEUTRAL
        share = self._share(name, moment, texts)
        if cosine is None:
            return self.trust * share
        return self.trust * self.words.relevance(cosine, share, self.scale)

    def _share(self, name: str | None, moment: datetime, texts: Iterable[str]) -> float:
        """Return the share of the question's words in a memory, 0–1."""
        if nearness(moment, self.all_of, self.zone) == 1.0:
            return 1.0
        beside = f"{name or ''} {words_at(moment, self.days, self.zone)}"
        return max(
            self.words.share(f"{beside} {passage}") for text in texts for passage in _passages(text)
        )

    def judged(
        self,
        items: Iterable[Item],
        known: Mapping[str, float],
        texts: Mapping[str, Sequence[str]],
    ) -> list[Item]:
        """Return the items with their relevance, the known one where there is one, else by these texts."""
        return [
            replace(
                one,
                relevance=known[one.id]
                if one.id in known
                else self.relevance(
                    one.scores.get("vector"), one.name, one.occurred_at, *texts[one.id]
                ),
            )
            for one in items
        ]


async def unheard_names(
    asked: Understood, filters: Filters, context: Context
) -> list[frozenset[str]]:
    """Return the names in a question, as stems, of which no word occurs in any memory that the filters pass.

    In no client that is read. A word that is common in a client's memories occurs, and is not looked up.
    """
    of_each = await a_few_at_once(
        [partial(_unheard_in, one, asked, filters) for one in context.every]
    )
    return [one for one in of_each[0] if all(one in others for others in of_each[1:])]


async def _unheard_in(
    context: Context, asked: Understood, filters: Filters
) -> list[frozenset[str]]:
    """Return the names of which no word occurs in any memory of one client."""
    common = frozenset(map(stem, asked.weight_in(context.client_id)))
    names = [(name, stems) for name in asked_names(asked.text) if (stems := asked_stems(name))]
    rare = [(name, stems) for name, stems in names if common.isdisjoint(stems)]
    if not rare or filters.impossible:
        return []
    scope = scope_groups(filters, context.client_id)
    rows = await context.graph.rows(
        NAMES_FOUND,
        client_id=context.client_id,
        names=[
            {"place": place, "words": lucene_query(terms(name), scope)}
            for place, (name, _) in enumerate(rare)
        ],
    )
    found = {row.place for row in rows}
    return [stems for place, (_, stems) in enumerate(rare) if place not in found]


def judgement(
    asked: Understood,
    found: Iterable[Candidate],
    unheard: Sequence[frozenset[str]],
    scale: Calibration,
    zone: tzinfo = UTC,
    today: date | None = None,
) -> Judgement:
    """Return the judgement of a question; the name of a speaker that was found is known.

    Relative times, as `yesterday`, count if the day of the question is given.
    """
    times = worded_times(asked.text, today)
    wanted = asked_for(asked.text, times)
    speakers = frozenset[str]().union(*map(stems_in, {one.name for one in found if one.name}))
    unknown = sum(speakers.isdisjoint(stems) for stems in unheard)
    return Judgement(
        asked=asked.text,
        words=asked_words(asked.text, scale.knowledge),
        trust=1 - NAMES_SHARE * unknown / max(len(asked_names(asked.text)), 1),
        scale=scale,
        days=[one for one in times if is_short(one[0])],
        all_of=[] if wanted == "a subject" else [time for time, _ in times],
        asked_for=wanted,
        zone=zone,
    )


class Admitted(Struct, frozen=True):
    """The ranked memories that may answer, and the relevance of those whose relevance decided."""

    ranking: list[Ranked]
    relevance: Mapping[str, float] = {}


def least_relevance(question: Question) -> float | None:
    """Return the relevance that an answer needs; None if any will do."""
    return ENOUGH if question.min_relevance is None and question.abstain else question.min_relevance


async def relevant_enough(
    ranking: Sequence[Ranked], question: Question, judge: Judgement, context: Context
) -> Admitted:
    """Return the ranked memories that may answer; none if the question abstains.

    With `min_relevance` those that reach it. With `abstain` alone all of them, if one of the first `JUDGED`
    is relevant enough, since the messages beside a relevant one belong to the answer too; or if the question
    names only kinds of memories, which share neither words nor much of their meaning with it.
    """
    least = question.min_relevance
    if least is None and not question.abstain:
        return Admitted(list(ranking))
    some = ranking[:JUDGED] if least is None else ranking
    known = await relevance_by_id(some, judge, context)
    if least is not None:
        return Admitted([one for one in ranking if known.get(one.id, -1.0) >= least], known)
    is_answered = judge.is_for_any or max(known.values(), default=0.0) >= ENOUGH
    return Admitted(list(ranking) if is_answered else [], known)


async def relevance_by_id(
    ranking: Sequence[Ranked], judge: Judgement, context: Context
) -> dict[str, float]:
    """Return the relevance of ranked memories; of those deleted meanwhile none."""
    if not ranking:
        return {}
    found = read_whole(one.candidate for one in ranking)
    stored = {id: text_found(one) for id, one in found.items()}
    if not stored:
        best = {
            one.id: one.candidate.passages[0].place for one in ranking if one.candidate.passages
        }
        rows = await load_texts(
            [one.id for one in ranking],
            context,
            around={id: {"first": place, "last": place} for id, place in best.items()},
            longest=LONGEST_JUDGED,
        )
        stored = {row.id: row for row in rows}
    texts = {
        one.id: judged_texts(one.candidate, stored[one.id]) for one in ranking if one.id in stored
    }

    def judged() -> dict[str, float]:
        return {
            one.id: judge.relevance(
                one.candidate.cosine,
                one.candidate.name,
                one.candidate.occurred_at,
                *texts[one.id],
            )
            for one in ranking
            if one.id in texts
        }

    characters = sum(len(text) for some in texts.values() for text in some)
    return judged() if characters < MANY_CHARACTERS else await asyncio.to_thread(judged)


def _passages(text: str) -> Iterator[str]:
    """Yield a text in parts of at most `PASSAGE` characters, cut between words."""
    start = 0
    while len(text) - start > PASSAGE:
        cut = text.rfind(" ", start, start + PASSAGE) + 1 or start + PASSAGE
        yield text[start:cut]
        start = cut
    yield text[start:]
