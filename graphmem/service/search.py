"""Search: what matches a query, with or without hops."""

from typing import Any

from graphmem.model.validation import validated
from graphmem.model.vocabulary import Kind
from graphmem.search import ask as search
from graphmem.search.types import SearchQuery, SearchResult, SpanQuery
from graphmem.service.noting import Noting, seen_by_search


class Search(Noting):
    """How a client finds memories."""

    async def search(self, query: str, **options: Any) -> SearchResult:
        """Return what matches a query, `*` for everything; the options are the fields of `SearchQuery`.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await self._search(validated({"query": query, **options}, SearchQuery))

    async def search_with_hops(
        self, query: str, *, max_hops: int = 1, **options: Any
    ) -> SearchResult:
        """Return what matches a query and what it is linked with, up to three hops away.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await self.search(query, max_hops=max_hops, **options)

    async def search_spans(self, query: str, **options: Any) -> SearchResult:
        """Return the spans that match a query, best first; the options are the fields of `SpanQuery`.

        Raises `InvalidInput`, `Unavailable`.
        """
        asked = validated({"query": query, **options}, SpanQuery)
        return await self._search(asked.search, only="span")

    async def _search(self, asked: SearchQuery, only: Kind | None = None) -> SearchResult:
        began = self._began()
        answer = await search.search(
            asked,
            only=only,
            client_id=self.client_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            vocabulary=self.runtime.vocabulary,
            calibration=self.runtime.calibration,
        )
        self._note("search", began, lambda: seen_by_search(asked, answer))
        return answer
