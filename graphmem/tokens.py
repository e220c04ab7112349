"""Counting tokens: one counter everywhere, so that a budget means one thing."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

import bpe_openai

TOKENIZER = "o200k_base"
"""The installation's tokenizer, stored in the database and compared at start."""

# The encoder refuses more than 200,000 tokens at once; a token is at least one byte of at most four
# that a character has.
PIECE_CHARACTERS = 50_000
COUNTS_KEPT = 8_192
_SEAM = re.compile(r"(?<=\w) (?=\w)")


class TokenCounter:
    """Counts the tokens of a text; what looks like a special token is counted as text."""

    def __init__(self, name: str = TOKENIZER) -> None:
        self.name = name
        self._encoding = _encoding(name)
        self.count_again = lru_cache(COUNTS_KEPT)(self.count)
        """Counts what comes again and again, such as headings, and remembers it."""

    def count(self, text: str) -> int:
        """Return how many tokens a text has."""
        return sum(len(self._encoding.encode_ordinary(piece)) for piece in pieces(text))


def pieces(text: str, characters: int = PIECE_CHARACTERS) -> Iterator[str]:
    """Cut a long text where the tokenizer cuts it too: before a space between two words.

    A text without such a seam is cut anyhow; its count may then differ by a token at each cut.
    """
    start = 0
    while len(text) - start > characters:
        seams = [
            m.start() for m in _SEAM.finditer(text, start + characters // 2, start + characters)
        ]
        end = seams[-1] if seams else start + characters
        yield text[start:end]
        start = end
    yield text[start:]


@cache
def _encoding(name: str) -> Any:
    return bpe_openai.get_encoding(name)
