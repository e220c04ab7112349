"""What other clients write moves no rank and no score of a client."""

import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from graphmem.client import Graphmem
from graphmem.graph.scope import scope_word
from graphmem.model.vocabulary import Ranking
from graphmem.runtime import Runtime

WORDS = """
    harbour lantern kettle garden ferry bread ladder violin winter bridge market letter
    pepper candle river saddle copper window orchard basket needle anchor blanket cellar
    feather hammer island jacket kitchen lemon mirror noodle oven pillow quarry ribbon sailor
    tunnel valley walnut
""".split()  # noqa: SIM905 - a list of words reads better as words

OTHERS = 3_000
MOVED_BY_OTHERS: tuple[Ranking, ...] = ("default", "bm25", "rrf")

WRITE = (
    "CYPHER 25 UNWIND $rows AS row CREATE (memory:Memory {client_id: $client_id, id: row.id, "
    "search_text: row.text, scope_words: $scope, active: true})"
)
DELETE = "CYPHER 25 MATCH (memory:Memory {client_id: $client_id}) DETACH DELETE memory"


def sentences(number: int, seed: int, words: list[str]) -> list[str]:
    """Return texts of 3 to 25 words, the first of the words most often."""
    chance = random.Random(seed)
    shares = [1 / (place + 1) for place in range(len(words))]
    return [" ".join(chance.choices(words, shares, k=chance.randint(3, 25))) for _ in range(number)]


async def remembered(memory: Graphmem, number: int) -> None:
    await memory.open_conversation("c")
    said = [
        {"session_id": f"s{place // 20}", "role": "user", "content": text}
        for place, text in enumerate(sentences(number, 1, WORDS))
    ]
    await memory.remember("c", said)


@pytest.fixture
async def others_write(
    runtime: Runtime, new_client: Callable[[], str]
) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """Return what writes thousands of another client's memories, with this one's rarest words most often."""
    other = new_client()

    async def written() -> None:
        texts = sentences(OTHERS, 2, WORDS[::-1])
        await runtime.graph.execute(
            WRITE,
            client_id=other,
            rows=[{"id": str(uuid.uuid4()), "text": text} for text in texts],
            scope=scope_word(other, "client"),
        )

    yield written
    await runtime.graph.execute(DELETE, client_id=other)


def questions() -> list[str]:
    chance = random.Random(3)
    return [
        f"Where is the {' '.join(chance.sample(WORDS, chance.randint(1, 5)))}?" for _ in range(25)
    ]


async def answers(memory: Graphmem, ranking: Ranking) -> list[list[tuple[str, float]]]:
    """Return the first ten of every question, with their scores."""
    found = []
    for question in questions():
        answer = await memory.recall(question, ranking=ranking, limit=10, max_tokens=4_000)
        found.append([(item.id, item.score) for item in answer.items])
    return found


@pytest.mark.parametrize("ranking", MOVED_BY_OTHERS)
async def test_what_others_write_moves_no_rank_and_no_score(
    memory: Graphmem, others_write: Callable[[], Awaitable[None]], ranking: Ranking
) -> None:
    await remembered(memory, 80)
    before = await answers(memory, ranking)

    await others_write()

    assert await answers(memory, ranking) == before
