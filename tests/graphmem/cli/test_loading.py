import asyncio
import io
import json
from typing import Any

import pytest

from graphmem.cli.lines import BadLine
from graphmem.cli.loading import CONVERSATIONS_AT_ONCE, iterate_in_thread, load
from graphmem.client import Graphmem
from graphmem.conversations.types import Conversation, Remembered
from graphmem.errors import Unavailable


class Listener(Graphmem):
    """Takes messages as a graphmem does, and keeps them."""

    def __init__(self, refuses: str = "") -> None:
        self.opened: list[str] = []
        self.batches: list[tuple[str, list[str]]] = []
        self._refuses = refuses

    async def open_conversation(self, id: str | None = None, **changed: Any) -> Conversation:
        assert id is not None
        self.opened.append(id)
        return Conversation(id=id, created=id == "new")

    async def remember(self, conversation_id, messages, *, create=False) -> Remembered:
        new = list(messages)
        contents = [message.content for message in new]
        if self._refuses in contents:
            raise Unavailable("the database does not answer")
        self.batches.append((conversation_id, contents))
        return Remembered(ids=contents, embedding_truncated=contents[:1])


def file(*rows: tuple[str, str]) -> io.BytesIO:
    """Return a file of (conversation, content)."""
    return io.BytesIO(
        b"".join(
            json.dumps(
                {"conversation_id": name, "session_id": "s", "role": "user", "content": content}
            ).encode()
            + b"\n"
            for name, content in rows
        )
    )


async def test_a_conversation_keeps_the_order_of_the_file():
    listener = Listener()
    imported = await load(file(("b", "1"), ("a", "2"), ("b", "3"), ("new", "4")), listener)
    assert listener.batches == [("a", ["2"]), ("b", ["1", "3"]), ("new", ["4"])]
    assert listener.opened == ["a", "b", "new"]
    assert (imported.messages, imported.conversations, imported.new_conversations) == (4, 3, 1)
    assert imported.embedding_truncated == 3


async def test_a_conversation_is_opened_once_and_the_bytes_are_heard():
    listener = Listener()
    heard: list[int] = []
    source = file(*[("a", str(number)) for number in range(600)])
    await load(source, listener, heard=heard.append)
    assert listener.opened == ["a"]
    assert [len(contents) for _, contents in listener.batches] == [250, 250, 100]
    assert [content for _, contents in listener.batches for content in contents] == [
        str(number) for number in range(600)
    ]
    assert heard[-1] == len(source.getvalue())


async def test_what_stands_before_a_bad_line_is_imported_and_the_error_says_so():
    listener = Listener()
    source = io.BytesIO(file(("a", "1"), ("a", "2")).getvalue() + b"oops\n")
    with pytest.raises(BadLine, match="line 3") as problem:
        await load(source, listener)
    assert listener.batches == [("a", ["1", "2"])]
    assert problem.value.__notes__ == ["2 messages before it imported, to stay"]


async def test_an_error_of_the_database_says_what_stays():
    with pytest.raises(Unavailable) as problem:
        await load(file(("a", "1")), Listener(refuses="1"))
    assert problem.value.__notes__ == ["nothing was imported"]


async def test_values_are_taken_in_a_thread_with_what_they_raise():
    def values():
        yield 1
        raise OSError("gone")

    taken = iterate_in_thread(values())
    assert await anext(taken) == 1
    with pytest.raises(OSError, match="gone"):
        await anext(taken)


class Gate(Listener):
    """Answers when several conversations are being written, or when it has waited in vain."""

    def __init__(self) -> None:
        super().__init__()
        self.inside = 0
        self.met = asyncio.Event()

    async def remember(self, conversation_id, messages, *, create=False) -> Remembered:
        self.inside += 1
        if self.inside == CONVERSATIONS_AT_ONCE:
            self.met.set()
        await asyncio.wait_for(self.met.wait(), 30)
        return await super().remember(conversation_id, messages, create=create)


async def test_several_conversations_are_written_at_once():
    gate = Gate()
    names = [f"c{number}" for number in range(CONVERSATIONS_AT_ONCE)]
    imported = await load(file(*[(name, "hello") for name in names]), gate)
    assert imported.conversations == CONVERSATIONS_AT_ONCE
    assert sorted(name for name, _ in gate.batches) == names


class Pausing(Listener):
    """Refuses one conversation at once, and takes the others after a pause."""

    async def remember(self, conversation_id, messages, *, create=False) -> Remembered:
        if conversation_id != "c0":
            await asyncio.sleep(0.02)
        return await super().remember(conversation_id, messages, create=create)


async def test_after_an_error_nothing_is_sent_any_more():
    listener = Pausing(refuses="c0")
    with pytest.raises(Unavailable):
        await load(file(*[(f"c{number}", f"c{number}") for number in range(9)]), listener)
    await asyncio.sleep(0.1)
    assert listener.batches == []
