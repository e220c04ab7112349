"""Short forms that a text itself spells out: `Continuous Integration (CI)`, `CI (Continuous Integration)`.

The letters of the short form must be the initials of the words, in order and from the first one on;
small words may be skipped. A precise part of Schwartz and Hearst's method (2003).
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from graphmem.text.identifiers import LONGEST

SEEN_CHARACTERS = 100_000
"""The number of characters of a text that are searched."""

MOST = 32
"""The maximum number of short forms of a text."""

# Most texts have none and are skipped.
_HINT = re.compile(r"[(][^\W\d_]")
_SHORT = r"[A-Z](?:[A-Za-z]{0,7}[A-Z]|[A-Z])s?"
_AFTER = re.compile(rf"[(]({_SHORT})[)]")
_BEFORE = re.compile(rf"(?<![\w.@#-])({_SHORT})[ ][(]([^()\n]{{3,{LONGEST}}})[)]")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_ENDS = re.compile(r"[.!?…;:,(){}\[\]\n\"“”„«»|]")
_SMALL = frozenset("a an and de der des di du for in la le of on or the to und von with".split())  # noqa: SIM905


class SpelledOut(Struct, frozen=True):
    """A short form and its long form, both in their original spelling."""

    short: str
    form: str


def spelled_out(text: str) -> list[SpelledOut]:
    """Return the short forms that a text spells out, each pair once, in order, at most `MOST`."""
    text = text[:SEEN_CHARACTERS]
    if not _HINT.search(text):
        return []
    found = sorted([*_standing_before(text), *_standing_inside(text)], key=lambda one: one[0])
    return list(dict.fromkeys(pair for _, pair in found))[:MOST]


def _standing_before(text: str) -> Iterator[tuple[int, SpelledOut]]:
    """Yield the long forms before a short form in parentheses, with their places."""
    for match in _AFTER.finditer(text):
        before = text[max(match.start() - LONGEST, 0) : match.start()].rstrip(" ")
        clause = _ENDS.split(before)[-1]
        words = list(_WORD.finditer(clause))
        start = _first(match[1].removesuffix("s"), [word[0] for word in words])
        if start is not None:
            yield match.start(), SpelledOut(match[1], clause[words[start].start() :].strip())


def _standing_inside(text: str) -> Iterator[tuple[int, SpelledOut]]:
    """Yield the long forms in parentheses after a short form, with their places."""
    for match in _BEFORE.finditer(text):
        words = list(_WORD.finditer(match[2]))
        start = _first(match[1].removesuffix("s"), [word[0] for word in words])
        if start is not None and all(word[0].casefold() in _SMALL for word in words[:start]):
            yield match.start(), SpelledOut(match[1], match[2][words[start].start() :].strip())


def _first(short: str, words: Sequence[str]) -> int | None:
    """Return the place of the word that a short form's first letter stands for; None if they do not fit.

    Every letter is a word's initial, from the last word back; only small words have none.
    """
    place, letters = len(words) - 1, short.casefold()
    for letter in reversed(letters):
        while place >= 0 and not words[place].casefold().startswith(letter):
            if words[place].casefold() not in _SMALL:
                return None
            place -= 1
        if place < 0:
            return None
        place -= 1
    first = place + 1
    return first if len(words) - first >= 2 else None
