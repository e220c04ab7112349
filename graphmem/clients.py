"""Listing the clients of the whole store, for operators."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.pages import GivenCursor, listing, page
from graphmem.model.vocabulary import KINDS, Kind


class KindCount(Struct, frozen=True):
    """The number of memories of a kind."""

    kind: Kind
    memories: int


class NextClient(Struct, frozen=True, kw_only=True):
    """A client with its counts."""

    id: str
    last_written_at: datetime | None
    last_read_at: datetime | None
    conversations: int
    counts: list[KindCount]


class ListedClient(Struct, frozen=True, kw_only=True):
    """A client, its numbers of conversations and of memories by kind, and when it last wrote and read."""

    id: str
    conversations: int
    memories: int
    by_kind: dict[Kind, int]
    last_written_at: datetime | None
    last_read_at: datetime | None


class ClientsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The page of a list of clients."""

    limit: Annotated[int, Meta(ge=1, le=100, description="entries on a page, 1–100")] = 20
    cursor: GivenCursor | None = None


class Clients(Struct, frozen=True, kw_only=True):
    """A page of clients in the order of their ids, and the cursor of the next page."""

    clients: list[ListedClient]
    cursor: str | None


NEXT_CLIENT = Query("clients/next_client", NextClient)


async def list_clients(asked: ClientsAsked, graph: Graph) -> Clients:
    """Return a page of the clients that have a conversation or a memory, each with its counts.

    Counting takes time in proportion to the memories of the page's clients. Raises `InvalidInput`,
    `Unavailable`.
    """
    listed = listing(asked)
    after = listed.opened(asked.cursor) if asked.cursor else ""
    found: list[ListedClient] = []
    # One at a time, each from the index at the place of the one before: to find the distinct ids at once
    # would read every memory of the store.
    while len(found) <= asked.limit:
        rows = await graph.rows(NEXT_CLIENT, after=after, kinds=list(KINDS))
        if not rows:
            break
        after = rows[0].id
        found.append(_counted(rows[0]))
    shown, cursor = page(found, asked.limit, lambda row: listed.sealed(row.id))
    return Clients(clients=shown, cursor=cursor)


async def client_ids(graph: Graph) -> AsyncIterator[str]:
    """Yield the clients that have a conversation or a memory, in the order of their ids."""
    after = ""
    while rows := await graph.rows(NEXT_CLIENT, after=after, kinds=[]):
        after = rows[0].id
        yield after


def _counted(client: NextClient) -> ListedClient:
    by_kind = {one.kind: one.memories for one in client.counts}
    return ListedClient(
        id=client.id,
        conversations=client.conversations,
        memories=sum(by_kind.values()),
        by_kind=by_kind,
        last_written_at=client.last_written_at,
        last_read_at=client.last_read_at,
    )
