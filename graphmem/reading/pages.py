"""Pages of a list, newest first: where one ends is a cursor, opaque to whoever brings it back."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime, timedelta

from graphmem.errors import InvalidInput
from graphmem.model.times import END

Position = tuple[datetime, str]
"""What stood last on a page: its time, and its id among what has the same time."""

FIRST: Position = (END, "")
"""Before everything that a list holds."""


def cursor(moment: datetime, id: str) -> str:
    """Return the cursor of a list that goes on after this one."""
    return urlsafe_b64encode(f"{moment.isoformat()} {id}".encode()).decode()


def position(given: str | None) -> Position:
    """Return where a list goes on. Raises `InvalidInput` for what no list has given."""
    if given is None:
        return FIRST
    try:
        moment, id = urlsafe_b64decode(given.encode()).decode().split(" ", 1)
        found = datetime.fromisoformat(moment)
        # Only the offset that a cursor has: Neo4j does not know all that Python does.
        if found.utcoffset() != timedelta(0):
            raise ValueError(moment)
    except ValueError as problem:
        raise InvalidInput("cursor", "is not one that this list has given") from problem
    return found, id
