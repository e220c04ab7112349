"""Assembling a contextual answer: hits and the messages around them, by session, within a budget."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain, islice

from msgspec import Struct
from msgspec.structs import replace

from graphmem.contextual.narrowing import ChosenSession, NarrowedSearch, around
from graphmem.contextual.types import ContextualResult, ContextualTurn, OmittedTurn, SessionContext
from graphmem.model.vocabulary import Role, bare_id, owner_of
from graphmem.prompts.rendering import one_line
from graphmem.prompts.truncation import Excerpt, Part, Surroundings
from graphmem.recall.compose import (
    LARGE_SHARE,
    MOST_AROUND,
    OMITTED_SHOWN,
    first_excerpt,
    shown_excerpt,
)
from graphmem.recall.types import ShownExcerpt
from graphmem.retrieval.finding import Candidate, FoundPassage
from graphmem.retrieval.relevance import weighed_stems
from graphmem.sessions.related import RelatedSession
from graphmem.text.passages import passages as cut
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


class SessionExchanges(Struct, frozen=True):
    """A session and its exchanges, in their order."""

    session_id: str
    heading: str
    exchanges: list[Exchange]


class LinkLine(Struct, frozen=True):
    """A related session and its line."""

    session_id: str
    line: str


def heading(title: str, owner: str = "") -> str:
    """Return the first two lines of a session; that of another client names the client."""
    whose = f" ({owner})" if owner else ""
    return f"## Session{whose}: {one_line(title)[:HEADING_CHARACTERS]}...\nRelevant exchanges:"


def hit_line(role: str, content: str) -> str:
    """Return the line of a hit."""
    return f"  [{role}]: {one_line(content)}"


def context_line(turns: Sequence[tuple[str, str]]) -> str:
    """Return the line of the messages around a hit, each a role and a content; '' for none."""
    if not turns:
        return ""
    return "    Context: " + " ".join(f"[{role}]: {one_line(content)}" for role, content in turns)


def link_line(title: str, owner: str = "") -> str:
    """Return the line of a related session; that of another client names the client."""
    whose = f"({owner}) " if owner else ""
    return f"- {whose}{one_line(title)[:LINK_CHARACTERS]}..."


def prompt(passages: Sequence[SessionExchanges], links: Sequence[LinkLine]) -> str:
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
        left = self._left
        for line in lines:
            left -= self._tokens.count_up_to(f"{line}\n", left)
            if left < 0:
                return False
        self._left = left
        return True


def fitting_hits(
    passages: Sequence[SessionExchanges], budget: LineBudget
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


def fitting_contexts(passages: Sequence[SessionExchanges], budget: LineBudget) -> frozenset[str]:
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


class NearbyTurn(Struct, frozen=True, kw_only=True):
    """A message of a session, with its text."""

    id: str
    session_id: str
    idx: int
    role: Role
    name: str | None
    content: str
    token_count: int
    occurred_at: datetime
    excerpt: ShownExcerpt | None = None
    """The part that `content` shows of a long message."""


class LongHit(Struct, frozen=True):
    """A long message that answers: whole, the passage that was found, and what is around that."""

    turn: NearbyTurn
    passage: FoundPassage
    around: Surroundings

    def within(self, excerpt: Excerpt) -> NearbyTurn:
        """Return the message with an excerpt as its content."""
        shown = shown_excerpt(excerpt, self.passage)
        return replace(self.turn, content=excerpt.text, excerpt=shown)


class AnsweredSearch(NarrowedSearch, frozen=True, kw_only=True):
    """The third stage: with the messages that answer, and the related sessions."""

    hits: dict[str, list[tuple[Candidate, float]]]
    """By session the messages that answer, the best first, with their scores."""
    links: list[RelatedSession]


class SurroundedSearch(AnsweredSearch, frozen=True, kw_only=True):
    """The last stage: all parts of an answer, before a budget leaves some out."""

    turns: dict[str, list[NearbyTurn]]
    """By session in their order: the hits and the messages around them."""
    scores: dict[str, float]
    """The hits that are relevant by their text too, with their scores."""
    titles: dict[str, str]
    """The titles of the related sessions that exist."""


def assembled(search: SurroundedSearch, tokens: TokenCounter) -> ContextualResult:
    """Return the answer: the budget is used for hits first, then for messages around them, then for links.

    The tokens of the returned prompt are counted as a whole.
    """
    long = long_hits(search, tokens)
    search = _with_excerpts(search, long)
    links = [
        LinkLine(one.session_id, link_line(search.titles[one.session_id], owner_of(one.session_id)))
        for one in search.links
        if one.session_id in search.titles
    ]
    passages = _passages(search, set(search.scores))
    max_tokens = room = search.query.budget
    kept, taken = passages, links
    while tokens.exceeds(text := prompt(kept, taken), max_tokens):
        if kept is not passages:
            # Adjacent lines may have more tokens than the sum of the lines.
            room -= tokens.count(text) - max_tokens
        kept, taken = _fitting(search, passages, links, LineBudget(max(room, 0), tokens))
    search, kept, text = _grown(search, long, kept, taken, max_tokens, tokens)
    used = tokens.count(text)
    linked = {link.session_id for link in taken}
    omitted = _omitted(search, _shown(passages) - _shown(kept))
    return ContextualResult(
        contexts=_contexts(search, kept),
        cross_links=[_unmarked(one) for one in search.links if one.session_id in linked],
        fallback=None,
        items=[],
        prompt=text,
        tokens_used=used,
        omitted=omitted[:OMITTED_SHOWN],
        omitted_total=len(omitted),
        degraded=search.question.degraded,
    )


def long_hits(search: SurroundedSearch, tokens: TokenCounter) -> dict[str, LongHit]:
    """Return the hits that are longer than a quarter of the budget, if a passage of them was found."""
    budget = search.query.budget
    turns = {turn.id: turn for some in search.turns.values() for turn in some}
    words = weighed_stems(search.question.words, search.question.weight)
    found: dict[str, LongHit] = {}
    for one, _ in (pair for some in search.hits.values() for pair in some):
        turn = turns.get(one.id)
        if turn is None or not one.passages or turn.token_count <= LARGE_SHARE * budget:
            continue
        passage = one.passages[0]
        first = max(0, passage.place - MOST_AROUND)
        parts = [
            Part(place=place, start=part.start, end=part.end, text=part.text)
            for place, part in enumerate(
                islice(cut(turn.content), first, passage.place + MOST_AROUND + 1), first
            )
        ]
        total = len(turn.content.encode())
        around = Surroundings(parts, passage.place, words, total=total, tokens=tokens)
        found[one.id] = LongHit(turn, passage, around)
    return found


def _with_excerpts(search: SurroundedSearch, long: Mapping[str, LongHit]) -> SurroundedSearch:
    """Return a search whose long hits are excerpts."""
    shorter = {
        id: hit.within(excerpt)
        for id, hit in long.items()
        if (excerpt := first_excerpt(hit.around, search.query.budget))
    }
    return _replaced(search, shorter)


def _replaced(search: SurroundedSearch, turns: Mapping[str, NearbyTurn]) -> SurroundedSearch:
    """Return a search with other contents of some messages."""
    return replace(
        search,
        turns={
            id: [turns.get(turn.id, turn) for turn in some] for id, some in search.turns.items()
        },
    )


def _grown(
    search: SurroundedSearch,
    long: Mapping[str, LongHit],
    kept: list[SessionExchanges],
    links: Sequence[LinkLine],
    max_tokens: int,
    tokens: TokenCounter,
) -> tuple[SurroundedSearch, list[SessionExchanges], str]:
    """Give the remaining room to the excerpts, the best first."""
    text = prompt(kept, links)
    hits = {one.id for passage in kept for one in passage.exchanges} & long.keys()
    for id in sorted(hits, key=lambda one: (-search.scores[one], one)):
        spare = max_tokens - tokens.count(text)
        before = next(turn for some in search.turns.values() for turn in some if turn.id == id)
        while spare > 0:
            excerpt = long[id].around.excerpt(tokens.count(before.content) + spare)
            if excerpt is None or excerpt.text == before.content:
                break
            turn = long[id].within(excerpt)
            tried = _relined(kept, id, hit_line(turn.role, turn.content))
            longer = prompt(tried, links)
            if (used := tokens.count(longer)) <= max_tokens:
                search, kept, text = _replaced(search, {id: turn}), tried, longer
                break
            spare -= max(1, used - max_tokens)
    return search, kept, text


def _relined(passages: Sequence[SessionExchanges], id: str, line: str) -> list[SessionExchanges]:
    """Return the passages with another line of a hit."""
    return [
        replace(
            passage,
            exchanges=[
                replace(one, line=line) if one.id == id else one for one in passage.exchanges
            ],
        )
        for passage in passages
    ]


def _passages(search: SurroundedSearch, hits: set[str]) -> list[SessionExchanges]:
    """Return the passage of each session for these hits."""
    passages = []
    for one in search.sessions:
        turns = search.turns.get(one.head.id, [])
        places = {place for place, turn in enumerate(turns) if turn.id in hits}
        nearby = around(turns, places, search.query.neighbours)
        exchanges = [
            Exchange(
                turns[place].id,
                hit_line(turns[place].role, turns[place].content),
                search.scores[turns[place].id],
                [turns[one].id for one in near],
                context_line([(turns[one].role, turns[one].content) for one in near]),
            )
            for place, near in sorted(nearby.items())
        ]
        title = heading(one.head.title, owner_of(one.head.id))
        passages.append(SessionExchanges(one.head.id, title, exchanges))
    return passages


def _fitting(
    search: SurroundedSearch,
    passages: Sequence[SessionExchanges],
    links: Sequence[LinkLine],
    budget: LineBudget,
) -> tuple[list[SessionExchanges], list[LinkLine]]:
    hits, headed = fitting_hits(passages, budget)
    # A message around an omitted hit may be around another hit too.
    kept = [one for one in _passages(search, set(hits)) if one.session_id in headed]
    whole = fitting_contexts(kept, budget)
    shown = [
        replace(
            passage,
            exchanges=[
                one if one.id in whole else replace(one, neighbours=[], context="")
                for one in passage.exchanges
            ],
        )
        for passage in kept
    ]
    return shown, fitting_links(links, budget)


def _shown(passages: Sequence[SessionExchanges]) -> set[str]:
    """Return the ids of the messages that are shown."""
    exchanges = [one for passage in passages for one in passage.exchanges]
    return {id for one in exchanges for id in (one.id, *one.neighbours)}


def _contexts(search: SurroundedSearch, kept: Sequence[SessionExchanges]) -> list[SessionContext]:
    """Return the sessions of the passages, with the messages that are shown."""
    shown, by_id = _shown(kept), {one.head.id: one for one in search.sessions}
    return [_context(by_id[one.session_id], search, shown) for one in kept]


def _context(session: ChosenSession, search: SurroundedSearch, shown: set[str]) -> SessionContext:
    head = session.head
    return SessionContext(
        session_id=bare_id(head.id),
        client_id=owner_of(head.id) or None,
        session_external_id=head.external_id,
        conversation_id=head.conversation_id,
        started_at=head.started_at,
        relevance=session.relevance,
        summary=head.summary,
        messages=[
            turn_of(one, search.scores.get(one.id))
            for one in search.turns.get(head.id, [])
            if one.id in shown
        ],
    )


def _unmarked(link: RelatedSession) -> RelatedSession:
    """Return a related session with the ids that its client knows."""
    if not (owner := owner_of(link.session_id)):
        return link
    return replace(
        link,
        session_id=bare_id(link.session_id),
        related_to=bare_id(link.related_to),
        client_id=owner,
    )


def turn_of(turn: NearbyTurn, score: float | None = None) -> ContextualTurn:
    """Return a message as part of an answer; a hit has a score."""
    return ContextualTurn(
        id=bare_id(turn.id),
        idx=turn.idx,
        role=turn.role,
        name=turn.name,
        content=turn.content,
        occurred_at=turn.occurred_at,
        hit=score is not None,
        score=score,
        excerpt=turn.excerpt,
    )


def _omitted(search: SurroundedSearch, ids: set[str]) -> list[OmittedTurn]:
    """Return the messages that did not fit: the hits first, the best of them first."""
    turns = [one for some in search.turns.values() for one in some if one.id in ids]
    turns.sort(key=lambda one: (-search.scores.get(one.id, -1.0), one.session_id, one.idx))
    return [
        OmittedTurn(
            id=bare_id(one.id),
            client_id=owner_of(one.id) or None,
            session_id=bare_id(one.session_id),
            hit=one.id in search.scores,
            tokens=one.token_count,
        )
        for one in turns
    ]
