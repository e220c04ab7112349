"""A question prepared for the indexes, and the scores of texts by its words and its spelling."""

import asyncio
import logging
import math
import re
import statistics
import time
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from graphmem.embedding import Embedder, Vector
from graphmem.errors import Unavailable
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.model.vocabulary import Lack
from graphmem.observing.metrics import DEGRADED
from graphmem.retrieval.fusion import Scores, by_maximum
from graphmem.retrieval.knowledge import KNOWN, Knowledge, knows
from graphmem.text.languages import language
from graphmem.text.named_times import named_times
from graphmem.text.words import COMMON_SHARE, UNSPACED_LETTERS, folded, stems, terms, weights

SAMPLED = 300
"""The number of memories in a sample."""

FEWEST = 50
"""With fewer memories no word counts as common: shares of so few are not significant."""

CLIENTS_KEPT = 1_000
FRESH_SECONDS = 300.0
FRESH_SECONDS_WHILE_SMALL = 5.0
"""The times for which a sample is used; that of a small client is soon outdated."""

SHORT_CHARACTERS = 320
"""The length of a short memory, about 80 tokens."""

USUAL_LENGTH = 160
"""The characters of a usual memory, of a client that has none."""

Shares = Mapping[str, float]


class Sample(Struct, frozen=True):
    """The statistics of a sample of a client's memories."""

    shares: Shares = {}
    """By stem the share, 0–1, of the memories that contain it; only common stems."""
    length: float = USUAL_LENGTH
    """The mean number of characters, of long memories at most those of the beginning that was read."""
    short: float = 1.0
    """The share, 0–1, of the memories that have at most `SHORT_CHARACTERS`."""
    has_passages: bool = True
    """Whether the client had passages, those of long memories; true if that is unknown."""


class SampledTexts(Struct, frozen=True):
    """The beginnings of the searched texts of some of a client's memories."""

    texts: list[str]
    has_passages: bool
    """Whether the client has any passages."""


SAMPLED_TEXTS = Query("retrieval/sampled_texts", SampledTexts)


class Vocabulary:
    """Caches for each client the stems that are common in its memories.

    The cache belongs to one process, and may miss.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._kept: OrderedDict[str, tuple[float, Sample]] = OrderedDict()

    def forget(self, client_id: str) -> None:
        """Drop the cached sample of a client."""
        self._kept.pop(client_id, None)

    async def shares(self, client_id: str) -> Shares:
        """Return the share, 0–1, of the client's memories that contain each common stem."""
        return (await self.sample(client_id)).shares

    async def sample(self, client_id: str, graph: Graph | None = None) -> Sample:
        """Return the statistics of a sample of the client's memories.

        If it is not cached it is read from `graph` if given, else from the graph of this cache.
        """
        kept = self._kept.get(client_id)
        if kept and time.monotonic() < kept[0]:
            self._kept.move_to_end(client_id)
            return kept[1]
        asked = graph or self._graph
        [read] = await asked.rows(SAMPLED_TEXTS, client_id=client_id, limit=SAMPLED)
        sample = replace(
            await asyncio.to_thread(sampled, read.texts), has_passages=read.has_passages
        )
        small = len(read.texts) < SAMPLED
        seconds = FRESH_SECONDS_WHILE_SMALL if small else FRESH_SECONDS
        self._kept[client_id] = (time.monotonic() + seconds, sample)
        if len(self._kept) > CLIENTS_KEPT:
            self._kept.popitem(last=False)
        return sample


def sampled(texts: Sequence[str]) -> Sample:
    """Return the statistics of a sample; the usual ones for no texts."""
    if not texts:
        return Sample()
    return Sample(
        common_stems(texts),
        max(1.0, statistics.fmean(map(len, texts))),
        statistics.fmean(len(text) <= SHORT_CHARACTERS for text in texts),
    )


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


NO_VECTOR: Lack = "no_vector"
"""The embedding model failed, and only words were searched."""

LANGUAGE: Lack = "language"
"""The embedding model does not know the language of the question: words lead."""

log = logging.getLogger(__name__)


class Understood(Struct, frozen=True):
    """A question with its words and its vector; None if the model failed or no vector was requested."""

    text: str
    embedding: Vector | None
    words: list[str]
    weight: Mapping[str, float]
    degraded: list[Lack]
    spoken: str | None = None
    """The code of its language, if the text tells it."""
    weights: Mapping[str, Mapping[str, float]] = {}
    """The weights in each client, if several are searched; `weight` has their means then."""
    sample: Sample = Sample()
    """The sample of the asking client's memories, for those of others too: so scores compare."""

    def weight_in(self, client_id: str) -> Mapping[str, float]:
        """Return the weights of the words by the statistics of a client."""
        return self.weights.get(client_id, self.weight)

    @property
    def lacks_vector(self) -> bool:
        """Whether the embedding model failed."""
        return NO_VECTOR in self.degraded


