"""Loading the demo's story, and asking it."""

import time

import msgspec
from msgspec import Struct

from graphmem import resources
from graphmem.cli.loading import load
from graphmem.config import Settings
from graphmem.model.conversation import NewConversation
from graphmem.model.progress import Progress
from graphmem.model.recall import Recalled
from graphmem.runtime import running
from graphmem.service import Graphmem

CLIENT = "demo"


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


class Answered(Struct, frozen=True, kw_only=True):
    """An answer, and how long it took; asked again, the database is warm."""

    asked: Asked
    recalled: Recalled
    milliseconds: float
    milliseconds_again: float


class Told(Struct, frozen=True, kw_only=True):
    """What the story is, and what it answered."""

    title: str
    messages: int
    new: bool
    answers: list[Answered]


async def tell(settings: Settings, progress: Progress) -> Told:
    """Load the story where it is not there yet, and ask it. Raises `SetupError`."""
    async with running(settings, progress) as runtime:
        memory = Graphmem(runtime, CLIENT)
        told = await _loaded(memory, progress)
        answers = [await _answered(memory, asked) for asked in QUESTIONS]
    return msgspec.structs.replace(told, answers=answers)


async def _loaded(memory: Graphmem, progress: Progress) -> Told:
    """Load the story; a message that is there already changes nothing."""
    seed = resources.folder("seed")
    story = msgspec.json.decode((seed / "conversation.json").read_bytes(), type=NewConversation)
    messages = seed / "messages.jsonl"
    size = messages.stat().st_size
    conversation = await memory.open_conversation(story.id, title=story.title)
    with messages.open("rb") as file:
        imported = await load(
            file,
            memory,
            conversation_id=conversation.id,
            heard=lambda end: progress("loading the story", end, size),
        )
    return Told(
        title=story.title or "", messages=imported.messages, new=conversation.created, answers=[]
    )


async def _answered(memory: Graphmem, asked: Asked) -> Answered:
    recalled, milliseconds = await _timed(memory, asked)
    _, again = await _timed(memory, asked)
    return Answered(
        asked=asked,
        recalled=recalled,
        milliseconds=round(milliseconds, 1),
        milliseconds_again=round(again, 1),
    )


async def _timed(memory: Graphmem, asked: Asked) -> tuple[Recalled, float]:
    began = time.perf_counter()
    recalled = await memory.recall(asked.query, max_tokens=asked.max_tokens)
    return recalled, 1000 * (time.perf_counter() - began)
