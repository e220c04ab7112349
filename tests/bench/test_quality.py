"""The quality benchmark measures what it says."""

import uuid
from pathlib import Path
from typing import Any

import pytest

from bench.cached import CachedModel
from bench.quality import (
    OTHERS,
    Answered,
    Measured,
    ask_all,
    beside,
    broken,
    fill_beside,
    foreign,
    intervals,
    load,
    load_all,
    means,
    report,
)
from graphmem.client import Graphmem
from graphmem.runtime import Runtime


def answered(conversation: str, score: float, category: str = "plain") -> Answered:
    return Answered(conversation, category, {"recall@10": score}, 0)


async def measure(
    runtime: Runtime, conversations: list[dict[str, Any]], rankings: list[str]
) -> Measured:
    loaded = await load_all(runtime, conversations, rankings)
    return await ask_all(runtime, conversations, rankings, loaded)


@pytest.fixture
def conversation() -> dict[str, Any]:
    said = ["The ferry leaves at nine.", "My cat is called Ballast.", "Harbour costs 59 euros."]
    return {
        "id": f"bench-{uuid.uuid4().hex}",
        "sessions": [
            {
                "id": "s1",
                "messages": [
                    {
                        "id": str(place),
                        "role": "user",
                        "name": "Mara",
                        "content": content,
                        "occurred_at": f"2026-03-0{place + 1}T09:00:00Z",
                    }
                    for place, content in enumerate(said)
                ],
            }
        ],
        "questions": [
            {"text": "What is the cat's name?", "category": "plain", "evidence": ["1"]},
            {
                "text": "When does the ferry leave?",
                "category": "adversarial",
                "evidence": ["0", "x"],
            },
            {"text": "Who knows?", "category": "plain", "evidence": []},
        ],
    }


async def test_a_set_is_loaded_asked_and_reported(
    runtime: Runtime, conversation: dict[str, Any]
) -> None:
    result = report(await measure(runtime, [conversation], ["vector", "default", "contextual"]))
    for figures in result["rankings"].values():
        assert figures["budget_violations"] == 0
        assert figures["overall"]["questions"] == 1
        assert figures["overall"]["recall@5"] == 100.0
        assert figures["overall"]["evidence in 512"] == 100.0
        # One of its two pieces of evidence does not exist.
        assert figures["categories"]["adversarial"]["recall@20"] == 50.0
    asked = result["rankings"]["contextual"]
    assert asked["overall"]["no session"] == 0.0
    assert "foreign no session" not in asked, "there is no other conversation"


async def test_foreign_questions_are_asked_and_counted(
    runtime: Runtime, conversation: dict[str, Any]
) -> None:
    other = conversation | {
        "id": f"bench-{uuid.uuid4().hex}",
        "questions": [
            {
                "id": "q",
                "text": "Which enzyme splits lactose in cheese?",
                "category": "plain",
                "evidence": ["1"],
            }
        ],
    }
    measured = await measure(runtime, [conversation, other], ["contextual"])
    assert [len(foreign(one, [conversation, other])) for one in (conversation, other)] == [1, 1]
    # One conversation knows nothing of cheese, the other says the same as the first.
    assert measured.foreign == {"contextual": 50.0}


async def test_everything_is_asked_again_beside_other_clients(
    runtime: Runtime, conversation: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.store.REAL_EMBEDDINGS", 2 * OTHERS)
    loaded = await load_all(runtime, [conversation], ["default"])
    await fill_beside(runtime, 2 * OTHERS)
    found = report(await ask_all(runtime, [conversation], ["default"], loaded))["rankings"]
    assert found["default"]["overall"]["recall@5"] == 100.0

    count = (
        "CYPHER 25 MATCH (m:Memory) WHERE m.client_id STARTS WITH 'beside-' RETURN count(m) AS n"
    )
    [row] = await runtime.graph.execute(count)
    assert row["n"] == 2 * OTHERS
    worse = {"default": {"overall": {"recall@10": 90.0, "evidence in 1024": 101.5}}}
    told = beside(found, worse, 2 * OTHERS)
    assert told["memories of others"] == 20
    assert told["difference"] == {"default": {"recall@10": -10.0, "evidence in 1024": 1.5}}


async def test_a_context_that_is_longer_than_it_says_is_a_violation(
    runtime: Runtime, conversation: dict[str, Any]
) -> None:
    memory = Graphmem(runtime, f"bench-{uuid.uuid4().hex}")
    await load(memory, conversation)
    recalled = await memory.recall("the cat", max_tokens=100)
    assert broken(memory, recalled, 100) == 0
    assert broken(memory, recalled, recalled.tokens_used - 1) == 1


def test_means_are_in_percent() -> None:
    assert means([answered("a", 1.0), answered("a", 0.5)]) == {"questions": 2, "recall@10": 75.0}


def test_intervals_resample_whole_conversations() -> None:
    alike = [answered(name, score) for name in "abcd" for score in (0.0, 1.0)]
    assert intervals(alike)["recall@10"] == [50.0, 50.0]
    apart = [answered(name, float(name in "ab")) for name in "abcd" for _ in range(2)]
    low, high = intervals(apart)["recall@10"]
    assert low == 0.0
    assert high == 100.0


def test_embeddings_are_remembered(tmp_path: Path) -> None:
    class Counting:
        name, sha256, dimensions = "counting", "0", 2

        def __init__(self) -> None:
            self.seen: list[str] = []

        def embed(self, texts: list[str]) -> list[list[float]]:
            self.seen += texts
            return [[1.0, 0.0] for _ in texts]

        def truncates(self, text: str) -> bool:
            return False

    model = Counting()
    for _ in range(2):
        assert CachedModel(model, tmp_path).embed(["a", "b", "a"]) == [[1.0, 0.0]] * 3
    assert model.seen == ["a", "b"]
