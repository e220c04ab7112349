"""The graph itself: what lies around a node, and what there is."""

from collections.abc import Iterable

from graphmem.model.validation import validated
from graphmem.neighbourhood import schema as graph_schema
from graphmem.neighbourhood import walk as reading
from graphmem.neighbourhood.types import (
    NODES,
    GraphSchema,
    Neighbourhood,
    NeighbourhoodAsked,
    edge_types,
)
from graphmem.service.bound import Bound


class Analysing(Bound):
    """How a client explores its graph."""

    async def neighbourhood(
        self,
        node_id: str,
        *,
        depth: int = 1,
        types: str | Iterable[str] | None = None,
        limit: int = NODES,
    ) -> Neighbourhood:
        """Return a node and what lies within 1–3 edges of it, the nearest first, at most 1–500 nodes.

        The id is that of a memory, session, conversation, run, review, context, access or job, the first
        of these that has it; `conversation:ID` means that one, `entity:NAME` an entity. `types` are types
        of edges, in any case, in a list or with commas.

        Raises `InvalidInput`, `NodeNotFound`, `TookTooLong`, `Unavailable`.
        """
        named = types.split(",") if isinstance(types, str) else types
        asked = {
            "depth": depth,
            "types": None if named is None else edge_types(named),
            "limit": limit,
        }
        return await reading.neighbourhood(
            node_id,
            validated(asked, NeighbourhoodAsked),
            client_id=self.client_id,
            graph=self.runtime.graph,
        )

    async def graph_schema(self) -> GraphSchema:
        """Return what labels, properties, edges and indexes there are; `sampling` says what is exact.

        Raises `TookTooLong`, `Unavailable`.
        """
        return await graph_schema.graph_schema(client_id=self.client_id, graph=self.runtime.graph)
