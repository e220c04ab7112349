"""Excerpts: the whole sentences and lines around a hit in a long text, as many as fit.

An excerpt begins as the sentence of the passage that shares most words with the question, and grows by the
sentences after and before it, beyond the passage too.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from graphmem.text.passages import units
from graphmem.text.words import shared_weight
from graphmem.tokens import TokenCounter

LEFT_OUT = "[...]"
"""Marks the place where a part of the text is left out."""


class Part(Struct, frozen=True, kw_only=True):
    """A passage of a long text with its place, and its bytes in the text, the end exclusive."""

    place: int
    start: int
    end: int
    text: str


class Excerpt(Struct, frozen=True):
    """A part of a text with the marks of what is left out, and its bytes, the end exclusive."""

    text: str
    start: int
    end: int


class Surroundings:
    """The passages around a hit in order, without a gap, from which excerpts of any length are taken.

    `place` is that of the hit, `words` the weights of the question's stems, `total` the bytes of the whole
    text.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        place: int,
        words: Mapping[str, float],
        *,
        total: int,
        tokens: TokenCounter,
    ) -> None:
        self._data = "".join(part.text for part in parts).encode()
        self._base = parts[0].start if parts else 0
        self._end = parts[-1].end if parts else 0
        self._total = total
        self._tokens = tokens
        placed = [(part.place, unit) for part in parts for unit in units(part.text, part.start)]
        self._units = [unit for _, unit in placed]
        self._costs = [tokens.count(unit.text) + 1 for unit in self._units]
        inside = [at for at, (of, _) in enumerate(placed) if of == place]
        self._middle = max(
            inside, key=lambda at: (shared_weight(self._units[at].text, words), -at), default=None
        )

    def excerpt(self, room: int) -> Excerpt | None:
        """Return the longest excerpt of at most `room` tokens; None if not one sentence fits."""
        if self._middle is None:
            return None
        best = self._shown(self._middle, self._middle)
        left = room - self._tokens.count(best.text)
        if left < 0:
            return None
        first, last = self._grown(self._middle, left)
        while (first, last) != (self._middle, self._middle):
            grown = self._shown(first, last)
            if not self._tokens.exceeds(grown.text, room):
                return grown
            # Adjacent sentences may have more tokens than the sum of them.
            first, last = (first, last - 1) if last > self._middle else (first + 1, last)
        return best

    def _grown(self, middle: int, left: int) -> tuple[int, int]:
        """Return the first and the last sentence that fit, added after and before the middle one in turn."""
        first = last = middle
        growing = [1, -1]
        while growing:
            for step in tuple(growing):
                at = last + 1 if step == 1 else first - 1
                if not 0 <= at < len(self._units) or self._costs[at] > left:
                    growing.remove(step)
                    continue
                left -= self._costs[at]
                first, last = min(first, at), max(last, at)
        return first, last

    def _shown(self, first: int, last: int) -> Excerpt:
        """Return these sentences as they stand in the text, marked where something is left out."""
        start, end = self._units[first].start, self._units[last].end
        text = self._data[start - self._base : end - self._base].decode()
        if first or self._base:
            text = f"{LEFT_OUT} {text}"
        if last + 1 < len(self._units) or self._end < self._total:
            text = f"{text} {LEFT_OUT}"
        return Excerpt(text, start, end)
