"""Listing memories of any kind, by time, with their whole texts."""

import asyncio
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.graph.query import Query
from graphmem.memories.memory import NO_BOUNDS, StoredMemory, listed_memory
from graphmem.memories.types import ListedMemory
from graphmem.model.annotations import WantedTags
from graphmem.model.pages import (
    EARLIEST,
    FIRST,
    PAGE_CHARACTERS,
    GivenCursor,
    Order,
    TextPageSize,
    listing,
    page,
)
from graphmem.model.times import (
    AS_OF,
    END,
    INCLUDE_SUPERSEDED,
    KNOWN_AS_OF,
    Time,
    period,
)
from graphmem.model.vocabulary import KINDS, Owner, SourceType, WantedKinds
from graphmem.retrieval.filters import passing, validity_asked
from graphmem.retrieval.listing import PassingCount

Name = Annotated[str, Meta(min_length=1, max_length=256)]


class MemoriesAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filters, the order and the page of a list of memories; without a time, those that hold now."""

    kinds: (
        Annotated[
            WantedKinds,
            Meta(description="only these kinds, separated by commas"),
        ]
        | None
    ) = None
    external_id: (
        Annotated[Name, Meta(description="only memories to which the caller gave this id")] | None
    ) = None
    conversation_id: (
        Annotated[Name, Meta(description="only memories of this conversation")] | None
    ) = None
    session_id: (
        Annotated[
            Name,
            Meta(
                description="only memories of this session, by its own id, or beside `conversation_id` by "
                "the caller's name for it"
            ),
        ]
        | None
    ) = None
    source_type: (
        Annotated[SourceType, Meta(description="only memories of this type of source")] | None
    ) = None
    source_id: Annotated[Name, Meta(description="only memories of this source")] | None = None
    category: Annotated[Name, Meta(description="only facts of this category")] | None = None
    scope: Annotated[Name, Meta(description="only facts of this scope")] | None = None
    tags: WantedTags | None = None
    since: Annotated[Time, Meta(description="only memories of this time or later")] | None = None
    until: (
        Annotated[Time, Meta(description="only memories before this time, which is after `since`")]
        | None
    ) = None
    as_of: Annotated[Time, Meta(description=AS_OF)] | None = None
    known_as_of: Annotated[Time, Meta(description=KNOWN_AS_OF)] | None = None
    include_superseded: Annotated[bool, Meta(description=INCLUDE_SUPERSEDED)] = False
    order: Order = "newest"
    limit: TextPageSize = 50
    cursor: GivenCursor | None = None
    client_id: Owner | None = None


class Memories(Struct, frozen=True, kw_only=True):
    """A page of memories, the number of all, and the cursor of the next page."""

    memories: list[ListedMemory]
    total: int
    cursor: str | None


class NamedSession(Struct, frozen=True):
    """A session that a caller has named."""

    id: str


NAMED_SESSION = Query("memories/named_session", NamedSession)
LIST_NEWEST = Query("memories/list_newest", StoredMemory)
LIST_OLDEST = Query("memories/list_oldest", StoredMemory)
LIST_OF_EXTERNAL_ID = Query("memories/list_of_external_id", StoredMemory)
COUNT_LIST = Query("memories/count_list", PassingCount)
COUNT_OF_EXTERNAL_ID = Query("memories/count_of_external_id", PassingCount)


async def list_memories(asked: MemoriesAsked, context: Context) -> Memories:
    """Return a page of a client's memories by the time when they happened, and the number of all.

    Of another client that may be read, if it is named. A memory that existed throughout is on exactly one
    page, whatever is written meanwhile. Raises `InvalidInput`, `Unavailable`.
    """
    context = context.of(asked.client_id)
    listed, is_newest = listing(asked), asked.order == "newest"
    asked = replace(
        asked, session_id=await own_session_id(asked.session_id, asked.conversation_id, context)
    )
    place, place_id = listed.position(asked.cursor, FIRST if is_newest else EARLIEST)
    conditions = _conditions(asked)
    bounds = _bounded(conditions, place, is_newest=is_newest)
    common: dict[str, Any] = {
        "place": place,
        "place_id": place_id,
        "limit": asked.limit + 1,
        "page_characters": PAGE_CHARACTERS,
    }
    query, count = LIST_NEWEST if is_newest else LIST_OLDEST, COUNT_LIST
    if asked.external_id is not None:
        query, count = LIST_OF_EXTERNAL_ID, COUNT_OF_EXTERNAL_ID
        conditions["external_id"] = asked.external_id
        common["newest"] = is_newest
    client_id, graph = context.client_id, context.graph
    rows, counted = await asyncio.gather(
        graph.rows(query, client_id=client_id, **conditions | bounds | common | NO_BOUNDS),
        graph.rows(count, client_id=client_id, **conditions),
    )
    memories = [listed_memory(row) for row in rows]
    shown, after = page(
        memories,
        asked.limit,
        lambda row: listed.cursor(row.occurred_at, row.id),
        characters=sum(len(one.text) for one in memories),
    )
    return Memories(memories=shown, total=counted[0].memories, cursor=after)


async def own_session_id(
    given: str | None, conversation_id: str | None, context: Context
) -> str | None:
    """Return the own id of a session that is given by it, or in its conversation by the caller's name.

    A name that is another session's id: the name is meant. Raises `Unavailable`.
    """
    if not given or not conversation_id:
        return given
    rows = await context.graph.rows(
        NAMED_SESSION,
        client_id=context.client_id,
        conversation_id=conversation_id,
        name=given,
    )
    return rows[0].id if rows else given


def _conditions(asked: MemoriesAsked) -> dict[str, Any]:
    """Return the parameters of the fragments `listing` and `list_conditions`."""
    since, until = period(asked.since, asked.until)
    validity = validity_asked(asked.as_of, asked.known_as_of, asked.include_superseded)
    single = {
        "conversation_ids": asked.conversation_id,
        "session_ids": asked.session_id,
        "source_types": asked.source_type,
        "source_ids": asked.source_id,
        "categories": asked.category,
        "scopes": asked.scope,
    }
    return {
        "kinds": sorted(set(asked.kinds or KINDS), key=KINDS.index),
        "actives": validity.actives,
        "tags": passing(asked.tags),
        "since": since,
        "until": until,
        **{name: passing(value and [value]) for name, value in single.items()},
        **validity.of_versions,
    }


def _bounded(conditions: dict[str, Any], place: datetime, *, is_newest: bool) -> dict[str, Any]:
    """Return the period that is left from a place on, so that the index begins to be read there."""
    if is_newest:
        later = place if place == END else place + datetime.resolution
        return {"until": min(conditions["until"], later)}
    return {"since": max(conditions["since"], place)}
