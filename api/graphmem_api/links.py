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

# Litestar accepts a union here, although its own annotation excludes one.
ONE_OR_MANY: Any = Link | list[Link]


@post(
    "/links",
    summary="Link memories",
    response_description="The links are stored",
    tags=["links"],
    responses={
        200: ResponseSpec(
            ONE_OR_MANY, generate_examples=False, description="All of them existed already"
        ),
        **failures(404, 409, 413, 415),
    },
)
async def add_links(
    data: Annotated[NewLink | NewLinks, BodyKwarg(examples=[LINK])],
    context: NamedDependency[Context],
) -> Response[Link | list[Link]]:
    """Make one link or 1–500, all or none: 201, or 200 if all of them existed.

    `relates_to` (also `related_to`) is symmetric and stored once; `references`, `refines`, `contradicts` and
    `derived_from` have a direction. Other routes supersede versions. A new link with a memory that has a
    newer version is a 409, which names that version.
    """
    many = isinstance(data, list)
    links = await link_memories(data if isinstance(data, list) else [data], context)
    status = 201 if any(link.created for link in links) else 200
    return Response(links if many else links[0], status_code=status)


@delete(
    "/links",
    summary="Delete a link",
    response_description="The link is deleted",
    tags=["links"],
    responses=failures(404),
    **query(NewLink),
)
async def delete_link(context: NamedDependency[Context], asked: NamedDependency[NewLink]) -> None:
    """Delete a link, given by the fields of `POST /links` in the query string.

    `relates_to` is found from either end. Without a byte range, the link without one is deleted. Other
    versions of the two memories lose it too. An unknown link, or one of another client, is a 404.
    """
    await unlink_memories(asked, context)


@get(
    "/memories/{memory_id:str}/links",
    summary="List a memory's links",
    response_description="A page of links",
    tags=["links"],
    responses=failures(404),
    **query(LinksAsked),
)
async def list_links(
    memory_id: MemoryId,
    context: NamedDependency[Context],
    asked: NamedDependency[LinksAsked],
) -> Links:
    """List a memory's links in both directions, newest first, by default to memories that hold now."""
    return await show_links(memory_id, asked, context)
