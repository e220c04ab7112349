"""Exact search: the memories of a session or a conversation whose text holds a text, whatever its case.

Case is folded as Unicode says, in Python: the words index knows neither parts of words nor all of case.
So the session's or the conversation's own memories are read, the newest first, up to a limit.
"""

import asyncio
from collections.abc import Iterator, Sequence

from msgspec import Struct

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.retrieval.sources import Found, Sources, passing_then

MOST_READ = 20_000
"""How many memories are read at most."""

READ_AT_ONCE = 500
READ_TOKENS = 200_000
"""How much is read at once."""


class ShownText(Struct, frozen=True):
    """The text of a memory."""

    id: str
    text: str


LISTED_IN_SESSION = Query("retrieval/listed_in_session", Found)
LISTED_IN_CONVERSATION = Query("retrieval/listed_in_conversation", Found)
SHOWN_TEXTS = Query("retrieval/shown_texts", ShownText)


async def holding_text(
    text: str,
    sources: Sources,
    *,
    session_id: str | None,
    conversation_id: str | None,
    client_id: str,
    graph: Graph,
) -> tuple[list[Found], bool]:
    """Return the memories whose text holds this one, the newest first, and whether these are all.

    Of a session, of a conversation where none is named; of both where both are. Raises `Unavailable`.
    """
    parameters = {"client_id": client_id, "limit": MOST_READ + 1} | passing_then(sources)
    if session_id is not None:
        listed = await graph.rows(LISTED_IN_SESSION, session_id=session_id, **parameters)
    else:
        listed = await graph.rows(
            LISTED_IN_CONVERSATION, conversation_id=conversation_id, **parameters
        )
    folded = text.casefold()
    found: list[Found] = []
    for some in _batches(listed[:MOST_READ]):
        rows = await graph.rows(SHOWN_TEXTS, client_id=client_id, ids=[one.id for one in some])
        holding = await asyncio.to_thread(_holding, rows, folded)
        found += [one for one in some if one.id in holding]
    return found, len(listed) <= MOST_READ


def _holding(rows: Sequence[ShownText], folded: str) -> set[str]:
    return {row.id for row in rows if folded in row.text.casefold()}


def _batches(listed: Sequence[Found]) -> Iterator[list[Found]]:
    """Yield what is read at once."""
    batch: list[Found] = []
    size = 0
    for one in listed:
        if batch and (len(batch) == READ_AT_ONCE or size + one.token_count > READ_TOKENS):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += one.token_count
    if batch:
        yield batch
