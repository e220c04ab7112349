"""Bookmarks: a read in a cluster waits for the writes that came before it, also those of other processes.

A member may lag behind its leader. A bookmark names a state of the database; a transaction that is given one
waits until its member has reached that state. `Bookmarks` keeps those of a process. Those of a request travel
with its answer as a text: the caller's next request sees that state in any process.
"""

import base64
import binascii
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

import msgspec
from msgspec import Struct, field
from neo4j.api import AsyncBookmarkManager

from graphmem.errors import InvalidInput

BOOKMARK_HEADER = "X-Graphmem-Bookmark"
"""The header in which the bookmarks of an answer travel, and those that a request is to wait for."""

BOOKMARK_CHARACTERS = 4_096
"""The maximum length of bookmarks as a text."""

MOST_BOOKMARKS = 16
"""The maximum number of bookmarks in a text: one for each transaction of a request that overlaps another."""


class Causes(Struct, frozen=True):
    """The states of one place's database that a request depends on."""

    place: str
    bookmarks: list[str]


class Followed(Struct):
    """The states that a request must see, and those that its own transactions have reached."""

    given: Causes | None = None
    place: str = ""
    reached: set[str] = field(default_factory=set)

    def text(self) -> str | None:
        """Return the states that it has reached as a text; None without any, or with too many."""
        some = sorted(self.reached)
        return encoded(Causes(self.place, some)) if 0 < len(some) <= MOST_BOOKMARKS else None


_REQUEST: ContextVar[Followed | None] = ContextVar("followed", default=None)


def following(text: str | None) -> AbstractContextManager[Followed]:
    """Let the transactions of a block wait for the states in a text. Raises `InvalidInput` at once."""
    return _during(Followed(None if text is None else decoded(text)))


@contextmanager
def _during(request: Followed) -> Iterator[Followed]:
    token = _REQUEST.set(request)
    try:
        yield request
    finally:
        _REQUEST.reset(token)


class Bookmarks(AsyncBookmarkManager):
    """The states of one database that this process has reached; the driver asks and tells it.

    `place` distinguishes the database from those of other places: their bookmarks mean nothing here. Without
    `travel` those of a request are neither used nor told.
    """

    def __init__(self, place: str, *, travel: bool = True) -> None:
        self._place = place
        self._travel = travel
        self._reached: set[str] = set()

    @property
    def _request(self) -> Followed | None:
        return _REQUEST.get() if self._travel else None

    async def get_bookmarks(self) -> set[str]:
        """Return the states that the next transaction must see."""
        request = self._request
        given = request.given if request else None
        if given is None or given.place != self._place:
            return set(self._reached)
        return self._reached.union(given.bookmarks)

    async def update_bookmarks(
        self, previous_bookmarks: Collection[str], new_bookmarks: Collection[str]
    ) -> None:
        """Record the state after a transaction, which includes the previous ones."""
        if not new_bookmarks:
            return
        self._reached.difference_update(previous_bookmarks)
        self._reached.update(new_bookmarks)
        request = self._request
        if request is not None:
            if request.place != self._place:
                request.place, request.reached = self._place, set()
            request.reached.difference_update(previous_bookmarks)
            request.reached.update(new_bookmarks)

    def forget(self) -> bool:
        """Forget the states that this process has reached; return whether there were any.

        A database that was restored or replaced knows none of them. Raises `InvalidInput` if the request has
        brought bookmarks of its own.
        """
        request = self._request
        if request and request.given and request.given.place == self._place:
            raise unknown_bookmark()
        had_any = bool(self._reached)
        self._reached = set()
        return had_any


def encoded(causes: Causes) -> str:
    """Return states as a text of letters, digits, `-` and `_`."""
    return base64.urlsafe_b64encode(msgspec.json.encode(causes)).decode().rstrip("=")


def decoded(text: str) -> Causes:
    """Return the states in a text. Raises `InvalidInput`."""
    if len(text) > BOOKMARK_CHARACTERS:
        raise unknown_bookmark()
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        causes = msgspec.json.decode(raw, type=Causes)
    except (binascii.Error, ValueError) as problem:
        raise unknown_bookmark() from problem
    if len(causes.bookmarks) > MOST_BOOKMARKS:
        raise unknown_bookmark()
    return causes


def unknown_bookmark() -> InvalidInput:
    """Return the error for bookmarks that mean nothing here."""
    return InvalidInput(
        BOOKMARK_HEADER,
        "is none that an answer of this service had; leave it out to begin without one",
    )
