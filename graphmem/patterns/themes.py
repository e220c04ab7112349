"""Themes: groups of sessions that are similar in meaning, whatever their words.

All sessions of a client have something in common, which says nothing about themes. So cosines are computed
after a mean vector is subtracted: the mean of the sessions, or, if they are few and might all be about one
theme, the mean of unrelated texts. The sessions are then clustered by average linkage: two groups are merged
while the average cosine between them is high enough, which needs no number of themes in advance. Two groups
that are themes on their own stay apart if each is much more similar inside than they are to each other.
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


class ThemeTuning(Struct, frozen=True, kw_only=True):
    """The numbers that decide about themes; cosines are those after the mean vector is subtracted.

    They were chosen on the sets of `bench/themes.py`; a `merge_cosine` of .12 to .18 does about as well.
    """

    merge_cosine: float = 0.16
    """The average cosine between two groups from which they are merged."""
    question_cosine: float = 0.12
    """The average cosine between a question and the sessions of a theme from which the theme answers it."""
    few_sessions: int = 12
    """The number of sessions below which the mean of unrelated texts is subtracted in place of theirs."""
    merge_cosine_of_few: float = 0.32
    """`merge_cosine` for few sessions: all that people say is more similar around that mean."""
    question_cosine_of_few: float = 0.21
    """`question_cosine` for few sessions."""
    named_share: float = 0.5
    """The share of a theme's cosine from which a session answers whose summary names what is asked."""
    single_session_cosine: float = 0.26
    """The cosine between a question and a session without a theme from which the session answers it."""
    share_of_best_theme: float = 0.6
    """A further theme answers a question from this share of the best theme's average cosine."""
    apart_share: float = 0.8
    """Two themes stay apart if their cosine is below this share of the average cosine inside each."""
    theme_sessions: int = 3
    """The number of sessions from which a group is a theme on its own, which may stay apart."""
    pair_sessions: int = 2
    """The number of sessions from which a group answers a question as a theme, and shares a word."""
    name_words: int = 3
    """The number of words in the name of a theme."""
    session_characters: int = 4_000
    """The characters of a session that are searched for telling words."""
    summary_sentences: int = 24
    """The number of sentences in a theme's summary."""
    summary_sentences_per_session: int = 2
    """The number of sentences of one session in a theme's summary."""
    sentence_characters: int = 240
    """The characters of one sentence of the summary; a longer one is shortened."""


TUNING = ThemeTuning()

RHYTHMS: Sequence[tuple[float, str]] = (
    (0.5, "several times a day"),
    (1.5, "daily"),
    (4.0, "every few days"),
    (10.0, "weekly"),
    (21.0, "every two weeks"),
    (45.0, "monthly"),
    (math.inf, "seldom"),
)
"""The names of rhythms, by the median number of days between a session and the next, at most."""

Matrix = list[list[float]]

Words = Mapping[str, Mapping[str, str]]
"""The telling words of sessions by their stems, by the session's id."""


class ThemeMessage(Struct, frozen=True, kw_only=True):
    """One of a session's longest messages; `near` is its cosine to the question, or to its session."""

    id: str
    idx: int
    role: str
    name: str | None
    at: datetime
    text: str
    near: float


class ThemeSession(Struct, frozen=True, kw_only=True):
    """One session, a row of the query: its longest messages, and its dot products with other vectors.

    `cosines` are those to the sessions of the rows before this one. `common` is the dot product with the
    mean of unrelated texts, and `base` that of this mean with itself; `asked` is the dot product with the
    question, and `asked_common` that of the question with the mean.
    """

    id: str
    external_id: str
    conversation_id: str
    at: datetime
    opening: str
    topics: list[str] = []
    """The topics in its summaries."""
    messages: list[ThemeMessage]
    cosines: list[float]
    common: float
    base: float
    asked: float
    asked_common: float

    @property
    def text(self) -> str:
        """The text of its longest messages, the longest first."""
        return " ".join(one.text for one in self.messages)[: TUNING.session_characters]

    @property
    def memory_ids(self) -> list[str]:
        """The ids of its longest messages, the longest first."""
        return [one.id for one in self.messages]


