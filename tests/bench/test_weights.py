"""What a signal gains, and what weights are learned."""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from msgspec.structs import asdict

from bench.weights import (
    NAMES,
    Asked,
    ablation,
    cost_of_each,
    figures,
    learn,
    learned,
    matrix,
    scales,
)
from graphmem.retrieval.finding import Candidate
from graphmem.retrieval.ranking import CHAT, PROSE, Weights, cues_of

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def candidate(id: str, cosine: float, token_count: int) -> Candidate:
    return Candidate(
        id=id,
        kind="message",
        importance=0.5,
        token_count=token_count,
        occurred_at=NOON,
        cosine=cosine,
        by_vector=True,
    )


@pytest.fixture
def asked() -> list[Asked]:
    """Questions of two conversations whose evidence is long, and further from the question than chatter."""

    def one(conversation: str, apart: bool) -> Asked:
        found = [
            candidate("chatter", cosine=0.9, token_count=2),
            candidate("evidence", cosine=0.85, token_count=29),
            *(candidate(f"far {n}", cosine=0.1, token_count=30) for n in range(20)),
        ]
        return Asked(
            conversation=conversation,
            apart=apart,
            evidence=frozenset({"e"}),
            found=found,
            words=[],
            cues=cues_of("", [], {}),
            ids={"evidence": "e"},
        )

    return [one("a", False), one("b", False), one("b", True)]


def test_figures_are_apart_for_adversarial_questions(asked: list[Asked]) -> None:
    rankings = [one.ranked() for one in asked]

    assert figures(asked, rankings, lambda _, used: used) == {
        "recall@10": 100.0,
        "all evidence@5": 100.0,
        "adversarial recall@10": 100.0,
    }
    worst = figures(asked, rankings, lambda _, used: {"cosine": -1.0})
    assert worst == dict.fromkeys(worst, 0.0)


def test_a_signal_that_is_left_out_has_no_weight(asked: list[Asked]) -> None:
    table = ablation(asked, [one.ranked() for one in asked])

    assert set(table) == {"all signals", *(f"without {name}" for name in NAMES)}
    assert table["without cosine"]["recall@10"] < table["all signals"]["recall@10"]


def test_what_tells_the_evidence_gains_weight(asked: list[Asked]) -> None:
    signals, right, real = matrix(asked, [one.ranked() for one in asked], CHAT)

    weights = dict(zip(NAMES, learned(signals, right, real, CHAT), strict=True))

    assert weights["substance"] > CHAT.substance
    assert weights["speaker"] == pytest.approx(CHAT.speaker)


def test_a_conversation_is_judged_by_the_weights_of_the_others(
    asked: list[Asked], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def counted(signals: Any, right: Any, real: Any, present: Weights) -> Any:
        sizes.append(len(signals))
        return np.array(list(asdict(present).values()))

    monkeypatch.setattr("bench.weights.learned", counted)
    report = learn(asked, [one.ranked() for one in asked])

    assert sizes == [3, 2, 1]
    assert report["present"] == asdict(CHAT)
    assert report["fitted"] == report["cross-validated"]


def test_a_weight_counts_for_a_question_as_far_as_its_share_of_the_present_one() -> None:
    used = {"cosine": PROSE.cosine, "after": PROSE.after / 2, "coverage": 0.0}

    scale = scales(used, PROSE)

    assert (scale["cosine"], scale["after"]) == (1.0, 0.5)
    # A signal without a weight can learn one.
    assert scale["before"] == 1.0
    assert scales(used, CHAT)["coverage"] == 0.0


def test_each_signal_has_its_time(asked: list[Asked]) -> None:
    spent = cost_of_each(asked)

    assert set(spent) == set(NAMES)
    assert all(milliseconds >= 0 for milliseconds in spent.values())
    assert spent["cosine"] > 0
