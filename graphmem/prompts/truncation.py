"""Cutting to a budget: the ranked memories that fit, shortened texts, and excerpts around a hit.

A text is cut at characters and counted in tokens, and the token counts of its parts do not add up exactly. So
the cut is estimated from a table of pieces that are counted once each; then the result is measured and the
estimate corrected until nothing more fits.

An excerpt begins as the sentence of the passage that shares most words with the question, and grows by the
sentences after and before it, beyond the passage too.
"""

import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from graphmem.model.vocabulary import TruncationStrategy
from graphmem.text.passages import units
from graphmem.text.segmenting import sentence_ends
from graphmem.text.words import shared_weight, stem, words_of
from graphmem.tokens import TokenCounter, pieces

ELLIPSIS = "..."
GAP = " [...] "
HEAD = 0.6
"""The share of the kept text that is placed before the gap; the rest is placed after it."""

PIECE_CHARACTERS = 1_000
MEASURED = 12
"""The maximum number of measurements and corrections of a cut."""

_JOINER = "\u200d"
_BINDING = 32
"""The maximum number of marks that are kept with their character."""


class Truncated(Struct, frozen=True):
    """A text within its limit: the header, the kept text, and the marks of the cut."""

    content: str
    token_count: int
    truncated: bool
    kept: int
    """The number of characters of the text that were kept, without header and marks."""


class PossibleCut(Struct, frozen=True):
    """One possible cut: its result, and the number of characters of the text that it keeps."""

    content: str
    kept: int


Cutting = Callable[[int], PossibleCut]
"""Cuts a text to about a given number of tokens."""


def truncated(
    text: str, limit: int, strategy: TruncationStrategy, tokens: TokenCounter, *, header: str = ""
) -> Truncated:
    """Return header and text in at most `limit` tokens, as much of the text as fits.

    `end` keeps the beginning and adds an ellipsis, `sentence` keeps whole sentences if one fits, `middle`
    keeps 60 % of the room for the beginning and 40 % for the end; if these keep nothing, the text is cut as
    with `end`. The content is empty if not even the header fits.
    """
    if not tokens.exceeds(header + text, limit):
        content = header + text
        return Truncated(content, tokens.count(content), False, len(text))
    cut = _cut(text, limit, strategy, tokens, header)
    return Truncated(cut.content, tokens.count(cut.content), True, cut.kept)


def _cut(
    text: str, limit: int, strategy: TruncationStrategy, tokens: TokenCounter, header: str
) -> PossibleCut:
    """Return the cut of a text that is too long, as with `end` if a strategy keeps nothing."""
    if strategy == "middle":
        around = _fitted(_middle(text, header, tokens), limit, tokens)
        if around is not None and around.kept:
            return around
    cut = _fitted(_end(text, header, tokens), limit, tokens)
    if cut is None:
        return PossibleCut("" if tokens.exceeds(header, limit) else header, 0)
    if strategy == "sentence":
        return _whole_sentences(text, header, cut, limit, tokens) or cut
    return cut


def _end(text: str, header: str, tokens: TokenCounter) -> Cutting:
    front = CharactersThatFit(pieces(text, PIECE_CHARACTERS), tokens)

    def cutting(aim: int) -> PossibleCut:
        end = boundary(text, front.characters(aim))
        return PossibleCut(f"{header}{text[:end]}{ELLIPSIS}", end)

    return cutting


def _middle(text: str, header: str, tokens: TokenCounter) -> Cutting:
    front = CharactersThatFit(pieces(text, PIECE_CHARACTERS), tokens)
    back = CharactersThatFit(reversed(list(pieces(text, PIECE_CHARACTERS))), tokens, from_end=True)

    def cutting(aim: int) -> PossibleCut:
        head_tokens = round(HEAD * aim)
        head = boundary(text, front.characters(head_tokens))
        tail = boundary(text, len(text) - back.characters(aim - head_tokens), forward=True)
        tail = max(head, tail)
        return PossibleCut(f"{header}{text[:head]}{GAP}{text[tail:]}", head + len(text) - tail)

    return cutting


def _fitted(cutting: Cutting, limit: int, tokens: TokenCounter) -> PossibleCut | None:
    """Return the longest cut that fits; None if none does, not even its marks.

    Each measurement corrects the estimate by the difference to the limit, always between the largest value
    known to fit and the smallest known not to fit.
    """
    best = cutting(0)
    spare = limit - tokens.count(best.content)
    if spare < 0:
        return None
    # The table may overestimate the tokens of a text that stays in one piece.
    aim, fits, too_much = spare, 0, 2 * limit + 2
    for _ in range(MEASURED):
        if fits == too_much - 1 or not spare:
            break
        aim = min(max(aim, fits + 1), too_much - 1)
        cut = cutting(aim)
        spare = limit - tokens.count(cut.content)
        if spare < 0:
            too_much = aim
        else:
            fits, best = aim, cut
        aim += spare
    return best


def _whole_sentences(
    text: str, header: str, cut: PossibleCut, limit: int, tokens: TokenCounter
) -> PossibleCut | None:
    """Return the whole sentences that fit, with an ellipsis; None if not one fits."""
    ends = []
    for end in sentence_ends(text):
        ends.append(end)
        if end > cut.kept:
            # The first sentence beyond the cut may fit too: the table is only nearly exact.
            break
    for end in reversed(ends):
        content = f"{header}{text[:end]}{ELLIPSIS}"
        if not tokens.exceeds(content, limit):
            return PossibleCut(content, end)
    return None


