"""A chain of versions."""

from datetime import datetime

from msgspec import Struct

from graphmem.model.times import Time
from graphmem.model.vocabulary import Kind


class VersionsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which versions of a chain are asked for."""

    known_as_of: Time | None = None


class Version(Struct, frozen=True, kw_only=True):
    """One version of a memory: what it says, from when on that was true, when it was written and why."""

    id: str
    version: int
    kind: Kind
    text: str
    valid_at: datetime
    created_at: datetime
    superseded_at: datetime | None = None
    """When a newer version was written; null for the head."""
    reason: str | None = None
    """Why it superseded the one before."""


class Versions(Struct, frozen=True, kw_only=True):
    """A chain, oldest first."""

    versions: list[Version]
