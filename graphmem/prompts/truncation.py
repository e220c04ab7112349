"""Cutting a text to a number of tokens: what is returned has been counted as a whole.

A text is cut at characters and counted in tokens, and the tokens of a whole are not quite the sum of
its parts'. So the place to cut is looked for in a table of pieces that are counted once each, and
the result is measured and the aim corrected until nothing more fits.
"""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator

from msgspec import Struct

from graphmem.model.vocabulary import TruncationStrategy
from graphmem.text.sentences import sentence_ends
from graphmem.tokens import TokenCounter, pieces

ELLIPSIS = "..."
GAP = " [...] "
HEAD = 0.6
"""How much of what is kept stands before the gap; the rest stands after it."""

PIECE_CHARACTERS = 1_000
MEASURED = 12
"""How often a cut is measured and corrected."""

_JOINER = "\u200d"
_BINDING = 32
"""How many marks may belong to one character before it may be cut between them."""


class Truncated(Struct, frozen=True):
    """A text within its limit: header, what was kept and what marks the cut."""

    content: str
    token_count: int
    truncated: bool
    kept: int
    """How many characters of the text it holds; where it has been cut, header and marks excluded."""


class Cut(Struct, frozen=True):
    """One way of cutting: what it gives, and how many characters of the text it keeps."""

    content: str
    kept: int


Cutting = Callable[[int], Cut]
"""Cuts a text so that about so many tokens of it are left."""


def truncated(
    text: str, limit: int, strategy: TruncationStrategy, tokens: TokenCounter, *, header: str = ""
) -> Truncated:
    """Return header and text in at most `limit` tokens, as much of the text as fits.

    `end` keeps the beginning and adds an ellipsis, `sentence` keeps whole sentences where one fits,
    `middle` keeps 60 % of what fits from the beginning and 40 % from the end; where these keep nothing
    it is cut as with `end`. Where not even the header fits the content is empty.
    """
    if not tokens.exceeds(header + text, limit):
        content = header + text
        return Truncated(content, tokens.count(content), False, len(text))
    cut = _cut(text, limit, strategy, tokens, header)
    return Truncated(cut.content, tokens.count(cut.content), True, cut.kept)


def _cut(
    text: str, limit: int, strategy: TruncationStrategy, tokens: TokenCounter, header: str
) -> Cut:
    """Return what a text that is too long is cut to; the end is cut where a strategy keeps nothing."""
    if strategy == "middle":
        around = _fitted(_middle(text, header, tokens), limit, tokens)
        if around is not None and around.kept:
            return around
    cut = _fitted(_end(text, header, tokens), limit, tokens)
    if cut is None:
        return Cut("" if tokens.exceeds(header, limit) else header, 0)
    if strategy == "sentence":
        return _whole_sentences(text, header, cut, limit, tokens) or cut
    return cut


def _end(text: str, header: str, tokens: TokenCounter) -> Cutting:
    front = Table(pieces(text, PIECE_CHARACTERS), tokens)

    def cutting(aim: int) -> Cut:
        end = boundary(text, front.characters(aim))
        return Cut(f"{header}{text[:end]}{ELLIPSIS}", end)

    return cutting


def _middle(text: str, header: str, tokens: TokenCounter) -> Cutting:
    front = Table(pieces(text, PIECE_CHARACTERS), tokens)
    back = Table(reversed(list(pieces(text, PIECE_CHARACTERS))), tokens, from_end=True)

    def cutting(aim: int) -> Cut:
        head_tokens = round(HEAD * aim)
        head = boundary(text, front.characters(head_tokens))
        tail = boundary(text, len(text) - back.characters(aim - head_tokens), forward=True)
        tail = max(head, tail)
        return Cut(f"{header}{text[:head]}{GAP}{text[tail:]}", head + len(text) - tail)

    return cutting


def _fitted(cutting: Cutting, limit: int, tokens: TokenCounter) -> Cut | None:
    """Return the cut that keeps most and fits; None where nothing does, not even its marks.

    The aim is corrected by what is left or too much, always inside what is known to fit and what is
    known not to.
    """
    best = cutting(0)
    spare = limit - tokens.count(best.content)
    if spare < 0:
        return None
    # The table may count a text for more than it costs in one piece.
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
    text: str, header: str, cut: Cut, limit: int, tokens: TokenCounter
) -> Cut | None:
    """Return the whole sentences that fit, with an ellipsis; None where not one does."""
    ends = [0]
    for end in sentence_ends(text):
        ends.append(end)
        if end > cut.kept:
            # The first beyond the cut may fit too: the table is only nearly exact.
            break
    for end in reversed(ends[1:]):
        content = f"{header}{text[:end]}{ELLIPSIS}"
        if not tokens.exceeds(content, limit):
            return Cut(content, end)
    return None


class Table:
    """How many characters of a text cost at most so many tokens, from its beginning or its end."""

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
        """Return how many characters may be taken; the tokens are right up to one or two a piece."""
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
    """Return the nearest place that does not part a character from its marks: before it, or after it."""
    step = 1 if forward else -1
    for moved in range(_BINDING):
        near = place + step * moved
        if not 0 < near < len(text) or not _bound(text[near - 1], text[near]):
            return near
    return place


def _bound(left: str, right: str) -> bool:
    """Tell whether two code points are parts of one character, such as an emoji with a skin."""
    return (
        _JOINER in {left, right}
        or unicodedata.category(right) in {"Mn", "Me"}
        or "\U0001f3fb" <= right <= "\U0001f3ff"
    )
