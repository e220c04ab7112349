"""Lists: the newest or most important memories of some sources, their number, and those that contain a text.

Texts are compared without regard to case. Case is folded by Unicode's rules, in Python: the words index
supports neither parts of words nor all of case folding. So the memories of the session or the conversation
are read, newest first, up to a limit.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence, Set

from msgspec import Struct

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.vocabulary import KINDS, Kind
from graphmem.retrieval.filters import Sources
from graphmem.retrieval.finding import Candidate, united
from graphmem.text.words import folded

MOST_READ = 20_000
"""The maximum number of memories that are searched for a text."""

VERSIONED: frozenset[Kind] = frozenset({"fact", "summary", "reference", "span"})
"""The kinds that have versions."""

READ_AT_ONCE = 500
READ_TOKENS = 200_000
"""The maximum number of tokens that are read at once."""


class PassingCount(Struct, frozen=True):
    """The number of memories that pass."""

    memories: int


class ShownText(Struct, frozen=True):
    """The text of a memory."""

    id: str
    text: str


NEWEST = Query("retrieval/newest", Candidate)
MOST_IMPORTANT = Query("retrieval/most_important", Candidate)
COUNTED = Query("retrieval/counted", PassingCount)
LISTED_INSIDE = Query("retrieval/listed_inside", Candidate)
SHOWN_TEXTS = Query("retrieval/shown_texts", ShownText)


async def list_memories(
    sources: Sources,
    *,
    by_importance: bool,
    client_id: str,
    limit: int,
    graph: Graph,
    among: Set[Kind] = frozenset(KINDS),
) -> tuple[list[Candidate], int]:
    """Return the newest or most important memories that pass, and the number of all that pass.

    `among` limits the kinds of the sources.
    """
    parameters = {
        "client_id": client_id,
        "kinds": [kind for kind in sources.kinds_of if kind in among],
        "actives": sources.validity.actives,
    } | sources.conditions
    query = MOST_IMPORTANT if by_importance else NEWEST
    found, counted = await asyncio.gather(
        graph.rows(query, limit=limit, **parameters), graph.rows(COUNTED, **parameters)
    )
    if sources.validity.only_active and VERSIONED.intersection(sources.kinds_of) & among:
        # An index that changes during a read may return neither of two versions; then the next read returns
        # the new one. Finding both is harmless: see `heads`.
        found = united([*found, *await graph.rows(query, limit=limit, **parameters)])
    return found, max(counted[0].memories, len(found))


async def find_text(
    text: str,
    sources: Sources,
    *,
    session_id: str | None,
    conversation_id: str | None,
    client_id: str,
    graph: Graph,
) -> tuple[list[Candidate], bool]:
    """Return the memories that contain a text, newest first, and whether these are all.

    Searches a session, or a conversation if no session is given; both conditions apply if both are given.
    Raises `Unavailable`.
    """
    listed = await graph.rows(
        LISTED_INSIDE,
        client_id=client_id,
        session_id=session_id or "",
        conversation_id=conversation_id or "",
        limit=MOST_READ + 1,
        **sources.conditions,
    )
    wanted = folded(text)
    found: list[Candidate] = []
    for some in _batches(listed[:MOST_READ]):
        rows = await graph.rows(SHOWN_TEXTS, client_id=client_id, ids=[one.id for one in some])
        matching = await asyncio.to_thread(_containing, rows, wanted)
        found += [one for one in some if one.id in matching]
    return found, len(listed) <= MOST_READ


async def contain_text(
    text: str, ids: Iterable[str], *, client_id: str, graph: Graph
) -> frozenset[str]:
    """Return those of a few memories that contain a text, ignoring case. Raises `Unavailable`."""
    rows = await graph.rows(SHOWN_TEXTS, client_id=client_id, ids=sorted(ids))
    return frozenset(await asyncio.to_thread(_containing, rows, folded(text)))


def _containing(rows: Sequence[ShownText], wanted: str) -> set[str]:
    return {row.id for row in rows if wanted in folded(row.text)}


def _batches(listed: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    """Yield the memories in batches that are read at once."""
    batch: list[Candidate] = []
    size = 0
    for one in listed:
        if batch and (len(batch) == READ_AT_ONCE or size + one.token_count > READ_TOKENS):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += one.token_count
    if batch:
        yield batch
