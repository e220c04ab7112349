"""The classes of the public API, without `await`; `make blocking` writes this file."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, cast, overload
from uuid import UUID

from msgspec import UNSET, UnsetType

from graphmem.blocking.event_loop import Blocking
from graphmem.client import Graphmem, When
from graphmem.clients import Clients, ClientUsage
from graphmem.contexts.context import (
    RESPONSE_TOKENS,
    TTL_SECONDS,
    Added,
    CreateContextOptions,
    RetrievalContext,
)
from graphmem.contextual.types import ContextualResult, Direction, MoreTurns, Narrowing
from graphmem.conversations.types import (
    Conversation,
    Conversations,
    Deleted,
    Messages,
    NewMessage,
    Remembered,
    Sessions,
)
from graphmem.entities.aliases import Alias, AliasesFound, Entities
from graphmem.episodes.types import Consolidated, KeptEpisode, MessageRange, Segmented
from graphmem.exploring.types import Audit, Outcome, Table
from graphmem.facts.types import (
    DEFAULT_CATEGORY,
    DEFAULT_SCOPE,
    Categories,
    FactVersion,
    KeptFact,
    NewFact,
)
from graphmem.forgetting.types import Receipt, Verified
from graphmem.hypotheses.types import Mode, Turn
from graphmem.jobs.outbox import Jobs, JobState
from graphmem.memories.chunk import ChunkOptions, ChunkResult, PeekResult
from graphmem.memories.links import Link, Links, NewLink
from graphmem.memories.lists import Memories
from graphmem.memories.types import Memory
from graphmem.memories.versions import Versions
from graphmem.model.vocabulary import (
    GivenLinkType,
    GivenStep,
    Kind,
    Ranking,
    Rating,
    ReferenceType,
    SourceType,
    SpanSource,
    SummaryType,
    TruncationStrategy,
)
from graphmem.neighbourhood.types import NODES, GraphSchema, Neighbourhood
from graphmem.patterns.types import PatternAnswer, Patterns
from graphmem.recall.types import Explanation, Recalled
from graphmem.references.types import (
    Content,
    NewReference,
    NewSpan,
    NewSpanMetadata,
    Reference,
    References,
    Span,
    SpanContent,
    SpanPointer,
)
from graphmem.retrieve_memory.types import Detail, Retrieved
from graphmem.reviews.types import Applied, Reviews, ReviewsRun, ReviewState
from graphmem.runs.environment import RunEnvironment
from graphmem.runs.session import Beginning, RunSession
from graphmem.runs.types import (
    Accesses,
    BudgetState,
    FixedBudget,
    OnAccess,
    RetrievalBudget,
    RetrievalResult,
    Run,
    RunOutcome,
    RunPeek,
    RunResult,
    Runs,
    RunSort,
    RunSourceType,
    RunStatus,
    TreeRun,
    WriteResult,
    WriteType,
)
from graphmem.search.retriever import MemoryRetriever, MemoryRetrieverConfig
from graphmem.search.types import Match, SearchQuery, SearchResult, SortBy, SpanSearchResult
from graphmem.sessions.related import RelatedSessions
from graphmem.summaries.types import Summaries, Summary


class BlockingBeginning(Blocking[Beginning]):
    """A run that starts at the start of a `with` block, whose end ends it, or when `begin` is called."""

    def begin(self) -> "BlockingRun":
        """Start the run without a block; end it with its method `end`."""
        return BlockingRun(self._wait(self._source.__aenter__), self._portal)

    def __enter__(self) -> "BlockingRun":
        return self.begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._wait(self._source.__aexit__, kind, problem, trace)


class BlockingRetriever(Blocking[MemoryRetriever]):
    """A `MemoryRetriever` whose methods are not awaited."""

    @property
    def config(self) -> MemoryRetrieverConfig:
        """`config` of the source."""
        return self._source.config

    def search(
        self,
        query: str | SearchQuery | Mapping[str, Any],
        *,
        match: Match | None = None,
        session_id: str | None = None,
        source_types: Sequence[SourceType] | None = None,
        source_ids: Sequence[str] | None = None,
        conversation_id: str | None = None,
        tags: Sequence[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_as_of: datetime | str | None = None,
        include_superseded: bool | None = None,
        max_results: int | None = None,
        max_tokens: int | None = None,
        min_relevance: float | None = None,
        sort_by: SortBy | None = None,
        max_hops: int | None = None,
        link_types: Sequence[GivenStep] | None = None,
        reads: Sequence[str] | None = None,
    ) -> SearchResult:
        """Return the memories that match a query, `*` for all.

        An argument that is not None replaces the field of that name in `query`; see `SearchQuery` for the
        fields and their ranges. Raises `InvalidInput`, `Unavailable`.
        """
        return self._wait(
            self._source.search,
            query,
            match=match,
            session_id=session_id,
            source_types=source_types,
            source_ids=source_ids,
            conversation_id=conversation_id,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
            max_results=max_results,
            max_tokens=max_tokens,
            min_relevance=min_relevance,
            sort_by=sort_by,
            max_hops=max_hops,
            link_types=link_types,
            reads=reads,
        )

    def search_with_hops(
        self,
        query: str | SearchQuery | Mapping[str, Any],
        *,
        max_hops: int | None = None,
        match: Match | None = None,
        session_id: str | None = None,
        source_types: Sequence[SourceType] | None = None,
        source_ids: Sequence[str] | None = None,
        conversation_id: str | None = None,
        tags: Sequence[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_as_of: datetime | str | None = None,
        include_superseded: bool | None = None,
        max_results: int | None = None,
        max_tokens: int | None = None,
        min_relevance: float | None = None,
        sort_by: SortBy | None = None,
        link_types: Sequence[GivenStep] | None = None,
        reads: Sequence[str] | None = None,
    ) -> SearchResult:
        """Return the results of `search`, with the memories one link away unless `max_hops` (0–3) is given.

        Raises `InvalidInput`, `Unavailable`.
        """
        return self._wait(
            self._source.search_with_hops,
            query,
            max_hops=max_hops,
            match=match,
            session_id=session_id,
            source_types=source_types,
            source_ids=source_ids,
            conversation_id=conversation_id,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
            max_results=max_results,
            max_tokens=max_tokens,
            min_relevance=min_relevance,
            sort_by=sort_by,
            link_types=link_types,
            reads=reads,
        )

    def peek(self, memory_id: str, *, client_id: str | None = None) -> PeekResult | None:
        """Return a memory without its content; None if it does not exist. Raises `Unavailable`."""
        return self._wait(self._source.peek, memory_id, client_id=client_id)

    def chunk(
        self,
        memory_id: str,
        options: ChunkOptions | Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
        truncation_strategy: TruncationStrategy | None = None,
        include_header: bool | None = None,
        client_id: str | None = None,
    ) -> ChunkResult:
        """Return the part of a memory that fits into `max_tokens`.

        An argument that is not None replaces the field of that name in `options`. Raises `InvalidInput`,
        `ItemNotFound`, `ContentDamaged`, `Unavailable`.
        """
        return self._wait(
            self._source.chunk,
            memory_id,
            options,
            max_tokens=max_tokens,
            truncation_strategy=truncation_strategy,
            include_header=include_header,
            client_id=client_id,
        )

    def create_context(
        self,
        options: CreateContextOptions | Mapping[str, Any] | None = None,
        *,
        max_tokens: int | None = None,
        system_prompt: str | None = None,
        reserved_for_response: int | None = None,
        ttl_seconds: int | None = None,
    ) -> RetrievalContext:
        """Create a context of `max_tokens`, which is required.

        An argument that is not None replaces the field of that name in `options`. Raises `InvalidInput`,
        `Unavailable`.
        """
        return self._wait(
            self._source.create_context,
            options,
            max_tokens=max_tokens,
            system_prompt=system_prompt,
            reserved_for_response=reserved_for_response,
            ttl_seconds=ttl_seconds,
        )

    def context(self, context: RetrievalContext | str) -> RetrievalContext:
        """Return the present state of a context. Raises `ContextNotFound`, `Unavailable`."""
        return self._wait(self._source.context, context)

    def add_to_context(self, context: RetrievalContext | str, memory_id: str) -> bool:
        """Add the part of a memory that fits; return False, and change nothing, if nothing of it fits.

        Raises `InvalidInput`, `ContextNotFound`, `ItemNotFound`, `Unavailable`.
        """
        return self._wait(self._source.add_to_context, context, memory_id)

    def compose_context(self, context: RetrievalContext | str) -> str:
        """Return a context as one text. Raises `ContextNotFound`, `Unavailable`."""
        return self._wait(self._source.compose_context, context)


class BlockingRun(Blocking[RunSession]):
    """A `RunSession` whose methods are not awaited."""

    @property
    def id(self) -> str:
        """The run's id: `session-` and a random part."""
        return self._source.id

    @property
    def client_id(self) -> str:
        """The client that owns the run."""
        return self._source.client_id

    @property
    def agent_type(self) -> str:
        """The caller's name for the kind of agent."""
        return self._source.agent_type

    @property
    def episode_id(self) -> str:
        """The caller's name for the task that the run belongs to."""
        return self._source.episode_id

    @property
    def parent_session_id(self) -> str | None:
        """The id of the parent run; None at the root."""
        return self._source.parent_session_id

    @property
    def depth(self) -> int:
        """The number of runs above it, 0–4."""
        return self._source.depth

    @property
    def started_at(self) -> datetime:
        """The time at which the run started."""
        return self._source.started_at

    @property
    def status(self) -> RunStatus:
        """Whether the run is active, or how it ended."""
        return self._source.status

    @property
    def outcome(self) -> RunOutcome | None:
        """The outcome of the run; None while it is active."""
        return self._source.outcome

    @property
    def budget(self) -> BudgetState:
        """The remaining budget; its times are those of the present."""
        return self._source.budget

    def refresh(self) -> Run:
        """Return the present state of the run, with the usage of its children.

        Raises `RunNotFound`, `Unavailable`.
        """
        return self._wait(self._source.refresh)

    def retrieve(
        self,
        query: str | Sequence[float],
        *,
        max_tokens: int,
        source_types: Sequence[RunSourceType] | None = None,
        source_ids: Sequence[str] | None = None,
        min_relevance: float | None = None,
        sort_by: RunSort = "relevance",
        cursor: str | None = None,
        operation_id: str | None = None,
    ) -> RetrievalResult:
        """Return the best spans for a question, charged to the run.

        Args:
            query: a text of 1–32,768 characters, or an embedding of the model's dimensions.
            max_tokens: the tokens that the spans may have together, 1–1,000,000,000.
            source_types: only spans of these source types, 1–8 of them.
            source_ids: only spans of these sources, 1–64 ids.
            min_relevance: only spans of at least this relevance, 0–1.
            sort_by: `relevance`, `recency` or `importance`.
            cursor: the `cursor` of the page before this one.
            operation_id: the caller's name for this operation; a repetition is not charged again.

        Raises:
            InvalidInput: an argument is out of range.
            BudgetExhausted: the run has fewer tokens left than `max_tokens`.
            RunNotFound, RunEnded, RunTimeout: the run is not active.
            OperationReused: the operation_id belongs to another operation of this run.
            Unavailable: the database does not answer, and no retry is left.
        """
        return self._wait(
            self._source.retrieve,
            query,
            max_tokens=max_tokens,
            source_types=source_types,
            source_ids=source_ids,
            min_relevance=min_relevance,
            sort_by=sort_by,
            cursor=cursor,
            operation_id=operation_id,
        )

    def peek(
        self, span_id: str, *, include_content: bool = False, operation_id: str | None = None
    ) -> RunPeek:
        """Return a span, free of charge.

        Args:
            span_id: the id of the span, 1–256 characters.
            include_content: whether to return the first 100 tokens of the content too.
            operation_id: the caller's name for this operation.

        Raises:
            InvalidInput, SpanNotFound, ContentDamaged, RunNotFound, RunEnded, RunTimeout,
            OperationReused, Unavailable.
        """
        return self._wait(
            self._source.peek, span_id, include_content=include_content, operation_id=operation_id
        )

    def write(
        self,
        *,
        type: WriteType,
        content: str,
        metadata: Mapping[str, Any] | None = None,
        operation_id: str | None = None,
    ) -> WriteResult:
        """Write a text that every agent of the client finds at once; it is free of charge.

        Args:
            type: `summary`, `log` or `artifact`.
            content: the text, at most 1,000,000 bytes of UTF-8.
            metadata: JSON of at most 100,000 bytes; its words find the text too.
            operation_id: the caller's name for this operation; a repetition writes nothing.

        Raises:
            InvalidInput, TooLarge, RunNotFound, RunEnded, RunTimeout, OperationReused, Unavailable.
        """
        return self._wait(
            self._source.write,
            type=type,
            content=content,
            metadata=metadata,
            operation_id=operation_id,
        )

    def subcall(
        self,
        *,
        agent_type: str,
        budget_fraction: float,
        fixed_budget: FixedBudget | Mapping[str, int] | None = None,
        operation_id: str | None = None,
    ) -> "BlockingBeginning":
        """Start a child with a part of the remaining budget: await it, or use it with `async with`.

        Args:
            agent_type: the kind of agent of the child, 1–256 characters.
            budget_fraction: the part of the remaining budget, 0–1.
            fixed_budget: amounts that replace the fraction, field by field, as far as they remain.
            operation_id: the caller's name for this operation; a repetition returns the same child.

        Raises, when the child starts:
            InvalidInput, RunNotFound, ChildlessBudget, TooDeep, TooManyRuns, RunEnded, RunTimeout,
            OperationReused, Unavailable.
        """
        return BlockingBeginning(
            self._source.subcall(
                agent_type=agent_type,
                budget_fraction=budget_fraction,
                fixed_budget=fixed_budget,
                operation_id=operation_id,
            ),
            self._portal,
        )

    def end(self, outcome: RunOutcome) -> RunResult:
        """End the run and all below it, and return its totals; a repetition changes nothing.

        Raises `InvalidInput`, `RunNotFound`, `Unavailable`.
        """
        return self._wait(self._source.end, outcome)

    def tree(self) -> TreeRun:
        """Return the run with all runs below it. Raises `RunNotFound`, `Unavailable`."""
        return self._wait(self._source.tree)

    def accesses(self, *, limit: int = 50, cursor: str | None = None) -> Accesses:
        """Return the recorded operations of the run, newest first.

        Args:
            limit: the maximum number of operations, 1–200.
            cursor: the `cursor` of the page before this one.

        Raises:
            InvalidInput, RunNotFound, Unavailable.
        """
        return self._wait(self._source.accesses, limit=limit, cursor=cursor)


