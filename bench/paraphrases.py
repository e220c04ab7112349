"""Whether the default ranking loses to its own parts: paraphrased questions over short conversations.

    python -m bench.paraphrases --out paraphrases.json

One client has the eight unrelated conversations of `bench/paraphrase_set`, about 40 messages each, and is
asked in other words than those of the message that answers. hit@k is the share of questions of which that
message is among the first k, over all conversations (`everywhere`) and with the filter of its own (`own
conversation`). The default ranking is measured beside vectors alone and words alone.

A file of the set is one conversation: `# time` begins a session, `name: text` is a message, and `? text` a
question that the message above it answers.
"""

import asyncio
import statistics
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct

from bench.quality import load, store
from bench.reporting import arguments, report
from graphmem.client import Graphmem
from graphmem.model.vocabulary import Ranking
from graphmem.runtime import Runtime
from graphmem.text.words import stem, stems, terms

SET = Path(__file__).with_name("paraphrase_set")
RANKINGS: Mapping[str, Ranking] = {
    "default": "default",
    "vectors alone": "vector",
    "words alone": "bm25",
}
CUTS = (1, 3)
RARE = 3
"""The number of messages up to which a word is rare."""

BETWEEN = timedelta(minutes=1)
ROLES = ("user", "assistant")


class Paraphrase(Struct, frozen=True):
    """A question, its conversation, and the message that answers it."""

    text: str
    conversation: str
    answer: str
    shares_word: bool
    """Whether the question and the message have a rare word in common."""


def conversation(name: str, lines: str) -> dict[str, Any]:
    """Return a conversation of the set, in the form of `bench.quality`, with its questions."""
    sessions: list[dict[str, Any]] = []
    questions: list[dict[str, Any]] = []
    said: list[dict[str, Any]] = []
    at = datetime.min
    for line in lines.splitlines():
        if line.startswith("# "):
            at = datetime.fromisoformat(f"{line[2:]}:00+00:00")
            sessions.append({"id": f"{name}-{len(sessions) + 1}", "messages": []})
        elif line.startswith("? "):
            questions.append({"text": line[2:], "evidence": [said[-1]["id"]]})
        else:
            message = _message(f"{name}-{len(said) + 1}", line, at)
            said.append(message)
            sessions[-1]["messages"].append(message)
            at += BETWEEN
    return {"id": name, "sessions": sessions, "questions": questions}


def _message(id: str, line: str, at: datetime) -> dict[str, Any]:
    speaker, content = line.split(": ", 1)
    known = speaker in ROLES
    return {
        "id": id,
        "role": speaker if known else "user",
        "name": None if known else speaker,
        "content": content,
        "occurred_at": at.isoformat(),
    }


def conversations(folder: Path = SET) -> list[dict[str, Any]]:
    """Return the conversations of a set."""
    return [
        conversation(path.stem, path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.txt"))
    ]


def paraphrases(told: list[dict[str, Any]]) -> Iterator[Paraphrase]:
    """Yield the questions of the set."""
    said = {
        message["id"]: stems(f"{message['name'] or ''} {message['content']}")
        for one in told
        for session in one["sessions"]
        for message in session["messages"]
    }
    known = Counter(word for words in said.values() for word in words)
    for one in told:
        for question in one["questions"]:
            answer = question["evidence"][0]
            common = set(map(stem, terms(question["text"]))) & said[answer]
            shares = any(known[word] <= RARE for word in common)
            yield Paraphrase(question["text"], one["id"], answer, shares)


async def ranks(memory: Graphmem, asked: Paraphrase, ranking: Ranking) -> dict[str, int | None]:
    """Return the places of the message that answers, by where it was searched; None beyond the last."""
    found = {}
    for where, filtered in (("everywhere", None), ("own conversation", asked.conversation)):
        answer = await memory.recall(
            asked.text, conversation_id=filtered, limit=CUTS[-1], ranking=ranking
        )
        order = [item.external_id for item in answer.items]
        found[where] = order.index(asked.answer) + 1 if asked.answer in order else None
    return found


async def measure(runtime: Runtime) -> dict[str, Any]:
    """Load the set for one client, ask everything with each ranking, and return the shares in percent."""
    told = conversations()
    memory = Graphmem(runtime, f"paraphrases-{uuid.uuid4().hex}")
    for one in told:
        await load(memory, one)
    asked = list(paraphrases(told))
    figures = {}
    for name, ranking in RANKINGS.items():
        found = [await ranks(memory, one, ranking) for one in asked]
        plain = [places for one, places in zip(asked, found, strict=True) if not one.shares_word]
        figures[name] = {"all": shares(found), "without a shared word": shares(plain)}
    return {
        "conversations": len(told),
        "messages": sum(len(each["messages"]) for one in told for each in one["sessions"]),
        "questions": len(asked),
        "without a shared word": sum(not one.shares_word for one in asked),
        "rankings": figures,
    }


def shares(found: list[dict[str, int | None]]) -> dict[str, dict[str, float]]:
    """Return hit@k by where it was searched."""
    return {
        where: {f"hit@{k}": hits([one[where] for one in found], k) for k in CUTS}
        for where in found[0]
    }


def hits(places: list[int | None], k: int) -> float:
    """Return the share, in percent, of the places among the first k."""
    return round(100 * statistics.fmean(place is not None and place <= k for place in places), 2)


async def main() -> None:
    """Measure and write the report."""
    given = arguments("paraphrases", __doc__).parse_args()
    async with store() as runtime:
        result = await measure(runtime)
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
