"""Chunking: cutting the content of a source into overlapping pieces, its spans."""

import re

from msgspec import Struct

from graphmem.text.sentences import sentence_ends

PIECE_BYTES = 1_000
OVERLAP_BYTES = 100

_LINE_END = re.compile(r"\n")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")
_WORD_START = re.compile(r"(?<=\s)(?=\S)")


class Piece(Struct, frozen=True):
    """A part of a text, and its range of UTF-8 bytes: from `start_byte` up to `end_byte`, exclusive."""

    text: str
    start_byte: int
    end_byte: int


def chunked(text: str) -> list[Piece]:
    """Return the pieces of a text in order; they cover the whole text, each at most 1,000 bytes.

    A piece ends at the last sentence end of its last third, else at a word end, else at a character. It
    begins at a word of the previous piece, at most 100 bytes back, so that both pieces keep some context. An
    empty text has no pieces. Sizes are in bytes of UTF-8.
    """
    data = text.encode()
    found: list[Piece] = []
    start = end = 0
    while end < len(data):
        end = _end(data, start)
        found.append(Piece(data[start:end].decode(), start, end))
        start = _start(data, end)
    return found


def _end(data: bytes, start: int) -> int:
    """Return the end of the piece that begins at `start`."""
    if len(data) - start <= PIECE_BYTES:
        return len(data)
    most = _boundary(data, start + PIECE_BYTES, -1)
    # Not before the last third: a piece is always longer than the overlap, which guarantees progress.
    least = _boundary(data, start + PIECE_BYTES * 2 // 3, 1)
    # One character beyond the limit shows whether a word or a sentence ends at the limit.
    seen = data[least : _boundary(data, most + 1, 1)].decode()
    for places in (_sentence_ends(seen), _ends(_WORD_END, seen)):
        ends = [least + len(seen[:place].encode()) for place in sorted(places)]
        if fitting := [end for end in ends if least < end <= most]:
            return fitting[-1]
    return most


def _sentence_ends(text: str) -> list[int]:
    """Return the positions after the sentences and lines of a text."""
    return [*sentence_ends(text), *_ends(_LINE_END, text)]


def _ends(pattern: re.Pattern[str], text: str) -> list[int]:
    return [match.end() for match in pattern.finditer(text)]


def _start(data: bytes, end: int) -> int:
    """Return the start of the piece that follows a piece with this end."""
    least = _boundary(data, max(end - OVERLAP_BYTES, 0), 1)
    seen = data[least:end].decode()
    word = _WORD_START.search(seen)
    return least + len(seen[: word.start()].encode()) if word else least


def _boundary(data: bytes, place: int, step: int) -> int:
    """Return the nearest character boundary at or beyond `place`, in the direction of `step`."""
    while 0 < place < len(data) and data[place] & 0xC0 == 0x80:
        place += step
    return place