class SessionCosines(Struct, frozen=True):
    """The cosines between sessions, and between them and a question, after a mean is subtracted."""

    near: Matrix
    asked: list[float]
    few: bool
    """Whether the mean is that of unrelated texts, since the sessions are few."""


class Theme(Struct, frozen=True):
    """Sessions on one theme, by time, and the one that is most similar to the others."""

    sessions: list[ThemeSession]
    central: ThemeSession


def recurring(shown: list[ThemeSession], chosen: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each theme, the one with most sessions first, or for the theme of a question."""
    found = centred(shown)
    if chosen["question"]:
        places = sorted({*answering(found), *naming(shown, found, chosen["question"])})
        groups = [places] if places else []
    else:
        groups = [group for group in clustered(found) if len(group) >= chosen["least"]]
    words = words_by_session(shown)
    rows = [_row(theme(group, shown, found), words) for group in groups]
    return sorted(rows, key=lambda row: (-row["sessions"], _newest(row["last_at"]), row["theme"]))


def centred(shown: Sequence[ThemeSession]) -> SessionCosines:
    """Return cosines after the mean of the sessions, or of unrelated texts for few, is subtracted."""
    count = len(shown)
    raw = [[0.0] * count for _ in shown]
    for place, one in enumerate(shown):
        raw[place][place] = 1.0
        for other, cosine in enumerate(one.cosines):
            raw[place][other] = raw[other][place] = cosine
    few = count < TUNING.few_sessions
    # The dot product of each session with the mean, and of the mean with itself.
    shared = [one.common for one in shown] if few else [statistics.fmean(row) for row in raw]
    base = (shown[0].base if few else statistics.fmean(shared)) if shown else 0.0
    away = [math.sqrt(max(1.0 - 2.0 * one + base, 1e-9)) for one in shared]
    near = [
        [(raw[a][b] - shared[a] - shared[b] + base) / (away[a] * away[b]) for b in range(count)]
        for a in range(count)
    ]
    return SessionCosines(near, _asked(shown, shared, base, away, few), few)


def _asked(
    shown: Sequence[ThemeSession],
    shared: list[float],
    base: float,
    away: list[float],
    few: bool,
) -> list[float]:
    """Return the cosines between the question and each session after the same mean is subtracted."""
    if not shown:
        return []
    middle = shown[0].asked_common if few else statistics.fmean(one.asked for one in shown)
    length = math.sqrt(max(1.0 - 2.0 * middle + base, 1e-9))
    return [
        (one.asked - shared[place] - middle + base) / (away[place] * length)
        for place, one in enumerate(shown)
    ]


def clustered(found: SessionCosines) -> list[list[int]]:
    """Return the places of sessions by theme; a session without a theme is a group of its own."""
    return joined(found.near, TUNING.merge_cosine_of_few if found.few else TUNING.merge_cosine)


class SessionGroup(Struct, frozen=True):
    """The places of merged sessions, the sum of their cosines, and the themes that they form."""

    places: list[int]
    themes: list[list[int]]
    nearness: float = 0.0
    """The sum of the cosines over its pairs."""

    @property
    def inside(self) -> float:
        """The average cosine over its pairs."""
        return self.nearness / math.comb(len(self.places), 2)


def joined(near: Matrix, least: float) -> list[list[int]]:
    """Return groups by average linkage: two are one from a mean cosine of `least`, unless they stay apart.

    By chains of nearest neighbours (Benzécri 1982; Murtagh 1983): the same groups as merging the nearest two
    again and again, in quadratic time. A merged group is split again from the top where both parts are
    themes that stay apart.
    """
    near = [list(row) for row in near]
    groups = {place: SessionGroup([place], [[place]]) for place in range(len(near))}
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
            # Merging others brings none nearer: an average is at most its greatest term.
            open_places.discard(chain.pop())
        elif best != before:
            chain.append(best)
        else:
            del chain[-2:]
            _join(near, groups, best, last)
            open_places.discard(last)
    themes = (theme for group in groups.values() for theme in group.themes)
    return sorted((sorted(theme) for theme in themes), key=lambda theme: theme[0])


def _join(near: Matrix, groups: dict[int, SessionGroup], one: int, other: int) -> None:
    """Merge two groups under the place of the first, with the averages of both."""
    first, second = len(groups[one].places), len(groups[other].places)
    groups[one] = _both(groups[one], groups.pop(other), near[one][other])
    for place in groups:
        average = (first * near[one][place] + second * near[other][place]) / (first + second)
        near[one][place] = near[place][one] = average


def _both(one: SessionGroup, other: SessionGroup, between: float) -> SessionGroup:
    """Return two groups as one, which is one theme unless they stay apart."""
    first, second = len(one.places), len(other.places)
    places = one.places + other.places
    large = min(first, second) >= TUNING.theme_sessions
    apart = large and between < TUNING.apart_share * min(one.inside, other.inside)
    return SessionGroup(
        places,
        one.themes + other.themes if apart else [places],
        one.nearness + other.nearness + between * first * second,
    )


def answering(found: SessionCosines) -> list[int]:
    """Return the places of the sessions that answer a question: of whole themes, and single sessions."""
    tuning = TUNING
    least = tuning.question_cosine_of_few if found.few else tuning.question_cosine
    near = [
        (statistics.fmean(found.asked[place] for place in group), group)
        for group in clustered(found)
    ]
    best = max((nearness for nearness, _ in near), default=0.0)
    others = tuning.share_of_best_theme * best
    return sorted(
        place
        for nearness, group in near
        if nearness
        >= max(
            least if len(group) >= tuning.pair_sessions else tuning.single_session_cosine, others
        )
        for place in group
    )


def naming(shown: Sequence[ThemeSession], found: SessionCosines, question: str) -> list[int]:
    """Return the places of near sessions that have a telling word of a question among their topics.

    A topic of most sessions does not count, since it does not distinguish them.
    """
    tuning = TUNING
    needed = tuning.question_cosine_of_few if found.few else tuning.question_cosine
    least = tuning.named_share * needed
    asked = {stem(word.lower()) for phrase in phrases([question]) for word in phrase.split()}
    topics = [stems(" ".join(one.topics)) & asked for one in shown]
    common = Counter(key for one in topics for key in one)
    return [
        place
        for place, named in enumerate(topics)
        if found.asked[place] >= least
        and any(2 * common[key] <= max(len(shown), tuning.pair_sessions * 2) for key in named)
    ]


def theme(group: Sequence[int], shown: Sequence[ThemeSession], found: SessionCosines) -> Theme:
    """Return the theme of a group of sessions."""
    central = max(group, key=lambda one: (sum(found.near[one][other] for other in group), -one))
    sessions = sorted((shown[place] for place in group), key=lambda one: (one.at, one.id))
    return Theme(sessions, shown[central])


def called(some: Theme, words: Words) -> str:
    """Return the name of a theme: words that its sessions share and others lack, else its central opening."""
    worth = telling_words(some, words)
    written: dict[str, Counter[str]] = {}
    for one in some.sessions:
        for key, word in words[one.id].items():
            written.setdefault(key, Counter())[word] += 1
    best = sorted(worth, key=lambda key: (-worth[key], key))[: TUNING.name_words]
    return ", ".join(written[key].most_common(1)[0][0] for key in best) or some.central.opening


def telling_words(some: Theme, words: Words) -> dict[str, float]:
    """Return the stems that several sessions of a theme share, and how well they distinguish it."""
    everywhere = Counter(key for said in words.values() for key in said)
    here = Counter(key for one in some.sessions for key in words[one.id])
    return {
        key: count * count / everywhere[key]
        for key, count in here.items()
        if count >= TUNING.pair_sessions
    }


def summary(some: Theme, words: Words) -> list[dict[str, Any]]:
    """Return a summary of a theme in the sentences of its sessions, by time.

    Of each session the best sentences of different messages: with most of the theme's words, in messages
    that are similar to the question or, without a question, to their session.
    """
    worth = telling_words(some, words)
    most = sum(sorted(worth.values())[-TUNING.name_words :]) or 1.0
    best = [
        found
        for session in some.sessions
        for found in sorted(
            (_best(message, worth, most, session) for message in session.messages),
            key=lambda one: (-one.score, one.message.idx),
        )[: TUNING.summary_sentences_per_session]
        if found.text
    ]
    by_score = sorted(best, key=lambda one: (-one.score, one.session.at, one.message.id))
    kept = by_score[: TUNING.summary_sentences]
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


class TellingSentence(Struct, frozen=True):
    """The most telling sentence of a message, '' if it has none, and its score."""

    text: str
    score: float
    message: ThemeMessage
    session: ThemeSession


def _best(
    message: ThemeMessage, worth: Mapping[str, float], most: float, session: ThemeSession
) -> TellingSentence:
    scored = [
        (sum(worth.get(key, 0.0) for key in stems(text)) / most, -place, text)
        for place, text in enumerate(sentences(message.text))
        if not text.endswith("?")
    ]
    words, _, text = max(scored, default=(0.0, 0, ""))
    shown = shortened(text, TUNING.sentence_characters)
    return TellingSentence(shown, min(words, 1.0) + message.near, message, session)


def rhythm(times: Iterable[datetime]) -> tuple[float | None, str]:
    """Return the median number of days between a time and the next, and the name of that rhythm."""
    ordered = sorted(times)
    gaps = [(later - earlier) / timedelta(days=1) for earlier, later in itertools.pairwise(ordered)]
    if not gaps:
        return None, "once"
    median = statistics.median(gaps)
    return round(median, 2), next(word for most, word in RHYTHMS if median <= most)


def words_by_session(shown: Iterable[ThemeSession]) -> Words:
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
        "summary": summary(some, words),
        "memory_ids": [id for one in some.sessions for id in one.memory_ids],
    }


ORDER = ("rising", "fading", "steady")


def rising(shown: list[ThemeSession], chosen: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each theme of the last two windows with its counts, the greatest changes first."""
    found, words = centred(shown), words_by_session(shown)
    window = timedelta(days=chosen["days"])
    rows = []
    for group in clustered(found):
        if len(group) < chosen["least"]:
            continue
        some = theme(group, shown, found)
        recent, before = _counts([one.at for one in some.sessions], chosen["until"], window)
        if recent + before == 0:
            continue
        rows.append(
            {
                "theme": called(some, words),
                "direction": direction(recent, before),
                "recent": recent,
                "before": before,
                "sessions": len(some.sessions),
                "first_at": some.sessions[0].at,
                "last_at": some.sessions[-1].at,
                "session_ids": [one.id for one in some.sessions],
                "central": some.central.opening,
                "memory_ids": [id for one in some.sessions for id in one.memory_ids],
            }
        )
    return sorted(
        rows,
        key=lambda row: (
            ORDER.index(row["direction"]),
            -abs(row["recent"] - row["before"]),
            row["theme"],
        ),
    )


def direction(recent: int, before: int) -> str:
    """Return the direction of the change between two counts."""
    return "steady" if recent == before else "rising" if recent > before else "fading"


def _counts(times: list[datetime], until: datetime, window: timedelta) -> tuple[int, int]:
    """Return the number of times in the window before `until`, and in the window before that."""
    recent = sum(until - window <= at < until for at in times)
    before = sum(until - 2 * window <= at < until - window for at in times)
    return recent, before
