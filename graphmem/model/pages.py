"""Pages of a list: where one ends is a cursor, opaque to whoever brings it back."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Annotated, TypeVar

from msgspec import Meta, Struct, json, structs

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


class Listing(Struct, frozen=True):
    """A list with its filters, as its cursors know it: each leads on only in the list that has given it."""

    key: str

    def cursor(self, moment: datetime, id: str) -> str:
        """Return the cursor of a list, newest first, that goes on after this one."""
        return self.sealed(f"{moment.isoformat()} {id}")

    def position(self, given: str | None) -> Position:
        """Return where a list, newest first, goes on. Raises `InvalidInput` for a foreign cursor."""
        if given is None:
            return FIRST
        try:
            moment, id = self.opened(given).split(" ", 1)
            found = datetime.fromisoformat(moment)
            # Only the offset that a cursor has: Neo4j does not know all that Python does.
            if found.utcoffset() != timedelta(0):
                raise ValueError(moment)
        except ValueError as problem:
            raise foreign() from problem
        return found, id

    def sealed(self, place: str) -> str:
        """Return the cursor for a place in this list."""
        return sealed(f"{self.key} {place}")

    def opened(self, given: str) -> str:
        """Return the place that a cursor of this list stands for. Raises `InvalidInput`."""
        try:
            key, place = opened(given).split(" ", 1)
        except ValueError as problem:
            raise foreign() from problem
        # Decoding passes over what no cursor holds.
        if key != self.key or self.sealed(place) != given:
            raise foreign()
        return place


def listing(asked: Struct, of: str = "") -> Listing:
    """Return the list that a request means; `of` is the id in its path. The page's size is no filter."""
    filters = {
        name: value
        for name, value in structs.asdict(asked).items()
        if name not in {"limit", "cursor"} and value is not None
    }
    told = json.encode([type(asked).__name__, of, filters], order="sorted")
    return Listing(blake2b(told, digest_size=6).hexdigest())


def sealed(place: str) -> str:
    """Return a place in a list as nobody reads it by chance."""
    return urlsafe_b64encode(place.encode()).decode()


def opened(given: str) -> str:
    """Return the place that a cursor stands for. Raises `ValueError`."""
    return urlsafe_b64decode(given.encode()).decode()


def foreign() -> InvalidInput:
    """Return what is said of a cursor that this list has not given."""
    return InvalidInput(
        "cursor", "is not one that this list has given with these filters; begin without one"
    )
