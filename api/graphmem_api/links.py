"""Links between two memories that a client declares."""

from typing import Annotated, Any

from litestar import Response, delete, get, post
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg

from graphmem.context import Context
from graphmem.memories.links import (
    Link,
    Links,
    LinksAsked,
    NewLink,
    NewLinks,
    link_memories,
    show_links,
    unlink_memories,
)
from graphmem_api.memories import MemoryId
from graphmem_api.problems import failures
from graphmem_api.queries import query

LINK = Example(
    summary="One memory refers to some bytes of another",
    value={
        "from": "3f0c9a52-5d0e-4c63-8f5e-1c2b7a0f6d11",
        "to": "8a1d2b6e-0f7b-4f1c-9a55-7a1a3f0c2d42",
        "type": "references",
        "start_byte": 0,
        "end_byte": 120,
    },
)

# Litestar takes a union, which the annotation that it gives for that leaves out.
ONE_OR_MANY: Any = Link | list[Link]


@post(
    "/links",
    summary="Link memories",
    response_description="They are linked",
    tags=["links"],
    responses={
        200: ResponseSpec(
            ONE_OR_MANY, generate_examples=False, description="They were linked already"
        ),
        **failures(404, 413, 415),
    },
)
async def add_links(
    data: Annotated[NewLink | NewLinks, BodyKwarg(examples=[LINK])],
    context: NamedDependency[Context],
) -> Response[Link | list[Link]]:
    """Make one link or 1–500, all or none: 201, or 200 when all of them were there already.

    `relates_to` (also `related_to`) holds both ways and is kept once; `references`, `refines`,
    `contradicts` and `derived_from` have a direction. Versions are superseded elsewhere.
    """
    many = isinstance(data, list)
    links = await link_memories(data if isinstance(data, list) else [data], context)
    status = 201 if any(link.created for link in links) else 200
    return Response(links if many else links[0], status_code=status)


@delete(
    "/links",
    summary="Delete a link",
    response_description="It is gone",
    tags=["links"],
    responses=failures(404),
    **query(NewLink),
)
async def delete_link(context: NamedDependency[Context], asked: NamedDependency[NewLink]) -> None:
    """Delete the link that `POST /links` made from the same fields, here in the query string.

    `relates_to` is found from either end. Without a byte range the link without one is meant. An unknown
    link, or one of another client, is 404.
    """
    await unlink_memories(asked, context)


@get(
    "/memories/{memory_id:str}/links",
    summary="List a memory's links",
    response_description="Some links, and where the list goes on",
    tags=["links"],
    responses=failures(404),
    **query(LinksAsked),
)
async def list_links(
    memory_id: MemoryId,
    context: NamedDependency[Context],
    asked: NamedDependency[LinksAsked],
) -> Links:
    """List what a memory is linked to, in either direction, newest first."""
    return await show_links(memory_id, asked, context)
