"""Sessions that have to do with each other."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

Basis = Literal["similarity", "entities", "links"]
"""Why two sessions are related: summaries alike, the same rare things mentioned, memories linked."""


class RelatedSession(Struct, frozen=True, kw_only=True):
    """Another session, why it is related to which one, and how strongly, 0–1."""

    session_id: str
    session_external_id: str
    conversation_id: str
    started_at: datetime
    summary: str | None
    related_to: str
    basis: Basis
    score: float
    entities: list[str] = []


class RelatedSessions(Struct, frozen=True, kw_only=True):
    """The sessions that one is related to, the strongest first; one may stand for several reasons."""

    session_id: str
    related: list[RelatedSession]
