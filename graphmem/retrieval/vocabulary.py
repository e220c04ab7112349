"""The words that are common within one client, learned from a sample of its memories and cached."""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence

from msgspec import Struct

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.text.words import COMMON_SHARE, stems

SAMPLED = 300
"""The number of memories in a sample."""

FEWEST = 50
"""With fewer memories no word counts as common: shares of so few are not significant."""

CLIENTS_KEPT = 1_000
FRESH_SECONDS = 300.0
FRESH_SECONDS_WHILE_SMALL = 5.0
"""The times for which a sample is used; that of a small client is soon outdated."""

Shares = Mapping[str, float]


class SampledText(Struct, frozen=True):
    """The beginning of a memory's searched text."""

    text: str


SAMPLED_TEXTS = Query("retrieval/sampled_texts", SampledText)


class Vocabulary:
    """Caches for each client the stems that are common in its memories.

    The cache belongs to one process, and may miss.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._kept: OrderedDict[str, tuple[float, Shares]] = OrderedDict()

    def forget(self, client_id: str) -> None:
        """Drop what is cached of a client."""
        self._kept.pop(client_id, None)

    async def shares(self, client_id: str, graph: Graph | None = None) -> Shares:
        """Return the share, 0–1, of the client's memories that contain each common stem.

        If they are not cached they are sampled from `graph` if given, else from the graph of this cache.
        """
        kept = self._kept.get(client_id)
        if kept and time.monotonic() < kept[0]:
            self._kept.move_to_end(client_id)
            return kept[1]
        sample = await (graph or self._graph).rows(
            SAMPLED_TEXTS, client_id=client_id, limit=SAMPLED
        )
        shares = await asyncio.to_thread(common_stems, [row.text for row in sample])
        small = len(sample) < SAMPLED
        seconds = FRESH_SECONDS_WHILE_SMALL if small else FRESH_SECONDS
        self._kept[client_id] = (time.monotonic() + seconds, shares)
        if len(self._kept) > CLIENTS_KEPT:
            self._kept.popitem(last=False)
        return shares


def common_stems(texts: Sequence[str]) -> Shares:
    """Return the stems that occur in more than `COMMON_SHARE` of the texts, with their shares."""
    if len(texts) < FEWEST:
        return {}
    counts = Counter(stem for text in texts for stem in stems(text))
    return {
        stem: count / len(texts)
        for stem, count in counts.items()
        if count > COMMON_SHARE * len(texts)
    }
