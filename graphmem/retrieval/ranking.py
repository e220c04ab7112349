"""Ranking: the four orders of candidates, and their signals."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from graphmem.model.vocabulary import Leg, Ranking
from graphmem.retrieval.finding import Candidate
from graphmem.retrieval.fusion import (
    DENSE_SHARE,
    Scores,
    by_maximum,
    min_max,
    newest_first,
    reciprocal_rank,
    weighted,
)
from graphmem.retrieval.knowledge import KNOWN, Knowledge, knows
from graphmem.retrieval.relevance import stems_in
from graphmem.retrieval.understanding import spelling
from graphmem.retrieval.weighing import (
    Covered,
    asked_role,
    chat_share,
    completed,
    coverage,
    covered_words,
    neighbour_scores,
    session_coverage,
    session_prior,
    shortened,
    speaker_named,
    substance,
)
from graphmem.text.languages import (
    asked_kinds,
    function_words,
    is_doubtful,
    is_question,
    language,
    told_share,
)
from graphmem.text.named_times import NamedTime, Period, named_times, nearness, relative_words
from graphmem.text.passages import units

Name = TypeVar("Name", bound=str)
Value = TypeVar("Value", int, float)

LONGEST_RANKED = 2_000
"""The characters of the longest text whose words are compared with the question's."""


class Weights(Struct, frozen=True, kw_only=True):
    """The weights of the signals of the default score."""

    cosine: float
    words: float
    before: float
    """Of the score of the previous message."""
    after: float
    """Of the score of the next message."""
    around: float
    """Of the scores of the messages at distance 2."""
    session: float
    speaker: float
    time: float = 0.0
    coverage: float = 0.0
    completed: float = 0.0
    session_coverage: float = 0.0
    substance: float = 0.0


PLAIN = Weights(
    cosine=0.65, words=0.35, before=0.2, after=0.2, around=0.1, session=0.4, speaker=0.1
)
"""For a search that adds signals of its own, as contextual search does."""

PROSE = Weights(
    cosine=0.6, words=0.25, before=0.0, after=0.25, around=0.1, session=0.4, speaker=0.15, time=0.4
)
"""For long answers and passages; near those that BEAM learns. An answer follows its message."""

CHAT = Weights(
    cosine=0.5,
    words=0.25,
    before=0.2,
    after=0.15,
    around=0.1,
    session=0.4,
    speaker=0.2,
    time=0.7,
    coverage=0.4,
    completed=0.4,
    session_coverage=0.3,
    substance=0.25,
)
"""For short messages; learned on LoCoMo (`python -m bench.weights`), then adjusted by hand."""

BY_WORDS = ("words", "coverage", "completed", "session_coverage")
"""The weights that count as much as the words of the question occur at all."""

NEIGHBOURS = {"before": (-1,), "after": (1,), "around": (-2, 2)}
"""The offsets of the messages of each signal of neighbours."""

UNKNOWN = {
    "cosine": 0.4,
    "words": 0.15,
    "spelling": 1.0,
    "language": 1.0,
    "answer": 0.5,
    "statement": 0.5,
    "substance": 0.25,
    "speaker": 0.15,
    "time": 1.5,
}
"""For questions in a language that the embedding model does not know, whatever the kind of text."""

COMPARED_PASSAGES = 2
"""The passages of a long memory whose sentences are compared with a question in such a language."""

LEAST_SPOKEN = 0.1
"""The share of the found memories in a language from which one word in it makes a question one in it."""

BY_CONTEXT = ("before", "after", "around", "session")
"""The weights that count less where these words do not occur: the context of a wrong hit misleads."""


class Cues(Struct, frozen=True):
    """The cues in the text of a question: its words, with the share of each, and the times that it names."""

    shares: Mapping[str, float]
    """By stem; together they are 1."""
    times: Sequence[NamedTime | Period]
    spoken: str | None = None
    """The language of the question."""
    knowledge: Knowledge = {}
    """The embedding model's knowledge of languages."""
    query: str = ""
    zone: tzinfo = UTC
    """The time zone of the asker, in which the times are read."""

    @property
    def is_known(self) -> bool:
        """Whether the embedding model knows the question's language."""
        return knows(self.knowledge, self.spoken) >= KNOWN


def cues_of(
    query: str,
    words: Iterable[str],
    weight: Mapping[str, float],
    spoken: str | None = None,
    knowledge: Knowledge | None = None,
    now: datetime | None = None,
) -> Cues:
    """Return the cues of a question; `weight` has the words that weigh less than 1.

    Relative times, as `yesterday`, are read at `now`, the question's time in the asker's zone.
    """
    without = function_words(spoken) | (relative_words(query) if now else frozenset())
    words = [word for word in words if word not in without]
    weights = {found: weight.get(word, 1.0) for word in words for found in stems_in(word, spoken)}
    total = sum(weights.values())
    shares = {word: each / total for word, each in weights.items()}
    times = named_times(query, now and now.date())
    zone = now.tzinfo if now and now.tzinfo else UTC
    return Cues(shares, times, spoken, knowledge or {}, query, zone)


