"""graphmem: the memory that agents deserve, on a real graph database."""

from graphmem.model.conversation import NewMessage
from graphmem.model.recall import Item, Omitted, Recalled
from graphmem.service import Graphmem, open

__all__ = ["Graphmem", "Item", "NewMessage", "Omitted", "Recalled", "open"]
