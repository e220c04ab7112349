"""Spans: byte ranges of sources."""

from collections.abc import Iterable, Mapping
from typing import Any

from graphmem.model.validation import validated
from graphmem.service.bound import Bound, new_id, now
from graphmem.spans import register as writing
from graphmem.spans import show as reading
from graphmem.spans.types import NewSpan, NewSpans, Span, SpanContent


class Spans(Bound):
    """What a client can do with spans."""

    async def register_span(self, **fields: Any) -> Span:
        """Register a span; its fields are `NewSpan`'s. An id that is a span's replaces that span.

        Raises `InvalidInput`, `IdTaken`, `Unavailable`.
        """
        return (await self._register_spans([validated(fields, NewSpan)]))[0]

    async def register_spans(self, new: Iterable[NewSpan | Mapping[str, Any]]) -> list[Span]:
        """Register 1–1,000 spans, all or none; return them in order.

        Raises `InvalidInput`, `IdTaken`, `Unavailable`.
        """
        return await self._register_spans(validated(list(new), NewSpans))

    async def _register_spans(self, new: list[NewSpan]) -> list[Span]:
        return await writing.register(
            new,
            client_id=self.client_id,
            now=now(),
            new_id=new_id,
            graph=self.runtime.graph,
            embedder=self.runtime.embedder,
            tokens=self.runtime.tokens,
        )

    async def span(self, span_id: str) -> Span:
        """Return a span without its text. Raises `SpanNotFound`, `Unavailable`."""
        return await reading.span(span_id, client_id=self.client_id, graph=self.runtime.graph)

    async def span_content(self, span_id: str) -> SpanContent:
        """Return a span's text, None where it has none.

        Raises `SpanNotFound`, `ContentDamaged`, `Unavailable`.
        """
        return await reading.span_content(
            span_id, client_id=self.client_id, graph=self.runtime.graph
        )
