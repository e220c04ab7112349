"""Times: aware, in UTC, and never absent where an index filters on them."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Annotated
from zoneinfo import ZoneInfo

from msgspec import Meta

from graphmem.errors import InvalidInput

Time = Annotated[datetime, Meta(tz=True, description="RFC 3339, with a zone")]

Past = Annotated[
    datetime,
    Meta(
        tz=True,
        description="RFC 3339, with a zone; at most 5 minutes ahead of the server's clock",
    ),
]
"""The time of an event; `happened` checks it."""

UnixSeconds = Annotated[float, Meta(description="seconds since 1970-01-01T00:00:00Z")]

TimeZone = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="the asker's time zone, such as Europe/Berlin: the context shows its times, and "
        "`yesterday` in the question is read in it; UTC if unset. Times as data are always in UTC",
    ),
]
"""The name of a time zone in the IANA database."""

MILLISECONDS = 1e11
"""A number of this size is no time in seconds: that would be the year 5138, in milliseconds it is 1973."""

UNTIL = "RFC 3339, with a zone; after `since`, exclusive"
AS_OF = "the valid time: memories that were true then; RFC 3339, with a zone"
KNOWN_AS_OF = "the transaction time: memories as known then; RFC 3339, with a zone"
INCLUDE_SUPERSEDED = "whether to find superseded and ended memories too"

BEGINNING = datetime(1, 1, 2, tzinfo=UTC)
"""The value for no lower bound: an index can test neither null nor OR."""

END = datetime(9999, 12, 30, tzinfo=UTC)
"""The value for no upper bound, and for an end that is unknown."""


CLOCK_SKEW = timedelta(minutes=5)
"""The tolerance for a caller's clock ahead of the server's."""


def present() -> datetime:
    """Return the present moment, in UTC."""
    return datetime.now(UTC)


def after(earlier: datetime, now: datetime) -> datetime:
    """Return the time of what follows something: now, or the moment after it if the clock was set back."""
    # What the driver returns names its zone, and would be stored with that name.
    return max(now, (earlier + timedelta(microseconds=1)).astimezone(UTC))


def utc(moment: datetime, field: str) -> datetime:
    """Return the same moment in UTC; raise `InvalidInput` if it has no zone or is out of range."""
    if moment.tzinfo is None:
        raise InvalidInput(field, "a time needs its zone, for example 2026-03-02T09:30:00Z")
    try:
        inside = BEGINNING < moment < END
        moment = moment.astimezone(UTC)
    except OverflowError:
        inside = False
    if not inside:
        raise InvalidInput(
            field, f"a time lies between {_shown(BEGINNING)} and {_shown(END)}, both excluded"
        )
    return moment


def period(
    since: datetime | None, until: datetime | None, place: str = ""
) -> tuple[datetime, datetime]:
    """Return a period in UTC, `since` inclusive and `until` exclusive; None is no bound.

    Raises `InvalidInput` if no time is in it: an empty answer would read as if nothing were stored.
    """
    begin = utc(since, f"{place}since") if since else BEGINNING
    end = utc(until, f"{place}until") if until else END
    if end <= begin:
        raise InvalidInput(
            f"{place}until", "expected a time after `since`: `until` itself is not in the period"
        )
    return begin, end


def zone_of(name: str | None) -> tzinfo:
    """Return the time zone of a name, UTC for none; raise `InvalidInput` for an unknown name."""
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as problem:
        raise InvalidInput(
            "time_zone",
            f"there is no time zone {name!r}: name one of the IANA database, as Europe/Berlin",
        ) from problem


def moment(given: datetime | float, field: str) -> datetime:
    """Return a given time; raise `InvalidInput` if a number cannot be Unix seconds."""
    if isinstance(given, datetime):
        return given
    if abs(given) >= MILLISECONDS:
        raise InvalidInput(
            field, f"{given:.0f} is too large for Unix seconds: milliseconds are divided by 1000"
        )
    try:
        return datetime.fromtimestamp(given, UTC)
    except (OverflowError, ValueError, OSError) as problem:
        raise InvalidInput(field, "is no time in Unix seconds") from problem


def happened(moment: datetime, field: str, now: datetime) -> datetime:
    """Return the same moment in UTC; raise `InvalidInput` if it is in the future.

    Writes only count if they are newer than the last one, so a future event would block them until then.
    """
    moment = utc(moment, field)
    if moment > now + CLOCK_SKEW:
        raise InvalidInput(
            field,
            f"{_shown(moment)} lies in the future: it is {_shown(now)} now; send the time when it "
            "happened, at most 5 minutes ahead",
        )
    return moment


def _shown(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
