"""Annotations: metadata, tags and an expiry, which a caller may change without a new version."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from graphmem.errors import InvalidInput
from graphmem.model.times import Time, utc
from graphmem.model.validation import checked_text

METADATA_BYTES = 4_096
"""The longest metadata of a memory or a conversation, in bytes of JSON."""

LEAST_LIFE = timedelta(seconds=2)
"""The least time from a write to the expiry: within it every process has learnt of the expiry."""

_EDGE, _INNER = r"[^\s,\x00-\x1f\x7f]", r"[^,\x00-\x1f\x7f]"
TAG_PATTERN = rf"^{_EDGE}({_INNER}{{0,62}}{_EDGE})?$(?!\n)"

Tag = Annotated[
    str,
    Meta(
        pattern=TAG_PATTERN,
        description="1–64 characters without commas and line breaks, and no white space at its ends",
    ),
]
Tags = Annotated[
    list[Tag],
    Meta(max_length=32, description="at most 32 tags, each of 1–64 characters without commas"),
]
Metadata = Annotated[
    dict[str, Any], Meta(description="at most 4,096 bytes of JSON; returned as it came")
]
Expiry = Annotated[
    Time,
    Meta(
        description="from then on it is found nowhere, and it is deleted with all its versions; RFC 3339, "
        "with a zone"
    ),
]
WantedTags = Annotated[
    list[Tag],
    Meta(min_length=1, max_length=32, description="only memories that have all of these tags"),
]
"""The tags of a filter."""


class Annotations(Struct, frozen=True, kw_only=True):
    """The annotations of a new memory."""

    metadata: Metadata | None = None
    tags: Tags = []
    expires_at: Expiry | None = None


class ChangedAnnotations(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The annotations to change; omitted ones stay, null and an empty list remove them."""

    metadata: Metadata | UnsetType | None = UNSET
    tags: Tags | UnsetType = UNSET
    expires_at: Expiry | UnsetType | None = UNSET


def changed_annotations(changed: ChangedAnnotations, now: datetime) -> dict[str, Any]:
    """Return the changed annotations as they are stored; those that are removed are null.

    Raises `InvalidInput`, also if none is given, and `TooLarge`.
    """
    given = {
        name: value
        for name in changed.__struct_fields__
        if (value := getattr(changed, name)) is not UNSET
    }
    if not given:
        raise InvalidInput("body", "names nothing to change; send metadata, tags or expires_at")
    stored = stored_annotations(Annotations(**given), "", now)
    return {name: stored[name] for name in given}


def stored_annotations(given: Annotations, field: str, now: datetime) -> dict[str, Any]:
    """Return the properties of a memory with these annotations; `field` begins the names in errors.

    Raises `InvalidInput`, `TooLarge`.
    """
    return {
        "metadata": encoded(given.metadata, f"{field}metadata"),
        "tags": checked_tags(given.tags, field),
        "expires_at": checked_expiry(given.expires_at, field, now),
    }


def checked_tags(tags: Sequence[str], field: str) -> list[str] | None:
    """Return tags as they are stored: each once, null for none. Raises `InvalidInput`."""
    for place, tag in enumerate(tags):
        checked_text(tag, f"{field}tags[{place}]", most_bytes=256)
    return list(dict.fromkeys(tags)) or None


def checked_expiry(moment: datetime | None, field: str, now: datetime) -> datetime | None:
    """Return an expiry in UTC. Raises `InvalidInput` if it is not ahead."""
    if moment is None:
        return None
    moment = utc(moment, f"{field}expires_at")
    if moment < now + LEAST_LIFE:
        raise InvalidInput(
            f"{field}expires_at",
            f"{moment.isoformat()} is not at least {LEAST_LIFE.seconds} seconds ahead: it is "
            f"{now.isoformat()} now; to remove a memory at once, delete it",
        )
    return moment


def encoded(
    metadata: dict[str, Any] | None, field: str, *, most_bytes: int = METADATA_BYTES
) -> str | None:
    """Return metadata as the JSON text that is stored. Raises `InvalidInput`, `TooLarge`."""
    if metadata is None:
        return None
    try:
        text = msgspec.json.encode(metadata).decode()
    except (UnicodeEncodeError, TypeError, RecursionError) as problem:
        raise InvalidInput(
            field, "is not JSON: send an object of texts, numbers, lists and objects"
        ) from problem
    return checked_text(text, field, most_bytes=most_bytes)


def decoded(metadata: str | None) -> dict[str, Any] | None:
    """Return stored metadata as a caller sends it."""
    return None if metadata is None else msgspec.json.decode(metadata, type=dict[str, Any])
