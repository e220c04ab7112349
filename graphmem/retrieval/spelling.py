"""Likeness of spelling: how many short runs of letters a text has in common with a question; pure.

For a language that the embedding model does not know: forms of a word, compounds and kindred words share runs
of letters where no word is the same. The frequencies are those among the candidates, so what other clients
write changes nothing.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from graphmem.retrieval.fusion import Scores, by_maximum
from graphmem.text.words import UNSPACED_LETTERS, folded

LENGTHS = (3, 4, 5)
"""The lengths of the runs; a word counts with the space before and after it."""

K1, B = 1.2, 0.75
"""The usual constants of BM25 (Robertson and Zaragoza, 2009)."""

_WORD = re.compile(rf"[{UNSPACED_LETTERS}]+|[^\W{UNSPACED_LETTERS}]+")
_UNSPACED = re.compile(f"[{UNSPACED_LETTERS}]")


def spelling(question: str, texts: Mapping[str, str]) -> Scores:
    """Return how alike the spelling of each text is, 1 for the most alike; without those that share none."""
    asked = frozenset(runs(question))
    found = {id: Counter(runs(text)) for id, text in texts.items()}
    lengths = {id: counts.total() for id, counts in found.items()}
    mean = sum(lengths.values()) / max(1, len(lengths)) or 1.0
    having = Counter(run for counts in found.values() for run in asked & counts.keys())
    rarity = {
        run: math.log(1 + (len(found) - number + 0.5) / (number + 0.5))
        for run, number in having.items()
    }
    scores = {
        id: sum(
            rarity[run] * counts[run] / (counts[run] + K1 * (1 - B + B * lengths[id] / mean))
            for run in sorted(asked & counts.keys())
        )
        for id, counts in found.items()
    }
    return by_maximum({id: score for id, score in scores.items() if score})


def runs(text: str) -> Iterator[str]:
    """Yield the runs of letters of a text's words; of a script without spaces characters and their pairs."""
    for word in _WORD.findall(folded(text)):
        if _UNSPACED.match(word):
            yield from word
            yield from (word[place : place + 2] for place in range(len(word) - 1))
            continue
        padded = f" {word} "
        for length in LENGTHS:
            if len(padded) <= length:
                yield padded
            else:
                yield from (
                    padded[place : place + length] for place in range(len(padded) - length + 1)
                )
