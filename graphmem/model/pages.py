"""Pages of a list: where one ends is a cursor, opaque to whoever brings it back."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, TypeVar

from msgspec import Meta

from graphmem.errors import InvalidInput
from graphmem.model.times import END

Row = TypeVar("Row")

PageSize = Annotated[int, Meta(ge=1, le=200, description="entries on a page, 1–200")]
GivenCursor = Annotated[str, Meta(description="the `cursor` of the page before this one")]

Position = tuple[datetime, str]
"""What stood last on a page: its time, and its id among what has the same time."""

FIRST: Position = (END, "")
"""Before everything that a list holds, newest first."""


def page(
    rows: Sequence[Row], limit: int, after: Callable[[Row], str]
) -> tuple[list[Row], str | None]:
    """Return what is shown, and the cursor `after` its last row where more was found than the limit."""
    shown = list(rows[:limit])
    return shown, after(shown[-1]) if len(rows) > limit else None


def cursor(moment: datetime, id: str) -> str:
    """Return the cursor of a list, newest first, that goes on after this one."""
    return sealed(f"{moment.isoformat()} {id}")


def position(given: str | None) -> Position:
    """Return where a list, newest first, goes on. Raises `InvalidInput` for what no list has given."""
    if given is None:
        return FIRST
    try:
        moment, id = opened(given).split(" ", 1)
        found = datetime.fromisoformat(moment)
        # Only the offset that a cursor has: Neo4j does not know all that Python does.
        if found.utcoffset() != timedelta(0):
            raise ValueError(moment)
    except ValueError as problem:
        raise foreign() from problem
    return found, id


def sealed(place: str) -> str:
    """Return a place in a list as nobody reads it by chance."""
    return urlsafe_b64encode(place.encode()).decode()


def opened(given: str) -> str:
    """Return the place that a cursor stands for. Raises `ValueError`."""
    return urlsafe_b64decode(given.encode()).decode()


def foreign() -> InvalidInput:
    """Return what is said of a cursor that no list has given."""
    return InvalidInput("cursor", "is not one that this list has given")
