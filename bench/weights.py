"""What each signal of the default ranking gains, and the weights that conversations would learn.

    python -m bench.weights --data locomo.json --data beam.json --out weights.json

Loads every set (those of `bench.quality`, of passages too), finds the candidates of each question once, and
ranks them again without each signal in turn: recall@10, all evidence among the first five, and recall@10 of
adversarial questions apart. `milliseconds` are processor time of the ranking, with the signals of the text
and without, and of each signal.

`learned` are the weights that a listwise softmax learns on a set of conversations with adversarial questions
included, drawn towards the present ones, and their recall@10 on the questions they were learned from and on
those of conversations they were not learned from (cross-validated).
"""

import asyncio
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from bench import passages
from bench.quality import APART, load, say, store
from bench.reporting import arguments, report
from graphmem.client import Graphmem
from graphmem.model.vocabulary import Kind
from graphmem.retrieval import ranking
from graphmem.retrieval.filters import Filters
from graphmem.retrieval.finding import Candidate, find_best
from graphmem.retrieval.ranking import (
    CHAT,
    LONGEST_RANKED,
    PROSE,
    Cues,
    Ranked,
    Weights,
    cues_of,
    ranked,
)
from graphmem.retrieval.understanding import understand
from graphmem.retrieval.weighing import chat_share
from graphmem.runtime import Runtime

NAMES = tuple(asdict(CHAT))
SHARPNESS = 8.0
"""The factor from scores to the softmax."""

STEPS = 200
RATE = 0.02
DRAWN = 0.03
"""How strongly weights are drawn towards the present ones."""

Weighed = Mapping[str, float]


class Asked(Struct, frozen=True, kw_only=True):
    """A question with its candidates; `ids` gives the set's id of each."""

    conversation: str
    apart: bool
    evidence: frozenset[str]
    found: list[Candidate]
    words: list[str]
    cues: Cues
    ids: dict[str, str]

    def ranked(self) -> list[Ranked]:
        """Return the default ranking."""
        return ranked(self.found, self.words, "default", self.cues)


async def gather(runtime: Runtime, data: Mapping[str, Any]) -> list[Asked]:
    """Load a set and find the candidates of its questions."""
    asked: list[Asked] = []
    if "passages" in data:
        memory = Graphmem(runtime, "weights-passages")
        await passages.load(memory, data["passages"])
        ids = await passages.sources(memory)
        return await _find(memory, "passages", data["questions"], ids, None)
    for conversation in data["conversations"]:
        memory = Graphmem(runtime, f"weights-{conversation['id']}")
        ids = await load(memory, conversation)
        asked += await _find(memory, conversation["id"], conversation["questions"], ids, "message")
        say(f"asked {conversation['id']}")
    return asked


async def _find(
    memory: Graphmem,
    name: str,
    questions: Sequence[Mapping[str, Any]],
    ids: dict[str, str],
    kind: Kind | None,
) -> list[Asked]:
    return [
        await _find_one(memory, name, question, ids, kind)
        for question in questions
        if question["evidence"]
    ]


async def _find_one(
    memory: Graphmem, name: str, question: Mapping[str, Any], ids: dict[str, str], kind: Kind | None
) -> Asked:
    context = memory.runtime.context(memory.client_id)
    text = question["text"]
    understood = await understand(
        text,
        client_id=memory.client_id,
        embedder=context.embedder,
        vocabulary=context.vocabulary,
        knowledge=context.calibration.knowledge,
    )
    found = await find_best(
        understood.embedding,
        understood.words,
        Filters(kind=frozenset({kind}) if kind else None),
        client_id=memory.client_id,
        weight=understood.weight,
        spoken=understood.spoken,
        sample=understood.sample,
        longest_text=LONGEST_RANKED,
        graph=context.graph,
        embedder=context.embedder,
    )
    return Asked(
        conversation=name,
        apart=question.get("category") == APART,
        evidence=frozenset(question["evidence"]),
        found=found,
        words=understood.words,
        cues=cues_of(
            text,
            understood.words,
            understood.weight,
            understood.spoken,
            context.calibration.knowledge,
            context.now(),
        ),
        ids=ids,
    )


