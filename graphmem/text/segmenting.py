"""Segmenting: a session into runs of messages, and a text of any script into sentences."""

import math
import re
import statistics
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import Struct

WINDOW = 4
"""The number of messages before a place, and after it, that are compared."""

BAND = 2 * WINDOW - 1
"""The number of following messages to which the cosines of a message are needed."""

PAUSE = timedelta(minutes=30)
SLOW = 8
"""A pause ends a run if it is longer than half an hour and than `SLOW` times the session's median pause."""

DEPTH = 0.12
"""The least depth of a valley, both slopes together, at a turn of the topic.

Chosen for the default model on concatenated passages of conversations; no bench here repeats that.
"""

FEWEST = 3
"""The least number of messages on each side of a turn of the topic."""

MOST_MESSAGES = 24
MOST_TOKENS = 2_000
"""The maximum length of a run; a single message may be longer."""


class UnsegmentedMessage(Struct, frozen=True, kw_only=True):
    """A message of a session, with the properties that segmenting uses."""

    id: str
    idx: int
    occurred_at: datetime
    token_count: int
    taken: bool
    """Whether it belongs to an episode, or belonged to one that was deleted."""
    near: list[float]
    """The cosines to the next `BAND` messages, fewer at the end."""
    consolidated_at: datetime | None = None
    """When its former episode was consolidated, if another message of that has expired."""


class MessageRun(Struct, frozen=True):
    """Messages of one topic; `until` is the `idx` at which the next run may begin."""

    turns: list[UnsegmentedMessage]
    until: int


def runs(turns: Sequence[UnsegmentedMessage]) -> list[MessageRun]:
    """Return a session's messages in runs: every message without an episode is in exactly one."""
    found: list[MessageRun] = []
    begin = 0
    for end in _ends(turns):
        free = [turn for turn in turns[begin:end] if not turn.taken]
        until = turns[end - 1].idx + 1
        if free or not found:
            found.append(MessageRun(free, until))
        else:
            found[-1] = MessageRun(found[-1].turns, until)
        begin = end
    return found


def _ends(turns: Sequence[UnsegmentedMessage]) -> Iterator[int]:
    """Yield the places at which a run ends, the last one included."""
    pause = longest_pause([turn.occurred_at for turn in turns])
    begin = 0
    for place in range(1, len(turns) + 1):
        if place < len(turns):
            before, after = turns[place - 1], turns[place]
            if _are_alike(before, after) and after.occurred_at - before.occurred_at <= pause:
                continue
        yield from (begin + end for end in _turning_points(turns[begin:place]))
        begin = place


def _are_alike(one: UnsegmentedMessage, other: UnsegmentedMessage) -> bool:
    """Tell whether two messages are both taken or not, and both consolidated or not.

    An episode of messages that were consolidated already is not consolidated again.
    """
    return one.taken == other.taken and (one.consolidated_at is None) == (
        other.consolidated_at is None
    )


def longest_pause(times: Sequence[datetime]) -> timedelta:
    """Return the longest pause inside a run: slow correspondents pause longer."""
    seconds = [(after - before).total_seconds() for before, after in pairwise(times)]
    usual = statistics.median(seconds) if seconds else 0.0
    return max(PAUSE, timedelta(seconds=SLOW * usual))


def _turning_points(block: Sequence[UnsegmentedMessage]) -> list[int]:
    """Return the ends of the runs inside a block without a pause, the block's end included."""
    likeness = [_likeness(block, place) for place in range(len(block) + 1)]
    depths = _depths(likeness)
    ends: list[int] = []
    for place in sorted(range(1, len(block)), key=lambda place: (-depths[place], place)):
        if depths[place] < DEPTH:
            break
        if all(abs(place - other) >= FEWEST for other in (0, len(block), *ends)):
            ends.append(place)
    bounds = [0, *sorted(ends), len(block)]
    return [
        end
        for begin, stop in pairwise(bounds)
        for end in _short_enough(block, likeness, begin, stop)
    ]


