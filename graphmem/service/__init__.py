"""What one client can ask of a running graphmem: the public Python API, and what HTTP calls.

A part of the API is a file with the class that offers it; `client.Graphmem` is all of them together.
"""

from graphmem.service.bound import DEFAULT_CLIENT
from graphmem.service.client import Graphmem, open

__all__ = ["DEFAULT_CLIENT", "Graphmem", "open"]
