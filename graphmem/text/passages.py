"""Cutting a long text into passages, at paragraphs, lines and sentences: each is searched by itself.

One vector of a whole log or report says little of any line in it, and the model sees only its beginning.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from graphmem.text.segmenting import sentence_ends

LONG_CHARACTERS = 1_000
"""A text with more characters, about 250 tokens, has passages."""

MOST_CHARACTERS = 480
"""The longest passage, about 120 tokens. The window of a model holds it, whatever its characters: a token has
at least one."""

LEAST_CHARACTERS = 160
"""The shortest passage, but for the last of a text."""

_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_LINE = re.compile(r"\r\n?|\n")
_CLAUSE = re.compile(r"[,;}\])](?=\s|[{\[\"])\s?")
_WORD = re.compile(r"\s+")

_JOINING = "\u200d"


class Passage(Struct, frozen=True):
    """A part of a text, and its range of UTF-8 bytes: from `start` up to `end`, exclusive."""

    text: str
    start: int
    end: int


class Unit(Struct, frozen=True):
    """A line or a sentence of a text, and its range of UTF-8 bytes: from `start` up to `end`, exclusive."""

    text: str
    start: int
    end: int


def units(text: str, start: int = 0) -> Iterator[Unit]:
    """Yield the lines and sentences of a text that begins at a byte, without the space around them.

    Blank ones are left out.
    """
    begin = 0
    for end in sorted({*_ends(_LINE, text), *sentence_ends(text), len(text)}):
        piece = text[begin:end]
        if bare := piece.strip():
            lead = len(piece[: piece.index(bare)].encode())
            yield Unit(bare, start + lead, start + lead + len(bare.encode()))
        begin, start = end, start + len(piece.encode())


def is_long(text: str) -> bool:
    """Tell whether a text has passages."""
    return len(text) > LONG_CHARACTERS


def passages(text: str) -> Iterator[Passage]:
    """Yield the passages of a text in order; together they are the text, whatever it is.

    A passage ends at the last paragraph that fits, else at a line, a sentence, a clause or a word, else at a
    character.
    """
    begin = start = 0
    while begin < len(text):
        part = text[begin : _end(text, begin)]
        end = start + len(part.encode())
        yield Passage(part, start, end)
        begin, start = begin + len(part), end


def _end(text: str, begin: int) -> int:
    """Return the end of the passage that begins at a place; looks at a bounded number of characters."""
    if len(text) - begin <= MOST_CHARACTERS:
        return len(text)
    # One character more shows whether a line or a sentence ends at the limit.
    seen = text[begin : begin + MOST_CHARACTERS + 1]
    for ends in (
        _ends(_PARAGRAPH, seen),
        _ends(_LINE, seen),
        _sentences(seen),
        _ends(_CLAUSE, seen),
        _ends(_WORD, seen),
    ):
        if fitting := [end for end in ends if LEAST_CHARACTERS <= end <= MOST_CHARACTERS]:
            return begin + fitting[-1]
    return begin + _character_end(seen)


def _ends(pattern: re.Pattern[str], text: str) -> list[int]:
    return [match.end() for match in pattern.finditer(text)]


def _sentences(text: str) -> list[int]:
    """Return the places after the sentences, and after the space that follows them."""
    return [_after_space(text, end) for end in sentence_ends(text)]


def _after_space(text: str, place: int) -> int:
    space = _WORD.match(text, place)
    return space.end() if space else place


def _character_end(text: str) -> int:
    """Return the longest end that does not part an accent or a joined emoji from its character."""
    for end in range(MOST_CHARACTERS, MOST_CHARACTERS // 2, -1):
        if text[end] != _JOINING and text[end - 1] != _JOINING and not _is_mark(text[end]):
            return end
    return MOST_CHARACTERS


def _is_mark(character: str) -> bool:
    return (
        "\u0300" <= character <= "\u036f"
        or "\ufe00" <= character <= "\ufe0f"
        or ("\U0001f3fb" <= character <= "\U0001f3ff")
    )
