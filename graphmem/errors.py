"""The errors of graphmem, as one tree.

    GraphmemError
    ├── InvalidInput            the input cannot be used; names the field
    │   ├── TooLarge            … because it exceeds a limit
    │   └── CypherMistake       … because it is not valid Cypher, or cannot be evaluated
    ├── NotFound                there is no such thing, or it is another client's
    │   ├── MemoryNotFound
    │   │   └── ItemNotFound    … to take a chunk of
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
    ├── Conflict                the request does not fit the present state
    │   ├── NotHead             a newer version has already superseded this one
    │   ├── ContentChanged      another content was stored while this one was being prepared
    │   ├── ContentDamaged      a text differs from the stored one
    │   ├── PartOfContent       a span of a reference's content cannot be deleted alone
    │   ├── LegalHold           the client's memories may not be deleted
    │   ├── IdTaken             another memory has this id
    │   ├── BudgetExhausted     a run has fewer tokens left than the request needs
    │   ├── RunEnded            the run has ended; no operation works on it any more
    │   ├── RunTimeout          the run's time is over
    │   ├── TooDeep             a run at the lowest level cannot have children
    │   ├── ChildlessBudget     the share of a child would be empty
    │   └── OperationReused     an operation_id was used for another operation
    ├── CypherRefused           a statement may do something that an operator's Cypher may not
    ├── TookTooLong             the database cut off a query that took too long
    ├── TookTooMuch             … or more memory than its limit
    ├── TooManyRuns             the client has the maximum number of active runs
    ├── TooManyStatements       the database works on the maximum number of operators' statements
    ├── TooManyRequests         the client has the maximum number of requests, exports or sessions in progress
    ├── LimitReached            a write would exceed a limit of its client; nothing was written
    │   ├── StoreLimitReached   … of its memories, or of the length of their texts
    │   └── DayLimitReached     … of the tokens that it may write on one day
    ├── Unauthorized            the request has no valid key
    ├── BodyLate                the body of a request did not arrive in time
    ├── Unavailable             temporary: the database or the embedder does not answer now
    │   ├── DiskFull            … or its disk has too little room to write
    │   ├── StoreDamaged        … or its store cannot be read: only a backup helps
    │   ├── RecordDamaged       … or one record of it cannot be read as graphmem writes it
    │   ├── PlaceUnavailable    … or the place of the client does not
    │   ├── ClientMoves         … or the client is being moved: it may only read
    │   ├── Overloaded          … or the service has as many requests in progress as it takes
    │   ├── DeadlineExceeded    … or the request was cut off at its deadline
    │   └── ModelFailed         … or the language model does not, or its answer cannot be used
    └── SetupError              graphmem cannot start: the sentence names the remedy
        ├── SettingError        a setting has a value that cannot be used
        ├── JavaNotFound        no Java 21 or newer
        ├── FetchFailed         a jar or a model could not be fetched, or is not the expected one
        ├── ServerFailed        the private Neo4j did not start, or died
        │   └── StoreUnreadable  … because it cannot open its store
        ├── DataFolderInUse     another process holds the data folder
        ├── SchemaError         this version cannot use the database's schema
        ├── PatternDamaged      the header of a pattern's file is incomplete or wrong
        ├── ExtraMissing        a part of graphmem needs a package that is not installed
        └── ModelMismatch       the database was written with another embedding model or tokenizer

The message of an error is one sentence; its ids are attributes. Errors contain nothing of HTTP.
"""

import re
from collections.abc import Iterable
from typing import ClassVar, Literal

NOWHERE: tuple[int | None, int | None, int | None] = (None, None, None)


class GraphmemError(Exception):
    """An error that graphmem raises on purpose."""

    code: ClassVar[str] = "graphmem_error"

    def __init_subclass__(cls) -> None:
        """Name each error for machines after its class: MemoryNotFound is `memory_not_found`."""
        super().__init_subclass__()
        if "code" not in cls.__dict__:
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()


class InvalidInput(GraphmemError):
    """The input cannot be used; the sentence names the field and the remedy."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field


class TooLarge(InvalidInput):
    """The input exceeds a limit."""


class CypherMistake(InvalidInput):
    """The statement is not valid Cypher, or cannot be evaluated: the database's own sentence, and the place.

    Line and column count from 1, the offset from 0; None if the database does not say.
    """

    def __init__(
        self, problem: str, place: tuple[int, int, int] | None = None, *, neo4j_code: str = ""
    ) -> None:
        super().__init__("query", problem)
        self.line, self.column, self.offset = place or NOWHERE
        self.neo4j_code = neo4j_code


class CypherRefused(GraphmemError):
    """A statement may do something that an operator's Cypher may not; nothing of it was run.

    `rule` is the rule that forbids it; line and column count from 1, the offset from 0, and None is an
    unknown place.
    """

    def __init__(self, rule: str, sentence: str, place: tuple[int, int, int] | None = None) -> None:
        super().__init__(f"query: {sentence}")
        self.rule = rule
        self.line, self.column, self.offset = place or NOWHERE


class NotFound(GraphmemError):
    """There is no such thing, or it belongs to another client: the two are indistinguishable."""


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
    """There is no such name, or it is not an alias."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no alias {name!r}; the list of entities shows which names are aliases")
        self.name = name


