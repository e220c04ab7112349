"""Times: aware, in UTC, and never absent where an index filters on them."""

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta

from graphmem.errors import InvalidInput

Time = Annotated[datetime, Meta(tz=True, description="RFC 3339, with a zone")]

AS_OF = "what was true then, as far as that is known; RFC 3339, with a zone"
KNOWN_AS_OF = "what was known then; RFC 3339, with a zone"
INCLUDE_SUPERSEDED = "whether what newer versions have superseded is found too, and what is over"

BEGINNING = datetime(1, 1, 2, tzinfo=UTC)
"""Stands for no lower bound: an index can test neither null nor OR."""

END = datetime(9999, 12, 30, tzinfo=UTC)
"""Stands for no upper bound, and for what has not ended."""


def present() -> datetime:
    """Return the present moment, in UTC."""
    return datetime.now(UTC)


def utc(moment: datetime, field: str) -> datetime:
    """Return the same moment in UTC; raise `InvalidInput` when it has no zone or lies out of range."""
    if moment.tzinfo is None:
        raise InvalidInput(field, "a time needs its zone, for example 2026-03-02T09:30:00Z")
    try:
        inside = BEGINNING < moment < END
        moment = moment.astimezone(UTC)
    except OverflowError:
        inside = False
    if not inside:
        raise InvalidInput(field, "a time lies between the years 1 and 9999")
    return moment
