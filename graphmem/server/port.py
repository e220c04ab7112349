"""A free port of the loopback."""

import socket

from graphmem.server.conf import HOST


def free_port(preferred: int = 0) -> int:
    """Return the preferred port if it is free, else any that is."""
    try:
        return _bound(preferred)
    except OSError:
        return _bound(0)


def _bound(port: int) -> int:
    with socket.socket() as probe:
        # As Java does: connections that linger from the server before do not take the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return int(probe.getsockname()[1])
