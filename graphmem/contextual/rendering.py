"""What contextual retrieval says to a model, as S5 words it, and what of it fits a budget."""

from collections.abc import Sequence
from itertools import chain

from msgspec import Struct

from graphmem.tokens import TokenCounter

HEADING_CHARACTERS = 100
LINK_CHARACTERS = 80
RELATED = "\n## Related sessions:"


class Exchange(Struct, frozen=True):
    """A hit and what stands around it that is not shown elsewhere, in their order."""

    id: str
    line: str
    """The hit as it is shown."""
    score: float
    neighbours: list[str] = []
    context: str = ""
    """What stands around it as it is shown; '' for nothing."""


class Passage(Struct, frozen=True):
    """A session and its exchanges, in their order."""

    session_id: str
    heading: str
    exchanges: list[Exchange]


class Link(Struct, frozen=True):
    """A related session as it is shown."""

    session_id: str
    line: str


def heading(title: str) -> str:
    """Return the first two lines of a session."""
    return f"## Session: {one_line(title)[:HEADING_CHARACTERS]}...\nRelevant exchanges:"


def hit_line(role: str, content: str) -> str:
    """Return the line of a hit."""
    return f"  [{role}]: {one_line(content)}"


def context_line(turns: Sequence[tuple[str, str]]) -> str:
    """Return the line of what stands around a hit, each a role and a content; '' for nothing."""
    if not turns:
        return ""
    return "    Context: " + " ".join(f"[{role}]: {one_line(content)}" for role, content in turns)


def link_line(title: str) -> str:
    """Return the line of a related session."""
    return f"- {one_line(title)[:LINK_CHARACTERS]}..."


def one_line(text: str) -> str:
    """Return a text without line breaks, so that it cannot forge a heading."""
    return " ".join(text.splitlines()).strip()


def prompt(passages: Sequence[Passage], links: Sequence[Link]) -> str:
    """Return the whole text; '' for nothing."""
    lines: list[str] = []
    for passage in passages:
        lines.append(passage.heading)
        for exchange in passage.exchanges:
            lines += [exchange.line, exchange.context] if exchange.context else [exchange.line]
    if links:
        lines += [RELATED, *dict.fromkeys(link.line for link in links)]
    return "\n".join(lines)


class Budget:
    """Room for lines; what is longer than what is left does not get in."""

    def __init__(self, max_tokens: int, tokens: TokenCounter) -> None:
        self._left = max_tokens
        self._tokens = tokens

    def takes(self, *lines: str) -> bool:
        """Tell whether these lines fit together; if so the room is theirs."""
        cost = sum(self._tokens.count(f"{line}\n") for line in lines)
        if cost > self._left:
            return False
        self._left -= cost
        return True


def fitting_hits(
    passages: Sequence[Passage], budget: Budget
) -> tuple[frozenset[str], frozenset[str]]:
    """Return which hits fit, the best first, and which sessions are headed for them."""
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
        # Found by its summary alone: the heading is all it has.
        if not passage.exchanges and budget.takes(passage.heading):
            headed.add(passage.session_id)
    return frozenset(taken), frozenset(headed)


def fitting_contexts(passages: Sequence[Passage], budget: Budget) -> frozenset[str]:
    """Return of which hits, the best first, also what stands around them fits."""
    hits = sorted(
        chain.from_iterable(passage.exchanges for passage in passages),
        key=lambda exchange: (-exchange.score, exchange.id),
    )
    return frozenset(one.id for one in hits if one.context and budget.takes(one.context))


def fitting_links(links: Sequence[Link], budget: Budget) -> list[Link]:
    """Return the links that fit, the first first; their heading needs room too."""
    taken: list[Link] = []
    said: set[str] = set()
    for link in links:
        lines = [] if link.line in said else [link.line]
        if budget.takes(*lines if taken else [RELATED, *lines]):
            taken.append(link)
            said.add(link.line)
    return taken
