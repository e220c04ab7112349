"""What can go wrong, as one tree.

    GraphmemError
    ├── InvalidInput            what was sent cannot be used; names the field
    │   ├── TooLarge            … because it is beyond a limit
    │   └── CypherMistake       … because the database cannot read it as Cypher, or work it out
    ├── NotFound                there is no such thing, or it is another client's
    │   ├── MemoryNotFound
    │   │   └── ItemNotFound    … of which a chunk was asked
    │   ├── ContextNotFound     … or it has expired
    │   ├── SpanNotFound
    │   ├── ConversationNotFound
    │   ├── SessionNotFound
    │   ├── RunNotFound
    │   ├── NodeNotFound        … of any kind, in the graph
    │   ├── LinkNotFound
    │   ├── EntityNotFound
    │   ├── AliasNotFound
    │   └── PatternNotFound
    ├── Conflict                what was asked does not fit the state that things are in
    │   ├── NotHead             a newer version has superseded this one already
    │   ├── ContentChanged      another content was put while this one was made ready
    │   ├── ContentDamaged      a text is not the one that was stored
    │   ├── PartOfContent       a span of a reference's content is not deleted alone
    │   ├── IdTaken             another memory has this id
    │   ├── BudgetExhausted     a run has fewer tokens left than were asked for
    │   ├── RunEnded            the run has ended; nothing works on it any more
    │   ├── RunTimeout          the run's time is over
    │   ├── TooDeep             a run at the lowest level has no children
    │   ├── ChildlessBudget     the share of a child would be nothing
    │   └── OperationReused     an operation_id was used for something else
    ├── CypherRefused           a statement may do what an operator's Cypher may not
    ├── TookTooLong             the database cut a question off that took too long
    ├── TookTooMuch             … or more memory than one may have
    ├── TooManyRuns             the client has as many active runs as it may
    ├── TooManyStatements       the database works on as many statements of operators as it may
    ├── Unauthorized            no valid key came with the request
    ├── Unavailable             passing: the database or the embedder does not answer now
    │   └── ModelFailed         … or the language model, or what it answers cannot be used
    └── SetupError              graphmem cannot start: the sentence says what to do
        ├── SettingError        a setting has a value that cannot be used
        ├── JavaNotFound        no Java 21 or newer
        ├── FetchFailed         a jar or a model could not be fetched or was not what was expected
        ├── ServerFailed        the private Neo4j did not start, or died
        ├── DataFolderInUse     another process holds the data folder
        ├── SchemaError         the database's schema is not one this version can use
        ├── PatternDamaged      a pattern's file does not say what its header must
        └── ModelMismatch       the database was written with another embedding model or tokenizer

An error says what happened in a sentence and carries the ids as attributes. It knows nothing of HTTP.
"""

import re
from collections.abc import Iterable
from typing import ClassVar, Literal

NOWHERE: tuple[int | None, int | None, int | None] = (None, None, None)


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


class CypherMistake(InvalidInput):
    """What was sent is no Cypher, or cannot be worked out: the database's own sentence, and where.

    Line and column count from 1, the offset from 0; None where the database does not say.
    """

    def __init__(
        self, problem: str, place: tuple[int, int, int] | None = None, *, neo4j_code: str = ""
    ) -> None:
        super().__init__("query", problem)
        self.line, self.column, self.offset = place or NOWHERE
        self.neo4j_code = neo4j_code


class CypherRefused(GraphmemError):
    """A statement may do what an operator's Cypher may not; nothing of it was run.

    `rule` is what forbids it; line and column count from 1, the offset from 0, and None stands for a
    place that is not known.
    """

    def __init__(self, rule: str, sentence: str, place: tuple[int, int, int] | None = None) -> None:
        super().__init__(f"query: {sentence}")
        self.rule = rule
        self.line, self.column, self.offset = place or NOWHERE


class NotFound(GraphmemError):
    """There is no such thing, or it belongs to another client: the two look the same."""