def _short_enough(
    block: Sequence[UnsegmentedMessage], likeness: Sequence[float], begin: int, stop: int
) -> Iterator[int]:
    """Yield the ends that keep each run short enough: the places of least likeness, if there is a choice."""
    while (most := _fitting(block, begin, stop)) < stop:
        # Not before half of what fits: two long runs read better than one and a stub.
        places = range(begin + max(1, (most - begin) // 2), most + 1)
        begin = min(places, key=lambda place: (likeness[place], -place))
        yield begin
    yield stop


def _fitting(block: Sequence[UnsegmentedMessage], begin: int, stop: int) -> int:
    """Return the last possible end of a run that begins here; a single message is always short enough."""
    tokens = 0
    for place in range(begin, stop):
        tokens += block[place].token_count
        if place > begin and (tokens > MOST_TOKENS or place - begin >= MOST_MESSAGES):
            return place
    return stop


def _likeness(block: Sequence[UnsegmentedMessage], place: int) -> float:
    """Return the cosine of the sums of the messages before a place and of those after it; 1 at an edge."""
    before = range(max(0, place - WINDOW), place)
    after = range(place, min(len(block), place + WINDOW))
    if not before or not after:
        return 1.0
    across = sum(_cosine(block, one, other) for one in before for other in after)
    return across / math.sqrt(_square(block, before) * _square(block, after))


def _square(block: Sequence[UnsegmentedMessage], places: range) -> float:
    return sum(_cosine(block, *sorted((one, other))) for one in places for other in places)


def _cosine(block: Sequence[UnsegmentedMessage], one: int, other: int) -> float:
    return 1.0 if one == other else block[one].near[other - one - 1]


def _depths(likeness: Sequence[float]) -> list[float]:
    """Return the depth of each place below the peaks on its two sides; the edges are no peaks."""
    depths = [0.0] * len(likeness)
    for place in range(1, len(likeness) - 1):
        left = right = likeness[place]
        for other in range(place - 1, 0, -1):
            if likeness[other] < left:
                break
            left = likeness[other]
        for other in range(place + 1, len(likeness) - 1):
            if likeness[other] < right:
                break
            right = likeness[other]
        depths[place] = left + right - 2 * likeness[place]
    return depths


_CLOSING = r"[\"'”’»›)\]」』）】]*"
_END = re.compile(
    # Only before a space: 3.50, v1.2.3 and example.org contain no end. A run of marks is tried once.
    rf"(?<![.!?…])(?P<marks>[.!?…]++){_CLOSING}+(?=\s)"
    # Chinese and Japanese, Devanagari, Urdu, Arabic, Ethiopic, Armenian, Burmese, Khmer.
    rf"|[。！？｡।॥۔؟።፧։။៕។]+{_CLOSING}"
)
_NEXT = re.compile(r"\s+[\"'“‘«‹(\[「『（【¿¡]*(?P<first>\S)")
_DAY = re.compile(r"(?:\d{1,2}\.?[-–+])?\d{1,2}")
_MONTH_NEXT = re.compile(
    r"\s+(?:Januar|Jänner|Februar|Feber|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
    r"|Jan|Feb|Mär|Apr|Jun|Jul|Aug|Sept?|Okt|Nov|Dez)\b"
)
_LINE_BEGIN = re.compile(r"(?:\A|\n)[^\S\n]*\Z")
_WORD = re.compile(r"[^\s\"'“‘«‹(\[/]*\Z")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_LOOKED_BACK = 24
"""The number of characters before a full stop that may reveal its role."""

# Before a capital or a number inside a sentence.
_ABBREVIATIONS = frozenset(
    """
    dr mr mrs ms prof st mt ft rev hon gov sen rep pres gen col maj capt lt sgt cmdr messrs
    no nos vol ch sec eq fig figs ref refs p pp ed eds v cf viz e.g i.e eg ie approx ca al
    hr frl nr abs art bd kap vgl bzw ggf evtl sog inkl z.b d.h u.a o.ä u.ä s.o s.u
    m mm mme mlle mgr sra srta dra sig dott avv ing av
    г гг ул им проф акад т.е т.к т.н стр рис
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
# At the end of a sentence, or inside of one before a small letter.
_OFTEN_LAST = frozenset(
    "etc usw usf inc ltd co corp bros jr sr dept est vs tel a.m p.m т.д т.п др руб".split()  # noqa: SIM905
)
_BEFORE_NUMBERS = frozenset(
    "jan feb mar apr jun jul aug sep sept oct nov dec mär okt dez tel ext".split()  # noqa: SIM905
)


def sentence_ends(text: str) -> Iterator[int]:
    """Yield the places after the sentences of a text, closing quotes and brackets included.

    The end of the text does not count unless a mark of another script is there.
    """
    for match in _END.finditer(text):
        if match["marks"] != "." or not _is_part_of_word(text, match.start(), match.end()):
            yield match.end()


def _is_part_of_word(text: str, point: int, end: int) -> bool:
    """Tell whether a full stop belongs to the abbreviation, initial or number before it."""
    after = _NEXT.match(text, end)
    first = after["first"] if after else ""
    begin = max(0, point - _LOOKED_BACK)
    found = _WORD.search(text, begin, point)
    word = found[0] if found else ""
    known = word.casefold()
    if known in _ABBREVIATIONS:
        return True
    if (first.isdigit() and known in _BEFORE_NUMBERS) or (first.islower() and known in _OFTEN_LAST):
        return True
    if _DAY.fullmatch(word) and _MONTH_NEXT.match(text, end):
        # A day as in German: am 14. Januar.
        return True
    if _INITIALS.fullmatch(word):
        return word[0].isupper() and word != "I"
    # The number of an item, at the beginning of its line.
    return word.isdigit() and bool(_LINE_BEGIN.search(text, begin, point - len(word)))
