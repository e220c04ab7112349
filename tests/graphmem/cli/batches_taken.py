"""A substitute for the database under an import: it takes what `graphmem.cli.loading` writes."""

from collections.abc import Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from graphmem.cli import loading
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


@pytest.fixture(autouse=True)
def taken_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a `Taking` prepare and write the batches of an import."""

    async def prepare(batches: Sequence[NewBatch], context: Any, *, now: datetime) -> list[Any]:
        return list(await context.prepare(batches))

    async def remember(batches: Sequence[Any], context: Any) -> list[Remembered]:
        return list(await context.append(batches))

    monkeypatch.setattr(loading, "prepare_batches", prepare)
    monkeypatch.setattr(loading, "remember_prepared", remember)
