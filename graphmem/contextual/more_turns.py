"""Expansion: further messages of a session, around a hit or the shown messages, the nearest first."""

from collections.abc import Sequence

from msgspec import Struct

from graphmem.accesses import Seen, ShownMemory
from graphmem.context import Context
from graphmem.contextual.assemble import NearbyTurn, turn_of
from graphmem.contextual.narrowing import load_heads
from graphmem.contextual.types import Direction, ExpansionAsked, MoreTurns, OmittedTurn
from graphmem.errors import InvalidInput, MemoryNotFound, SessionNotFound
from graphmem.graph.query import Query
from graphmem.model.vocabulary import Kind
from graphmem.recall.compose import OMITTED_SHOWN
from graphmem.retrieval.filters import validity_asked

LOOKED_AT = 500
"""The most messages of each side that are examined."""

BEFORE_ALL = -1
AFTER_ALL = 2**53


class SessionPlace(Struct, frozen=True):
    """The session of a memory, '' for none, and its index there if it is a message."""

    kind: Kind
    session_id: str
    idx: int | None


class ShownRange(Struct, frozen=True):
    """The first and the last index that was shown; null for none."""

    first: int | None
    last: int | None


class TurnSize(Struct, frozen=True):
    """A message that may be shown: its index and its length."""

    id: str
    idx: int
    token_count: int


class Middle(Struct, frozen=True):
    """A range of a session's indexes; the messages nearest to it come first."""

    session_id: str
    first: int
    last: int


PLACE_IN_SESSION = Query("contextual/place_in_session", SessionPlace)
SHOWN_RANGE = Query("contextual/shown_range", ShownRange)
TURNS_BEYOND = Query("contextual/turns_beyond", TurnSize)
TURNS = Query("contextual/turns", NearbyTurn)


async def expand_context(asked: ExpansionAsked, context: Context) -> MoreTurns:
    """Return more messages of a session in their order; the budget is used for the nearest ones first.

    Messages that were shown are not repeated; with times only the messages of that time are found.
    Raises `InvalidInput`, `MemoryNotFound`, `SessionNotFound`, `Unavailable`.
    """
    began = context.read_begins()
    answer = await _answer(asked, context.of(asked.client_id))
    context.record_read("expand", began, lambda: _seen(answer))
    return answer


async def _answer(asked: ExpansionAsked, context: Context) -> MoreTurns:
    validity = validity_asked(asked.as_of, asked.known_as_of, include_superseded=False)
    middle = await _find_middle(asked, context)
    heads = await load_heads([middle.session_id], validity, context, characters=0)
    if not heads:
        raise SessionNotFound(middle.session_id)
    sizes = await context.graph.rows(
        TURNS_BEYOND,
        client_id=context.client_id,
        session_id=middle.session_id,
        first=middle.first,
        last=middle.last,
        shown=asked.shown,
        # One more than are examined: it tells that the session goes on.
        limit=LOOKED_AT + 1,
        **validity.of_messages,
    )
    taken, omitted = packed(nearest(sizes, middle, asked.direction), asked.max_tokens)
    known = {one.id for one in taken}
    turns = await context.graph.rows(
        TURNS, client_id=context.client_id, ids=[one.id for one in taken]
    )
    left = [one for one in sizes if one.id not in known]
    head = heads[middle.session_id]
    owner = context.mark or None
    return MoreTurns(
        session_id=head.id,
        client_id=owner,
        session_external_id=head.external_id,
        conversation_id=head.conversation_id,
        started_at=head.started_at,
        messages=[turn_of(turn) for turn in turns],
        tokens_used=sum(turn.token_count for turn in turns),
        omitted=[
            OmittedTurn(
                id=one.id, session_id=head.id, hit=False, tokens=one.token_count, client_id=owner
            )
            for one in omitted[:OMITTED_SHOWN]
        ],
        omitted_total=len(omitted),
        more_earlier=any(one.idx < middle.first for one in left),
        more_later=any(one.idx > middle.last for one in left),
    )


def nearest(sizes: Sequence[TurnSize], middle: Middle, direction: Direction) -> list[TurnSize]:
    """Return the messages in a direction, the nearest first, of two equally near ones the earlier.

    Of each side at most `LOOKED_AT`.
    """

    def distance(one: TurnSize) -> int:
        return max(middle.first - one.idx, one.idx - middle.last, 0)

    ordered = sorted(sizes, key=lambda one: one.idx)
    earlier = [one for one in ordered if one.idx < middle.first][-LOOKED_AT:]
    inside = [one for one in ordered if middle.first <= one.idx <= middle.last][:LOOKED_AT]
    later = [one for one in ordered if one.idx > middle.last][:LOOKED_AT]
    wanted = {"earlier": earlier, "later": later, "around": earlier + inside + later}[direction]
    return sorted(wanted, key=lambda one: (distance(one), one.idx))


def packed(wanted: Sequence[TurnSize], max_tokens: int) -> tuple[list[TurnSize], list[TurnSize]]:
    """Return the messages that fit, and those that do not: one too long is left out and the next tried."""
    taken: list[TurnSize] = []
    omitted: list[TurnSize] = []
    room = max_tokens
    for one in wanted:
        if one.token_count <= room:
            taken.append(one)
            room -= one.token_count
        else:
            omitted.append(one)
    return taken, omitted


async def _find_middle(asked: ExpansionAsked, context: Context) -> Middle:
    """Return the place of the hit, or the range of the messages that were shown."""
    if (asked.memory_id is None) == (asked.session_id is None):
        raise InvalidInput("memory_id", "send either memory_id or session_id, one of the two")
    session_id = asked.session_id or ""
    if asked.memory_id is not None:
        places = await context.graph.rows(
            PLACE_IN_SESSION, client_id=context.client_id, id=asked.memory_id
        )
        if not places:
            raise MemoryNotFound(asked.memory_id)
        [place] = places
        if not place.session_id:
            raise InvalidInput(
                "memory_id", f"is a {place.kind} of no session; send a message's id or session_id"
            )
        if place.idx is not None:
            return Middle(place.session_id, place.idx, place.idx)
        session_id = place.session_id
    [shown] = await context.graph.rows(
        SHOWN_RANGE, client_id=context.client_id, session_id=session_id, ids=asked.shown
    )
    if shown.first is None or shown.last is None:
        # Nothing was shown: `earlier` begins at the end, the others at the beginning.
        place_of_all = AFTER_ALL if asked.direction == "earlier" else BEFORE_ALL
        return Middle(session_id, place_of_all, place_of_all)
    return Middle(session_id, shown.first, shown.last)


def _seen(answer: MoreTurns) -> Seen:
    """Return the record of an expansion: it has no question, and its messages no score.

    That of another client's session names nothing of it.
    """
    is_own = answer.client_id is None
    return Seen(
        question="",
        conversation_id=answer.conversation_id if is_own else None,
        tokens=answer.tokens_used,
        found=len(answer.messages),
        shown=[
            ShownMemory(turn.id, rank, 0.0)
            for rank, turn in enumerate(answer.messages if is_own else [], start=1)
        ],
    )
