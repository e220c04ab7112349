"""How often recall abstains from questions that nothing answers, and from those that something answers.

    python -m bench.abstaining --data FILE --out abstaining.json

Loads a set of conversations as `bench.quality` does, a client for each, and asks each client its own
questions and up to 150 about other conversations of the set, adversarial ones and those without evidence left
out; with `--foreign FILE` also questions of another set. Every question is asked twice: for the relevance of
the best memory, and with `abstain`.

`area` is the area under the ROC curve: how often a question that is answered has a higher relevance than one
about another conversation. `abstained` are shares in percent at the default. `cross-validated` is a threshold
that 1.5 % of the questions of all other conversations stay below, judged on the one that is left out.
"""

import asyncio
import json
import random
import statistics
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.quality import APART, load, say, store
from bench.reporting import arguments, report
from graphmem.client import Graphmem
from graphmem.recall.abstaining import ENOUGH, JUDGED
from graphmem.runtime import Runtime

FOREIGN = 150
CALLERS = 4
WITHOUT_ANSWER = (APART, "abstention")
LEFT_OUT = 0.015
"""The share of answerable questions below a threshold that is fitted."""

OWN, UNANSWERED, OTHER = "own", "own, without an answer", "of other conversations"
ELSEWHERE = "of another set"

Conversation = Mapping[str, Any]


class Asked(Struct, frozen=True):
    """One question to a client, the relevance of the best memory, and whether recall abstained."""

    conversation: str
    group: str
    relevance: float
    abstained: bool


def answerable(conversations: Sequence[Conversation]) -> list[dict[str, Any]]:
    """Return the questions that have evidence and ask for it."""
    return [
        question
        for conversation in conversations
        for question in conversation["questions"]
        if question["evidence"] and question["category"] not in WITHOUT_ANSWER
    ]


def asked_of(
    conversation: Conversation,
    conversations: Sequence[Conversation],
    elsewhere: Sequence[Conversation],
) -> list[tuple[str, str]]:
    """Return what a client is asked, as group and question: always the same samples."""
    others = answerable([other for other in conversations if other is not conversation])
    own = answerable([conversation])
    groups = {
        OWN: own,
        UNANSWERED: [one for one in conversation["questions"] if one not in own],
        OTHER: _sample(others, conversation["id"]),
        ELSEWHERE: _sample(answerable(elsewhere), conversation["id"]),
    }
    return [(group, one["text"]) for group, some in groups.items() for one in some]


def _sample(questions: Sequence[dict[str, Any]], seed: str) -> list[dict[str, Any]]:
    return random.Random(seed).sample(questions, min(len(questions), FOREIGN))


async def ask(memory: Graphmem, conversation: str, group: str, question: str) -> Asked:
    """Ask a question for its relevance, and once more with abstention."""
    found = await memory.recall(question, limit=JUDGED, max_tokens=200_000)
    decided = await memory.recall(question, limit=JUDGED, abstain=True)
    best = max((one.relevance for one in found.items), default=0.0)
    return Asked(conversation, group, best, decided.abstained)


async def measure(
    runtime: Runtime, conversations: Sequence[Conversation], elsewhere: Sequence[Conversation]
) -> list[Asked]:
    """Load every conversation and ask everything."""
    callers = asyncio.Semaphore(CALLERS)
    asked: list[Asked] = []
    for conversation in conversations:
        id = conversation["id"]
        memory = Graphmem(runtime, f"abstaining-{uuid.uuid4().hex}")
        await load(memory, dict(conversation))

        async def one(group: str, question: str, memory: Graphmem = memory, id: str = id) -> Asked:
            async with callers:
                return await ask(memory, id, group, question)

        questions = asked_of(conversation, conversations, elsewhere)
        asked += await asyncio.gather(*(one(*question) for question in questions))
        say(f"asked {id}: {len(questions)} questions")
    return asked


def figures(asked: Sequence[Asked]) -> dict[str, Any]:
    """Return the report of all groups."""
    groups = {
        name: some
        for name in (OWN, UNANSWERED, OTHER, ELSEWHERE)
        if (some := [one for one in asked if one.group == name])
    }
    own = groups[OWN]
    return {
        "threshold": ENOUGH,
        "questions": {name: len(some) for name, some in groups.items()},
        "abstained": {name: share(some) for name, some in groups.items()},
        "abstained by conversation": {name: by_conversation(some) for name, some in groups.items()},
        "area": {
            name: area([one.relevance for one in own], [one.relevance for one in groups[name]])
            for name in (OTHER, ELSEWHERE)
            if name in groups
        },
        "cross-validated": {
            name: cross_validated(own, groups[name])
            for name in (OTHER, ELSEWHERE)
            if name in groups
        },
    }


def share(asked: Sequence[Asked]) -> float:
    """Return how many were abstained from, in percent."""
    return round(100 * statistics.fmean(one.abstained for one in asked), 2)


def by_conversation(asked: Sequence[Asked]) -> dict[str, float]:
    """Return the least and the greatest share of a conversation."""
    shares = [
        share([one for one in asked if one.conversation == id])
        for id in {one.conversation for one in asked}
    ]
    return {"least": min(shares), "greatest": max(shares)}


def area(answered: Sequence[float], foreign: Sequence[float]) -> float:
    """Return how often one of the first is greater than one of the second, ties for a half."""
    order = sorted(foreign)
    wins = sum((bisect_left(order, one) + bisect_right(order, one)) / 2 for one in answered)
    return round(wins / (len(answered) * len(foreign)), 4)


def cross_validated(own: Sequence[Asked], foreign: Sequence[Asked]) -> dict[str, float]:
    """Return the shares below the thresholds that the other conversations set, in percent."""
    below: dict[str, list[bool]] = {"own": [], "foreign": []}
    for id in {one.conversation for one in own}:
        others = sorted(one.relevance for one in own if one.conversation != id)
        threshold = others[int(LEFT_OUT * len(others))] if others else ENOUGH
        for name, some in (("own", own), ("foreign", foreign)):
            below[name] += [one.relevance < threshold for one in some if one.conversation == id]
    return {name: round(100 * statistics.fmean(values), 2) for name, values in below.items()}


def _conversations(file: Path | None) -> list[Conversation]:
    if file is None:
        return []
    conversations: list[Conversation] = json.loads(file.read_text("utf-8"))["conversations"]
    return conversations


async def main() -> None:
    """Measure a set and write the report."""
    parser = arguments("abstaining", __doc__)
    parser.add_argument("--data", type=Path, required=True, help="the evaluation set, a JSON file")
    parser.add_argument("--foreign", type=Path, help="another set, whose questions nothing answers")
    given = parser.parse_args()
    async with store() as runtime:
        asked = await measure(runtime, _conversations(given.data), _conversations(given.foreign))
        result = {"embedding_model": runtime.embedder.model.name} | figures(asked)
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
