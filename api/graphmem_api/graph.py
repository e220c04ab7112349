"""The graph of one client: the neighbourhood of a node, and the schema."""

from typing import Annotated

from litestar import Router, get
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import PathParameter
from msgspec import to_builtins

from graphmem.context import Context
from graphmem.neighbourhood import schema, walk
from graphmem.neighbourhood.types import (
    Cut,
    GraphEdge,
    GraphNode,
    GraphSchema,
    Neighbourhood,
    NeighbourhoodAsked,
    edge_types,
)
from graphmem_api.problems import failures
from graphmem_api.queries import query

SHOWN = Neighbourhood(
    nodes=[
        GraphNode(
            id="3f0c9a52-5d0e-4c63-8f5e-1c2b7a0f6d11",
            labels=["Memory", "Message"],
            properties={"text": "The queue moves to PostgreSQL.", "role": "user", "idx": 4},
            depth=0,
        ),
        GraphNode(
            id="entity:postgresql",
            labels=["Entity"],
            properties={"name": "PostgreSQL", "normalized": "postgresql"},
            depth=1,
        ),
    ],
    edges=[
        GraphEdge(
            from_id="3f0c9a52-5d0e-4c63-8f5e-1c2b7a0f6d11",
            to_id="entity:postgresql",
            type="MENTIONS",
            properties={},
        )
    ],
    truncated=True,
    why=[
        Cut(
            reason="limit",
            at=["3f0c9a52-5d0e-4c63-8f5e-1c2b7a0f6d11"],
            remedy="a larger limit shows more, 500 at most",
        )
    ],
)
EXAMPLE = Example(summary="A message and a name that it mentions", value=to_builtins(SHOWN))


@get(
    "/schema",
    summary="Show the graph's schema",
    response_description="The schema, and which parts of it are exact",
    responses=failures(408),
)
async def show_graph_schema(context: NamedDependency[Context]) -> GraphSchema:
    """Show the labels, properties, edges and indexes of the client's graph, with its own values as examples.

    Counts of labels are exact up to 100,000 nodes each; properties and edges come from an even sample of each
    label; `sampling` says which parts of the answer are exact.
    """
    return await schema.show_graph_schema(context)


# An entity's name may contain a slash; a `path` begins with the one before it.
@get(
    "/{node_id:path}",
    summary="Show a node's neighbourhood",
    responses={
        200: ResponseSpec(
            Neighbourhood,
            generate_examples=False,
            description="Nodes, nearest first, and the edges between them",
            examples=[EXAMPLE],
        ),
        **failures(404, 408),
    },
    **query(NeighbourhoodAsked, lists={"types": edge_types}),
)
async def show_neighbourhood(
    node_id: Annotated[
        str,
        PathParameter(
            description="the id of a memory, session, conversation, run, review, context, access or job, "
            "the first of these that has it; `conversation:ID` means that one, `entity:NAME` an entity"
        ),
    ],
    context: NamedDependency[Context],
    asked: NamedDependency[NeighbourhoodAsked],
) -> Neighbourhood:
    """Show the nodes within 1–3 edges of a node, in both directions, and every edge between them.

    The nearest nodes come first. The types of edges take turns, the newest node over each first, what was
    superseded last. The centre leads to as many nodes as the limit allows, each other node to at most 32. If
    nodes or edges are missing, `truncated` is true, and `why` names the limit and how to see more.
    """
    return await walk.show_neighbourhood(node_id.removeprefix("/"), asked, context)


graph = Router("/graph", route_handlers=[show_graph_schema, show_neighbourhood], tags=["graph"])
