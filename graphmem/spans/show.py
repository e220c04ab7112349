"""Looking at a span: its card, or its text."""

from hashlib import sha256

from msgspec import Struct

from graphmem.errors import ContentDamaged, SpanNotFound
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.spans.types import Span, SpanContent, StoredSpan


class Text(Struct, frozen=True):
    """A span's text as the database holds it."""

    id: str
    text: str
    token_count: int
    sha256: str | None = None
    token_estimate: int | None = None


SPAN = Query("spans/span", StoredSpan)
SPAN_CONTENT = Query("spans/span_content", Text)


async def span(span_id: str, *, client_id: str, graph: Graph) -> Span:
    """Return a span without its text. Raises `SpanNotFound`, for another client's too."""
    rows = await graph.rows(SPAN, client_id=client_id, id=span_id)
    if not rows:
        raise SpanNotFound(span_id)
    return rows[0].shown


async def span_content(span_id: str, *, client_id: str, graph: Graph) -> SpanContent:
    """Return a span's text, which is None where it has none.

    Raises `SpanNotFound`, for another client's too, and `ContentDamaged` when the text's SHA-256 is
    not the one that was stored with it.
    """
    rows = await graph.rows(SPAN_CONTENT, client_id=client_id, id=span_id)
    if not rows:
        raise SpanNotFound(span_id)
    stored = rows[0]
    if not stored.text:
        return SpanContent(
            id=span_id, content=None, hash=stored.sha256, token_count=stored.token_estimate or 0
        )
    if sha256(stored.text.encode()).hexdigest() != stored.sha256:
        raise ContentDamaged(span_id)
    return SpanContent(
        id=span_id, content=stored.text, hash=stored.sha256, token_count=stored.token_count
    )