class BlockingRuns(Blocking[RunEnvironment]):
    """A `RunEnvironment` whose methods are not awaited."""

    @property
    def default_budget(self) -> RetrievalBudget:
        """`default_budget` of the source."""
        return self._source.default_budget

    @property
    def client_id(self) -> str:
        """The client that owns the runs."""
        return self._source.client_id

    @property
    def max_concurrent_sessions(self) -> int:
        """The maximum number of the client's active runs."""
        return self._source.max_concurrent_sessions

    def run(
        self,
        *,
        agent_type: str,
        episode_id: str,
        budget: RetrievalBudget | Mapping[str, int] | None = None,
        parent_session_id: str | None = None,
        operation_id: str | None = None,
    ) -> BlockingBeginning:
        """Start a run: await it, or use it with `async with`; the arguments and errors are those of `start`.

        At the end of the block the run ends with the outcome `success`, or with that of the exception
        that leaves the block.
        """
        return BlockingBeginning(
            self._source.run(
                agent_type=agent_type,
                episode_id=episode_id,
                budget=budget,
                parent_session_id=parent_session_id,
                operation_id=operation_id,
            ),
            self._portal,
        )

    def find(self, run_id: str) -> BlockingRun | None:
        """Return a run to continue, or None if the client has no such run. Raises `Unavailable`."""
        found = self._wait(self._source.find, run_id)
        return None if found is None else BlockingRun(found, self._portal)

    def start(
        self,
        *,
        agent_type: str,
        episode_id: str,
        budget: RetrievalBudget | Mapping[str, int] | None = None,
        parent_session_id: str | None = None,
        operation_id: str | None = None,
    ) -> Run:
        """Start a run.

        Args:
            agent_type: the kind of agent, 1–256 characters.
            episode_id: the task that the run belongs to, 1–256 characters.
            budget: `max_tokens` 1–1,000,000,000, `max_time_ms` 1–604,800,000 (7 days), `max_retries`
                0–1,000; 10,000, 60,000 and 3 for those left out. None for the default budget.
            parent_session_id: the run whose budget the run's is taken from, as far as that remains.
            operation_id: the caller's name for this operation; a repetition returns the same run.

        Raises:
            InvalidInput: an argument is out of range.
            RunNotFound: there is no such parent.
            TooManyRuns: `max_concurrent_sessions` runs are active.
            OperationReused: the operation_id belongs to another start.
            ChildlessBudget, TooDeep, RunEnded, RunTimeout: the parent refuses a child.
            Unavailable: the database does not answer, and no retry is left.
        """
        return self._wait(
            self._source.start,
            agent_type=agent_type,
            episode_id=episode_id,
            budget=budget,
            parent_session_id=parent_session_id,
            operation_id=operation_id,
        )

    def show(self, run_id: str) -> Run:
        """Return the present state of a run. Raises `RunNotFound`, `Unavailable`."""
        return self._wait(self._source.show, run_id)

    def list_runs(
        self, *, status: RunStatus | None = None, limit: int = 50, cursor: str | None = None
    ) -> Runs:
        """Return the client's runs, most recently started first, 1–200 a page.

        So that runs whose ids were lost can be continued, or ended. Raises `InvalidInput`, `Unavailable`.
        """
        return self._wait(self._source.list_runs, status=status, limit=limit, cursor=cursor)

    def retrieve(
        self,
        run_id: str,
        *,
        query: str | Sequence[float],
        max_tokens: int,
        source_types: Sequence[RunSourceType] | None = None,
        source_ids: Sequence[str] | None = None,
        min_relevance: float | None = None,
        sort_by: RunSort = "relevance",
        cursor: str | None = None,
        operation_id: str | None = None,
    ) -> RetrievalResult:
        """Return the best spans for a question, charged to the run; see `RunSession.retrieve`."""
        return self._wait(
            self._source.retrieve,
            run_id,
            query=query,
            max_tokens=max_tokens,
            source_types=source_types,
            source_ids=source_ids,
            min_relevance=min_relevance,
            sort_by=sort_by,
            cursor=cursor,
            operation_id=operation_id,
        )

    def peek(
        self,
        run_id: str,
        *,
        span_id: str,
        include_content: bool = False,
        operation_id: str | None = None,
    ) -> RunPeek:
        """Return a span, free of charge; see `RunSession.peek`."""
        return self._wait(
            self._source.peek,
            run_id,
            span_id=span_id,
            include_content=include_content,
            operation_id=operation_id,
        )

    def write(
        self,
        run_id: str,
        *,
        type: WriteType,
        content: str,
        metadata: Mapping[str, Any] | None = None,
        operation_id: str | None = None,
    ) -> WriteResult:
        """Write a text that every agent of the client finds at once; see `RunSession.write`."""
        return self._wait(
            self._source.write,
            run_id,
            type=type,
            content=content,
            metadata=metadata,
            operation_id=operation_id,
        )

    def subcall(
        self,
        run_id: str,
        *,
        agent_type: str,
        budget_fraction: float,
        fixed_budget: FixedBudget | Mapping[str, int] | None = None,
        operation_id: str | None = None,
    ) -> Run:
        """Start a child with a part of the remaining budget; see `RunSession.subcall`."""
        return self._wait(
            self._source.subcall,
            run_id,
            agent_type=agent_type,
            budget_fraction=budget_fraction,
            fixed_budget=fixed_budget,
            operation_id=operation_id,
        )

    def end(
        self, run_id: str, *, outcome: RunOutcome, operation_id: str | None = None
    ) -> RunResult:
        """End a run and all below it, and return its totals; a repetition changes nothing.

        Raises `InvalidInput`, `RunNotFound`, `Unavailable`.
        """
        return self._wait(self._source.end, run_id, outcome=outcome, operation_id=operation_id)

    def tree(self, run_id: str) -> TreeRun:
        """Return a run with all runs below it, and the usage of each. Raises `RunNotFound`, `Unavailable`."""
        return self._wait(self._source.tree, run_id)

    def accesses(self, run_id: str, *, limit: int = 50, cursor: str | None = None) -> Accesses:
        """Return the recorded operations of a run, newest first; see `RunSession.accesses`."""
        return self._wait(self._source.accesses, run_id, limit=limit, cursor=cursor)


