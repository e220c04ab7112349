"""What every part of the public API starts from: a running graphmem, bound to one client."""

import uuid
from datetime import UTC, datetime

from graphmem.model.validation import validated
from graphmem.model.vocabulary import ClientId
from graphmem.runtime import Runtime

DEFAULT_CLIENT = "default"


class Bound:
    """A running graphmem and the client in whose name it is asked."""

    def __init__(self, runtime: Runtime, client_id: str = DEFAULT_CLIENT) -> None:
        self.runtime = runtime
        self.client_id = validated(client_id, ClientId)


def now() -> datetime:
    """Return the present moment."""
    return datetime.now(UTC)


def new_id() -> str:
    """Return an id that nobody can guess."""
    return str(uuid.uuid4())
