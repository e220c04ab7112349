"""The prompt of contextual retrieval, fixed to the character, and the part of it that fits a budget. Pure."""

from collections.abc import Sequence
from itertools import chain

from msgspec import Struct

from graphmem.prompts.rendering import one_line
from graphmem.tokens import TokenCounter

HEADING_CHARACTERS = 100
LINK_CHARACTERS = 80
RELATED = "\n## Related sessions:"


class Exchange(Struct, frozen=True):
    """A hit and the messages around it that are not shown elsewhere, in their order."""

    id: str
    line: str
    """The line of the hit."""
    score: float
    neighbours: list[str] = []
    context: str = ""
    """The line of the messages around it; '' for none."""


class Passage(Struct, frozen=True):
    """A session and its exchanges, in their order."""

    session_id: str
    heading: str
    exchanges: list[Exchange]


class LinkLine(Struct, frozen=True):
    """A related session and its line."""

    session_id: str
    line: str


def heading(title: str) -> str:
    """Return the first two lines of a session."""
    return f"## Session: {one_line(title)[:HEADING_CHARACTERS]}...\nRelevant exchanges:"


def hit_line(role: str, content: str) -> str:
    """Return the line of a hit."""
    return f"  [{role}]: {one_line(content)}"


def context_line(turns: Sequence[tuple[str, str]]) -> str:
    """Return the line of the messages around a hit, each a role and a content; '' for none."""
    if not turns:
        return ""
    return "    Context: " + " ".join(f"[{role}]: {one_line(content)}" for role, content in turns)


def link_line(title: str) -> str:
    """Return the line of a related session."""
    return f"- {one_line(title)[:LINK_CHARACTERS]}..."


def prompt(passages: Sequence[Passage], links: Sequence[LinkLine]) -> str:
    """Return the prompt; '' for no passages and links."""
    lines: list[str] = []
    for passage in passages:
        lines.append(passage.heading)
        for exchange in passage.exchanges:
            lines += [exchange.line, exchange.context] if exchange.context else [exchange.line]
    if links:
        lines += [RELATED, *dict.fromkeys(link.line for link in links)]
    return "\n".join(lines)


class LineBudget:
    """A number of tokens that lines use up."""

    def __init__(self, max_tokens: int, tokens: TokenCounter) -> None:
        self._left = max_tokens
        self._tokens = tokens

    def takes(self, *lines: str) -> bool:
        """Take the tokens of these lines; return False, and take none, when they do not fit together."""
        cost = sum(self._tokens.count(f"{line}\n") for line in lines)
        if cost > self._left:
            return False
        self._left -= cost
        return True


def fitting_hits(
    passages: Sequence[Passage], budget: LineBudget
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the hits that fit, the best taken first, and the sessions whose heading fits."""
    headings = {passage.session_id: passage.heading for passage in passages}
    hits = [(exchange, passage) for passage in passages for exchange in passage.exchanges]
    hits.sort(key=lambda pair: (-pair[0].score, pair[0].id))
    headed: set[str] = set()
    taken: set[str] = set()
    for exchange, passage in hits:
        id = passage.session_id
        lines = [exchange.line] if id in headed else [headings[id], exchange.line]
        if budget.takes(*lines):
            headed.add(id)
            taken.add(exchange.id)
    for passage in passages:
        # Found by its summary alone: it has only its heading.
        if not passage.exchanges and budget.takes(passage.heading):
            headed.add(passage.session_id)
    return frozenset(taken), frozenset(headed)


def fitting_contexts(passages: Sequence[Passage], budget: LineBudget) -> frozenset[str]:
    """Return the hits whose surrounding messages fit too, the best taken first."""
    hits = sorted(
        chain.from_iterable(passage.exchanges for passage in passages),
        key=lambda exchange: (-exchange.score, exchange.id),
    )
    return frozenset(one.id for one in hits if one.context and budget.takes(one.context))


def fitting_links(links: Sequence[LinkLine], budget: LineBudget) -> list[LinkLine]:
    """Return the links that fit in their order; their heading uses tokens too."""
    taken: list[LinkLine] = []
    said: set[str] = set()
    for link in links:
        lines = [] if link.line in said else [link.line]
        if budget.takes(*lines if taken else [RELATED, *lines]):
            taken.append(link)
            said.add(link.line)
    return taken
