"""graphmem: the memory that agents deserve, on a real graph database."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphmem.model.conversation import NewMessage
    from graphmem.model.recall import Item, Omitted, Recalled
    from graphmem.service import Graphmem, open

__all__ = ["Graphmem", "Item", "NewMessage", "Omitted", "Recalled", "open"]

_HOMES = {
    "Graphmem": "graphmem.service",
    "Item": "graphmem.model.recall",
    "NewMessage": "graphmem.model.conversation",
    "Omitted": "graphmem.model.recall",
    "Recalled": "graphmem.model.recall",
    "open": "graphmem.service",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: `graphmem --help` must not wait for a driver."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
