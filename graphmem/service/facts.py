"""Facts: remembering them, and the categories that they may have."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from msgspec import Meta

from graphmem.facts import categories as reading
from graphmem.facts import choose_categories as writing
from graphmem.facts import remember as facts
from graphmem.facts import supersede as superseding
from graphmem.facts.types import BATCH_FACTS, Categories, FactVersion, KeptFact, NewFact, NextFact
from graphmem.model.validation import validated
from graphmem.service.bound import Bound, new_id, now

NewFacts = Annotated[list[NewFact], Meta(min_length=1, max_length=BATCH_FACTS)]


class Facts(Bound):
    """What a client can do with facts."""

    async def remember_facts(self, new: Iterable[NewFact | Mapping[str, Any]]) -> list[KeptFact]:
        """Remember 1–100 facts, all or none; return what became of each: new, or known and reinforced.

        Raises `InvalidInput`, `ConversationNotFound`, `MemoryNotFound` for a source, `Unavailable`.
        """
        return await self._remember(validated(list(new), NewFacts), listed=True)

    async def remember_fact(self, fact: str, **more: Any) -> KeptFact:
        """Remember one fact; what more is said of it are the fields of `NewFact`.

        Raises as `remember_facts` does.
        """
        new = validated({"fact": fact, **more}, NewFact)
        return (await self._remember([new], listed=False))[0]

    async def supersede_fact(self, fact_id: str, fact: str, **more: Any) -> FactVersion:
        """Write what a fact says from now on as its next version; more are the fields of `NextFact`.

        What is left out stays as it was. Raises `InvalidInput`, `MemoryNotFound`,
        `ConversationNotFound`, `NotHead` when another version has come first, `Unavailable`.
        """
        return await superseding.supersede_fact(
            fact_id,
            validated({"fact": fact, **more}, NextFact),
            client_id=self.client_id,
            now=now(),
            new_id=new_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
        )

    async def categories(self) -> Categories:
        """Return the categories that this client's facts may have. Raises `Unavailable`."""
        chosen = await reading.categories(self.client_id, self.runtime.graph)
        return Categories(categories=list(chosen))

    async def set_categories(self, categories: Iterable[str]) -> Categories:
        """Choose the categories that facts may have; those that are there keep theirs.

        Raises `InvalidInput`, `Unavailable`.
        """
        asked = validated({"categories": list(categories)}, Categories)
        chosen = await writing.keep_categories(
            asked.categories, client_id=self.client_id, graph=self.runtime.graph
        )
        return Categories(categories=list(chosen))

    async def _remember(self, new: list[NewFact], *, listed: bool) -> list[KeptFact]:
        return await facts.remember_facts(
            new,
            client_id=self.client_id,
            now=now(),
            new_id=new_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
            listed=listed,
        )
