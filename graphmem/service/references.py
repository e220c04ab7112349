"""References: the catalogue cards of sources, and what the sources say."""

from collections.abc import Iterable, Mapping
from typing import Any

from graphmem.model.validation import validated
from graphmem.references import put as writing
from graphmem.references import show as reading
from graphmem.references.types import (
    Content,
    NewContent,
    NewReference,
    NewReferences,
    Reference,
    References,
    ReferencesAsked,
)
from graphmem.service.bound import Bound, new_id, now


class Catalogue(Bound):
    """What a client can do with its references."""

    async def add_reference(self, **fields: Any) -> Reference:
        """Write a card; its fields are `NewReference`'s. Raises `InvalidInput`, `Unavailable`."""
        return (await self._add_references([validated(fields, NewReference)]))[0]

    async def add_references(
        self, new: Iterable[NewReference | Mapping[str, Any]]
    ) -> list[Reference]:
        """Write 1–1,000 cards, all or none; return them in order.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await self._add_references(validated(list(new), NewReferences))

    async def _add_references(self, new: list[NewReference]) -> list[Reference]:
        return await writing.add(
            new,
            client_id=self.client_id,
            now=now(),
            new_id=new_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
        )

    async def references(self, **asked: Any) -> References:
        """Return references, newest first; what is asked are `ReferencesAsked`'s fields.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await reading.references(
            validated(asked, ReferencesAsked), client_id=self.client_id, graph=self.runtime.graph
        )

    async def reference(self, reference_id: str) -> Reference:
        """Return one version of a reference. Raises `MemoryNotFound`, `Unavailable`."""
        return await reading.reference(
            reference_id, client_id=self.client_id, graph=self.runtime.graph
        )

    async def put_content(self, reference_id: str, content: str) -> Content:
        """Give a reference its content; other content than it has makes a new version.

        The same content again changes nothing. Raises `InvalidInput`, `MemoryNotFound`, `NotHead`,
        `ContentChanged`, `Unavailable`.
        """
        return await writing.put_content(
            reference_id,
            validated({"content": content}, NewContent).content,
            client_id=self.client_id,
            now=now(),
            new_id=new_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
        )
