"""Links: what a client says of two memories."""

from typing import Annotated, Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, QueryParameter

from graphmem.links.types import GivenLinkType, Link, Links, LinksAsked, NewLink, NewLinks
from graphmem.model.vocabulary import Kind
from graphmem.service import Graphmem
from graphmem_api.memories import MemoryId
from graphmem_api.problems import failures
from graphmem_api.queries import strictly

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
    memory: NamedDependency[Graphmem],
) -> Response[Link | list[Link]]:
    """Make one link or 1–500, all or none: 201, or 200 when all of them were there already.

    `relates_to` (also `related_to`) holds both ways and is kept once; `references`, `refines`,
    `contradicts` and `derived_from` have a direction. Versions are superseded elsewhere.
    """
    many = isinstance(data, list)
    links = await memory.link_all(data if isinstance(data, list) else [data])
    status = 201 if any(link.created for link in links) else 200
    return Response(links if many else links[0], status_code=status)


@get(
    "/memories/{memory_id:str}/links",
    summary="List a memory's links",
    response_description="Some links, and where the list goes on",
    tags=["links"],
    responses=failures(404),
    before_request=strictly(LinksAsked),
)
async def list_links(
    memory_id: MemoryId,
    memory: NamedDependency[Graphmem],
    of_type: Annotated[
        GivenLinkType | None, QueryParameter(name="type", description="of this type only")
    ] = None,
    kind: Annotated[
        Kind | None, QueryParameter(description="to memories of this kind only")
    ] = None,
    limit: Annotated[int, QueryParameter(description="at most so many", ge=1, le=200)] = 50,
    cursor: Annotated[
        str | None, QueryParameter(description="the `cursor` of the page before this one")
    ] = None,
) -> Links:
    """List what a memory is linked to, in either direction, newest first."""
    return await memory.links(memory_id, type=of_type, kind=kind, limit=limit, cursor=cursor)