class MemoryNotFound(NotFound):
    """There is no such memory."""

    def __init__(self, memory_id: str) -> None:
        super().__init__(f"no memory {memory_id!r}")
        self.memory_id = memory_id


class ItemNotFound(MemoryNotFound):
    """There is no such memory to take a chunk of; the sentence is the specification's."""

    def __init__(self, memory_id: str) -> None:
        NotFound.__init__(self, f"Item not found: {memory_id}")
        self.memory_id = memory_id


class ContextNotFound(NotFound):
    """There is no such context, or it has expired."""

    def __init__(self, context_id: str) -> None:
        super().__init__(f"no context {context_id!r}; one ends after its ttl_seconds")
        self.context_id = context_id


class SpanNotFound(NotFound):
    """There is no such span; the sentence is the specification's."""

    def __init__(self, span_id: str) -> None:
        super().__init__(f"Span not found: {span_id}")
        self.span_id = span_id


class ConversationNotFound(NotFound):
    """There is no such conversation."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"no conversation {conversation_id!r}")
        self.conversation_id = conversation_id


class SessionNotFound(NotFound):
    """There is no such session."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"no session {session_id!r}")
        self.session_id = session_id


class LinkNotFound(NotFound):
    """There is no such link between two memories."""

    def __init__(self, from_id: str, to_id: str, type: str) -> None:
        super().__init__(
            f"no link {type} from {from_id!r} to {to_id!r} with these bytes, or with none; the list of a "
            "memory's links shows them"
        )
        self.from_id = from_id
        self.to_id = to_id
        self.type = type


class EntityNotFound(NotFound):
    """No memory mentions such a name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no entity {name!r}: no memory mentions such a name")
        self.name = name


class AliasNotFound(NotFound):
    """There is no such name, or it is no alias of another."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no alias {name!r}; the list of entities shows which names are aliases")
        self.name = name


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


class ContentChanged(Conflict):
    """Another content was put while this one was made ready."""

    def __init__(self, reference_id: str) -> None:
        super().__init__(
            f"reference {reference_id!r} was given another content at the same time; look at it, and "
            "put yours again if it is to be the next version"
        )
        self.reference_id = reference_id


class ContentDamaged(Conflict):
    """A text is not the one that was stored: its SHA-256 is another."""

    def __init__(self, memory_id: str) -> None:
        super().__init__(
            f"the text of {memory_id!r} is not the one that was stored: its SHA-256 is another; write it "
            "again from its source"
        )
        self.memory_id = memory_id


class PartOfContent(Conflict):
    """A span of a reference's content is not deleted alone: the content would not be whole any more."""

    def __init__(self, memory_id: str, reference_id: str) -> None:
        super().__init__(
            f"the span {memory_id!r} is part of the content of reference {reference_id!r}; put another "
            "content on that reference, or delete the reference with all its spans"
        )
        self.memory_id = memory_id
        self.reference_id = reference_id


class IdTaken(Conflict):
    """Another memory has this id."""

    def __init__(self, memory_id: str, kind: str) -> None:
        super().__init__(f"the id {memory_id!r} belongs to {kind}; choose another, or send none")
        self.memory_id = memory_id


class RunNotFound(NotFound):
    """There is no such run."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"no run {run_id!r}")
        self.run_id = run_id


class NodeNotFound(NotFound):
    """There is no such node."""

    def __init__(self, node_id: str) -> None:
        super().__init__(f"no node {node_id!r}")
        self.node_id = node_id


class PatternNotFound(NotFound):
    """There is no such pattern; the sentence lists those there are."""

    def __init__(self, name: str, legal: Iterable[str]) -> None:
        super().__init__(f"no pattern {name!r}; there are {', '.join(legal)}")
        self.name = name


class BudgetExhausted(Conflict):
    """A run has fewer tokens left than were asked for."""

    def __init__(self, requested: int, remaining: int) -> None:
        super().__init__(f"Budget exhausted: requested {requested}, remaining {remaining}")
        self.requested = requested
        self.remaining = remaining


class RunEnded(Conflict):
    """The run has ended; nothing works on it any more."""

    def __init__(self, run_id: str) -> None:
        super().__init__("Session ended: start another run")
        self.run_id = run_id


class RunTimeout(Conflict):
    """The run's time is over; nothing works on it any more."""

    def __init__(self, run_id: str) -> None:
        super().__init__("Session timeout: time budget exhausted")
        self.run_id = run_id


