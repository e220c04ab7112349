"""graphmem: the memory that agents deserve, on a real graph database.

`graphmem.open` runs it, `graphmem.Graphmem` is its API. Every error is imported here; every type of a request
or an answer is in `graphmem/public.py`, and is loaded when it is first used.
"""

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from graphmem.errors import (
    AliasNotFound as AliasNotFound,
    BodyLate as BodyLate,
    BudgetExhausted as BudgetExhausted,
    ChildlessBudget as ChildlessBudget,
    ClientMoves as ClientMoves,
    Conflict as Conflict,
    ContentChanged as ContentChanged,
    ContentDamaged as ContentDamaged,
    ContextNotFound as ContextNotFound,
    ConversationNotFound as ConversationNotFound,
    CypherMistake as CypherMistake,
    CypherRefused as CypherRefused,
    DataFolderInUse as DataFolderInUse,
    DayLimitReached as DayLimitReached,
    DeadlineExceeded as DeadlineExceeded,
    DiskFull as DiskFull,
    EntityNotFound as EntityNotFound,
    ExtraMissing as ExtraMissing,
    FetchFailed as FetchFailed,
    GraphmemError as GraphmemError,
    IdTaken as IdTaken,
    InvalidInput as InvalidInput,
    ItemNotFound as ItemNotFound,
    JavaNotFound as JavaNotFound,
    LegalHold as LegalHold,
    LimitReached as LimitReached,
    LinkNotFound as LinkNotFound,
    MemoryNotFound as MemoryNotFound,
    ModelFailed as ModelFailed,
    ModelMismatch as ModelMismatch,
    NodeNotFound as NodeNotFound,
    NotFound as NotFound,
    NotHead as NotHead,
    OperationReused as OperationReused,
    Overloaded as Overloaded,
    PartOfContent as PartOfContent,
    PatternDamaged as PatternDamaged,
    PatternNotFound as PatternNotFound,
    PlaceUnavailable as PlaceUnavailable,
    RecordDamaged as RecordDamaged,
    RunEnded as RunEnded,
    RunNotFound as RunNotFound,
    RunTimeout as RunTimeout,
    SchemaError as SchemaError,
    ServerFailed as ServerFailed,
    SessionNotFound as SessionNotFound,
    SettingError as SettingError,
    SetupError as SetupError,
    SpanNotFound as SpanNotFound,
    StoreDamaged as StoreDamaged,
    StoreLimitReached as StoreLimitReached,
    StoreUnreadable as StoreUnreadable,
    TooDeep as TooDeep,
    TookTooLong as TookTooLong,
    TookTooMuch as TookTooMuch,
    TooLarge as TooLarge,
    TooManyRequests as TooManyRequests,
    TooManyRuns as TooManyRuns,
    TooManyStatements as TooManyStatements,
    Unauthorized as Unauthorized,
    Unavailable as Unavailable,
)

if TYPE_CHECKING:
    from graphmem.public import *  # noqa: F403
else:
    # Hidden from type checkers, which would believe that any name exists.

    def __getattr__(name: str) -> Any:
        """Load a public name when it is first used: `graphmem --help` must not wait for a driver."""
        if name == "__all__":
            return __dir__()
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if find_spec(f"{__name__}.{name}"):
            return importlib.import_module(f"{__name__}.{name}")
        public = importlib.import_module("graphmem.public")
        if not hasattr(public, name):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(public, name)


def __dir__() -> list[str]:
    """Return the public names: errors, types, the class and `open`."""
    from graphmem import errors, public

    raised = (name for name in globals() if hasattr(errors, name))
    return sorted(name for name in {*raised, *vars(public)} if not name.startswith("_"))