def recall(asked: Asked, order: Sequence[str], k: int) -> float:
    """Return the share of the evidence among the first k."""
    first = {asked.ids.get(id) for id in order[:k]}
    return len(asked.evidence & first) / len(asked.evidence)


def order_by(each: Sequence[Ranked], weights: Weighed) -> list[str]:
    """Return the ids by other weights of the same signals."""
    signals = each[0].signals if each else {}
    scores = {
        one.id: sum(
            weight * signals.get(name, {}).get(one.id, 0.0) for name, weight in weights.items()
        )
        for one in each
    }
    return sorted(scores, key=lambda one: -scores[one])


def figures(
    asked: Sequence[Asked],
    rankings: Sequence[Sequence[Ranked]],
    weights: Callable[[int, Weighed], Weighed],
) -> dict[str, float]:
    """Return recall@10 and all evidence@5 in percent, those of adversarial questions apart."""
    orders = [
        order_by(each, weights(place, each[0].weights if each else {}))
        for place, each in enumerate(rankings)
    ]
    plain = [(one, order) for one, order in zip(asked, orders, strict=True) if not one.apart]
    apart = [(one, order) for one, order in zip(asked, orders, strict=True) if one.apart]
    result = {
        "recall@10": _percent(recall(one, order, 10) for one, order in plain),
        "all evidence@5": _percent(recall(one, order, 5) == 1.0 for one, order in plain),
    }
    if apart:
        result["adversarial recall@10"] = _percent(recall(one, order, 10) for one, order in apart)
    return result


def _percent(values: Iterator[float]) -> float:
    return round(100 * statistics.fmean(values), 2)


def ablation(
    asked: Sequence[Asked], rankings: Sequence[Sequence[Ranked]]
) -> dict[str, dict[str, float]]:
    """Return the figures with all signals, and without each."""
    table = {"all signals": figures(asked, rankings, lambda _, weights: weights)}
    for left_out in NAMES:
        table[f"without {left_out}"] = figures(
            asked,
            rankings,
            lambda _, weights, out=left_out: {  # type: ignore[misc]
                name: weight for name, weight in weights.items() if name != out
            },
        )
    return table


def milliseconds(asked: Sequence[Asked]) -> dict[str, float]:
    """Return the processor time of a ranking, with the signals of the text and without."""
    result = {}
    for name, with_cues in (("with the text", True), ("without", False)):
        began = time.process_time()
        for one in asked:
            ranked(one.found, one.words, "default", one.cues if with_cues else None)
        result[name] = round(1000 * (time.process_time() - began) / max(len(asked), 1), 2)
    return result


PIECES = {
    "min_max": "cosine",
    "by_maximum": "words",
    "session_prior": "session",
    "_speaker": "speaker",
    "nearness": "time",
    "covered_words": "coverage",
    "coverage": "coverage",
    "completed": "completed",
    "session_coverage": "session_coverage",
    "substance": "substance",
}
"""The signals by the functions of the ranking that compute them; those of neighbours are one function."""