class Conflict(GraphmemError):
    """The request does not fit the present state."""


class NotHead(Conflict):
    """A newer version has already superseded this one."""

    def __init__(self, memory_id: str, head_id: str) -> None:
        super().__init__(
            f"memory {memory_id!r} has been superseded; the head of its chain is {head_id!r}"
        )
        self.memory_id = memory_id
        self.head_id = head_id


class ContentChanged(Conflict):
    """Another content was stored while this one was being prepared."""

    def __init__(self, reference_id: str) -> None:
        super().__init__(
            f"reference {reference_id!r} was given another content at the same time; look at it, and "
            "put yours again if it is to be the next version"
        )
        self.reference_id = reference_id


class ContentDamaged(Conflict):
    """A text differs from the stored one: its SHA-256 is another."""

    def __init__(self, memory_id: str) -> None:
        super().__init__(
            f"the text of {memory_id!r} is not the one that was stored: its SHA-256 is another; write it "
            "again from its source"
        )
        self.memory_id = memory_id


class PartOfContent(Conflict):
    """A span of a reference's content cannot be deleted alone: the content would be incomplete."""

    def __init__(self, memory_id: str, reference_id: str) -> None:
        super().__init__(
            f"the span {memory_id!r} is part of the content of reference {reference_id!r}; put another "
            "content on that reference, or delete the reference with all its spans"
        )
        self.memory_id = memory_id
        self.reference_id = reference_id


class LegalHold(Conflict):
    """A client's memories may not be deleted."""

    def __init__(self, client_id: str, reason: str) -> None:
        super().__init__(
            f"the memories of client {client_id!r} are under a legal hold ({reason}); an operator ends it"
        )
        self.client_id = client_id
        self.reason = reason


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
    """There is no such pattern; the sentence lists the existing ones."""

    def __init__(self, name: str, legal: Iterable[str]) -> None:
        super().__init__(f"no pattern {name!r}; there are {', '.join(legal)}")
        self.name = name


class BudgetExhausted(Conflict):
    """A run has fewer tokens left than the request needs."""

    def __init__(self, requested: int, remaining: int) -> None:
        super().__init__(f"Budget exhausted: requested {requested}, remaining {remaining}")
        self.requested = requested
        self.remaining = remaining


class RunEnded(Conflict):
    """The run has ended; no operation works on it any more."""

    def __init__(self, run_id: str) -> None:
        super().__init__("Session ended: start another run")
        self.run_id = run_id


class RunTimeout(Conflict):
    """The run's time is over; no operation works on it any more."""

    def __init__(self, run_id: str) -> None:
        super().__init__("Session timeout: time budget exhausted")
        self.run_id = run_id


class TooDeep(Conflict):
    """A run at the lowest level cannot have children."""

    code = "depth"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"Depth exhausted: a run at depth {limit} has no children; do the work in it"
        )
        self.limit = limit


class ChildlessBudget(Conflict):
    """The share of a child would be empty: no tokens, or no time."""

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
    """An operation_id was used for another operation."""

    def __init__(self) -> None:
        super().__init__(
            "operation_id: another operation of this run has this id; send a new id, or the same request "
            "with it before"
        )
        self.field = "operation_id"


class TookTooLong(GraphmemError):
    """The database cut off a query that took too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the database worked on this for {seconds:g} seconds and was cut off; ask for less: a shorter "
            "time, one conversation, a smaller limit"
        )
        self.seconds = seconds


class TookTooMuch(GraphmemError):
    """The database cut off a query that took more memory than its limit."""

    def __init__(self) -> None:
        super().__init__(
            "the database cut this off: it took more memory than one transaction may have; collect, sort "
            "or join less at a time, or count instead"
        )


class TooManyRuns(GraphmemError):
    """The client has the maximum number of active runs."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"Too many runs: {limit} are active, which is the most at once; end one, or wait until one "
            "times out"
        )
        self.limit = limit
        self.retry_after = 5


class TooManyStatements(GraphmemError):
    """The database is working on the maximum number of operators' statements."""

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


class TooManyRequests(GraphmemError):
    """The client has the maximum number of requests, exports or sessions in progress, or of their bytes."""

    def __init__(
        self,
        limit: int,
        what: str = "requests",
        remedy: str = "wait for an answer before you ask again",
    ) -> None:
        setting = " (GRAPHMEM_CLIENT_REQUESTS)" if what == "requests" else ""
        super().__init__(
            f"Too many {what}: {limit:,} of this client are in progress, which is the most at once"
            f"{setting}; {remedy}"
        )
        self.limit = limit
        self.retry_after = 1


class LimitReached(GraphmemError):
    """A write would exceed a limit of its client; nothing was written."""


class StoreLimitReached(LimitReached):
    """The client would have too many memories, or too long texts."""

    def __init__(self, what: str, limit: int, used: int) -> None:
        super().__init__(
            f"this client may have {limit:,} {what} and has {used:,}: with this write there would be more, "
            "so nothing was written; delete some, or have the limit raised"
        )
        self.limit = limit


