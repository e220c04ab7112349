"""One read, as it is recorded: who asked what and when, what it cost, what it was shown."""

from datetime import datetime

from msgspec import Struct


class Shown(Struct, frozen=True):
    """One memory of an answer, in its place."""

    id: str
    rank: int
    score: float
    tokens: int | None = None


class Read(Struct, frozen=True, kw_only=True):
    """One read; `found` counts what was relevant enough, so that 0 is a gap in what is known."""

    id: str
    client_id: str
    operation: str
    at: datetime
    duration_ms: float
    question: str
    conversation_id: str | None
    tokens: int
    found: int
    shown: list[Shown]