class TooDeep(Conflict):
    """A run at the lowest level has no children."""

    code = "depth"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"Depth exhausted: a run at depth {limit} has no children; do the work in it"
        )
        self.limit = limit


class ChildlessBudget(Conflict):
    """The share of a child would be nothing: no tokens, or no time."""

    def __init__(
        self, lacking: Literal["tokens", "time"], remaining: int, requested: int | None = None
    ) -> None:
        if lacking == "time":
            problem = "the child's share of the time that remains is nothing"
            remedy = "ask for a larger budget_fraction, or for max_time_ms in fixed_budget"
        elif remaining > 0:
            problem = f"the child's share of the {remaining:,} tokens that remain is nothing"
            remedy = "ask for a larger budget_fraction, or for max_tokens in fixed_budget"
        else:
            wanted = f"; {requested:,} were asked for" if requested else ""
            problem = f"the run has no tokens left to give{wanted}"
            remedy = "end a child that has some left, or start a run of its own"
        super().__init__(f"Childless budget: {problem}; {remedy}")
        self.lacking = lacking
        self.remaining = remaining
        self.requested = requested


class OperationReused(Conflict):
    """An operation_id was used for something else."""

    def __init__(self) -> None:
        super().__init__(
            "operation_id: another operation of this run has it; send one that is new, or what was sent "
            "with it before"
        )
        self.field = "operation_id"


class TookTooLong(GraphmemError):
    """The database cut a question off that took too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the database worked on this for {seconds:g} seconds and was cut off; ask for less: a shorter "
            "time, one conversation, a smaller limit"
        )
        self.seconds = seconds


class TookTooMuch(GraphmemError):
    """The database cut a question off that took more memory than one may have."""

    def __init__(self) -> None:
        super().__init__(
            "the database cut this off: it took more memory than one transaction may have; collect, sort "
            "or join less at a time, or count instead"
        )


class TooManyRuns(GraphmemError):
    """The client has as many active runs as it may."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"Too many runs: {limit} are active, which is the most at once; end one, or wait until one "
            "times out"
        )
        self.limit = limit
        self.retry_after = 5


class TooManyStatements(GraphmemError):
    """The database works on as many statements of operators as it may."""

    def __init__(self, limit: int, cut_off: int = 0) -> None:
        lost = (
            f"; {cut_off} of them were cut off and have not ended yet: if they stay, `graphmem doctor` says "
            "what to do"
        )
        super().__init__(
            f"Too many statements: {limit} are at work, which is the most at once "
            f"(GRAPHMEM_CYPHER_AT_ONCE); try again in some seconds{lost if cut_off else ''}"
        )
        self.limit = limit
        self.cut_off = cut_off
        self.retry_after = 2


class Unauthorized(GraphmemError):
    """No valid key came with the request."""


class Unavailable(GraphmemError):
    """The database or the embedder does not answer now; the same call may go through later."""

    def __init__(self, what: str, retry_after: int = 2) -> None:
        super().__init__(what)
        self.retry_after = retry_after


class ModelFailed(Unavailable):
    """The language model did not answer in time, or what it answered cannot be used."""

    def __init__(self, reason: str, *, status: int | None = None) -> None:
        told = f"{reason}, status {status}" if status else reason
        super().__init__(f"the language model failed ({told})", retry_after=10)
        self.reason = reason
        self.status = status


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


class PatternDamaged(SetupError):
    """A pattern's file does not say what its header must."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"cypher/patterns/{name}.cypher: {problem}")
        self.name = name


class ModelMismatch(SetupError):
    """The database was written with another embedding model or tokenizer."""
