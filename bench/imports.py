"""How fast an export of ChatGPT is imported, when it can be asked, and that a second import changes nothing.

    python -m bench.imports --conversations 2000 --out imports.json

The export is made here, of the true form: titles, a tree of messages with an edited question and an empty
root, times. It is read as `graphmem import` reads it, in this process, into a private Neo4j of the run's own.
Then a question is asked for the last of its messages, and the same file is imported again.
"""

import asyncio
import json
import os
import random
import time
import uuid
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.reporting import arguments, report
from graphmem import config
from graphmem.cli.foreign.reading import recognised
from graphmem.cli.loading import Imported, load_windows
from graphmem.client import Graphmem
from graphmem.config import records
from graphmem.runtime import Runtime, running

CLIENT = "bench"
WORDS = 4, 24
"""The length of a message: that of short chat, in words of the story."""

TURNS = 5
"""Questions of a conversation, each with its answer."""

RATE_BAR, ASKED_BAR = 150, 60.0
FIRST_DAY = 1_700_000_000
NEEDLE = "The cellar key of the observatory hangs behind the blue barometer."


def write_export(path: Path, conversations: int) -> int:
    """Write an export of ChatGPT; return the number of messages on the branches that were kept."""
    chance = random.Random(5)
    words = [word for one in records("messages.jsonl") for word in one["content"].split()]

    def text() -> str:
        return " ".join(chance.choices(words, k=chance.randint(*WORDS)))

    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for number in range(conversations):
            said = [text() for _ in range(2 * TURNS)]
            if number == conversations - 1:
                said[-1] = NEEDLE
            begins = FIRST_DAY + 20_000 * number
            file.write(",\n" if number else "")
            json.dump(conversation(chance, said, text(), begins), file)
        file.write("]")
    return conversations * 2 * TURNS


def conversation(
    chance: random.Random, said: list[str], edited: str, begins: float
) -> dict[str, Any]:
    """Return a conversation of an export; its first question has an edited version that was left."""

    def new_id() -> str:
        return str(uuid.UUID(int=chance.getrandbits(128), version=4))

    root = new_id()
    mapping: dict[str, Any] = {root: {"id": root, "message": None, "parent": None, "children": []}}

    def add(parent: str, role: str, text: str, at: float) -> str:
        id = new_id()
        message = {
            "id": id,
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": at,
            "update_time": None,
            "content": {"content_type": "text", "parts": [text]},
            "status": "finished_successfully",
            "weight": 1.0,
            "metadata": {},
            "recipient": "all",
        }
        mapping[id] = {"id": id, "message": message, "parent": parent, "children": []}
        mapping[parent]["children"].append(id)
        return id

    add(root, "user", edited, begins)
    last = root
    for place, text in enumerate(said):
        last = add(last, "assistant" if place % 2 else "user", text, begins + 30 * place)
    id = new_id()
    times = {"create_time": begins, "update_time": begins + 30 * len(said)}
    known = {"id": id, "conversation_id": id, "current_node": last, "title": said[0][:40]}
    return known | times | {"mapping": mapping, "moderation_results": [], "is_archived": False}


async def imported(path: Path, memory: Graphmem) -> tuple[Imported, float]:
    """Import the file as `graphmem import` does; return the result and the seconds."""
    began = time.perf_counter()
    found = recognised(path)
    assert found is not None, "the form is known"
    with found.opened() as files:
        result = await load_windows(lambda after: found.windows(files, after), memory)
    return result, time.perf_counter() - began


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("imports", __doc__)
    parser.add_argument("--conversations", type=int, default=2_000)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="graphmem-imports-") as name:
        path = Path(name) / "conversations.json"
        messages = write_export(path, given.conversations)
        settings = config.load({}, data_dir=Path(name) / "data", neo4j_start_seconds=600)
        async with running(settings) as runtime:
            memory = Graphmem(runtime, CLIENT)
            load, alone = os.getloadavg(), await embedded(runtime, texts(path)[:200])
            first, seconds = await imported(path, memory)
            began = time.perf_counter()
            answer = await memory.recall("Where is the key of the observatory's cellar?")
            asked = time.perf_counter() - began
            before = (await memory.conversations()).total, await count(memory)
            again, seconds_again = await imported(path, memory)
            after = (await memory.conversations()).total, await count(memory)
    rate = messages / seconds
    result = {
        "conversations": given.conversations,
        "messages": messages,
        "imported": first.messages,
        "new conversations": first.new_conversations,
        "seconds": round(seconds, 1),
        "messages a second": round(rate),
        "messages a second that are only embedded": round(alone),
        "seconds until the answer": round(asked, 3),
        "answered": NEEDLE in answer.context,
        "seconds of the second import": round(seconds_again, 1),
        "new conversations of the second import": again.new_conversations,
        "changed by the second import": before != after,
        "load of the machine before and after": (load, os.getloadavg()),
        "bars": {"messages a second": RATE_BAR, "seconds until the answer": ASKED_BAR},
        "passed": rate >= RATE_BAR
        and asked < ASKED_BAR
        and NEEDLE in answer.context
        and before == after
        and first.messages == messages,
    }
    report(result, given.out)


def texts(path: Path) -> list[str]:
    """Return the texts of an export."""
    exported = json.loads(path.read_bytes())
    nodes = [node for one in exported for node in one["mapping"].values() if node["message"]]
    return [node["message"]["content"]["parts"][0] for node in nodes]


async def embedded(runtime: Runtime, passages: list[str]) -> float:
    """Return how many texts are embedded in a second, a measure of the machine."""
    began = time.perf_counter()
    await runtime.embedder.passages(passages)
    return len(passages) / (time.perf_counter() - began)


async def count(memory: Graphmem) -> int:
    """Return the number of messages in all conversations."""
    total, cursor = 0, None
    while True:
        page = await memory.conversations(limit=200, cursor=cursor)
        total += sum(one.messages for one in page.conversations)
        cursor = page.cursor
        if cursor is None:
            return total


if __name__ == "__main__":
    asyncio.run(main())
