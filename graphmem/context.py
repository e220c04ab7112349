"""The context of a use case: its client, and the parts of a running graphmem."""

import time
import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from graphmem.accesses import ReadBegan, ReadRecord, Recorder, Seen
from graphmem.embedding import Embedder
from graphmem.graph.driver import Graph
from graphmem.graph.installation import Calibration
from graphmem.graph.statements import Statements
from graphmem.jobs.afterwards import Afterwards
from graphmem.llm import LanguageModel
from graphmem.model.times import present
from graphmem.retrieval.reranking import Reranker
from graphmem.retrieval.understanding import Vocabulary
from graphmem.single_flight import SingleFlight
from graphmem.tokens import TokenCounter

RELEVANT = 0.35
"""The least relevance, 0–1, of a memory that counts as found in the record of a read."""


def random_id() -> str:
    """Return an id that cannot be guessed."""
    return str(uuid.uuid4())


class Context(Struct, frozen=True, kw_only=True):
    """The client of a use case, and its dependencies.

    One is made for each request: `graph`, `embedder` and `calibration` belong to one embedding model, even if
    the installation changes its model meanwhile. Pure functions take plain arguments instead.
    """

    client_id: str
    graph: Graph
    embedder: Embedder
    tokens: TokenCounter
    vocabulary: Vocabulary
    calibration: Calibration
    afterwards: Afterwards = field(default_factory=Afterwards)
    statements: Statements = field(default_factory=Statements)
    reranker: Reranker | None = None
    llm: LanguageModel | None = None
    turns: SingleFlight[Any] | None = None
    """The cached findings of turns; None if nothing is cached."""
    recorder: Recorder | None = None
    """None if reads are not recorded."""
    now: Callable[[], datetime] = present
    new_id: Callable[[], str] = random_id

    def read_begins(self) -> ReadBegan:
        """Return the start of a read, for `record_read`."""
        return ReadBegan(self.now(), time.perf_counter())

    def record_read(self, operation: str, began: ReadBegan, seen: Callable[[], Seen]) -> None:
        """Record a read soon after its answer; `seen` is called then, in a thread."""
        if self.recorder is None:
            return
        id = self.new_id()
        duration_ms = round((time.perf_counter() - began.clock) * 1000, 3)

        def record() -> ReadRecord:
            known = seen()
            return ReadRecord(
                id=id,
                client_id=self.client_id,
                operation=operation,
                at=began.at,
                duration_ms=duration_ms,
                question=known.question,
                conversation_id=known.conversation_id,
                tokens=known.tokens,
                found=known.found,
                shown=known.shown,
            )

        self.recorder.note(record)
