"""Pages of a list, and opaque cursors to the next page."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Annotated, Literal, TypeVar

from msgspec import Meta, Struct, json, structs

from graphmem.errors import InvalidInput
from graphmem.model.times import BEGINNING, END

Row = TypeVar("Row")

PAGE_CHARACTERS = 4_000_000
"""The characters of texts together with which a page ends: one text has up to a million of them."""

MOST_ENTRIES = 200
"""The maximum number of entries on a page."""

PageSize = Annotated[
    int, Meta(ge=1, le=MOST_ENTRIES, description=f"entries on a page, 1–{MOST_ENTRIES}")
]
TextPageSize = Annotated[
    int,
    Meta(
        ge=1,
        le=MOST_ENTRIES,
        description=f"entries on a page, 1–{MOST_ENTRIES}; fewer if their texts have more than "
        f"{PAGE_CHARACTERS:,} characters: `cursor` tells whether there are others",
    ),
]
GivenCursor = Annotated[str, Meta(description="the `cursor` of the previous page")]

Position = tuple[datetime, str]
"""The last row of a page: its time, and its id among rows with the same time."""

FIRST: Position = (END, "")
"""The position before the first row of a list, newest first."""

EARLIEST: Position = (BEGINNING, "")
"""The position before the first row of a list, oldest first."""

Order = Annotated[
    Literal["newest", "oldest"], Meta(description="which comes first, the latest or the earliest")
]


def page(
    rows: Sequence[Row], limit: int, after: Callable[[Row], str], *, characters: int = 0
) -> tuple[list[Row], str | None]:
    """Return the rows of the page and, if there may be more, the cursor `after` its last row.

    `characters` are those of the texts of rows that end with `PAGE_CHARACTERS` of them, whatever the limit.
    """
    shown = list(rows[:limit])
    has_more = len(rows) > limit or characters >= PAGE_CHARACTERS
    return shown, after(shown[-1]) if has_more else None


class Listing(Struct, frozen=True):
    """The identity of a list and its filters: a cursor is only valid in the list that has given it."""

    key: str

    def cursor(self, moment: datetime, id: str) -> str:
        """Return the cursor after a row, by its time and its id."""
        return self.sealed(f"{moment.isoformat()} {id}")

    def position(self, given: str | None, first: Position = FIRST) -> Position:
        """Return the position of a cursor, else the first one. Raises `InvalidInput` for a foreign cursor."""
        if given is None:
            return first
        try:
            moment, id = self.opened(given).split(" ", 1)
            found = datetime.fromisoformat(moment)
            # Only the offset of our cursors: Neo4j does not accept all offsets of Python.
            if found.utcoffset() != timedelta(0) or not BEGINNING <= found <= END:
                raise ValueError(moment)
        except ValueError as problem:
            raise foreign() from problem
        return found, id

    def sealed(self, place: str) -> str:
        """Return the cursor for a position in this list."""
        return sealed(f"{self.key} {place}")

    def opened(self, given: str) -> str:
        """Return the position of a cursor of this list. Raises `InvalidInput`."""
        try:
            _, place = opened(given).split(" ", 1)
        except ValueError as problem:
            raise foreign() from problem
        # Another key, or a character that decoding ignores, is lost in a cursor of this list.
        if self.sealed(place) != given:
            raise foreign()
        return place


def listing(asked: Struct, of: str = "") -> Listing:
    """Return the list of a request; `of` is the id in its path. The page's size is no filter."""
    filters = {
        name: value
        for name, value in structs.asdict(asked).items()
        if name not in {"limit", "cursor"} and value is not None
    }
    told = json.encode([type(asked).__name__, of, filters], order="sorted")
    return Listing(blake2b(told, digest_size=6).hexdigest())


def sealed(place: str) -> str:
    """Return a position in a list as an opaque cursor."""
    return urlsafe_b64encode(place.encode()).decode()


def opened(given: str) -> str:
    """Return the position of an opaque cursor. Raises `ValueError`."""
    return urlsafe_b64decode(given.encode()).decode()


def foreign() -> InvalidInput:
    """Return the error for a foreign cursor."""
    return InvalidInput(
        "cursor", "is not one that this list has given with these filters; begin without one"
    )
