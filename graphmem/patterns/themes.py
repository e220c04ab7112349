"""Themes: sessions that lie together by their meaning, though their words differ.

What all of a client's sessions share says nothing, so it is taken away first: cosines are those around
the mean of the sessions, and of few sessions, whose mean may be their one theme, around that of texts
that have nothing to do with each other. Sessions are then joined while the average cosine between two
groups is high enough (average linkage), which needs no number of themes; two groups that are themes by
themselves stay apart where they are much nearer inside than to each other.
"""

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from graphmem.text.extraction import phrases, sentences, shortened
from graphmem.text.words import stem, stems

JOINED = 0.16
"""How near two groups of sessions are, on average, to be one theme; cosine around the sessions' mean.

This and what follows was chosen on the sets of `bench/themes.py`: .12 to .18 do about as well there.
"""

APART = 0.8
"""Two groups of `THEME` sessions or more are one if as near as this share of how near they are inside."""

THEME = 3
"""How many sessions are a theme by themselves."""

ASKED = 0.12
"""How near the sessions of a theme are to a question about it, on average."""

ALONE = 0.26
"""How near a session that belongs to no theme must be to a question."""

FEW = 12
"""Below so many sessions their own mean says nothing."""

FEW_JOINED = 0.32
"""What `JOINED` is around the mean of unrelated texts: everything that people say lies nearer there."""

FEW_ASKED = 0.21
"""What `ASKED` is there."""

BESIDE = 0.6
"""How near another theme must be to a question, as a share of the nearest one's nearness."""

SEEN_CHARACTERS = 4_000
"""How much of a session is looked at for its words."""

TOLD_OF_EACH = 2
"""How many sentences of each session a theme's summary holds, and"""
TOLD = 24
"""how many in all."""

TOLD_CHARACTERS = 240
"""How long such a sentence may be."""

PAIR = 2
"""How many sessions at least make a theme that a question may find."""

NAMED_BY = 3
"""By how many words a theme is called."""

RHYTHMS: Sequence[tuple[float, str]] = (
    (0.5, "several times a day"),
    (1.5, "daily"),
    (4.0, "every few days"),
    (10.0, "weekly"),
    (21.0, "every two weeks"),
    (45.0, "monthly"),
    (math.inf, "seldom"),
)
"""Up to how many days between a session and the next, in the median, are called what."""

Matrix = list[list[float]]

Words = Mapping[str, Mapping[str, str]]
"""Sessions' telling words by their stems, by session."""


class Telling(Struct, frozen=True, kw_only=True):
    """One of a session's longest messages, and how near it lies to the question, or to its session."""

    id: str
    idx: int
    role: str
    name: str | None
    at: datetime
    text: str
    near: float


class Sessions(Struct, frozen=True, kw_only=True):
    """One session as the query shows it: what was said, and how near it lies to what comes before it.

    `cosines` are those to the sessions of the rows before this one; `common` and `asked` are the products
    with the unrelated texts' mean, whose square is `base`, and with the question, whose product with that
    mean is `asked_common`.
    """

    id: str
    external_id: str
    conversation_id: str
    at: datetime
    opening: str
    topics: list[str] = []
    """What its summaries name as that."""
    messages: list[Telling]
    cosines: list[float]
    common: float
    base: float
    asked: float
    asked_common: float

    @property
    def text(self) -> str:
        """What its longest messages say, the longest first."""
        return " ".join(one.text for one in self.messages)[:SEEN_CHARACTERS]

    @property
    def memory_ids(self) -> list[str]:
        """Its longest messages, the longest first."""
        return [one.id for one in self.messages]


class Space(Struct, frozen=True):
    """How near sessions lie to each other and to a question, without what all of them share."""

    near: Matrix
    asked: list[float]
    few: bool


class Theme(Struct, frozen=True):
    """Sessions that lie together, in the order of time."""

    sessions: list[Sessions]
    central: Sessions


