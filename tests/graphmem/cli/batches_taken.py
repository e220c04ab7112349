"""An import of lines, and a substitute for the database under it, which takes what is written."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, BinaryIO

import pytest

from graphmem.cli import loading
from graphmem.cli.lines import Checkpoint, FilePosition, Line, windows
from graphmem.client import Graphmem
from graphmem.conversations.remember import NewBatch
from graphmem.conversations.types import Remembered


class Taking(Graphmem):
    """Prepares and writes batches as a graphmem does; a subclass says what becomes of them.

    It is the context of its own use cases. What is prepared is the batch itself.
    """

    client_id = "x"

    def __init__(self) -> None:
        self.runtime: Any = SimpleNamespace(context=lambda client_id: self)

    def now(self) -> datetime:
        return datetime(2026, 3, 1, tzinfo=UTC)

    async def prepare(self, batches: Sequence[NewBatch]) -> list[Any]:
        return [
            SimpleNamespace(
                conversation_id=batch.conversation_id,
                given=batch.messages,
                messages=batch.messages,
                title=batch.title,
                is_first=batch.conversation_id == "new",
            )
            for batch in batches
        ]

    async def append(self, batches: Sequence[Any]) -> list[Remembered]:
        raise NotImplementedError


async def load(
    file: BinaryIO,
    memory: Graphmem,
    *,
    conversation_id: str | None = None,
    name: str = "",
    checkpoint: Checkpoint | None = None,
    heard: Callable[[int], None] = lambda end: None,
) -> loading.Imported:
    """Remember every message of a file of JSON Lines, as the command does."""

    def read(after: FilePosition) -> Iterator[list[Line]]:
        return windows(file, conversation_id, name=name, after=after)

    return await loading.load_windows(read, memory, checkpoint=checkpoint, heard=heard)


@pytest.fixture(autouse=True)
def taken_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a `Taking` prepare and write the batches of an import."""

    async def prepare(batches: Sequence[NewBatch], context: Any, *, now: datetime) -> list[Any]:
        return list(await context.prepare(batches))

    async def remember(batches: Sequence[Any], context: Any) -> list[Remembered]:
        return list(await context.append(batches))

    monkeypatch.setattr(loading, "prepare_batches", prepare)
    monkeypatch.setattr(loading, "remember_prepared", remember)
