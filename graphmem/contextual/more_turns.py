"""Tell me more: further messages of a session, around a hit or what was shown, nearest first (S5)."""

from collections.abc import Sequence

from msgspec import Struct

from graphmem.contextual.ask import SESSION_HEADS
from graphmem.contextual.assemble import NearbyTurn, turn_of
from graphmem.contextual.types import Direction, ExpansionAsked, MoreTurns, OmittedTurn
from graphmem.errors import InvalidInput, MemoryNotFound, SessionNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.vocabulary import Kind
from graphmem.recall.compose import OMITTED_SHOWN
from graphmem.retrieval.holding import holding_asked

LOOKED_AT = 500
"""How many messages of each side are looked at."""

BEFORE_ALL = -1
BEHIND_ALL = 2**53


class SessionPlace(Struct, frozen=True):
    """Where a memory stands: its session, '' for none, and its place there if it is a message."""

    kind: Kind
    session_id: str
    idx: int | None


class ShownRange(Struct, frozen=True):
    """From where to where something was shown; null for nothing."""

    first: int | None
    last: int | None


class TurnSize(Struct, frozen=True):
    """A message that may be shown: where it stands and how long it is."""

    id: str
    idx: int
    token_count: int


class Middle(Struct, frozen=True):
    """The session, and from where to where in it; what is further away comes later."""

    session_id: str
    first: int
    last: int


PLACE_IN_SESSION = Query("contextual/place_in_session", SessionPlace)
SHOWN_RANGE = Query("contextual/shown_range", ShownRange)
TURNS_BEYOND = Query("contextual/turns_beyond", TurnSize)
TURNS = Query("contextual/turns", NearbyTurn)


async def more_turns(asked: ExpansionAsked, *, client_id: str, graph: Graph) -> MoreTurns:
    """Return more messages of a session in their order, those nearest to what is known first into the budget.

    What was shown is not repeated; with times only what had been said by then is there.
    Raises `InvalidInput`, `MemoryNotFound`, `SessionNotFound`.
    """
    then = holding_asked(asked.as_of, asked.known_as_of, include_superseded=False)
    middle = await _middle(asked, client_id, graph)
    heads = await graph.rows(
        SESSION_HEADS,
        client_id=client_id,
        session_ids=[middle.session_id],
        characters=0,
        **then.of_versions,
    )
    if not heads:
        raise SessionNotFound(middle.session_id)
    sizes = await graph.rows(
        TURNS_BEYOND,
        client_id=client_id,
        session_id=middle.session_id,
        first=middle.first,
        last=middle.last,
        shown=asked.shown,
        limit=LOOKED_AT,
        **then.of_messages,
    )
    taken, omitted = packed(nearest(sizes, middle, asked.direction), asked.max_tokens)
    turns = await graph.rows(TURNS, client_id=client_id, ids=[one.id for one in taken])
    known = {one.id for one in taken}
    left = [one for one in sizes if one.id not in known]
    return MoreTurns(
        session_id=heads[0].id,
        session_external_id=heads[0].external_id,
        conversation_id=heads[0].conversation_id,
        started_at=heads[0].started_at,
        messages=[turn_of(turn) for turn in turns],
        tokens_used=sum(turn.token_count for turn in turns),
        omitted=[
            OmittedTurn(id=one.id, session_id=heads[0].id, hit=False, tokens=one.token_count)
            for one in omitted[:OMITTED_SHOWN]
        ],
        omitted_total=len(omitted),
        more_earlier=any(one.idx < middle.first for one in left),
        more_later=any(one.idx > middle.last for one in left),
    )


def nearest(sizes: Sequence[TurnSize], middle: Middle, direction: Direction) -> list[TurnSize]:
    """Return what lies in a direction, the nearest first, of two as near the earlier."""

    def distance(one: TurnSize) -> int:
        return max(middle.first - one.idx, one.idx - middle.last, 0)

    wanted = [
        one
        for one in sizes
        if direction == "around"
        or (one.idx < middle.first if direction == "earlier" else one.idx > middle.last)
    ]
    return sorted(wanted, key=lambda one: (distance(one), one.idx))


def packed(wanted: Sequence[TurnSize], max_tokens: int) -> tuple[list[TurnSize], list[TurnSize]]:
    """Return what fits, and what does not: a misfit is left out and the next tried."""
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


async def _middle(asked: ExpansionAsked, client_id: str, graph: Graph) -> Middle:
    """Return from where to where in which session is known: a hit's place, or all that was shown."""
    if (asked.memory_id is None) == (asked.session_id is None):
        raise InvalidInput("memory_id", "send either memory_id or session_id, one of the two")
    session_id = asked.session_id or ""
    if asked.memory_id is not None:
        places = await graph.rows(PLACE_IN_SESSION, client_id=client_id, id=asked.memory_id)
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
    [shown] = await graph.rows(
        SHOWN_RANGE, client_id=client_id, session_id=session_id, ids=asked.shown
    )
    if shown.first is None or shown.last is None:
        # Nothing was shown: earlier begins at the end, everything else at the beginning.
        place_of_all = BEHIND_ALL if asked.direction == "earlier" else BEFORE_ALL
        return Middle(session_id, place_of_all, place_of_all)
    return Middle(session_id, shown.first, shown.last)