class Told(Struct, frozen=True):
    """The signals of the text of a question, and the greatest share of its words that a memory has."""

    signals: dict[str, Scores] = {}
    most: float = 0.0


class Ranked(Struct, frozen=True, kw_only=True):
    """A candidate with its score, and the signals and places of its whole ranking, by the ids found."""

    candidate: Candidate
    score: float
    signals: Mapping[str, Scores] = {}
    places: Mapping[Leg, Mapping[str, int]] = {}
    weights: Mapping[str, float] = {}
    """The weights of the scores whose weighted sum is the score; none for `rrf`, which adds up ranks."""
    found_id: str | None = None
    """The id of the version that was found, if its head has taken its place."""

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.candidate.id

    @property
    def scores(self) -> dict[str, float]:
        """All signals of its score."""
        return self._own(self.signals)

    @property
    def ranks(self) -> dict[Leg, int]:
        """Its rank in each leg that has found it."""
        return self._own(self.places)

    def _own(self, every: Mapping[Name, Mapping[str, Value]]) -> dict[Name, Value]:
        id = self.found_id or self.id
        return {name: values[id] for name, values in every.items() if id in values}


def ranked(
    found: Sequence[Candidate],
    words: Sequence[str],
    ranking: Ranking,
    cues: Cues | None = None,
) -> list[Ranked]:
    """Return the candidates in order, best first; ties go to the newer, then to the lower id.

    With `cues` the default score also compares texts and times with the question.
    """
    cosines = {c.id: c.cosine for c in found if c.cosine is not None}
    bm25 = {c.id: c.bm25 for c in found if c.bm25 is not None}
    newest = newest_first(found)
    near = [c.id for c in newest if c.by_vector and c.id in cosines]
    worded = [c.id for c in newest if c.id in bm25]
    legs: dict[Leg, list[str]] = {
        "vector": sorted(near, key=cosines.__getitem__, reverse=True),
        "bm25": sorted(worded, key=bm25.__getitem__, reverse=True),
    }
    signals: dict[str, Scores] = {"vector": cosines, "bm25": bm25}
    weights: dict[str, float] = {}
    match ranking:
        case "vector":
            weights = {"vector": 1.0}
            scores = {id: cosines[id] for id in legs["vector"]}
        case "bm25":
            weights = {"bm25": 1.0}
            scores = dict(bm25)
        case "rrf":
            scores = reciprocal_rank(list(legs.values()))
        case "default":
            fused, weights = _fused(found, cosines, bm25, words, cues)
            signals |= fused
            scores = weighted([(weight, fused[name]) for name, weight in weights.items()])
    places: dict[Leg, dict[str, int]] = {
        leg: {id: rank for rank, id in enumerate(ids, start=1)} for leg, ids in legs.items()
    }
    scored = [c for c in newest if c.id in scores]
    order = sorted(scored, key=lambda c: scores[c.id], reverse=True)
    return [
        Ranked(
            candidate=candidate,
            score=scores[candidate.id],
            signals=signals,
            places=places,
            weights=weights,
        )
        for candidate in order
    ]


def _fused(
    found: Sequence[Candidate],
    cosines: Scores,
    bm25: Scores,
    words: Sequence[str],
    cues: Cues | None,
) -> tuple[dict[str, Scores], dict[str, float]]:
    """Return the signals of the default score, and the weights of those that count."""
    cosine, by_words = min_max(cosines), by_maximum(bm25)
    if cues and not cues.is_known and _is_name(cues, found):
        cues = replace(cues, spoken=None)
    if cues and cues.knowledge:
        cosine = _trusted(cosine, by_words, found, cues)
    # A memory that has lost its embedding may be among them, with neither a cosine nor a word.
    nothing = {one.id: 0.0 for one in found}
    hybrid = nothing | weighted([(DENSE_SHARE, cosine), (1 - DENSE_SHARE, by_words)])
    places = _places(found)
    lengths = {one.id: one.token_count for one in found}
    chat = chat_share(lengths.values())
    told = _told(found, bm25, cues, chat) if cues else Told()
    signals = {
        "hybrid": hybrid,
        "cosine": cosine,
        "words": by_words,
        **{
            name: neighbour_scores(hybrid, places, lengths, offsets)
            for name, offsets in NEIGHBOURS.items()
        },
        "session": session_prior(hybrid, _sessions(found)),
        "speaker": _speaker(found, words, cues),
        **told.signals,
    }
    weights = asdict(_weights(chat, told.most) if cues else PLAIN)
    if cues and not cues.is_known:
        signals |= _by_letters(found, cues) | {"substance": substance(lengths)}
        weights = UNKNOWN
    return signals, {name: weights[name] for name in signals if name in weights}


def _is_name(cues: Cues, found: Iterable[Candidate]) -> bool:
    """Tell whether a question has a word of a language as names have, and hardly a memory is in that."""
    if not is_doubtful(cues.query):
        return False
    told = [spoken for one in found if (spoken := language(one.text))]
    return told.count(cues.spoken or "") < LEAST_SPOKEN * len(told)


