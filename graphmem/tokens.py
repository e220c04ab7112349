"""Counting tokens: one counter everywhere, so that a budget means one thing."""

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any

from bpe_openai import _bindings

from graphmem.errors import InvalidInput

TOKENIZER = "o200k_base"
"""The installation's tokenizer, stored in the database and compared at start."""

# The encoder refuses more than 200,000 tokens at once; a token is at least one byte, and a character at most
# four.
PIECE_CHARACTERS = 50_000
COUNTS_KEPT = 8_192
_SEAM = re.compile(r"(?<=\w) (?=\w)")

TOKENIZERS = {
    **dict.fromkeys(
        (
            *("gpt-3.5-turbo", "gpt-4", "gpt-4-32k", "gpt-4-turbo"),
            *("text-embedding-3-large", "text-embedding-3-small", "text-embedding-ada-002"),
        ),
        "cl100k_base",
    ),
    **dict.fromkeys(
        (
            *("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano", "gpt-4.5-preview"),
            *("gpt-4o", "gpt-4o-mini", "gpt-5", "gpt-5-mini", "gpt-5-nano"),
            *("o1", "o1-mini", "o3", "o3-mini", "o4-mini"),
        ),
        "o200k_base",
    ),
}
"""The tokenizers of OpenAI's models; a dated name such as `gpt-4-0613` belongs to its model."""

_DATE = re.compile(r"-\d{4}(-\d{2}-\d{2})?$")


class TokenCounter:
    """Counts the tokens of a text; a special token in it is counted as text."""

    def __init__(self, name: str = TOKENIZER) -> None:
        self.name = name
        self._encoding = _encoding(name)
        self.count_again = lru_cache(COUNTS_KEPT)(self.count)
        """Counts recurring texts, such as headings, with a cache."""

    @classmethod
    def for_model(cls, model: str) -> "TokenCounter":
        """Return the counter of a language model, for example `gpt-4`.

        Raises `InvalidInput` that lists the known models.
        """
        name = TOKENIZERS.get(model) or TOKENIZERS.get(_DATE.sub("", model))
        if name is None:
            known = ", ".join(sorted(TOKENIZERS))
            raise InvalidInput("model", f"the tokenizer of {model!r} is not known; send {known}")
        return cls(name)

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return sum(map(self._encoding.count, pieces(encodable(text))))

    def exceeds(self, text: str, limit: int) -> bool:
        """Tell whether a text has more tokens than the limit; counting stops at the limit."""
        return self.count_up_to(text, limit) > limit

    def count_up_to(self, text: str, limit: int) -> int:
        """Return the number of tokens of a text, and of one beyond the limit no more than shows that."""
        counted = 0
        for piece in pieces(encodable(text)):
            counted += self._encoding.count(piece)
            if counted > limit:
                break
        return counted


def pieces(text: str, characters: int = PIECE_CHARACTERS) -> Iterator[str]:
    """Cut a long text where the tokenizer cuts it too: before a space between two words.

    A text without such a place is cut anywhere; its count may then differ by a token at each cut.
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


def encodable(text: str) -> str:
    """Return a text in which U+FFFD stands for each half of a surrogate pair: a tokenizer reads UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


@cache
def _encoding(name: str) -> Any:
    # The binding itself: what the package builds on it has no `count`, and makes a list of all tokens.
    return _bindings.tokenizer_for_encoding(name)


def vocabulary_place(text: str) -> int | None:
    """Return the place of a text in the tokenizer's vocabulary, None if it is more than one token.

    The vocabulary was learned by merging the most frequent pairs first: frequent words come early.
    """
    tokens = _encoding(TOKENIZER).encode(encodable(text))
    return tokens[0] if len(tokens) == 1 else None
