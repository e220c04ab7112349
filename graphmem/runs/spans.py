"""Spans as a run sees them: with their texts, checked; a summary is a span of all its bytes."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import asdict

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.vocabulary import SourceType
from graphmem.spans.types import Span, StoredSpan


class RunSpan(Struct, frozen=True, kw_only=True):
    """A span or a summary with its text; one without content has an empty text."""

    id: str
    source_type: SourceType
    source_id: str
    start_byte: int | None = None
    end_byte: int | None = None
    sha256: str | None = None
    token_count: int
    token_estimate: int | None = None
    importance: float
    recency: float | None = None
    tags: list[str] | None = None
    metadata: str | None = None
    embedding_truncated: bool
    text: str
    occurred_at: datetime
    created_at: datetime

    @property
    def sound(self) -> bool:
        """Whether the text is the one that was stored; of a summary no hash is kept."""
        return not self.text or self.sha256 in {None, self._hash}

    @property
    def shown(self) -> Span:
        """The span without its text."""
        properties = asdict(self)
        text = properties.pop("text")
        if self.start_byte is None:
            whole = {"start_byte": 0, "end_byte": len(text.encode()), "sha256": self._hash}
            properties |= whole
        return StoredSpan(**properties, has_content=bool(text)).shown

    @property
    def _hash(self) -> str:
        return sha256(self.text.encode()).hexdigest()


RUN_SPANS = Query("runs/run_spans", RunSpan)


async def run_spans(ids: Sequence[str], *, client_id: str, graph: Graph) -> dict[str, RunSpan]:
    """Return spans and summaries by their ids; what is not there is absent. Raises `Unavailable`."""
    rows = await graph.rows(RUN_SPANS, client_id=client_id, ids=list(ids))
    return {row.id: row for row in rows}