class BlockingGraphmem(Blocking[Graphmem]):
    """A `Graphmem` whose methods are not awaited; `with graphmem.open() as memory:` gives one."""

    @property
    def client_id(self) -> str:
        """`client_id` of the source."""
        return self._source.client_id

    def for_client(self, client_id: str) -> "BlockingGraphmem":
        """Return the same graphmem as another client sees it."""
        return BlockingGraphmem(self._source.for_client(client_id), self._portal)

    def open_conversation(
        self,
        id: str | None = None,
        *,
        title: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
    ) -> Conversation:
        """Open a conversation, or return the existing one with this id.

        The given fields of an existing conversation are changed.

        Args:
            id: 1–128 letters, digits and `. _ : -`; None generates one.
            metadata: at most 4,096 bytes of JSON; returned as it came.
            tags: at most 32, each of 1–64 characters without commas.
        """
        return self._wait(
            self._source.open_conversation, id, title=title, metadata=metadata, tags=tags
        )

    def change_conversation(
        self,
        conversation_id: str,
        *,
        title: str | UnsetType | None = UNSET,
        metadata: Mapping[str, Any] | UnsetType | None = UNSET,
        tags: Sequence[str] | UnsetType = UNSET,
    ) -> Conversation:
        """Change the given fields of a conversation; None or an empty list removes a value.

        Raises `ConversationNotFound`.
        """
        return self._wait(
            self._source.change_conversation,
            conversation_id,
            title=title,
            metadata=metadata,
            tags=tags,
        )

    def remember(
        self,
        conversation_id: str,
        messages: Iterable[NewMessage | Mapping[str, Any]],
        *,
        create: bool = False,
    ) -> Remembered:
        """Append 1–1,000 messages to a conversation, all or none; return their ids in order.

        The messages are searchable on return. Raises `ConversationNotFound` unless `create`.

        Args:
            messages: each with a `role` and a `content`; see `NewMessage` for the other fields.
            create: open the conversation if there is none with this id.
        """
        return self._wait(self._source.remember, conversation_id, messages, create=create)

    def conversations(
        self, *, tags: Sequence[str] | None = None, limit: int = 50, cursor: str | None = None
    ) -> Conversations:
        """Return a page of 1–200 conversations, the latest first, and their total number.

        With `tags`, only conversations that have all of these tags.
        """
        return self._wait(self._source.conversations, tags=tags, limit=limit, cursor=cursor)

    def sessions(
        self, conversation_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> Sessions:
        """Return a page of 1–200 sessions of a conversation, the latest first, and their total number.

        Raises `ConversationNotFound`.
        """
        return self._wait(self._source.sessions, conversation_id, limit=limit, cursor=cursor)

    def messages(
        self,
        conversation_id: str,
        *,
        session_id: str | None = None,
        since: When | None = None,
        until: When | None = None,
        tags: Sequence[str] | None = None,
        order: Literal["newest", "oldest"] = "oldest",
        limit: int = 50,
        cursor: str | None = None,
    ) -> Messages:
        """Return a page of 1–200 messages of a conversation, and their total number.

        They come in the order in which they were added, with `order="newest"` in the reverse one.

        `session_id` is the caller's name of a session, or its own id. `since` is inclusive, `until`
        exclusive and later. Raises `ConversationNotFound`.
        """
        return self._wait(
            self._source.messages,
            conversation_id,
            session_id=session_id,
            since=since,
            until=until,
            tags=tags,
            order=order,
            limit=limit,
            cursor=cursor,
        )

    def delete_conversation(self, conversation_id: str) -> Deleted:
        """Delete a conversation with everything in it. Raises `ConversationNotFound`."""
        return self._wait(self._source.delete_conversation, conversation_id)

    def remember_episode(
        self,
        conversation_id: str,
        *,
        messages: Iterable[NewMessage | Mapping[str, Any]] | None = None,
        message_ids: Sequence[str] | None = None,
        range: MessageRange | Mapping[str, Any] | None = None,
        title: str | None = None,
        summary: str | None = None,
        surprise: float | None = None,
        start_at: When | None = None,
        end_at: When | None = None,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        expires_at: When | None = None,
    ) -> KeptEpisode:
        """Remember a run of messages as an episode: exactly one of `messages`, `message_ids` and `range`.

        Omitted fields are computed from the messages. Raises `ConversationNotFound`, `SessionNotFound`, and
        `MemoryNotFound` for a message.

        Args:
            messages: 1–200 new messages, which are remembered first.
            message_ids: the ids of 1–200 stored messages.
            range: stored messages of one session, by `session_id`, `from_idx` and `to_idx`, both included.
            summary: the text that is searched, at most 20,000 bytes of UTF-8.
            surprise: the distance from earlier episodes, 0–1; from .7 on a key moment.
            start_at, end_at: the times of the episode.
            metadata, tags, expires_at: see `remember_fact`.
        """
        return self._wait(
            self._source.remember_episode,
            conversation_id,
            messages=messages,
            message_ids=message_ids,
            range=range,
            title=title,
            summary=summary,
            surprise=surprise,
            start_at=start_at,
            end_at=end_at,
            metadata=metadata,
            tags=tags,
            expires_at=expires_at,
        )

    def segment(self, conversation_id: str, *, leave_growing: bool = False) -> Segmented:
        """Make episodes of the messages without one, and rate the pending reviews.

        Messages of an episode that was deleted, forgotten or has expired itself are left alone.

        With `leave_growing` the last run of each session that is not idle is left for later, because the next
        message may belong to it. Raises `ConversationNotFound`.
        """
        return self._wait(self._source.segment, conversation_id, leave_growing=leave_growing)

    def consolidate(self, conversation_id: str) -> Consolidated:
        """Derive facts from episodes with the language model, oldest first; the answer says if it is off.

        Raises `ConversationNotFound`, `ModelFailed`.
        """
        return self._wait(self._source.consolidate, conversation_id)

    def remember_facts(self, new: Iterable[NewFact | Mapping[str, Any]]) -> list[KeptFact]:
        """Remember 1–100 facts, all or none; return for each whether it is new or known and reinforced.

        A known one keeps its `valid_at` and its `metadata`.

        Raises `ConversationNotFound`, and `MemoryNotFound` for a source.
        """
        return self._wait(self._source.remember_facts, new)

    def remember_fact(
        self,
        fact: str,
        *,
        category: str = DEFAULT_CATEGORY,
        conversation_id: str | None = None,
        scope: str = DEFAULT_SCOPE,
        keywords: Sequence[str] = (),
        source_episode_ids: Sequence[str] = (),
        valid_at: When | None = None,
        importance: float = 0.5,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        expires_at: When | None = None,
    ) -> KeptFact:
        """Remember one fact; the answer says whether it is new or known and reinforced.

        Raises `ConversationNotFound`, and `MemoryNotFound` for a source.

        Args:
            fact: one statement that is understood alone, at most 10,000 bytes of UTF-8.
            category: one of `categories()`.
            conversation_id: `retrieve_memory` finds only facts of its conversation; `recall` finds all.
            scope: the subject: `user`, `repo` or a short word of your own.
            keywords: searched like the fact itself.
            source_episode_ids: the episodes or messages that it is derived from.
            valid_at: since when it is true; None for now.
            importance: 0–1; `search` can sort by it, `recall` does not use it.
            metadata: at most 4,096 bytes of JSON; returned as it came.
            tags: at most 32, each of 1–64 characters without commas.
            expires_at: from then on it is found nowhere, and it is deleted.
        """
        return self._wait(
            self._source.remember_fact,
            fact,
            category=category,
            conversation_id=conversation_id,
            scope=scope,
            keywords=keywords,
            source_episode_ids=source_episode_ids,
            valid_at=valid_at,
            importance=importance,
            metadata=metadata,
            tags=tags,
            expires_at=expires_at,
        )

    def supersede_fact(
        self,
        fact_id: str,
        fact: str,
        *,
        valid_at: When | None = None,
        reason: str | None = None,
        category: str | None = None,
        conversation_id: str | None = None,
        scope: str | None = None,
        keywords: Sequence[str] | None = None,
        importance: float | None = None,
        source_episode_ids: Sequence[str] = (),
    ) -> FactVersion:
        """Write the next version of a fact; omitted fields keep their value, except the sources.

        It has the links of the fact too, except those of the types `contradicts` and `derived_from`.

        Raises `MemoryNotFound`, `ConversationNotFound`, and `NotHead` when another version was written first.

        Args:
            fact_id: the newest version.
            valid_at: since when the new version is true; None for now, or for the fact's own start if that is
                later.
            reason: stored, and returned by `versions`; at most 2,000 bytes of UTF-8.
            category, conversation_id, scope, keywords, importance: see `remember_fact`.
            source_episode_ids: the episodes or messages that the new version is derived from.
        """
        return self._wait(
            self._source.supersede_fact,
            fact_id,
            fact,
            valid_at=valid_at,
            reason=reason,
            category=category,
            conversation_id=conversation_id,
            scope=scope,
            keywords=keywords,
            importance=importance,
            source_episode_ids=source_episode_ids,
        )

    def categories(self) -> Categories:
        """Return the categories that this client's facts may have."""
        return self._wait(self._source.categories)

    def set_categories(self, categories: Iterable[str]) -> Categories:
        """Choose the 1–100 categories that new facts may have; stored facts keep theirs."""
        return self._wait(self._source.set_categories, categories)

    def memory(self, memory_id: str, *, client_id: str | None = None) -> Memory:
        """Return one memory of any kind, that of another client by the `client_id` of its item.

        Raises `MemoryNotFound`.
        """
        return self._wait(self._source.memory, memory_id, client_id=client_id)

    def memories(
        self,
        *,
        kinds: Sequence[Kind] | None = None,
        external_id: str | None = None,
        conversation_id: str | None = None,
        session_id: str | None = None,
        source_type: SourceType | None = None,
        source_id: str | None = None,
        category: str | None = None,
        scope: str | None = None,
        tags: Sequence[str] | None = None,
        since: When | None = None,
        until: When | None = None,
        as_of: When | None = None,
        known_as_of: When | None = None,
        include_superseded: bool = False,
        order: Literal["newest", "oldest"] = "newest",
        limit: int = 50,
        cursor: str | None = None,
        client_id: str | None = None,
    ) -> Memories:
        """Return a page of memories in the order of their times, and their total number.

        Without `as_of`, `known_as_of` and `include_superseded`, only memories that are valid now.

        Args:
            kinds: only these kinds.
            external_id: only messages to which the caller gave this id.
            session_id: graphmem's id of the session, or beside `conversation_id` the caller's name for it.
            source_type: the origin, such as `knowledge_base` or `session_summary`.
            source_id: the caller's name of the source of references, summaries and spans.
            category, scope: only facts have them.
            tags, as_of, known_as_of, include_superseded: see `recall`.
            since, until: a period of the times when they happened, `until` exclusive and later.
            limit, cursor: the entries on a page, 1–200, and the cursor of the page before.
            client_id: list the memories of another client that may be read.
        """
        return self._wait(
            self._source.memories,
            kinds=kinds,
            external_id=external_id,
            conversation_id=conversation_id,
            session_id=session_id,
            source_type=source_type,
            source_id=source_id,
            category=category,
            scope=scope,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
            order=order,
            limit=limit,
            cursor=cursor,
            client_id=client_id,
        )

    def annotate(
        self,
        memory_id: str,
        *,
        metadata: Mapping[str, Any] | UnsetType | None = UNSET,
        tags: Sequence[str] | UnsetType = UNSET,
        expires_at: When | UnsetType | None = UNSET,
    ) -> Memory:
        """Change the given annotations of a message, an episode, a fact or a reference, in all its versions.

        None or an empty list removes a value. Raises `MemoryNotFound`.

        Args:
            metadata, tags, expires_at: see `remember_fact`.
        """
        return self._wait(
            self._source.annotate, memory_id, metadata=metadata, tags=tags, expires_at=expires_at
        )

    def delete_memory(self, memory_id: str) -> Deleted:
        """Delete one memory permanently, with all its versions, and a reference with its spans.

        Episodes and summaries that were made of it stay as they are: `forget` deletes these too. A deleted
        episode is not made again of its messages.

        Raises `MemoryNotFound`, and `PartOfContent` for a span of a reference's content.
        """
        return self._wait(self._source.delete_memory, memory_id)

    def forget(
        self,
        *,
        memory_ids: Sequence[str] | None = None,
        conversation_id: str | None = None,
        session_id: str | None = None,
        tags: Sequence[str] | None = None,
        since: When | None = None,
        until: When | None = None,
        name: str | None = None,
        dry_run: bool = False,
    ) -> Receipt:
        """Delete the memories that meet all given conditions, with everything made of them.

        That includes all versions, the episodes and summaries of messages, everything derived from them, and
        the recorded questions that found them. Raises `LegalHold`.

        Args:
            memory_ids: these memories, at most 1,000.
            conversation_id: those of this conversation; alone, the conversation as well.
            session_id: the id that graphmem gave to the session, or beside `conversation_id` the caller's
                name for it.
            tags: those that have all of these.
            since, until: a period, see `memories`.
            name: those that this person said, or that mention this person or thing by any name.
            dry_run: count, and delete nothing.
        """
        return self._wait(
            self._source.forget,
            memory_ids=memory_ids,
            conversation_id=conversation_id,
            session_id=session_id,
            tags=tags,
            since=since,
            until=until,
            name=name,
            dry_run=dry_run,
        )

    def forget_client(self, *, dry_run: bool = False) -> Receipt:
        """Delete everything of this client, unless `dry_run`; return the receipt. Raises `LegalHold`."""
        return self._wait(self._source.forget_client, dry_run=dry_run)

    def verify_forgotten(self, *, text: str | None = None, id: str | None = None) -> Verified:
        """Search every property of this client's nodes and edges for a text, in any case, or an id.

        It reads the whole store.
        """
        return self._wait(self._source.verify_forgotten, text=text, id=id)

    def begin_hold(self, reason: str) -> None:
        """Put this client under a legal hold: no memory is deleted or expires until `end_hold`."""
        self._wait(self._source.begin_hold, reason)

    def end_hold(self) -> None:
        """Allow deletion again; memories that have expired meanwhile are deleted."""
        self._wait(self._source.end_hold)

    def versions(
        self, memory_id: str, *, known_as_of: When | None = None, as_of: When | None = None
    ) -> Versions:
        """Return the versions of a memory, oldest first. Raises `MemoryNotFound`.

        Args:
            known_as_of: only versions that were recorded by then.
            as_of: only versions that had become valid by then.
        """
        return self._wait(self._source.versions, memory_id, known_as_of=known_as_of, as_of=as_of)

    def link(
        self,
        from_id: str,
        to_id: str,
        type: GivenLinkType,
        *,
        start_byte: int | None = None,
        end_byte: int | None = None,
    ) -> Link:
        """Link two memories; an existing link is returned unchanged.

        Raises `MemoryNotFound`, and `NotHead` for a new link with a memory that has a newer version.

        Args:
            type: `relates_to`, `references`, `refines`, `contradicts` or `derived_from`.
            start_byte, end_byte: a range in bytes, the end exclusive, for the type `references` only.
        """
        return self._wait(
            self._source.link, from_id, to_id, type, start_byte=start_byte, end_byte=end_byte
        )

    def link_all(self, new: Iterable[NewLink | Mapping[str, Any]]) -> list[Link]:
        """Make 1–500 links, all or none. Raises `MemoryNotFound`, `NotHead`; see `link`."""
        return self._wait(self._source.link_all, new)

    def unlink(
        self,
        from_id: str,
        to_id: str,
        type: GivenLinkType,
        *,
        start_byte: int | None = None,
        end_byte: int | None = None,
    ) -> None:
        """Delete the link that `link` made from the same arguments; `relates_to` from either end.

        Other versions of the two memories lose it too. Raises `LinkNotFound`.
        """
        self._wait(
            self._source.unlink, from_id, to_id, type, start_byte=start_byte, end_byte=end_byte
        )

    def links(
        self,
        memory_id: str,
        *,
        type: GivenLinkType | None = None,
        kind: Kind | None = None,
        include_superseded: bool = False,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Links:
        """Return a memory's links in either direction, newest first. Raises `MemoryNotFound`.

        Args:
            type: only links of this type.
            kind: only links to memories of this kind.
            include_superseded: show links to superseded and ended memories too, not only to what holds now.
            limit: the entries on a page, 1–200.
            cursor: that of the page before.
        """
        return self._wait(
            self._source.links,
            memory_id,
            type=type,
            kind=kind,
            include_superseded=include_superseded,
            limit=limit,
            cursor=cursor,
        )

    def search(
        self,
        query: str,
        *,
        match: Match = "relevance",
        session_id: str | None = None,
        source_types: Sequence[SourceType] | None = None,
        source_ids: Sequence[str] | None = None,
        conversation_id: str | None = None,
        tags: Sequence[str] | None = None,
        since: When | None = None,
        until: When | None = None,
        as_of: When | None = None,
        known_as_of: When | None = None,
        include_superseded: bool = False,
        max_results: int = 10,
        max_tokens: int | None = None,
        min_relevance: float | None = None,
        sort_by: SortBy | None = None,
        max_hops: int = 0,
        link_types: Sequence[GivenStep] | None = None,
        reads: Sequence[str] | None = None,
    ) -> SearchResult:
        """Return the memories that match a query, and those that are linked to them within `max_hops`.

        Args:
            query: words or a question, 1–32,768 characters; `*` matches everything.
            match: `exact` finds the texts of a session or conversation that contain the query, in any case.
            session_id: for `match="exact"` only; see `memories`.
            source_types, source_ids: search these origins and sources only; None searches all kinds.
            conversation_id, tags, since, until, as_of, known_as_of, include_superseded, reads: see `recall`.
            max_results, max_tokens: the maximum of items, 1–200, and of their `token_estimate` together.
            min_relevance: leave out memories below this relevance, 0–1.
            sort_by: the order; None for `relevance`, with hops for `combined` with the importance.
            max_hops: the number of edges to follow from a match, 0–3.
            link_types: follow these edges only; None follows links, summaries and names.
        """
        return self._wait(
            self._source.search,
            query,
            match=match,
            session_id=session_id,
            source_types=source_types,
            source_ids=source_ids,
            conversation_id=conversation_id,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
            max_results=max_results,
            max_tokens=max_tokens,
            min_relevance=min_relevance,
            sort_by=sort_by,
            max_hops=max_hops,
            link_types=link_types,
            reads=reads,
        )

    def search_with_hops(
        self,
        query: str,
        *,
        max_hops: int = 1,
        match: Match = "relevance",
        session_id: str | None = None,
        source_types: Sequence[SourceType] | None = None,
        source_ids: Sequence[str] | None = None,
        conversation_id: str | None = None,
        tags: Sequence[str] | None = None,
        since: When | None = None,
        until: When | None = None,
        as_of: When | None = None,
        known_as_of: When | None = None,
        include_superseded: bool = False,
        max_results: int = 10,
        max_tokens: int | None = None,
        min_relevance: float | None = None,
        sort_by: SortBy | None = None,
        link_types: Sequence[GivenStep] | None = None,
        reads: Sequence[str] | None = None,
    ) -> SearchResult:
        """Return the results of `search`, with the memories linked within `max_hops`, by default one.

        The other arguments are those of `search`.
        """
        return self._wait(
            self._source.search_with_hops,
            query,
            max_hops=max_hops,
            match=match,
            session_id=session_id,
            source_types=source_types,
            source_ids=source_ids,
            conversation_id=conversation_id,
            tags=tags,
            since=since,
            until=until,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
            max_results=max_results,
            max_tokens=max_tokens,
            min_relevance=min_relevance,
            sort_by=sort_by,
            link_types=link_types,
            reads=reads,
        )

    def search_spans(
        self,
        query: str,
        *,
        source_types: Sequence[SourceType] | None = None,
        source_ids: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        as_of: When | None = None,
        known_as_of: When | None = None,
        include_superseded: bool = False,
        limit: int = 10,
        min_relevance: float | None = None,
    ) -> SpanSearchResult:
        """Return the spans that match a query, best first.

        Args:
            source_types: search spans of these types of sources only.
            limit: the maximum number of spans, 1–200.
            query, source_ids, tags, as_of, known_as_of, include_superseded, min_relevance: see `search`.
        """
        return self._wait(
            self._source.search_spans,
            query,
            source_types=source_types,
            source_ids=source_ids,
            tags=tags,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
            limit=limit,
            min_relevance=min_relevance,
        )

    def peek(self, memory_id: str, *, client_id: str | None = None) -> PeekResult:
        """Return a memory's card without its content, that of another client by the `client_id` of its item.

        Raises `MemoryNotFound`.
        """
        return self._wait(self._source.peek, memory_id, client_id=client_id)

    def chunk(
        self,
        memory_id: str,
        *,
        max_tokens: int,
        truncation_strategy: TruncationStrategy = "end",
        include_header: bool = False,
        client_id: str | None = None,
    ) -> ChunkResult:
        """Return the part of a memory's text that fits into `max_tokens`.

        Raises `ItemNotFound`, `ContentDamaged`.

        Args:
            max_tokens: the maximum of the content, header and ellipsis included, 1–1,000,000.
            truncation_strategy: `end` keeps the beginning, `sentence` whole sentences of it, `middle` the
                beginning and the end.
            include_header: begin with a line that names the source type and the label.
            client_id: that of the memory's item, if it is another client's.
        """
        return self._wait(
            self._source.chunk,
            memory_id,
            max_tokens=max_tokens,
            truncation_strategy=truncation_strategy,
            include_header=include_header,
            client_id=client_id,
        )

    def create_context(
        self,
        *,
        max_tokens: int,
        system_prompt: str | None = None,
        reserved_for_response: int = RESPONSE_TOKENS,
        ttl_seconds: int = TTL_SECONDS,
    ) -> RetrievalContext:
        """Create a context that collects chunks of memories and expires after a while.

        Args:
            max_tokens: the limit of the composed text and the reserve together, 1–200,000.
            system_prompt: its first section, which counts too.
            reserved_for_response: the tokens that stay free for the model's answer.
            ttl_seconds: its life, at most a week.
        """
        return self._wait(
            self._source.create_context,
            max_tokens=max_tokens,
            system_prompt=system_prompt,
            reserved_for_response=reserved_for_response,
            ttl_seconds=ttl_seconds,
        )

    def context(self, context_id: str) -> RetrievalContext:
        """Return a context with its sections. Raises `ContextNotFound`."""
        return self._wait(self._source.context, context_id)

    def add_to_context(self, context_id: str, memory_id: str) -> Added:
        """Add the part of a memory that fits into a context, at most 500 tokens.

        Raises `ContextNotFound`, `ItemNotFound`, `ContentDamaged`.
        """
        return self._wait(self._source.add_to_context, context_id, memory_id)

    def delete_context(self, context_id: str) -> None:
        """Delete a context before it expires; the memories stay. Raises `ContextNotFound`."""
        self._wait(self._source.delete_context, context_id)

    def compose_context(self, context_id: str) -> str:
        """Return a context as one text. Raises `ContextNotFound`."""
        return self._wait(self._source.compose_context, context_id)

    def retriever(
        self, *, default_max_results: int = 10, default_max_tokens_per_chunk: int = 500
    ) -> BlockingRetriever:
        """Return a retriever with these defaults, for agents that search, peek, chunk and collect.

        Args:
            default_max_results: the items of a search that names no number.
            default_max_tokens_per_chunk: the tokens of a chunk that names no number.
        """
        return BlockingRetriever(
            self._source.retriever(
                default_max_results=default_max_results,
                default_max_tokens_per_chunk=default_max_tokens_per_chunk,
            ),
            self._portal,
        )

    def recall(
        self,
        query: str,
        *,
        conversation_id: str | None = None,
        kinds: Sequence[Kind] | None = None,
        tags: Sequence[str] | None = None,
        limit: int | None = None,
        max_tokens: int = 2048,
        since: When | None = None,
        until: When | None = None,
        as_of: When | None = None,
        known_as_of: When | None = None,
        include_superseded: bool = False,
        time_zone: str | None = None,
        ranking: Ranking = "default",
        abstain: bool = False,
        min_relevance: float | None = None,
        explain: bool = False,
        reads: Sequence[str] | None = None,
    ) -> Recalled:
        """Return the best context for a question: as many memories as fit into `max_tokens`.

        Args:
            query: the question, 1–32,768 characters.
            conversation_id: search this conversation only; None searches all memories.
            kinds, tags: search these kinds only, and memories that have all of these tags.
            limit: the maximum number of memories, 1–200, by rank; None prefers the shorter of like scores.
            max_tokens: the budget of the context, 1–200,000 tokens.
            since, until: the beginning of a period, inclusive, and its end, exclusive and later.
            as_of, known_as_of: answer with what was valid on this day, and recorded by this time.
            include_superseded: also search versions that a newer one has replaced.
            time_zone: such as `Europe/Berlin`, for shown times and `yesterday`; None for UTC.
            ranking: the order of the memories.
            abstain: return an empty context, and set `abstained`, if nothing is relevant enough.
            min_relevance: leave out memories below this relevance, 0–1.
            explain: also return weights, milliseconds by step, and the memories that have lifted each item.
            reads: the other clients to ask; None asks all that may be read.
        """
        return self._wait(
            self._source.recall,
            query,
            conversation_id=conversation_id,
            kinds=kinds,
            tags=tags,
            limit=limit,
            max_tokens=max_tokens,
            since=since,
            until=until,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
            time_zone=time_zone,
            ranking=ranking,
            abstain=abstain,
            min_relevance=min_relevance,
            explain=explain,
            reads=reads,
        )

    def explain(
        self,
        query: str,
        memory_id: str,
        *,
        conversation_id: str | None = None,
        kinds: Sequence[Kind] | None = None,
        tags: Sequence[str] | None = None,
        limit: int | None = None,
        max_tokens: int = 2048,
        since: When | None = None,
        until: When | None = None,
        as_of: When | None = None,
        known_as_of: When | None = None,
        include_superseded: bool = False,
        time_zone: str | None = None,
        ranking: Ranking = "default",
        abstain: bool = False,
        min_relevance: float | None = None,
        explain: bool = False,
        reads: Sequence[str] | None = None,
        client_id: str | None = None,
    ) -> Explanation:
        """Return the stage at which `recall` leaves out a memory, and by how much it fell short.

        `client_id` is that of the memory's item; the other arguments are those of `recall`. For a memory that
        is no candidate, the rank is computed from all memories of its client that pass the filters, which
        takes longer than a recall.
        """
        return self._wait(
            self._source.explain,
            query,
            memory_id,
            conversation_id=conversation_id,
            kinds=kinds,
            tags=tags,
            limit=limit,
            max_tokens=max_tokens,
            since=since,
            until=until,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
            time_zone=time_zone,
            ranking=ranking,
            abstain=abstain,
            min_relevance=min_relevance,
            explain=explain,
            reads=reads,
            client_id=client_id,
        )

    def search_contextual(
        self,
        query: str,
        *,
        top_sessions: int = 3,
        top_k: int = 5,
        neighbours: int = 1,
        conversation_id: str | None = None,
        tags: Sequence[str] | None = None,
        max_tokens: int | None = None,
        narrowing: Narrowing = "soft",
        min_relevance: float | None = None,
        as_of: When | None = None,
        known_as_of: When | None = None,
        time_zone: str | None = None,
        reads: Sequence[str] | None = None,
    ) -> ContextualResult:
        """Return the sessions that answer a query, with hits, neighbouring messages, and related sessions.

        Args:
            query: the topic, as a question or in any words.
            top_sessions: the maximum number of sessions, 1–20.
            top_k: the maximum number of hits in each session, 1–50.
            neighbours: the messages before and after each hit that are shown too, 0–10.
            conversation_id, tags: see `recall`.
            max_tokens: the budget of the prompt; None for 200,000.
            narrowing: `soft` chooses sessions by summaries and messages together, `hard` by summaries first.
            min_relevance: the relevance, 0–1, that the best session needs; below it everything is searched,
                and `fallback` says so. None for the value that was measured for the narrowing.
            as_of, known_as_of, time_zone, reads: see `recall`.
        """
        return self._wait(
            self._source.search_contextual,
            query,
            top_sessions=top_sessions,
            top_k=top_k,
            neighbours=neighbours,
            conversation_id=conversation_id,
            tags=tags,
            max_tokens=max_tokens,
            narrowing=narrowing,
            min_relevance=min_relevance,
            as_of=as_of,
            known_as_of=known_as_of,
            time_zone=time_zone,
            reads=reads,
        )

    def expand_context(
        self,
        *,
        memory_id: str | None = None,
        session_id: str | None = None,
        direction: Direction = "around",
        shown: Sequence[str] = (),
        max_tokens: int = 1024,
        as_of: When | None = None,
        known_as_of: When | None = None,
        client_id: str | None = None,
    ) -> MoreTurns:
        """Return more messages of a session: around `memory_id`, or of `session_id`; give exactly one.

        Raises `MemoryNotFound`, `SessionNotFound`.

        Args:
            direction: messages before it, after it, or on both sides, the nearest first.
            shown: the ids of messages that are not to be repeated, at most 10,000.
            max_tokens: the maximum of the messages' tokens together, 1–200,000.
            as_of, known_as_of: see `recall`.
            client_id: that of the item, or of the session, in an answer.
        """
        return self._wait(
            self._source.expand_context,
            memory_id=memory_id,
            session_id=session_id,
            direction=direction,
            shown=shown,
            max_tokens=max_tokens,
            as_of=as_of,
            known_as_of=known_as_of,
            client_id=client_id,
        )

    def hyde_retrieve(
        self,
        turn_id: str,
        *,
        conversation_id: str | None = None,
        window: Sequence[str] | None = None,
        messages: Sequence[Mapping[str, Any]] | None = None,
        summarised_until: int = 0,
        scopes: Sequence[str] | None = None,
        hypotheses: int = 5,
        top_k: int = 10,
        hop_depth: int = 1,
        injection_tokens: int = 0,
        as_of: When | None = None,
        known_as_of: When | None = None,
        mode: Mode = "pure",
        on_failure: Literal["window"] | None = None,
    ) -> Turn:
        """Return the facts for an agent's turn, within two seconds; failed parts are in `degraded`.

        Without a language model nothing is found, unless `on_failure` is `window`. For ten minutes, the same
        turn with the same arguments except its window reuses the findings, without memories that were
        deleted meanwhile. Raises only `InvalidInput`.

        Args:
            turn_id: the caller's name for the turn, 1–256 characters.
            conversation_id: find facts of this conversation only; None finds all.
            window: the conversation as texts that begin with their role; or else `messages`.
            messages: the conversation as messages, of which those from `summarised_until` on are used.
            summarised_until: the index, from 0, of the first message that no summary has yet.
            scopes: find facts of these scopes only.
            hypotheses: the number of facts that the language model guesses, 1–10; each guess is searched for.
            top_k: the maximum number of facts found by the guesses, 1–50; linked facts are added.
            hop_depth: the number of links to follow from these, 0–3.
            injection_tokens: the maximum tokens of `injection`, up to 200,000; 0 sets no limit.
            as_of, known_as_of: see `recall`.
            mode: `pure` searches by meaning, `hybrid` also by words.
            on_failure: `window` searches for the last message of the user if the language model fails.
        """
        return self._wait(
            self._source.hyde_retrieve,
            turn_id,
            conversation_id=conversation_id,
            window=window,
            messages=messages,
            summarised_until=summarised_until,
            scopes=scopes,
            hypotheses=hypotheses,
            top_k=top_k,
            hop_depth=hop_depth,
            injection_tokens=injection_tokens,
            as_of=as_of,
            known_as_of=known_as_of,
            mode=mode,
            on_failure=on_failure,
        )

    @staticmethod
    def inject(messages: Sequence[Mapping[str, Any]], injection: str) -> list[Mapping[str, Any]]:
        """Return the messages with the injection of a turn between the system message and the history."""
        return Graphmem.inject(messages, injection)

    def retrieve_memory(
        self,
        query: str,
        conversation_id: str | UUID,
        *,
        raw: bool = False,
        semantic_limit: int = 20,
        category: str | None = None,
        tags: Sequence[str] | None = None,
        episodic_limit: int = 5,
        detail: Detail = "auto",
        as_of: When | None = None,
        known_as_of: When | None = None,
        include_superseded: bool = False,
    ) -> Retrieved:
        """Return the facts and episodes of one conversation that answer a question.

        The returned episodes become a pending review.

        Args:
            conversation_id: the conversation's id, a UUID.
            raw: give every episode its messages, whatever `detail`.
            semantic_limit: the maximum number of facts, 1–1,000.
            category: find facts of this category only.
            tags, as_of, known_as_of, include_superseded: see `recall`.
            episodic_limit: the maximum number of episodes, 1–100.
            detail: the episodes that the text shows with messages: none for `none`, all for `high`; for
                `low` the first and for `auto` the first two, if they are key moments.
        """
        return self._wait(
            self._source.retrieve_memory,
            query,
            conversation_id,
            raw=raw,
            semantic_limit=semantic_limit,
            category=category,
            tags=tags,
            episodic_limit=episodic_limit,
            detail=detail,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
        )

    def context_pre_retrieve(
        self,
        query: str,
        conversation_id: str | UUID,
        *,
        semantic_limit: int = 20,
        category: str | None = None,
        tags: Sequence[str] | None = None,
        as_of: When | None = None,
        known_as_of: When | None = None,
        include_superseded: bool = False,
    ) -> Retrieved:
        """Return facts of one conversation for a system prompt; this creates no review.

        The arguments are those of `retrieve_memory`.
        """
        return self._wait(
            self._source.context_pre_retrieve,
            query,
            conversation_id,
            semantic_limit=semantic_limit,
            category=category,
            tags=tags,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
        )

    def reviews(
        self,
        *,
        state: ReviewState | None = None,
        conversation_id: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Reviews:
        """Return reviews, newest first, 1–200 a page."""
        return self._wait(
            self._source.reviews,
            state=state,
            conversation_id=conversation_id,
            limit=limit,
            cursor=cursor,
        )

    def run_reviews(self, conversation_id: str | None = None) -> ReviewsRun:
        """Rate the pending reviews of one conversation or of all; return the ratings."""
        return self._wait(self._source.run_reviews, conversation_id)

    def review(self, memory_id: str, rating: Rating, *, reviewed_at: When | None = None) -> Applied:
        """Rate an episode; `applied` is false when a review of that time or later exists already.

        Raises `MemoryNotFound`.

        Args:
            rating: its usefulness: `again` for none, `hard`, `good` or `easy`.
            reviewed_at: the time when it was shown; None for now.
        """
        return self._wait(self._source.review, memory_id, rating, reviewed_at=reviewed_at)

    def add_reference(
        self,
        *,
        type: ReferenceType,
        target_id: str,
        label: str,
        description: str | None = None,
        importance: float = 0.5,
        metadata: Mapping[str, Any] | None = None,
        tags: Sequence[str] = (),
        expires_at: When | None = None,
        span_pointer: SpanPointer | Mapping[str, Any] | None = None,
        occurred_at: When | None = None,
    ) -> Reference:
        """Add the catalogue card of a source.

        Args:
            target_id: the caller's name of the source, which may have several cards.
            description: the text that is searched, at most 100,000 bytes of UTF-8; None for the label.
            importance, tags, expires_at: see `remember_fact`.
            metadata: at most 100,000 bytes of JSON.
            span_pointer: the caller's note of the place of the content; nothing is read there.
            occurred_at: the time of the source; None for now.
        """
        return self._wait(
            self._source.add_reference,
            type=type,
            target_id=target_id,
            label=label,
            description=description,
            importance=importance,
            metadata=metadata,
            tags=tags,
            expires_at=expires_at,
            span_pointer=span_pointer,
            occurred_at=occurred_at,
        )

    def add_references(self, new: Iterable[NewReference | Mapping[str, Any]]) -> list[Reference]:
        """Add 1–1,000 catalogue cards, all or none; return them in order."""
        return self._wait(self._source.add_references, new)

    def references(
        self,
        *,
        type: ReferenceType | None = None,
        since: When | None = None,
        tags: Sequence[str] | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> References:
        """Return references, newest first, 1–200 a page."""
        return self._wait(
            self._source.references, type=type, since=since, tags=tags, limit=limit, cursor=cursor
        )

    def reference(self, reference_id: str) -> Reference:
        """Return one version of a reference. Raises `MemoryNotFound`."""
        return self._wait(self._source.reference, reference_id)

    def put_content(self, reference_id: str, content: str) -> Content:
        """Set the content of a reference; changed content makes a new version.

        Raises `MemoryNotFound`, `NotHead`, `ContentChanged`.
        """
        return self._wait(self._source.put_content, reference_id, content)

    def register_span(
        self,
        *,
        source_type: SpanSource,
        source_id: str,
        start_byte: int,
        end_byte: int,
        id: str | None = None,
        hash: str | None = None,
        token_count: int | None = None,
        metadata: NewSpanMetadata | Mapping[str, Any] | None = None,
        content: str | None = None,
        occurred_at: When | None = None,
    ) -> Span:
        """Register a byte range of a source; the id of an existing span replaces that span.

        Raises `IdTaken`, and `LegalHold` if another text would be replaced.

        Args:
            source_id: the caller's name of the source.
            start_byte, end_byte: the range in the source, in bytes of UTF-8, the end exclusive.
            hash: the SHA-256 of `content` in hexadecimal, which is checked.
            token_count: an estimate for a span without content; those of a content are measured.
            metadata: `importance`, 0–1, `recency`, a number that is only kept, and `tags`.
            content: the text of the range, at most 1,000,000 bytes of UTF-8; None for a card alone.
            occurred_at: the time of the text; None for now.
        """
        return self._wait(
            self._source.register_span,
            source_type=source_type,
            source_id=source_id,
            start_byte=start_byte,
            end_byte=end_byte,
            id=id,
            hash=hash,
            token_count=token_count,
            metadata=metadata,
            content=content,
            occurred_at=occurred_at,
        )

    def register_spans(self, new: Iterable[NewSpan | Mapping[str, Any]]) -> list[Span]:
        """Register 1–1,000 spans, all or none; return them in order. Raises `IdTaken`, `LegalHold`."""
        return self._wait(self._source.register_spans, new)

    def span(self, span_id: str) -> Span:
        """Return a span without its text. Raises `SpanNotFound`."""
        return self._wait(self._source.span, span_id)

    def span_content(self, span_id: str) -> SpanContent:
        """Return a span's text, None if it has none. Raises `SpanNotFound`, `ContentDamaged`."""
        return self._wait(self._source.span_content, span_id)

    @overload
    def add_summary(
        self,
        *,
        type: Literal["thread"],
        target_id: str,
        platform: str,
        participant_count: int,
        message_count: int,
        key_points: Sequence[str],
        sentiment: str,
        last_activity_at: When,
        importance: float = 0.5,
        content_span_ids: Sequence[str] | None = None,
    ) -> Summary: ...

    @overload
    def add_summary(
        self,
        *,
        type: Literal["plan"],
        target_id: str,
        plan_type: str,
        total_nodes: int,
        completed_nodes: int,
        pending_nodes: int,
        failed_nodes: int,
        key_milestones: Sequence[str],
        current_phase: str,
        last_activity_at: When | None = None,
        importance: float = 0.5,
        content_span_ids: Sequence[str] | None = None,
    ) -> Summary: ...

    @overload
    def add_summary(
        self,
        *,
        type: Literal["session"],
        target_id: str,
        text: str,
        key_points: Sequence[str] | None = None,
        topics: Sequence[str] | None = None,
        last_activity_at: When | None = None,
        importance: float = 0.5,
        content_span_ids: Sequence[str] | None = None,
    ) -> Summary: ...

    def add_summary(self, *, type: SummaryType, target_id: str, **fields: object) -> Summary:
        """Write a summary of a thread, a plan or a session, as the next version of its target.

        No automatic summary follows that of a session before the session has new messages.

        Args:
            type: `thread`, `plan` or `session`, which decides the other arguments.
            target_id: the caller's name of the thread or plan; of a session its id.
            fields: `importance` is 0–1; `content_span_ids` are the spans that it summarizes; `text`, of a
                session, has at most 100,000 bytes of UTF-8; the `key_points`, `key_milestones` and
                `topics` at most 100 entries.
        """
        answer: Summary = self._wait(
            cast(Any, self._source).add_summary, type=type, target_id=target_id, **fields
        )
        return answer

    def summarize_session(self, session_id: str) -> Summary:
        """Summarize a session by its own id, and link it to related ones; return the summary.

        An unchanged summary makes no new version. Raises `SessionNotFound`.
        """
        return self._wait(self._source.summarize_session, session_id)

    def related_sessions(self, session_id: str) -> RelatedSessions:
        """Return the sessions related to one, strongest relation first.

        Raises `SessionNotFound`.
        """
        return self._wait(self._source.related_sessions, session_id)

    def summaries(
        self,
        *,
        type: SummaryType | None = None,
        since: When | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Summaries:
        """Return summaries, most recently active first, 1–200 a page."""
        return self._wait(
            self._source.summaries, type=type, since=since, limit=limit, cursor=cursor
        )

    def summary(self, summary_id: str) -> Summary:
        """Return one version of a summary. Raises `MemoryNotFound`."""
        return self._wait(self._source.summary, summary_id)

    @staticmethod
    def prompt_text(summary: Summary) -> str:
        """Return a summary as text for a prompt."""
        return Graphmem.prompt_text(summary)

    def entities(
        self, *, name: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Entities:
        """Return the entities whose names begin with `name`, ordered by name, 1–200 a page."""
        return self._wait(self._source.entities, name=name, limit=limit, cursor=cursor)

    def add_alias(self, alias: str, canonical: str) -> Alias:
        """Declare one name an alias of another, with priority over the rules.

        Raises `EntityNotFound` for a name that no memory mentions.
        """
        return self._wait(self._source.add_alias, alias, canonical)

    def undo_alias(self, alias: str) -> Alias:
        """Declare that a name is no alias, also for all rules; return the former alias.

        Raises `AliasNotFound`.
        """
        return self._wait(self._source.undo_alias, alias)

    def find_aliases(self) -> AliasesFound:
        """Find the aliases of new names, as the background work does."""
        return self._wait(self._source.find_aliases)

    def runs(
        self,
        *,
        default_budget: RetrievalBudget | Mapping[str, int] | None = None,
        on_access: OnAccess | None = None,
        max_concurrent_sessions: int | None = None,
    ) -> BlockingRuns:
        """Return the environment of this client's runs.

        Args:
            default_budget: of runs that are started without one; see `run`.
            on_access: called once for every operation, including refused ones; it never receives a text.
            max_concurrent_sessions: the maximum number of active runs; None for that of the settings.
        """
        return BlockingRuns(
            self._source.runs(
                default_budget=default_budget,
                on_access=on_access,
                max_concurrent_sessions=max_concurrent_sessions,
            ),
            self._portal,
        )

    def run(
        self,
        *,
        agent_type: str,
        episode_id: str,
        budget: RetrievalBudget | Mapping[str, int] | None = None,
        parent_session_id: str | None = None,
        operation_id: str | None = None,
        on_access: OnAccess | None = None,
    ) -> BlockingBeginning:
        """Start a run for the length of a block: `async with memory.run(…) as run`. Raises `TooManyRuns`.

        Args:
            agent_type: the kind of agent, 1–256 characters.
            episode_id: the task that the run belongs to, 1–256 characters.
            budget: `max_tokens`, `max_time_ms`, `max_retries`; None for 10,000, a minute and 3.
            parent_session_id: the run that pays for this one, and whose remaining budget caps it.
            operation_id: the caller's name for this start; a repetition returns the same run.
            on_access: see `runs`.
        """
        return BlockingBeginning(
            self._source.run(
                agent_type=agent_type,
                episode_id=episode_id,
                budget=budget,
                parent_session_id=parent_session_id,
                operation_id=operation_id,
                on_access=on_access,
            ),
            self._portal,
        )

    @staticmethod
    def patterns() -> Patterns:
        """Return the catalogue of patterns: the purpose, parameters and columns of each."""
        return Graphmem.patterns()

    def pattern(self, name: str, parameters: Mapping[str, Any] | None = None) -> PatternAnswer:
        """Return the rows of a pattern, at most 1,000. Raises `PatternNotFound`, `TookTooLong`.

        Args:
            name: one of those in `patterns()`.
            parameters: as the catalogue names them; omitted ones have defaults.
        """
        return self._wait(self._source.pattern, name, parameters)

    def neighbourhood(
        self,
        node_id: str,
        *,
        depth: int = 1,
        types: str | Iterable[str] | None = None,
        limit: int = NODES,
    ) -> Neighbourhood:
        """Return a node and the nodes around it, nearest first. Raises `NodeNotFound`, `TookTooLong`.

        Args:
            node_id: of a memory, session, conversation, run, review, context, access or job, tried in this
                order; `conversation:ID` and `entity:NAME` name those kinds.
            depth: the maximum distance in edges, 1–3.
            types: follow these types of edges only, in any case, as a list or separated by commas.
            limit: the maximum number of nodes, 1–500, this one included.
        """
        return self._wait(
            self._source.neighbourhood, node_id, depth=depth, types=types, limit=limit
        )

    def graph_schema(self) -> GraphSchema:
        """Return the labels, properties, edges and indexes of this client's graph, with counts.

        Raises `TookTooLong`.
        """
        return self._wait(self._source.graph_schema)

    def cypher(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        max_rows: int = 1000,
        timeout_ms: int = 10000,
    ) -> Table:
        """Return the rows of a read-only statement, which sees all clients.

        Raises `CypherRefused`, `CypherMistake`, `TookTooLong`, `TookTooMuch`.

        Args:
            parameters: the values of `$name` in the statement, as JSON has them: a time is a text, of which
                the statement makes a time by `datetime($name)`.
            max_rows: the maximum number of rows, 1–50,000.
            timeout_ms: the time limit in milliseconds, 1–60,000.
        """
        return self._wait(
            self._source.cypher, query, parameters, max_rows=max_rows, timeout_ms=timeout_ms
        )

    def cypher_audit(
        self,
        *,
        client_id: str | None = None,
        outcome: Outcome | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Audit:
        """Return the statements that were sent, newest first.

        Args:
            client_id: only those of this client; None for all.
            outcome: only those with this outcome; a `running` one may have been lost.
            limit: the entries on a page, 1–200.
            cursor: that of the page before.
        """
        return self._wait(
            self._source.cypher_audit,
            client_id=client_id,
            outcome=outcome,
            limit=limit,
            cursor=cursor,
        )

    def jobs(
        self,
        *,
        state: JobState | None = None,
        kind: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Jobs:
        """Return this client's background jobs, newest first.

        Args:
            state: only jobs in this state; `dead` ones were given up.
            kind: only jobs of this kind, such as `aliases`.
            limit: the entries on a page, 1–200.
            cursor: that of the page before.
        """
        return self._wait(self._source.jobs, state=state, kind=kind, limit=limit, cursor=cursor)

    def export(self, *, vectors: bool = True, cursor: str | None = None) -> Iterator[bytes]:
        """Return everything of this client as the lines of a file, page by page.

        `graphmem import` reads the file. With `vectors` it has the embeddings too. `cursor` is that of the
        last whole page of an interrupted export: the lines after it follow. Raises `InvalidInput` for a
        foreign one, and for one with vectors of another embedding model than the present one.
        """
        return self._each(self._wait(self._source.export, vectors=vectors, cursor=cursor))

    def usage(self) -> ClientUsage:
        """Return the limits of this client, and its use of them: None until its first write under limits."""
        return self._wait(self._source.usage)

    def clients(self, *, limit: int = 20, cursor: str | None = None) -> Clients:
        """Return the clients of the store in the order of their ids, 1–100 a page, each with its counts."""
        return self._wait(self._source.clients, limit=limit, cursor=cursor)