class Stopwatch:
    """Measures milliseconds between laps."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        """End a stage."""
        now = time.perf_counter()
        self._laps[stage] = round((now - self._last) * 1000, 3)
        self._last = now

    def laps(self) -> dict[str, float]:
        """Return the milliseconds of each stage, and their total."""
        return self._laps | {"total": round((self._last - self._start) * 1000, 3)}


async def understand(
    query: str,
    *,
    client_id: str,
    embedder: Embedder,
    vocabulary: Vocabulary,
    knowledge: Knowledge,
    by_meaning: bool = True,
    by_words: bool = True,
    beside: Sequence[str] = (),
    today: date | None = None,
) -> Understood:
    """Embed a question and weigh its words, once for all legs; meanwhile read its times, if `today` is given.

    `beside` are other clients that are searched too: each has its own statistics of words. If the embedding
    model fails only the words remain, and `degraded` contains `no_vector`; `language` if it does not know the
    question's language.
    """
    clients = (client_id, *beside)
    (embedding, degraded), samples, (spoken, words) = await asyncio.gather(
        _embed(query if by_meaning else None, embedder),
        asyncio.gather(*map(vocabulary.sample, clients)),
        _read(query, today, by_words=by_words),
    )
    if embedding is not None:
        degraded = [*degraded, *unknown_language(spoken, knowledge)]
    weighed = {
        one: weights(words, known.shares) for one, known in zip(clients, samples, strict=True)
    }
    weight = _means(weighed.values()) if beside else weighed[client_id]
    by_client = weighed if beside else {}
    return Understood(
        query, embedding, words, weight, degraded, spoken, by_client, sample=samples[0]
    )


async def _read(query: str, today: date | None, *, by_words: bool) -> tuple[str | None, list[str]]:
    """Return the language of a question and its words; read its times, which are kept for a while.

    A coroutine, so that it runs while the model computes in its thread.
    """
    if today is not None:
        named_times(query, today)
    spoken = language(query)
    return spoken, terms(query, spoken) if by_words else []


def _means(weighed: Collection[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean weights of the words that weigh less than 1 in some client."""
    words = {word for one in weighed for word in one}
    return {word: sum(one.get(word, 1.0) for one in weighed) / len(weighed) for word in words}


def unknown_language(spoken: str | None, knowledge: Knowledge) -> list[Lack]:
    """Return the reason that degrades an answer to a question in this language: none, or `LANGUAGE`."""
    if knows(knowledge, spoken) >= KNOWN:
        return []
    DEGRADED.labels(LANGUAGE).inc()
    return [LANGUAGE]


async def _embed(query: str | None, embedder: Embedder) -> tuple[Vector | None, list[Lack]]:
    if query is None:
        return None, []
    try:
        return await embedder.query(query), []
    except Unavailable as problem:
        log.warning("a question goes on without the vector leg: %s", problem)
        DEGRADED.labels(NO_VECTOR).inc()
        return None, [NO_VECTOR]


LENGTHS = (3, 4, 5)
"""The lengths of the runs; a word counts with the space before and after it."""

K1, B = 1.2, 0.75
"""The usual constants of BM25 (Robertson and Zaragoza, 2009)."""

_WORD = re.compile(rf"[{UNSPACED_LETTERS}]+|[^\W{UNSPACED_LETTERS}]+")
_UNSPACED = re.compile(f"[{UNSPACED_LETTERS}]")


def spelling(question: str, texts: Mapping[str, str]) -> Scores:
    """Return the likeness of spelling of each text, 1 for the most alike; without those that share none."""
    asked = frozenset(runs(question))
    found = {id: Counter(runs(text)) for id, text in texts.items()}
    lengths = {id: counts.total() for id, counts in found.items()}
    mean = sum(lengths.values()) / max(1, len(lengths)) or 1.0
    having = Counter(run for counts in found.values() for run in asked & counts.keys())
    rarity = {
        run: math.log(1 + (len(found) - number + 0.5) / (number + 0.5))
        for run, number in having.items()
    }
    scores = {
        id: sum(
            rarity[run] * counts[run] / (counts[run] + K1 * (1 - B + B * lengths[id] / mean))
            for run in sorted(asked & counts.keys())
        )
        for id, counts in found.items()
    }
    return by_maximum({id: score for id, score in scores.items() if score})


def runs(text: str) -> Iterator[str]:
    """Yield the runs of letters of a text's words; of a script without spaces characters and their pairs."""
    for word in _WORD.findall(folded(text)):
        if _UNSPACED.match(word):
            yield from word
            yield from (word[place : place + 2] for place in range(len(word) - 1))
            continue
        padded = f" {word} "
        for length in LENGTHS:
            if len(padded) <= length:
                yield padded
            else:
                yield from (
                    padded[place : place + length] for place in range(len(padded) - length + 1)
                )