def recurring(shown: list[Sessions], chosen: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each theme, the one with most sessions first, or for that of a question."""
    found = space(shown)
    if chosen["question"]:
        places = sorted({*answering(found), *naming(shown, chosen["question"])})
        groups = [places] if places else []
    else:
        groups = [group for group in together(found) if len(group) >= chosen["least"]]
    words = words_by_session(shown)
    rows = [_row(theme(group, shown, found), words) for group in groups]
    return sorted(rows, key=lambda row: (-row["sessions"], _newest(row["last_at"]), row["theme"]))


def space(shown: Sequence[Sessions]) -> Space:
    """Return how near sessions lie, around the mean of them or, of few, of unrelated texts."""
    count = len(shown)
    raw = [[0.0] * count for _ in shown]
    for place, one in enumerate(shown):
        raw[place][place] = 1.0
        for other, cosine in enumerate(one.cosines):
            raw[place][other] = raw[other][place] = cosine
    few = count < FEW
    # The product of each session with the mean, and of the mean with itself.
    shared = [one.common for one in shown] if few else [statistics.fmean(row) for row in raw]
    base = (shown[0].base if few else statistics.fmean(shared)) if shown else 0.0
    away = [math.sqrt(max(1.0 - 2.0 * one + base, 1e-9)) for one in shared]
    near = [
        [(raw[a][b] - shared[a] - shared[b] + base) / (away[a] * away[b]) for b in range(count)]
        for a in range(count)
    ]
    return Space(near, _asked(shown, shared, base, away, few), few)


def _asked(
    shown: Sequence[Sessions], shared: list[float], base: float, away: list[float], few: bool
) -> list[float]:
    """Return how near the question lies to each session, around the same mean."""
    if not shown:
        return []
    middle = shown[0].asked_common if few else statistics.fmean(one.asked for one in shown)
    length = math.sqrt(max(1.0 - 2.0 * middle + base, 1e-9))
    return [
        (one.asked - shared[place] - middle + base) / (away[place] * length)
        for place, one in enumerate(shown)
    ]


def together(found: Space) -> list[list[int]]:
    """Return the places of sessions by theme; one that belongs to none stands alone."""
    return joined(found.near, FEW_JOINED if found.few else JOINED)


class Group(Struct, frozen=True):
    """Places that were joined, how near they are inside, and the themes that they are."""

    places: list[int]
    themes: list[list[int]]
    nearness: float = 0.0
    """The sum over its pairs."""

    @property
    def inside(self) -> float:
        """The average over its pairs."""
        return self.nearness / math.comb(len(self.places), 2)


def joined(near: Matrix, least: float) -> list[list[int]]:
    """Return groups between which the average nearness is below `least` (average linkage), or `APART`.

    By chains of nearest neighbours (Benzécri 1982; Murtagh 1983): the same groups as always joining the
    nearest two, in quadratic time. What is joined into one is cut again from the top where both parts are
    themes that stand apart.
    """
    near = [list(row) for row in near]
    groups = {place: Group([place], [[place]]) for place in range(len(near))}
    open_places = set(groups)
    chain: list[int] = []
    while open_places:
        if not chain:
            chain.append(min(open_places))
        last = chain[-1]
        before = chain[-2] if len(chain) > 1 else None
        best = max(
            (other for other in open_places if other != last),
            key=lambda other: (near[last][other], other == before, -other),
            default=None,
        )
        if best is None or near[last][best] < least:
            # What is joined elsewhere comes no nearer: an average is at most its greatest.
            open_places.discard(chain.pop())
        elif best != before:
            chain.append(best)
        else:
            del chain[-2:]
            _join(near, groups, best, last)
            open_places.discard(last)
    themes = (theme for group in groups.values() for theme in group.themes)
    return sorted((sorted(theme) for theme in themes), key=lambda theme: theme[0])


def _join(near: Matrix, groups: dict[int, Group], one: int, other: int) -> None:
    """Put two groups under the first's place, with the averages of both."""
    first, second = len(groups[one].places), len(groups[other].places)
    groups[one] = _both(groups[one], groups.pop(other), near[one][other])
    for place in groups:
        average = (first * near[one][place] + second * near[other][place]) / (first + second)
        near[one][place] = near[place][one] = average


def _both(one: Group, other: Group, between: float) -> Group:
    """Return two groups as one, which is one theme unless they stand apart."""
    first, second = len(one.places), len(other.places)
    places = one.places + other.places
    apart = min(first, second) >= THEME and between < APART * min(one.inside, other.inside)
    return Group(
        places,
        one.themes + other.themes if apart else [places],
        one.nearness + other.nearness + between * first * second,
    )


def answering(found: Space) -> list[int]:
    """Return the places of the sessions on a question's theme: whole themes, and sessions of none."""
    least = FEW_ASKED if found.few else ASKED
    near = [
        (statistics.fmean(found.asked[place] for place in group), group)
        for group in together(found)
    ]
    best = max((nearness for nearness, _ in near), default=0.0)
    return sorted(
        place
        for nearness, group in near
        if nearness >= max(least if len(group) >= PAIR else ALONE, BESIDE * best)
        for place in group
    )


def naming(shown: Sequence[Sessions], question: str) -> list[int]:
    """Return the places of the sessions among whose topics stands a telling word of a question.

    A topic of most sessions tells none from the others.
    """
    asked = {stem(word.lower()) for phrase in phrases([question]) for word in phrase.split()}
    topics = [stems(" ".join(one.topics)) & asked for one in shown]
    common = Counter(key for one in topics for key in one)
    return [
        place
        for place, named in enumerate(topics)
        if any(2 * common[key] <= max(len(shown), PAIR * 2) for key in named)
    ]


def theme(group: Sequence[int], shown: Sequence[Sessions], found: Space) -> Theme:
    """Return the sessions of a group in the order of time, and the one that lies nearest to the others."""
    central = max(group, key=lambda one: (sum(found.near[one][other] for other in group), -one))
    sessions = sorted((shown[place] for place in group), key=lambda one: (one.at, one.id))
    return Theme(sessions, shown[central])


def called(some: Theme, words: Words) -> str:
    """Return the words that a theme's sessions share and others lack; else how its central one begins."""
    worth = telling_words(some, words)
    written: dict[str, Counter[str]] = {}
    for one in some.sessions:
        for key, word in words[one.id].items():
            written.setdefault(key, Counter())[word] += 1
    best = sorted(worth, key=lambda key: (-worth[key], key))[:NAMED_BY]
    return ", ".join(written[key].most_common(1)[0][0] for key in best) or some.central.opening


def telling_words(some: Theme, words: Words) -> dict[str, float]:
    """Return the stems that several of a theme's sessions share, and how much they tell it from others."""
    everywhere = Counter(key for said in words.values() for key in said)
    here = Counter(key for one in some.sessions for key in words[one.id])
    return {key: count * count / everywhere[key] for key, count in here.items() if count >= PAIR}


def told(some: Theme, words: Words) -> list[dict[str, Any]]:
    """Return what was said of a theme, in its sessions' own sentences, by time.

    Of each session the best sentences of different messages: those that hold most of the theme's words, in
    messages that lie near the question, or near the middle of their session where nothing was asked.
    """
    worth = telling_words(some, words)
    most = sum(sorted(worth.values())[-NAMED_BY:]) or 1.0
    best = [
        found
        for session in some.sessions
        for found in sorted(
            (_best(message, worth, most, session) for message in session.messages),
            key=lambda one: (-one.score, one.message.idx),
        )[:TOLD_OF_EACH]
        if found.text
    ]
    kept = sorted(best, key=lambda one: (-one.score, one.session.at, one.message.id))[:TOLD]
    return [
        {
            "text": one.text,
            "at": one.message.at,
            "role": one.message.role,
            "name": one.message.name,
            "session_id": one.session.id,
            "memory_id": one.message.id,
        }
        for one in sorted(kept, key=lambda one: (one.session.at, one.session.id, one.message.idx))
    ]


class Sentence(Struct, frozen=True):
    """A message's most telling sentence, '' where it has none, and how telling that is."""

    text: str
    score: float
    message: Telling
    session: Sessions


def _best(message: Telling, worth: Mapping[str, float], most: float, session: Sessions) -> Sentence:
    scored = [
        (sum(worth.get(key, 0.0) for key in stems(text)) / most, -place, text)
        for place, text in enumerate(sentences(message.text))
        if not text.endswith("?")
    ]
    words, _, text = max(scored, default=(0.0, 0, ""))
    return Sentence(
        shortened(text, TOLD_CHARACTERS), min(words, 1.0) + message.near, message, session
    )


def rhythm(times: Iterable[datetime]) -> tuple[float | None, str]:
    """Return how many days lie between a time and the next, in the median, and what that is called."""
    ordered = sorted(times)
    gaps = [(later - earlier) / timedelta(days=1) for earlier, later in itertools.pairwise(ordered)]
    if not gaps:
        return None, "once"
    median = statistics.median(gaps)
    return round(median, 2), next(word for most, word in RHYTHMS if median <= most)


def words_by_session(shown: Iterable[Sessions]) -> Words:
    """Return the telling words of each session."""
    return {
        one.id: {
            stem(word.lower()): word for phrase in phrases([one.text]) for word in phrase.split()
        }
        for one in shown
    }


def _newest(moment: datetime) -> float:
    return -moment.timestamp()


def _row(some: Theme, words: Words) -> dict[str, Any]:
    every, word = rhythm(one.at for one in some.sessions)
    return {
        "theme": called(some, words),
        "sessions": len(some.sessions),
        "first_at": some.sessions[0].at,
        "last_at": some.sessions[-1].at,
        "every_days": every,
        "rhythm": word,
        "occasions": [
            {
                "session_id": one.id,
                "session_external_id": one.external_id,
                "conversation_id": one.conversation_id,
                "at": one.at,
                "opening": one.opening,
                "memory_ids": one.memory_ids,
            }
            for one in some.sessions
        ],
        "central": some.central.opening,
        "summary": told(some, words),
        "memory_ids": [id for one in some.sessions for id in one.memory_ids],
    }
