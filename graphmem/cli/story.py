"""Loading the demo's story, and asking it."""

import time
from collections.abc import Awaitable
from typing import TypeVar

import msgspec
from msgspec import Struct

from graphmem import resources
from graphmem.cli import story_records
from graphmem.cli.story_asked import ask
from graphmem.cli.story_change import Changed, change
from graphmem.cli.story_run import play
from graphmem.cli.story_sessions import Recollected, recollect
from graphmem.cli.story_walk import Walked, walk
from graphmem.config import Settings
from graphmem.conversations.types import NewConversation
from graphmem.model.progress import Progress, silent
from graphmem.recall.types import Recalled
from graphmem.retrieve_memory.types import Retrieved
from graphmem.runs.types import TreeRun
from graphmem.runtime import running
from graphmem.service import Graphmem

CLIENT = "demo"

Value = TypeVar("Value")


class Asked(Struct, frozen=True, kw_only=True):
    """A question, and the budget of its answer."""

    query: str
    max_tokens: int


QUESTIONS = (
    Asked(
        query="Which queue carries booking events, and why was the first choice dropped?",
        max_tokens=400,
    ),
    Asked(query="How did the price of the Harbour plan change, and why?", max_tokens=400),
)

REMEMBERED = "What happened when Redis restarted, and what came of it?"
"""What the conversation's facts and episodes are asked."""
EPISODES, FACTS = 2, 3


class Answered(Struct, frozen=True, kw_only=True):
    """An answer, and how long it took; asked again, the database is warm."""

    asked: Asked
    recalled: Recalled
    milliseconds: float
    milliseconds_again: float


class Remembered(Struct, frozen=True, kw_only=True):
    """The facts and episodes that answer a question, and how long that took."""

    query: str
    retrieved: Retrieved
    milliseconds: float


class Told(Struct, frozen=True, kw_only=True):
    """What the story is, and what it answered."""

    title: str
    messages: int
    memories: int
    """All that is remembered of it, the newest versions and the messages, without spans."""
    new: bool
    answers: list[Answered]
    walked: Walked
    remembered: Remembered
    recollected: Recollected
    changed: Changed
    run: TreeRun


async def tell(settings: Settings, progress: Progress) -> Told:
    """Load the story where it is not there yet, and ask it. Raises `SetupError`."""
    async with running(settings, progress) as runtime:
        return await told(Graphmem(runtime, CLIENT), progress)


async def told(memory: Graphmem, progress: Progress = silent) -> Told:
    """Load the story for a client where it is not there yet, and ask it. Raises `Unavailable`."""
    story = msgspec.json.decode(
        (resources.folder("seed") / "conversation.json").read_bytes(), type=NewConversation
    )
    conversation = await memory.open_conversation(story.id, title=story.title)
    loaded = await story_records.load(memory, conversation.id, progress)
    await ask(memory)
    return Told(
        title=story.title or "",
        messages=loaded.messages,
        memories=len(loaded.ids),
        new=conversation.created,
        answers=[await _answered(memory, asked) for asked in QUESTIONS],
        walked=await walk(memory),
        remembered=await _remembered(memory, conversation.id),
        recollected=await recollect(memory, conversation.id),
        changed=await change(memory, loaded.ids),
        run=await play(memory),
    )


async def _answered(memory: Graphmem, asked: Asked) -> Answered:
    recalled, milliseconds = await _recalled(memory, asked)
    _, again = await _recalled(memory, asked)
    return Answered(
        asked=asked, recalled=recalled, milliseconds=milliseconds, milliseconds_again=again
    )


async def _recalled(memory: Graphmem, asked: Asked) -> tuple[Recalled, float]:
    # Only what was said: the facts below show what was concluded from it.
    return await _timed(memory.recall(asked.query, max_tokens=asked.max_tokens, kinds=["message"]))


async def _remembered(memory: Graphmem, conversation_id: str) -> Remembered:
    retrieved, milliseconds = await _timed(
        memory.retrieve_memory(
            REMEMBERED, conversation_id, episodic_limit=EPISODES, semantic_limit=FACTS, detail="low"
        )
    )
    return Remembered(query=REMEMBERED, retrieved=retrieved, milliseconds=milliseconds)


async def _timed(answer: Awaitable[Value]) -> tuple[Value, float]:
    """Return an answer and how many milliseconds it took."""
    began = time.perf_counter()
    value = await answer
    return value, round(1000 * (time.perf_counter() - began), 1)
