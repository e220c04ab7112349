"""A store for benchmarks: seeded texts, vectors near those of real embeddings, clients of any size."""

import asyncio
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial

import numpy as np
from msgspec import Struct

from graphmem.embedding import Embedder, Embedding, Vector
from graphmem.memories.write import Draft, Prepared, write
from graphmem.runtime import Runtime

REAL_EMBEDDINGS = 2_000
NOISE = 0.35
"""The length of the noise that is added to a real unit vector: a cosine of about .94 to it."""

VOCABULARY = 4_000
SESSION_MESSAGES = 50
STATEMENT_ROWS = 500
WRITERS = 2
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)

_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu lan mer tin dor".split()  # noqa: SIM905


class Corpus(Struct, frozen=True):
    """What memories of the store are made of."""

    vocabulary: list[str]
    shares: list[float]
    texts: list[str]
    vectors: np.ndarray


def words(seed: int = 7) -> tuple[list[str], list[float]]:
    """Return invented words and how often each is used, after Zipf."""
    chance = random.Random(seed)
    invented: dict[str, None] = {}
    while len(invented) < VOCABULARY:
        invented["".join(chance.choices(_SYLLABLES, k=chance.randint(2, 4)))] = None
    return list(invented), [1 / (rank + 10) for rank in range(VOCABULARY)]


def sentence(chance: random.Random, vocabulary: list[str], shares: list[float]) -> str:
    """Return a text of 6 to 40 words, as messages are."""
    drawn = chance.choices(vocabulary, shares, k=chance.randint(6, 40))
    return " ".join(drawn).capitalize() + "."


async def corpus(embedder: Embedder) -> Corpus:
    """Return the store's texts with their real embeddings."""
    vocabulary, shares = words()
    chance = random.Random(11)
    texts = [sentence(chance, vocabulary, shares) for _ in range(REAL_EMBEDDINGS)]
    embeddings = await embedder.passages(texts)
    return Corpus(vocabulary, shares, texts, np.array([one.vector for one in embeddings]))


def questions(made_of: Corpus, number: int, seed: int = 23) -> list[str]:
    """Return questions of 4 to 9 words."""
    chance = random.Random(seed)
    return [
        "What about "
        + " ".join(chance.choices(made_of.vocabulary, made_of.shares, k=chance.randint(4, 9)))
        for _ in range(number)
    ]


def memories(made_of: Corpus, client_id: str, number: int, seed: int) -> Iterator[Prepared]:
    """Yield a client's memories: messages in sessions, each vector near a real one."""
    chance = random.Random(seed)
    noise = np.random.default_rng(seed)
    conversation = str(uuid.UUID(int=chance.getrandbits(128)))
    dimensions = made_of.vectors.shape[1]
    for place in range(number):
        vector = made_of.vectors[chance.randrange(len(made_of.vectors))]
        vector = vector + noise.normal(0, NOISE / np.sqrt(dimensions), dimensions)
        text = sentence(chance, made_of.vocabulary, made_of.shares)
        moment = BEGINNING + timedelta(minutes=place)
        session = f"{conversation}-{place // SESSION_MESSAGES}"
        yield Prepared(
            Draft(
                id=str(uuid.UUID(int=chance.getrandbits(128))),
                client_id=client_id,
                kind="message",
                text=text,
                search_text=text,
                embedded_text=text,
                source_type="message",
                source_id=session,
                conversation_id=conversation,
                session_id=session,
                occurred_at=moment,
                valid_at=moment,
                created_at=moment,
                own={
                    "idx": place % SESSION_MESSAGES,
                    "position": place,
                    "role": "user",
                    "name": None,
                },
            ),
            Embedding(_unit(vector), False),
            len(text) // 4,
        )


async def fill(runtime: Runtime, made_of: Corpus, client_id: str, number: int, seed: int) -> None:
    """Write a client's memories, a few statements at a time."""
    source = memories(made_of, client_id, number, seed)

    async def writer() -> None:
        while chunk := [memory for _, memory in zip(range(STATEMENT_ROWS), source, strict=False)]:
            await runtime.graph.write(partial(write, memories=chunk, client_id=client_id))

    await asyncio.gather(*(writer() for _ in range(WRITERS)))


def _unit(vector: np.ndarray) -> Vector:
    unit: Vector = (vector / np.linalg.norm(vector)).tolist()
    return unit
