"""Links: what a client says of two memories."""

from collections.abc import Iterable, Mapping
from typing import Any

from graphmem.links import link as writing
from graphmem.links import show as reading
from graphmem.links.types import Link, Links, LinksAsked, NewLink, NewLinks
from graphmem.model.validation import validated
from graphmem.service.bound import Bound, now


class Linking(Bound):
    """What a client can do with links between its memories."""

    async def link(self, from_id: str, to_id: str, type: str, **place: Any) -> Link:
        """Link two memories; `references` takes `start_byte` and `end_byte` too.

        A link that is there already stays as it is. Raises `InvalidInput`, `MemoryNotFound`,
        `Unavailable`.
        """
        new = validated({"from": from_id, "to": to_id, "type": type, **place}, NewLink)
        return (await self._make_links([new]))[0]

    async def link_all(self, new: Iterable[NewLink | Mapping[str, Any]]) -> list[Link]:
        """Make 1–500 links, all or none. Raises `InvalidInput`, `MemoryNotFound`, `Unavailable`."""
        return await self._make_links(validated(list(new), NewLinks))

    async def _make_links(self, new: list[NewLink]) -> list[Link]:
        return await writing.link(
            new, client_id=self.client_id, now=now(), graph=self.runtime.graph
        )

    async def links(self, memory_id: str, **asked: Any) -> Links:
        """Return a memory's links of either direction, newest first; what is asked are `LinksAsked`'s.

        Raises `InvalidInput`, `MemoryNotFound`, `Unavailable`.
        """
        return await reading.links(
            memory_id,
            validated(asked, LinksAsked),
            client_id=self.client_id,
            graph=self.runtime.graph,
        )