def _speaker(found: Sequence[Candidate], words: Sequence[str], cues: Cues | None) -> Scores:
    """Return 1 for the memories of the speaker whom the question names, else of the role it asks for."""
    named = speaker_named(words, {one.id: one.name for one in found})
    if named or cues is None:
        return named
    role = asked_role(cues.query, cues.spoken)
    return {one.id: 1.0 for one in found if role and one.role == role}


def _trusted(
    cosine: Scores, by_words: Scores, found: Iterable[Candidate], cues: Cues
) -> dict[str, float]:
    """Return the cosines, of texts in languages that the embedding model does not know the scores by words.

    The less it knows of a language, the more: a name that only such a text has would be outweighed by texts
    without it. A text of plain ASCII is taken for one that it knows, since finding out its language would
    cost time.
    """
    asked = knows(cues.knowledge, cues.spoken)
    if not asked:
        return cosine
    known = {
        one.id: min(asked, knows(cues.knowledge, language(one.text)))
        for one in found
        if not one.text.isascii()
    }
    return {
        id: value * (share := known.get(id, asked)) + by_words.get(id, 0.0) * (asked - share)
        for id, value in cosine.items()
    }


def _by_letters(found: Sequence[Candidate], cues: Cues) -> dict[str, Scores]:
    """Return the signals that need no knowledge of the question's meaning.

    Besides likeness of spelling: a question about a number is answered by a text with one, and seldom by a
    question. A run of letters is rare if it is so among the texts of its language.
    """
    parts = [
        (one.id, text)
        for one in found
        for text in _compared(one)
        if language(text) in (cues.spoken, None)
    ]
    names = {str(place): id for place, (id, _) in enumerate(parts)}
    texts = {str(place): text for place, (_, text) in enumerate(parts)}
    kinds = asked_kinds(cues.query, cues.spoken)
    signals: dict[str, Scores] = {
        "spelling": spelling(cues.query, texts),
        "language": dict.fromkeys(texts, 1.0),
        "answer": {name: told_share(text, kinds) for name, text in texts.items()},
        "statement": {name: float(not is_question(text)) for name, text in texts.items()},
    }
    return {name: _best_parts(scores, names) for name, scores in signals.items()}


def _compared(one: Candidate) -> list[str]:
    """Return the text of a memory; of a long one the sentences and lines of its best passages."""
    best = [passage.text for passage in one.passages if passage.text][:COMPARED_PASSAGES]
    return [unit.text for text in best for unit in units(text)] if best else [one.text]


def _best_parts(scores: Scores, names: Mapping[str, str]) -> dict[str, float]:
    """Return for each memory the highest score of its parts."""
    best: dict[str, float] = {}
    for part, score in scores.items():
        best[names[part]] = max(score, best.get(names[part], 0.0))
    return best


def _told(found: Sequence[Candidate], bm25: Scores, cues: Cues, chat: float) -> Told:
    """Return the signals that compare the candidates with the text of the question."""
    near = {one.id: nearness(one.occurred_at, cues.times, cues.zone) for one in found if cues.times}
    if not chat:
        return Told({"time": near})
    lengths = {one.id: one.token_count for one in found}
    covered = _covered([one for one in found if one.id in bm25], cues)
    shares = coverage(covered, cues.shares)
    both = completed(covered, _places(found), cues.shares)
    return Told(
        {
            "time": near,
            "coverage": shortened(shares, lengths),
            "completed": shortened(both, lengths),
            "session_coverage": session_coverage(covered, _sessions(found), bm25, cues.shares),
            "substance": substance(lengths),
        },
        max(shares.values(), default=0.0),
    )


def _covered(found: Sequence[Candidate], cues: Cues) -> Covered:
    """Return the stems of the question that each candidate has; most were counted when it was found."""
    asked = frozenset(cues.shares)
    texts = {one.id: one.text for one in found if not one.stems}
    covered = dict(covered_words(texts, cues.shares, cues.spoken))
    covered |= {one.id: one.stems & asked for one in found if one.stems & asked}
    return covered


def _weights(chat: float, most: float) -> Weights:
    """Return the weights between those of prose and of a chat; `most` is the best coverage of a question."""
    scale = dict.fromkeys(BY_WORDS, most) | dict.fromkeys(BY_CONTEXT, math.sqrt(most))
    prose = asdict(PROSE)
    mixed = {
        name: ((1 - chat) * prose[name] + chat * weight) * (1 - chat + chat * scale.get(name, 1.0))
        for name, weight in asdict(CHAT).items()
    }
    return Weights(**mixed)


def _sessions(found: Iterable[Candidate]) -> dict[str, str]:
    """Return the session of each candidate; one without, as a fact, is alone in its own."""
    return {one.id: one.session_id or one.id for one in found}


def _places(found: Iterable[Candidate]) -> dict[str, tuple[str, int]]:
    return {one.id: (one.session_id, one.idx) for one in found if one.idx is not None}
