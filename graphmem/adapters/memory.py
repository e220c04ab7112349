"""A memory for frameworks, with and without `await`, and the history of a conversation.

The items of a framework are kept word for word as messages. An item is a message whose text is what was said,
so that it is found like every other memory. The item itself is in the message's metadata under the
framework's name; what does not fit there is cut out of it and read from the text.
"""

import asyncio
import re
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from graphmem.blocking.event_loop import begin, in_event_loop, wait_for
from graphmem.blocking.generated import BlockingGraphmem
from graphmem.client import Graphmem
from graphmem.errors import ConversationNotFound, InvalidInput, MemoryNotFound
from graphmem.memories.types import ListedMemory
from graphmem.model.annotations import METADATA_BYTES
from graphmem.model.pages import MOST_ENTRIES
from graphmem.model.validation import digested_id, validated
from graphmem.model.vocabulary import BATCH_MESSAGES, ID_PATTERN, QUERY_CHARACTERS, GivenRole, Id

Result = TypeVar("Result")

AnyMemory = Graphmem | BlockingGraphmem
"""What `graphmem.open`, `graphmem.AsyncClient` and `graphmem.Client` give, with or without `await`."""


class MemoryAccess:
    """A memory of either form, for callers of either form.

    A memory that is awaited belongs to an event loop: that in which the adapter is made, or else is first
    awaited. Calls from other threads and loops are worked on there.
    """

    def __init__(self, memory: AnyMemory) -> None:
        """Take a memory as its caller has it. Raises `InvalidInput` for anything else."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._portal = None
        if isinstance(memory, BlockingGraphmem):
            # Its own thread does the work, for callers of both forms.
            self._memory, self._portal = memory._source, memory._portal
        elif isinstance(memory, Graphmem):
            self._memory = memory
            if in_event_loop():
                self._loop = asyncio.get_running_loop()
        else:
            raise InvalidInput(
                "memory",
                f"is {type(memory).__name__}; give what `with graphmem.open() as memory:` or "
                "`async with` has named, a graphmem.Client or a graphmem.AsyncClient",
            )

    async def ask(self, call: Callable[[Graphmem], Awaitable[Result]]) -> Result:
        """Return what a call of the memory returns."""
        if self._portal is not None:
            return await asyncio.wrap_future(begin(self._portal, partial(call, self._memory)))
        here = asyncio.get_running_loop()
        if self._loop is None or self._loop.is_closed():
            self._loop = here
        if self._loop is here:
            return await call(self._memory)
        working = asyncio.run_coroutine_threadsafe(self._called(call), self._loop)
        return await asyncio.wrap_future(working)

    def wait(self, call: Callable[[Graphmem], Awaitable[Result]]) -> Result:
        """Return what a call of the memory returns, as soon as it does.

        Raises `InvalidInput` if nothing else can do the work meanwhile: in the memory's own event loop, or
        when that does not run.
        """
        if self._portal is not None:
            return wait_for(self._portal, partial(call, self._memory))
        if self._loop is None or not self._loop.is_running():
            raise InvalidInput(
                "memory",
                "is one to be awaited, and its event loop does not run: give a graphmem.Client, or what "
                "`with graphmem.open() as memory:` has named",
            )
        if in_event_loop() and asyncio.get_running_loop() is self._loop:
            raise InvalidInput(
                "memory",
                "cannot be waited for in its own event loop: await the method of this name that begins "
                "with `a`, or give a graphmem.Client",
            )
        return asyncio.run_coroutine_threadsafe(self._called(call), self._loop).result()

    def _called(self, call: Callable[[Graphmem], Awaitable[Result]]) -> Coroutine[Any, Any, Result]:
        async def called() -> Result:
            return await call(self._memory)

        return called()


Count = Annotated[int, Meta(ge=0, description="0 for none")]
"""The greatest number of items or tokens that a framework asks for: below 0 it would count from the end."""

SHORT = 64
"""Texts up to this length stay in the metadata."""

Path = list[str | int]


LEFT_OUT = "\n…\n"


def question(text: str) -> str:
    """Return what a user said as a question: of a text that is too long for one both ends.

    A question stands before or after what was pasted with it.
    """
    if len(text) <= QUERY_CHARACTERS:
        return text
    half = (QUERY_CHARACTERS - len(LEFT_OUT)) // 2
    return f"{text[:half]}{LEFT_OUT}{text[-half:]}"


def conversation_of(given: str) -> str:
    """Return the id of the conversation of a framework's thread or session, which may have any id.

    One that a conversation may have stays; another, as an address of mail, becomes its letters and a digest.
    """
    if not given or re.match(ID_PATTERN, given):
        return given
    return digested_id(given, given, 16)


class Spoken(Struct, frozen=True, kw_only=True):
    """An item of a framework, and what it says."""

    role: GivenRole
    text: str
    value: dict[str, Any]
    """The item as JSON."""
    name: str | None = None
    id: str = ""
    """The id of its message, once it is stored."""


class CutText(Struct, frozen=True):
    """A text that was cut out of an item: its place there, and from where to where it is in the text."""

    path: Path
    start: int
    end: int


class KeptValue(Struct, frozen=True, kw_only=True):
    """An item as the metadata of its message has it."""

    value: Any
    cuts: list[CutText] = []


class _Named(Struct, frozen=True):
    conversation_id: Id


class History:
    """The items of one conversation, in their order."""

    def __init__(self, memory: AnyMemory, conversation_id: str, framework: str) -> None:
        """Keep a framework's items in a conversation, which opens with its first item.

        Raises `InvalidInput` if `memory` is none, or the id is not one.
        """
        self.access = MemoryAccess(memory)
        self.conversation_id = validated(
            {"conversation_id": conversation_id}, _Named
        ).conversation_id
        self._framework = framework

    async def add(self, items: Sequence[Spoken], memory: Graphmem) -> None:
        """Append items, each thousand of them all or none.

        Raises `InvalidInput`, `TooLarge`, `Unavailable`.
        """
        new = [self._message(item) for item in items]
        for start in range(0, len(new), BATCH_MESSAGES):
            batch = new[start : start + BATCH_MESSAGES]
            await memory.remember(self.conversation_id, batch, create=True)

    async def items(self, memory: Graphmem, *, limit: int | None = None) -> list[Spoken]:
        """Return the items in their order, of more than `limit` the latest ones.

        Raises `InvalidInput` for a limit below 0, `Unavailable`.
        """
        if limit is not None and not validated(limit, Count, "limit"):
            return []
        found: list[Spoken] = []
        try:
            pages = memory.pages(
                memory.messages,
                self.conversation_id,
                order="newest",
                limit=MOST_ENTRIES if limit is None else min(limit, MOST_ENTRIES),
            )
            async for page in pages:
                found += [self._item(message) for message in page.messages]
                if limit is not None and len(found) >= limit:
                    break
        except ConversationNotFound:
            return []
        return found[:limit][::-1]

    async def pop(self, memory: Graphmem) -> Spoken | None:
        """Delete the latest item, and return it; None if there is none. Raises `LegalHold`, `Unavailable`."""
        while True:
            try:
                page = await memory.messages(self.conversation_id, order="newest", limit=1)
            except ConversationNotFound:
                return None
            if not page.messages:
                return None
            try:
                await memory.delete_memory(page.messages[0].id)
            except MemoryNotFound:
                continue  # Another caller has popped it.
            return self._item(page.messages[0])

    async def clear(self, memory: Graphmem) -> None:
        """Delete the conversation with all that is in it. Raises `LegalHold`, `Unavailable`."""
        try:
            await memory.delete_conversation(self.conversation_id)
        except ConversationNotFound:
            return

    def _message(self, item: Spoken) -> dict[str, Any]:
        text, kept = _packed(item, self._framework)
        return {
            "role": item.role,
            "name": item.name or None,
            "content": text,
            "metadata": {self._framework: msgspec.to_builtins(kept)},
            # An id of its own, so that an answer that was lost is asked for again.
            "external_id": uuid.uuid4().hex,
        }

    def _item(self, message: ListedMemory) -> Spoken:
        """Return a message as an item; one that was not written here has an empty value."""
        stored = (message.metadata or {}).get(self._framework)
        value: dict[str, Any] = {}
        if stored is not None:
            value = _whole(msgspec.convert(stored, KeptValue), message.text)
        return Spoken(
            id=message.id,
            role=message.role or "user",
            text=message.text,
            value=value,
            name=message.name,
        )


def _packed(item: Spoken, framework: str) -> tuple[str, KeptValue]:
    """Return the text of a message and the item in its metadata. Raises `InvalidInput` if it is not JSON."""
    text, kept = item.text, KeptValue(value=item.value)
    if not text.strip():
        text = f"[{item.value.get('type') or item.role}]"
    if _fits(kept, framework):
        return text, kept
    value, cuts = msgspec.json.decode(msgspec.json.encode(item.value)), []
    for path, part in list(_texts(value)):
        if len(part) > SHORT:
            text, start = _placed(part, text)
            cuts.append(CutText(path, start, start + len(part)))
            _set(value, path, "")
    kept = KeptValue(value=value, cuts=cuts)
    if _fits(kept, framework):
        return text, kept
    text, start = _placed(msgspec.json.encode(item.value).decode(), text)
    return text, KeptValue(value=None, cuts=[CutText([], start, len(text))])


def _fits(kept: KeptValue, framework: str) -> bool:
    try:
        return len(msgspec.json.encode({framework: kept})) <= METADATA_BYTES
    except (TypeError, RecursionError, UnicodeEncodeError) as problem:
        raise InvalidInput(
            "items",
            f"has one that is not JSON ({problem}): texts, numbers, lists and objects are kept",
        ) from problem


def _placed(part: str, text: str) -> tuple[str, int]:
    """Return a text that has the part, and where."""
    start = text.find(part)
    return (text, start) if start >= 0 else (f"{text}\n{part}", len(text) + 1)


def _whole(kept: KeptValue, text: str) -> dict[str, Any]:
    """Return an item with the texts that were cut out of it."""
    for cut in kept.cuts:
        part = text[cut.start : cut.end]
        if not cut.path:
            return msgspec.json.decode(part, type=dict[str, Any])
        _set(kept.value, cut.path, part)
    value: dict[str, Any] = kept.value
    return value


def _texts(value: Any) -> Iterator[tuple[Path, str]]:
    """Yield the texts in an item with their paths."""
    if isinstance(value, str):
        yield [], value
    elif isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        for step, one in inner:
            for path, part in _texts(one):
                yield [step, *path], part


def _set(value: Any, path: Path, part: str) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = part