def cost_of_each(asked: Sequence[Asked]) -> dict[str, float]:
    """Return the processor time, in milliseconds a question, in which each signal is computed."""
    spent: Counter[str] = Counter()

    def timed(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            began = time.process_time_ns()
            result = function(*given)
            piece = NEIGHBOURS_BY_OFFSETS[given[-1]] if name == "neighbours" else name
            spent[piece] += time.process_time_ns() - began
            return result

        return call

    functions = PIECES | {"neighbour_scores": "neighbours"}
    with ExitStack() as patches:
        for function, name in functions.items():
            patches.enter_context(
                patch.object(ranking, function, timed(getattr(ranking, function), name))
            )
        for one in asked:
            one.ranked()
    return {name: round(spent[name] / 1e6 / max(len(asked), 1), 3) for name in NAMES}


NEIGHBOURS_BY_OFFSETS = {offsets: name for name, offsets in ranking.NEIGHBOURS.items()}


def matrix(
    asked: Sequence[Asked], rankings: Sequence[Sequence[Ranked]], present: Weights
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the signals as scaled for each question, the shares of the evidence, and what is a candidate."""
    most = max(len(each) for each in rankings)
    signals = np.zeros((len(asked), most, len(NAMES)))
    right, real = np.zeros((len(asked), most)), np.zeros((len(asked), most), bool)
    for row, (one, each) in enumerate(zip(asked, rankings, strict=True)):
        for column, candidate in enumerate(each):
            real[row, column] = True
            right[row, column] = one.ids.get(candidate.id) in one.evidence
            scale = scales(candidate.weights, present)
            scores = candidate.scores
            signals[row, column] = [scores.get(name, 0.0) * scale[name] for name in NAMES]
    return signals, right / np.maximum(right.sum(1, keepdims=True), 1), real


def scales(used: Weighed, present: Weights) -> dict[str, float]:
    """Return how far each weight counts for a question: what it is there, divided by what it is at most."""
    return {
        name: used.get(name, 0.0) / weight if weight else 1.0
        for name, weight in asdict(present).items()
    }


def learned(
    signals: np.ndarray, right: np.ndarray, real: np.ndarray, weighed: Weights
) -> np.ndarray:
    """Return the weights that a listwise softmax learns, drawn towards the present ones."""
    answered = right.sum(1) > 0
    signals, right, real = signals[answered], right[answered], real[answered]
    present = np.array(list(asdict(weighed).values()))
    weights, mean, square = present.copy(), np.zeros_like(present), np.zeros_like(present)
    for step in range(1, STEPS + 1):
        scores = np.where(real, SHARPNESS * (signals @ weights), -np.inf)
        chances = np.exp(scores - scores.max(1, keepdims=True))
        chances /= chances.sum(1, keepdims=True)
        slope = SHARPNESS * np.einsum("qc,qcs->s", chances - right, signals) / len(signals)
        slope += DRAWN * (weights - present)
        # Adam, with its usual constants.
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        size = np.sqrt(square / (1 - 0.999**step)) + 1e-8
        weights = weights - RATE * mean / (1 - 0.9**step) / size
    return weights


def learn(asked: Sequence[Asked], rankings: Sequence[Sequence[Ranked]]) -> dict[str, Any]:
    """Return the learned weights, and their figures fitted and cross-validated over conversations.

    They begin as those of a chat, or of prose if most questions have no candidates that are a chat.
    """
    chats = [chat_share(one.candidate.token_count for one in each) > 0 for each in rankings]
    present = CHAT if 2 * sum(chats) > len(chats) else PROSE
    signals, right, real = matrix(asked, rankings, present)
    conversations = np.array([one.conversation for one in asked])
    whole = learned(signals, right, real, present)
    others = {
        name: learned(signals[kept], right[kept], real[kept], present)
        for name in dict.fromkeys(conversations)
        if (kept := conversations != name).any()
    }

    def scaled(weights: np.ndarray, used: Weighed) -> Weighed:
        scale = scales(used, present)
        return {
            name: float(weight) * scale[name] for name, weight in zip(NAMES, weights, strict=True)
        }

    return {
        "present": asdict(present),
        "weights": {name: round(float(one), 3) for name, one in zip(NAMES, whole, strict=True)},
        "fitted": figures(asked, rankings, lambda _, used: scaled(whole, used)),
        "cross-validated": figures(
            asked, rankings, lambda place, used: scaled(others[asked[place].conversation], used)
        ),
    }


async def measure(runtime: Runtime, sets: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the ablation of every set, and what sets of conversations learn."""
    result: dict[str, Any] = {"sets": {}}
    for data in sets:
        asked = await gather(runtime, data)
        rankings = [one.ranked() for one in asked]
        result["sets"][data["name"]] = {
            "questions": len(asked),
            "milliseconds": milliseconds(asked),
            "milliseconds of each signal": cost_of_each(asked),
            "ablation": ablation(asked, rankings),
        }
        if "conversations" in data:
            result["sets"][data["name"]]["learned"] = learn(asked, rankings)
    return result


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("weights", __doc__)
    parser.add_argument("--data", type=Path, required=True, action="append", help="evaluation sets")
    given = parser.parse_args()
    sets = [json.loads(path.read_text(encoding="utf-8")) for path in given.data]
    async with store() as runtime:
        result = await measure(runtime, sets)
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
