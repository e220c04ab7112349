"""The tokens of a Cypher text, with their offsets: words, quoted names, strings, numbers and signs.

Read as Neo4j does: the escape `\\uXXXX` is decoded everywhere, before the text is split. The tokens locate
refused words, and show what a plan cannot; the plan decides whether a statement may run.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from graphmem.exploring.types import Place

Kind = Literal["word", "quoted", "string", "number", "sign"]

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})|\\.", re.DOTALL)

_TOKEN = re.compile(
    r"""
      (?P<gap> \s+ | //[^\n\r]* | /\*.*?(?:\*/|\Z) )
    | (?P<string> '(?:\\.|[^'\\])*(?:'|\Z) | "(?:\\.|[^"\\])*(?:"|\Z) )
    | (?P<quoted> `(?:``|[^`])*(?:`|\Z) )
    | (?P<number> \d(?:\w|\.(?=\d))* )
    | (?P<word> \$?[^\W\d]\w* )
    | (?P<sign> . )
    """,
    re.DOTALL | re.VERBOSE,
)


class Word(Struct, frozen=True):
    """A word, a quoted name, a literal or a sign, and its offset in the text as it was sent."""

    kind: Kind
    text: str
    start: int

    @property
    def upper(self) -> str:
        """The word in capitals, for comparing; empty for a quoted name and a literal."""
        return self.text.upper() if self.kind in ("word", "sign") else ""

    @property
    def name(self) -> str:
        """The name, without quotes."""
        return self.text[1:-1].replace("``", "`") if self.kind == "quoted" else self.text

    @property
    def names(self) -> bool:
        """Whether it can be part of a name."""
        return self.kind == "quoted" or (self.kind == "word" and not self.text.startswith("$"))


class Dotted(Struct, frozen=True):
    """A name with dots, and its offset."""

    name: str
    first: int
    """The index of its first word."""
    start: int


def words(text: str, *, escaped: bool = True) -> list[Word]:
    """Return the words of a text, without comments; the details of a plan are not `escaped`."""
    decoded, places = _decoded(text) if escaped else (text, range(len(text)))
    found = []
    for match in _TOKEN.finditer(decoded):
        kind = match.lastgroup
        if kind != "gap":
            found.append(Word(kind, match[0], places[match.start()]))  # type: ignore[arg-type]
    return found


def dotted(sequence: Sequence[Word]) -> Iterator[Dotted]:
    """Yield the names with dots in them that are followed by `(`, or follow CALL."""
    place = 0
    while place < len(sequence):
        end = place + 1
        if sequence[place].names:
            while end + 1 < len(sequence) and _goes_on(sequence, end):
                end += 2
            called = end < len(sequence) and sequence[end].text == "("
            if end > place + 1 and (called or is_called(sequence, place)):
                name = ".".join(one.name for one in sequence[place:end:2])
                yield Dotted(name, place, sequence[place].start)
        place = end


def beside(sequence: Sequence[Word], one: str, *other: str) -> Word | None:
    """Return the first word that is followed by one of the others."""
    pairs = pairwise(sequence)
    return next((left for left, right in pairs if left.upper == one and right.upper in other), None)


def is_called(sequence: Sequence[Word], first: int) -> bool:
    """Tell whether a name follows CALL."""
    return first > 0 and sequence[first - 1].upper == "CALL"


def place_of(text: str, offset: int) -> Place:
    """Return the place in a text of an offset in characters."""
    before = text[:offset]
    return Place(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1, offset)


def _goes_on(sequence: Sequence[Word], end: int) -> bool:
    return sequence[end].text == "." and sequence[end + 1].names


def _decoded(text: str) -> tuple[str, list[int]]:
    """Return the text without escapes, and the offset of each of its characters in the original."""
    characters: list[str] = []
    places: list[int] = []
    start = 0
    for match in _ESCAPE.finditer(text):
        characters.append(text[start : match.start()])
        places.extend(range(start, match.start()))
        shown = chr(int(match[1], 16)) if match[1] else match[0]
        characters.append(shown)
        places.extend(match.start() + step for step in range(len(shown)))
        start = match.end()
    characters.append(text[start:])
    places.extend(range(start, len(text)))
    return "".join(characters), places