class DayLimitReached(LimitReached):
    """The client would write too many tokens on one day."""

    def __init__(self, limit: int, used: int, retry_after: int) -> None:
        super().__init__(
            f"this client may write {limit:,} tokens a day and has written {used:,} today (UTC): with this "
            "write there would be more, so nothing was written; write less, or go on tomorrow"
        )
        self.limit = limit
        self.retry_after = retry_after


class BodyLate(GraphmemError):
    """The body of a request did not arrive in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"body: did not arrive within {seconds:g} s (GRAPHMEM_REQUEST_SECONDS); send it again"
        )


class Unauthorized(GraphmemError):
    """The request has no valid key."""


class Unavailable(GraphmemError):
    """The database or the embedder does not answer now; the same call may succeed later."""

    def __init__(self, what: str, retry_after: int = 2) -> None:
        super().__init__(what)
        self.retry_after = retry_after


class DiskFull(Unavailable):
    """The disk of the database has too little room: nothing was written, and reading continues."""

    def __init__(self, free_mb: int, needed_mb: int) -> None:
        super().__init__(
            f"the disk of the database has {free_mb:,} MB free, less than the {needed_mb:,} MB that writing "
            "needs (GRAPHMEM_DISK_MARGIN_MB): nothing was written, reading goes on; free some space",
            retry_after=60,
        )


class StoreDamaged(Unavailable):
    """The store of the database cannot be read as it was written."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the store of the database is damaged, or another program has changed it ({reason}): end "
            "graphmem and bring a backup back with `graphmem restore`, which puts this store aside",
            retry_after=60,
        )


class RecordDamaged(Unavailable):
    """A stored record lacks a value that graphmem writes, or has one of another type."""

    def __init__(self, query: str) -> None:
        super().__init__(
            f"a stored record cannot be read as graphmem writes it (by the query {query}): `graphmem doctor` "
            "names such records and the remedy; if it names none, the store may be damaged, and `graphmem "
            "restore` brings a backup back",
            retry_after=60,
        )


class PlaceUnavailable(Unavailable):
    """The Neo4j of the client's place does not answer, or the placement names one that there is not."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(
            f"the place {place!r} of this client is not there now ({reason}); clients of other places are "
            "served, and `graphmem doctor` looks at each place",
            retry_after=5,
        )
        self.place_name = place


class ClientMoves(Unavailable):
    """Writes of the client are refused while it is moved to another place; reading goes on."""

    def __init__(self, client_id: str) -> None:
        super().__init__(
            f"writes of the client {client_id!r} are off while it is moved to another place: reading goes "
            "on; try again later",
            retry_after=30,
        )
        self.client_id = client_id


class Overloaded(Unavailable):
    """The service has as much in progress as it takes; nothing of this request was done."""

    def __init__(self, limit: int, what: str = "requests") -> None:
        super().__init__(
            f"the service is busy: {limit:,} {what} are in progress, which is the most at once; "
            "try again soon",
            retry_after=1,
        )


class DeadlineExceeded(Unavailable):
    """A request was cut off at its deadline: a write was then done whole, or not at all."""

    def __init__(self, seconds: float, *, is_set: bool = False) -> None:
        setting = " (GRAPHMEM_REQUEST_SECONDS)" if is_set else ""
        super().__init__(
            f"this was not done within {seconds:g} s and was cut off{setting}: a write is "
            "stored whole or not at all; try again with the same ids, or send less at once"
        )


class ModelFailed(Unavailable):
    """The language model did not answer in time, or its answer cannot be used."""

    def __init__(self, reason: str, *, status: int | None = None) -> None:
        told = f"{reason}, status {status}" if status else reason
        super().__init__(f"the language model failed ({told})", retry_after=10)
        self.reason = reason
        self.status = status


class SetupError(GraphmemError):
    """graphmem cannot start; the sentence names the reason and the remedy."""


class SettingError(SetupError):
    """A setting has a value that cannot be used."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"{name}: {problem}")
        self.name = name


class JavaNotFound(SetupError):
    """There is no Java that can run Neo4j."""


class FetchFailed(SetupError):
    """A jar or a model could not be fetched, or is not the expected one."""


class ServerFailed(SetupError):
    """The private Neo4j did not start, did not answer in time, or died."""


class StoreUnreadable(ServerFailed):
    """The private Neo4j cannot open its store."""


class DataFolderInUse(SetupError):
    """Another process holds the data folder, and its server cannot be joined."""


class SchemaError(SetupError):
    """The database's schema is not one that this version of graphmem can use."""


class PatternDamaged(SetupError):
    """The header of a pattern's file is incomplete or wrong."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(f"cypher/patterns/{name}.cypher: {problem}")
        self.name = name


class ExtraMissing(SetupError, ImportError):
    """A part of graphmem needs a package that is not installed; the sentence names the extra."""

    def __init__(self, extra: str, needed: str) -> None:
        super().__init__(f"this needs {needed}: pip install 'graphmem[{extra}]'")
        self.extra = extra


class ModelMismatch(SetupError):
    """The database was written with another embedding model or tokenizer."""
