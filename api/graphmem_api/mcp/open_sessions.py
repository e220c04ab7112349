"""The open sessions of agents' programs, of which each client has a limited number."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from graphmem.errors import TooManyRequests
from graphmem.observing.metrics import count_refusal

SESSIONS = 64
"""The maximum number of open sessions of one client; many programs leave theirs without ending them."""

IDLE_SECONDS = 30 * 60.0
"""The time after which the SDK ends a session that is not used."""


class McpSession(Struct):
    """An open session: its client, its last use, and its requests in progress."""

    client_id: str
    used: float
    requests: int = 0


class McpSessions:
    """The open sessions of all clients, the one unused for longest first."""

    def __init__(self) -> None:
        self._open: dict[str, McpSession] = {}

    def check(self, client_id: str) -> None:
        """Raise `TooManyRequests` if no session of the client can be ended for a new one."""
        if sum(one.requests > 0 for one in self._of(client_id).values()) >= SESSIONS:
            count_refusal("client")
            raise TooManyRequests(SESSIONS, "sessions", "end one before you begin another")

    def add(self, session_id: str, client_id: str) -> str | None:
        """Count a new session; return the one to end for it, which is the client's longest unused."""
        now = time.monotonic()
        self._open = {
            id: one
            for id, one in self._open.items()
            if one.requests or now - one.used < IDLE_SECONDS
        }
        others = self._of(client_id)
        self._open[session_id] = McpSession(client_id, now)
        unused = next((id for id, one in others.items() if not one.requests), None)
        return unused if len(others) >= SESSIONS else None

    @contextmanager
    def using(self, session_id: str | None, client_id: str) -> Iterator[None]:
        """Count a request of a session, for the length of the block."""
        session = self._open.get(session_id or "")
        if session_id is None or session is None or session.client_id != client_id:
            yield
            return
        session.requests += 1
        try:
            yield
        finally:
            session.requests -= 1
            session.used = time.monotonic()
            if self._open.pop(session_id, None):
                self._open[session_id] = session

    def remove(self, session_id: str, client_id: str) -> None:
        """Forget a session that has ended."""
        if session_id in self._of(client_id):
            del self._open[session_id]

    def _of(self, client_id: str) -> dict[str, McpSession]:
        return {id: one for id, one in self._open.items() if one.client_id == client_id}
