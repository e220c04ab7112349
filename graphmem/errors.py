"""What can go wrong, as one tree.

    GraphmemError
    ├── InvalidInput            what was sent cannot be used; names the field
    │   └── TooLarge            … because it is beyond a limit
    ├── NotFound                there is no such thing, or it is another client's
    │   ├── MemoryNotFound
    │   └── ConversationNotFound
    ├── Conflict                what was asked does not fit the state that things are in
    │   └── NotHead             a newer version has superseded this one already
    ├── Unauthorized            no valid key came with the request
    ├── Unavailable             passing: the database or the embedder does not answer now
    └── SetupError              graphmem cannot start: the sentence says what to do
        ├── SettingError        a setting has a value that cannot be used
        ├── JavaNotFound        no Java 21 or newer
        ├── FetchFailed         a jar or a model could not be fetched or was not what was expected
        ├── ServerFailed        the private Neo4j did not start, or died
        ├── DataFolderInUse     another process holds the data folder
        ├── SchemaError         the database's schema is not one this version can use
        └── ModelMismatch       the database was written with another embedding model or tokenizer

An error says what happened in a sentence and carries the ids as attributes. It knows nothing of HTTP.
"""

import re
from typing import ClassVar


class GraphmemError(Exception):
    """Anything that graphmem reports on purpose."""

    code: ClassVar[str] = "graphmem_error"

    def __init_subclass__(cls) -> None:
        """Name each error for machines after its class: MemoryNotFound is `memory_not_found`."""
        super().__init_subclass__()
        if "code" not in cls.__dict__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


class InvalidInput(GraphmemError):
    """What was sent cannot be used; the sentence names the field and the remedy."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field


class TooLarge(InvalidInput):
    """What was sent is beyond a limit."""


class NotFound(GraphmemError):
    """There is no such thing, or it belongs to another client: the two look the same."""


class MemoryNotFound(NotFound):
    """There is no such memory."""

    def __init__(self, memory_id: str) -> None:
        super().__init__(f"no memory {memory_id!r}")
        self.memory_id = memory_id


class ConversationNotFound(NotFound):
    """There is no such conversation."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"no conversation {conversation_id!r}")
        self.conversation_id = conversation_id


class Conflict(GraphmemError):
    """What was asked does not fit the state that things are in."""


class NotHead(Conflict):
    """A newer version has superseded this one already."""

    def __init__(self, memory_id: str, head_id: str) -> None:
        super().__init__(
            f"memory {memory_id!r} has been superseded; the head of its chain is {head_id!r}"
        )
        self.memory_id = memory_id
        self.head_id = head_id


class Unauthorized(GraphmemError):
    """No valid key came with the request."""


class Unavailable(GraphmemError):
    """The database or the embedder does not answer now; the same call may go through later."""

    def __init__(self, what: str, retry_after: int = 2) -> None:
        super().__init__(what)
        self.retry_after = retry_after


class SetupError(GraphmemError):
    """graphmem cannot start; the sentence says why and what to do."""


class SettingError(SetupError):
    """A setting has a value that cannot be used."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name


class JavaNotFound(SetupError):
    """There is no Java that can run Neo4j."""


class FetchFailed(SetupError):
    """A jar or a model could not be fetched, or is not what was expected."""


class ServerFailed(SetupError):
    """The private Neo4j did not start, did not answer in time, or died."""


class DataFolderInUse(SetupError):
    """Another process holds the data folder and cannot be joined."""


class SchemaError(SetupError):
    """The database's schema is not one that this version of graphmem can use."""


class ModelMismatch(SetupError):
    """The database was written with another embedding model or tokenizer."""
