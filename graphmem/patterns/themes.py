"""Themes: sessions that lie together by their meaning, though their words differ.

What all of a client's sessions share says nothing, so it is taken away first: cosines are those around
the mean of the sessions, and of few sessions, whose mean may be their one theme, around that of texts
that have nothing to do with each other. Sessions are then joined while the average cosine between two
groups is high enough (average linkage), which needs no number of themes.
"""

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from graphmem.retrieval.extraction import phrases
from graphmem.retrieval.words import stem

JOINED = 0.16
"""How near two groups of sessions are, on average, to be one theme; cosine around the sessions' mean.

Found on tests/patterns: .15 to .18 do about as well there.
"""

ASKED = 0.15
"""How near the sessions of a theme are to a question about it, on average."""

ALONE = 0.22
"""How near a session that belongs to no theme must be to a question."""

FEW = 12
"""Below so many sessions their own mean says nothing."""

FEW_JOINED = 0.26
"""What `JOINED` is around the mean of unrelated texts: everything that people say lies nearer there."""

FEW_ASKED = 0.18
"""What `ASKED` is there."""

BESIDE = 0.75
"""How near another theme must be to a question, as a share of the nearest one's nearness."""

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
    text: str
    memory_ids: list[str]
    cosines: list[float]
    common: float
    base: float
    asked: float
    asked_common: float


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
        places = answering(found)
        groups = [places] if places else []
    else:
        groups = [group for group in together(found) if len(group) >= chosen["least"]]
    rows = [_row(theme(group, shown, found), shown) for group in groups]
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


def joined(near: Matrix, least: float) -> list[list[int]]:
    """Return groups between which the average nearness is below `least` (average linkage).

    By chains of nearest neighbours (Benzécri 1982; Murtagh 1983): the same groups as always joining the
    nearest two, in quadratic time.
    """
    near = [list(row) for row in near]
    groups = {place: [place] for place in range(len(near))}
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
    return sorted((sorted(group) for group in groups.values()), key=lambda group: group[0])


def _join(near: Matrix, groups: dict[int, list[int]], one: int, other: int) -> None:
    """Put two groups under the first's place, with the averages of both."""
    first, second = len(groups[one]), len(groups[other])
    for place in groups:
        average = (first * near[one][place] + second * near[other][place]) / (first + second)
        near[one][place] = near[place][one] = average
    groups[one] += groups.pop(other)


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


def theme(group: Sequence[int], shown: Sequence[Sessions], found: Space) -> Theme:
    """Return the sessions of a group in the order of time, and the one that lies nearest to the others."""
    central = max(group, key=lambda one: (sum(found.near[one][other] for other in group), -one))
    sessions = sorted((shown[place] for place in group), key=lambda one: (one.at, one.id))
    return Theme(sessions, shown[central])


def called(some: Theme, shown: Sequence[Sessions]) -> str:
    """Return the words that a theme's sessions share and others lack; else how its central one begins."""
    words = [_words(one) for one in shown]
    inside = {one.id for one in some.sessions}
    everywhere = Counter(key for one in words for key in one)
    here: Counter[str] = Counter()
    written: dict[str, Counter[str]] = {}
    for one, said in zip(shown, words, strict=True):
        if one.id in inside:
            here.update(said.keys())
            for key, word in said.items():
                written.setdefault(key, Counter())[word] += 1
    worth = {key: count * count / everywhere[key] for key, count in here.items() if count >= PAIR}
    best = sorted(worth, key=lambda key: (-worth[key], key))[:NAMED_BY]
    return ", ".join(written[key].most_common(1)[0][0] for key in best) or some.central.opening


def rhythm(times: Iterable[datetime]) -> tuple[float | None, str]:
    """Return how many days lie between a time and the next, in the median, and what that is called."""
    ordered = sorted(times)
    gaps = [(later - earlier) / timedelta(days=1) for earlier, later in itertools.pairwise(ordered)]
    if not gaps:
        return None, "once"
    median = statistics.median(gaps)
    return round(median, 2), next(word for most, word in RHYTHMS if median <= most)


def _words(one: Sessions) -> dict[str, str]:
    """Return a session's telling words, by their stems."""
    return {stem(word.lower()): word for phrase in phrases([one.text]) for word in phrase.split()}


def _newest(moment: datetime) -> float:
    return -moment.timestamp()


def _row(some: Theme, shown: Sequence[Sessions]) -> dict[str, Any]:
    every, word = rhythm(one.at for one in some.sessions)
    return {
        "theme": called(some, shown),
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
        "memory_ids": [id for one in some.sessions for id in one.memory_ids],
    }
