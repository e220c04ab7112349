"""A limit on the length of one row on its way from the database, set inside the driver.

The driver reads a row of any length into memory before it returns it, and has no option against that: a
statement of one row could fill the memory of this process. So for the length of one result the socket
below the driver is replaced by one that stops as soon as the message being read is longer than
`RECORD_BYTES`. Stopping is a cancellation, on which the driver drops the connection and the server its
work. The same goes for the number of rows that are fetched at once: the driver fixes it for a session,
and here it follows the length of the rows.

This uses private attributes of the driver: `AsyncResult._connection.inbox`, the inbox's `_socket` and
`_buffer.used`, and `AsyncResult._fetch_size`. The driver's version is pinned, and
`tests/graphmem/exploring/test_limits.py` reads rows that are too long: a driver with other attributes
fails there.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import neo4j

RECORD_BYTES = 8 * 2**20
"""The maximum length of one row on its way from the database."""

FIRST_ROWS, MOST_ROWS = 16, 1_000
"""The number of rows sent at once: at first, and the later maximum."""

AT_ONCE_BYTES = 8 * 2**20
"""The maximum length of the rows sent at once, if all are as long as the longest so far.

The server lays them out together, in memory shared by all its connections.
"""


class BrokenOff(asyncio.CancelledError):
    """Reading was stopped; the driver drops the connection as for any cancellation, the server its work."""


@contextmanager
def limited_messages(result: neo4j.AsyncResult) -> Iterator[Callable[[], int]]:
    """Stop reading at a row that is too long; yield a function that returns the length of the last row.

    Raises `BrokenOff`.
    """
    inbox: Any = result._connection.inbox
    socket = inbox._socket
    inbox._socket = counting = _CountingSocket(socket, inbox)
    try:
        yield counting.last
    finally:
        inbox._socket = socket


def fetch_at_once(result: neo4j.AsyncResult, longest: int) -> None:
    """Set the number of rows fetched at once, by the length in bytes of the longest row so far."""
    result._fetch_size = max(FIRST_ROWS, min(AT_ONCE_BYTES // longest, MOST_ROWS))


class _CountingSocket:
    """The driver's socket, which reads no message beyond a length."""

    def __init__(self, socket: Any, inbox: Any) -> None:
        self._socket = socket
        self._inbox = inbox
        self._length = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    async def recv_into(self, *arguments: Any) -> int:
        """Read some bytes of a message. Raises `BrokenOff`."""
        self._length = self._inbox._buffer.used
        if self._length > RECORD_BYTES:
            error = BrokenOff()
            raise error
        read: int = await self._socket.recv_into(*arguments)
        return read

    def last(self) -> int:
        """Return the length of the last message that was read, in bytes."""
        return self._length
