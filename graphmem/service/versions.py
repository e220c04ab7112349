"""Chains of versions."""

from typing import Any

from graphmem.model.times import utc
from graphmem.model.validation import validated
from graphmem.service.bound import Bound
from graphmem.versions import show as versions
from graphmem.versions.types import Versions, VersionsAsked


class Chains(Bound):
    """What a client can see of a memory's versions."""

    async def versions(self, memory_id: str, **asked: Any) -> Versions:
        """Return the chain that a memory belongs to, oldest first; asked by `VersionsAsked`'s fields.

        Raises `InvalidInput`, `MemoryNotFound`, `Unavailable`.
        """
        known_as_of = validated(asked, VersionsAsked).known_as_of
        return await versions.versions(
            memory_id,
            client_id=self.client_id,
            known_as_of=utc(known_as_of, "known_as_of") if known_as_of else None,
            graph=self.runtime.graph,
        )
