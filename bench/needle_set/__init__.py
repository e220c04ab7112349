"""Sixty-six facts that stand in long messages, as hand-written needles, and the texts around them.

`needles.tsv` holds one needle a line: its language, the form of the text that it stands in, the needle, and a
question that it answers. The texts around them are made here: the same ones every time.
"""

import random
from pathlib import Path

from msgspec import Struct

from bench.needle_set.fillers import filler
from graphmem.tokens import TokenCounter

TOKENS = (1_000, 1_500, 2_000, 3_000, 5_000, 1_200, 2_500, 4_000, 8_000, 1_000, 20_000)
"""The lengths of the texts, one after the other."""

FILE = Path(__file__).with_name("needles.tsv")


class Needle(Struct, frozen=True, kw_only=True):
    """A fact, a question that it answers, and the long text in which it stands."""

    id: str
    language: str
    form: str
    text: str
    question: str
    tokens: int
    """About how long the text is in which it stands."""

    def haystack(self, tokens: TokenCounter) -> str:
        """Return the long text with the needle on a line, or between sentences, of its own."""
        made = random.Random(self.id)
        lines = filler(self.form, self.language, self.tokens, made, tokens)
        lines.insert(made.randint(1, len(lines) - 1), self.text)
        return "\n".join(lines)


def needles() -> list[Needle]:
    """Return all needles, in the order of the file."""
    found = []
    for place, line in enumerate(FILE.read_text(encoding="utf-8").splitlines()):
        language, form, text, question = line.split("\t")
        found.append(
            Needle(
                id=f"needle-{place:02d}",
                language=language,
                form=form,
                text=text,
                question=question,
                tokens=TOKENS[place % len(TOKENS)],
            )
        )
    return found
