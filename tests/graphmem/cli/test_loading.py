import asyncio
import io
import json
from collections.abc import Sequence
from typing import Any

import pytest

from graphmem.cli.lines import BadLine, Line
from graphmem.cli.loading import BATCH_CHARACTERS, iterate_in_thread, load_windows
from graphmem.conversations.remember import NewBatch
from graphmem.conversations.types import NewMessage, Remembered
from graphmem.errors import Unavailable
from tests.graphmem.cli.batches_taken import Taking, load, taken_batches  # noqa: F401, a fixture


class Listener(Taking):
    """Takes messages as a graphmem does, and keeps them."""

    def __init__(self, refuses: str = "") -> None:
        super().__init__()
        self.titles: list[str | None] = []
        self.writes: list[list[tuple[str, list[str]]]] = []
        self._refuses = refuses

    @property
    def batches(self) -> list[tuple[str, list[str]]]:
        return [batch for write in self.writes for batch in write]

    async def append(self, batches: Sequence[Any]) -> list[Remembered]:
        told = [
            (batch.conversation_id, [message.content for message in batch.given])
            for batch in batches
        ]
        if self._refuses in [content for _, contents in told for content in contents]:
            raise Unavailable("the database does not answer")
        self.writes.append(told)
        self.titles += [batch.title for batch in batches]
        return [Remembered(ids=said, embedding_truncated=said[:1]) for _, said in told]


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
    assert len(listener.writes) == 1
    assert (imported.messages, imported.conversations, imported.new_conversations) == (4, 3, 1)
    assert imported.embedding_truncated == 3


async def test_a_conversation_is_counted_once_and_the_bytes_are_heard():
    listener = Listener()
    heard: list[int] = []
    source = file(*[("a", str(number)) for number in range(600)])
    imported = await load(source, listener, heard=heard.append)
    assert imported.conversations == 1
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


async def test_texts_that_are_too_long_together_are_written_one_write_after_the_other():
    listener = Listener()
    half = "x" * (BATCH_CHARACTERS // 2)
    await load(file(("a", half), ("a", half), ("a", "y"), ("b", "z")), listener)
    assert listener.writes == [[("a", [half, half])], [("a", ["y"]), ("b", ["z"])]]


async def test_only_the_first_messages_of_a_conversation_bring_its_title():
    listener = Listener()
    message = NewMessage(role="user", content="x" * (BATCH_CHARACTERS - 1))
    lines = [Line(number, number, "", "a", message, title="Tides") for number in range(3)]
    await load_windows(lambda after: [lines[:2], lines[2:]], listener)
    assert listener.titles == ["Tides", *[None] * 2]


class Gate(Listener):
    """Finishes the first write once the messages after it are prepared, or when it has waited in vain."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.prepared: list[str] = []
        self.second = asyncio.Event()

    async def prepare(self, batches: Sequence[NewBatch]) -> list[Any]:
        self.prepared += [batch.conversation_id for batch in batches]
        if len(self.prepared) > 1:
            self.second.set()
        return await super().prepare(batches)

    async def append(self, batches: Sequence[Any]) -> list[Remembered]:
        await asyncio.wait_for(self.second.wait(), 30)
        return await super().append(batches)


LONG = "x" * BATCH_CHARACTERS


async def test_messages_are_embedded_while_those_before_them_are_written():
    gate = Gate()
    await load(file(("a", LONG), ("b", "2")), gate)
    assert gate.writes == [[("a", [LONG])], [("b", ["2"])]]


async def test_after_an_error_nothing_is_sent_any_more():
    listener = Gate(refuses=LONG)
    with pytest.raises(Unavailable) as problem:
        await load(file(*[(f"c{number}", LONG) for number in range(9)]), listener)
    assert problem.value.__notes__ == ["nothing was imported"]
    assert (listener.prepared, listener.writes) == (["c0", "c1"], [])


async def test_an_interruption_gives_the_write_up():
    gate = Gate()
    importing = asyncio.create_task(load(file(("a", "1")), gate))
    while not gate.prepared:
        await asyncio.sleep(0)
    importing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await importing
    gate.second.set()
    await asyncio.sleep(0)
    assert gate.writes == []