class CharactersThatFit:
    """The characters of a text that fit into a number of tokens, from its beginning or its end."""

    def __init__(
        self, parts: Iterator[str], tokens: TokenCounter, *, from_end: bool = False
    ) -> None:
        self._parts = parts
        self._tokens = tokens
        self._from_end = from_end
        self._known: list[str] = []
        self._characters = [0]
        self._costs = [0]

    def characters(self, most: int) -> int:
        """Return the number of characters that fit; exact up to one or two tokens for each piece."""
        while self._costs[-1] <= most and (part := next(self._parts, None)) is not None:
            self._known.append(part)
            self._characters.append(self._characters[-1] + len(part))
            self._costs.append(self._costs[-1] + self._tokens.count(part))
        whole = bisect_right(self._costs, most) - 1
        if whole == len(self._known):
            return self._characters[whole]
        return self._characters[whole] + self._within(self._known[whole], most - self._costs[whole])

    def _within(self, part: str, most: int) -> int:
        def cost(length: int) -> int:
            taken = part[len(part) - length :] if self._from_end else part[:length]
            return self._tokens.count(taken)

        return bisect_right(range(len(part) + 1), most, key=cost) - 1


def boundary(text: str, place: int, *, forward: bool = False) -> int:
    """Return the nearest position that does not separate a character from its marks: before, or after it."""
    step = 1 if forward else -1
    for moved in range(_BINDING):
        near = place + step * moved
        if not 0 < near < len(text) or not _bound(text[near - 1], text[near]):
            return near
    return place


def _bound(left: str, right: str) -> bool:
    """Tell whether two code points are parts of one character, such as an emoji with a skin tone."""
    return (
        _JOINER in {left, right}
        or unicodedata.category(right) in {"Mn", "Me"}
        or "\U0001f3fb" <= right <= "\U0001f3ff"
    )


class Parcel(Struct, frozen=True):
    """The cost of a memory in the context, and the group whose heading it shares."""

    id: str
    tokens: int
    group: Hashable
    heading_tokens: int

    def cost(self, groups: Container[Hashable]) -> int:
        """Return the tokens that it takes beside these groups; the first of a group pays for its heading."""
        return self.tokens + (0 if self.group in groups else self.heading_tokens)


def fitting(parcels: Iterable[Parcel], budget: int, *, most: int) -> list[str]:
    """Return the ids that fit, by rank: one that does not fit is left out and the next is tried.

    The first of a group pays for its heading. At most `most` are taken.
    """
    taken: list[str] = []
    groups: set[Hashable] = set()
    for parcel in parcels:
        if len(taken) == most:
            break
        cost = parcel.cost(groups)
        if cost <= budget:
            budget -= cost
            taken.append(parcel.id)
            groups.add(parcel.group)
    return taken


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
        self._words = words
        self._tokens = tokens
        placed = [(part.place, unit) for part in parts for unit in units(part.text, part.start)]
        self._units = [unit for _, unit in placed]
        self._costs = [tokens.count(unit.text) + 1 for unit in self._units]
        inside = [at for at, (of, _) in enumerate(placed) if of == place]
        rare = _by_rarity(words, [unit.text for unit in self._units])
        self._middle = max(
            inside, key=lambda at: (shared_weight(self._units[at].text, rare), -at), default=None
        )

    def sentence(self) -> Excerpt | None:
        """Return the sentence with which every excerpt begins; None if the passage is not there."""
        return None if self._middle is None else self._shown(self._middle, self._middle)

    def part(self, room: int) -> Excerpt | None:
        """Return what fits into `room` tokens of that sentence, from its first word that is asked for.

        For a text without sentences, such as Base64 or a script without full stops.
        """
        if self._middle is None:
            return None
        unit = self._units[self._middle]
        lower = unit.text.lower()
        places = [lower.find(word) for word in self._words if word in lower]
        begin = boundary(unit.text, min(places, default=0)) if len(lower) == len(unit.text) else 0
        rest = unit.text[begin:]
        left = room - self._tokens.count(f"{LEFT_OUT}  {LEFT_OUT}")
        fits = CharactersThatFit(pieces(rest, PIECE_CHARACTERS), self._tokens).characters(left)
        start = unit.start + len(unit.text[:begin].encode())
        return self._between(start, start + len(rest[: boundary(rest, fits)].encode()))

    def excerpt(self, room: int) -> Excerpt | None:
        """Return the longest excerpt of at most `room` tokens; None if not one sentence fits."""
        best = self.sentence()
        if self._middle is None or best is None:
            return None
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
        return self._between(self._units[first].start, self._units[last].end)

    def _between(self, start: int, end: int) -> Excerpt:
        """Return these bytes, marked where something is left out."""
        text = self._data[start - self._base : end - self._base].decode()
        if start > self._units[0].start or self._base:
            text = f"{LEFT_OUT} {text}"
        if end < self._units[-1].end or self._end < self._total:
            text = f"{text} {LEFT_OUT}"
        return Excerpt(text, start, end)


def _by_rarity(words: Mapping[str, float], sentences: Iterable[str]) -> dict[str, float]:
    """Return the weights of stems, each divided by the number of sentences that have it."""
    each = [words_of(text) for text in sentences]
    # The lines of a long text repeat their words: each is stemmed once.
    roots = {word: stem(word) for word in set().union(*each)}
    many = Counter(root for said in each for root in {roots[word] for word in said} & words.keys())
    return {root: words[root] / many[root] for root in many}
