"""The public API for Python: a running graphmem, as one client sees it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, cast, overload
from uuid import UUID

from msgspec import UNSET, UnsetType

from graphmem.clients import Clients, ClientsAsked, ClientUsage, list_clients, show_usage
from graphmem.context import Context
from graphmem.contexts.context import (
    RESPONSE_TOKENS,
    TTL_SECONDS,
    Added,
    ContextAddition,
    CreateContextOptions,
    RetrievalContext,
    add_to_context,
    compose_context,
    create_context,
    delete_context,
    show_context,
)
from graphmem.contextual.ask import search_contextual
from graphmem.contextual.more_turns import expand_context
from graphmem.contextual.types import (
    ContextualQuery,
    ContextualResult,
    Direction,
    ExpansionAsked,
    MoreTurns,
    Narrowing,
)
from graphmem.conversations.conversation import (
    change_conversation,
    delete_conversation,
    open_conversation,
)
from graphmem.conversations.remember import remember_messages
from graphmem.conversations.show import show_conversations, show_messages, show_sessions
from graphmem.conversations.types import (
    Batch,
    ChangedConversation,
    Conversation,
    Conversations,
    ConversationsAsked,
    Deleted,
    Messages,
    MessagesAsked,
    NewConversation,
    NewMessage,
    Remembered,
    Sessions,
    SessionsAsked,
)
from graphmem.entities.aliases import (
    Alias,
    AliasesFound,
    Entities,
    EntitiesAsked,
    NewAlias,
    UndoneAlias,
    add_alias,
    find_aliases,
    show_entities,
    undo_alias,
)
from graphmem.episodes.consolidate import consolidate
from graphmem.episodes.remember import remember_episode
from graphmem.episodes.segment import segment
from graphmem.episodes.types import (
    Consolidated,
    KeptEpisode,
    MessageRange,
    NewEpisode,
    Segmented,
)
from graphmem.exploring.running import explore, show_audit
from graphmem.exploring.types import Audit, AuditAsked, CypherAsked, Outcome, Table
from graphmem.exports.export import ExportAsked, export
from graphmem.facts.remember import remember_facts, set_categories, show_categories
from graphmem.facts.supersede import supersede_fact
from graphmem.facts.types import (
    DEFAULT_CATEGORY,
    DEFAULT_SCOPE,
    Categories,
    FactVersion,
    KeptFact,
    NewFact,
    NextFact,
)
from graphmem.forgetting.forget import (
    begin_hold,
    end_hold,
    forget,
    forget_client,
    verify_forgotten,
)
from graphmem.forgetting.types import ForgetAsked, NewHold, Receipt, Verified, VerifyAsked
from graphmem.hypotheses.ask import hyde_retrieve
from graphmem.hypotheses.prompt import injected
from graphmem.hypotheses.types import Mode, Turn, TurnAsked
from graphmem.jobs.outbox import Jobs, JobsAsked, JobState, show_jobs
from graphmem.memories.chunk import ChunkOptions, ChunkResult, PeekResult, chunk, peek
from graphmem.memories.links import (
    Link,
    Links,
    LinksAsked,
    NewLink,
    NewLinks,
    link_memories,
    show_links,
    unlink_memories,
)
from graphmem.memories.lists import Memories, MemoriesAsked, list_memories
from graphmem.memories.memory import annotate, delete_memory, show_memory
from graphmem.memories.types import Memory, OwnerAsked
from graphmem.memories.versions import Versions, VersionsAsked, show_versions
from graphmem.model.annotations import ChangedAnnotations
from graphmem.model.validation import listed, text_id, validated
from graphmem.model.vocabulary import (
    ClientId,
    GivenLinkType,
    GivenStep,
    Kind,
    OtherReads,
    Ranking,
    Rating,
    ReferenceType,
    SourceType,
    SpanSource,
    SummaryType,
    TruncationStrategy,
)
from graphmem.neighbourhood.schema import show_graph_schema
from graphmem.neighbourhood.types import (
    NODES,
    GraphSchema,
    Neighbourhood,
    NeighbourhoodAsked,
    edge_types,
)
from graphmem.neighbourhood.walk import show_neighbourhood
from graphmem.patterns import running as patterns
from graphmem.patterns.types import PatternAnswer, PatternAsked, Patterns
from graphmem.recall.ask import explain as explain_memory, recall
from graphmem.recall.types import ExplainedQuestion, Explanation, Question, Recalled
from graphmem.references.reference import (
    add_references,
    put_content,
    show_reference,
    show_references,
)
from graphmem.references.spans import register_spans, show_span, show_span_content
from graphmem.references.types import (
    Content,
    NewContent,
    NewReference,
    NewReferences,
    NewSpan,
    NewSpanMetadata,
    NewSpans,
    Reference,
    References,
    ReferencesAsked,
    Span,
    SpanContent,
    SpanPointer,
)
from graphmem.retrieve_memory.ask import context_pre_retrieve, retrieve_memory
from graphmem.retrieve_memory.types import Detail, FactsAsked, MemoryAsked, Retrieved
from graphmem.reviews.review import review, run_reviews, show_reviews
from graphmem.reviews.types import (
    Applied,
    NewRating,
    Reviews,
    ReviewsAsked,
    ReviewsRun,
    ReviewState,
    RunAsked,
)
from graphmem.runs.environment import RunEnvironment
from graphmem.runs.session import Beginning
from graphmem.runs.types import OnAccess, RetrievalBudget
from graphmem.runtime import Runtime
from graphmem.search.ask import search, search_spans
from graphmem.search.retriever import MemoryRetriever, RetrieverDefaults
from graphmem.search.types import (
    Match,
    SearchQuery,
    SearchResult,
    SortBy,
    SpanQuery,
    SpanSearchResult,
)
from graphmem.sessions.related import RelatedSessions, show_related_sessions
from graphmem.sessions.summarize import summarize_session
from graphmem.summaries.summary import add_summary, prompt_text, show_summaries, show_summary
from graphmem.summaries.types import NewSummary, Summaries, SummariesAsked, Summary
from graphmem.tokens import TokenCounter

DEFAULT_CLIENT = "default"

When = datetime | str
"""A moment with a time zone, as a `datetime` or as ISO 8601 text."""

Asked = TypeVar("Asked")
Arguments = ParamSpec("Arguments")


class Page(Protocol):
    """A page of a list."""

    @property
    def cursor(self) -> str | None:
        """Where the next page begins; None on the last."""
        ...


AnyPage = TypeVar("AnyPage", bound=Page)


class Graphmem:
    """A running graphmem, as one client sees it. Made by `graphmem.open`.

    Every method raises `InvalidInput` for an argument that is out of range, with its name and remedy, and
    `Unavailable` when the database does not answer. Ids of other clients are treated as unknown.
    """

    def __init__(
        self,
        runtime: Runtime,
        client_id: str = DEFAULT_CLIENT,
        *,
        reads: Sequence[str] | None = None,
    ) -> None:
        """See it as a client that may read these others, by default those of the setting `reads`."""
        self.runtime = runtime
        self.client_id = validated(client_id, ClientId, "client_id")
        others = runtime.settings.reads if reads is None else reads
        self.reads = tuple(validated(others, OtherReads, "reads"))

    @property
    def _context(self) -> Context:
        """The dependencies of this client's use cases, as of now."""
        return self.runtime.context(self.client_id, self.reads)

    @property
    def _tokens(self) -> TokenCounter:
        return self.runtime.tokens

    def for_client(self, client_id: str) -> "Graphmem":
        """Return the same graphmem as another client sees it."""
        return Graphmem(self.runtime, client_id, reads=self.reads)

    @staticmethod
    async def pages(
        ask: Callable[Arguments, Awaitable[AnyPage]],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> AsyncIterator[AnyPage]:
        """Yield every page of a list: `async for page in memory.pages(memory.memories, limit=200)`."""
        cursor: str | None = None
        while True:
            named = kwargs if cursor is None else {**kwargs, "cursor": cursor}
            page = await ask(*args, **named)  # type: ignore[arg-type]
            yield page
            cursor = page.cursor
            if cursor is None:
                return

    # Conversations, messages and episodes

    async def open_conversation(
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
        new = _made(NewConversation, id=id, title=title, metadata=metadata, tags=tags)
        return await open_conversation(new, self._context)

    async def change_conversation(
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
        changed = _made(ChangedConversation, **_given(title=title, metadata=metadata, tags=tags))
        return await change_conversation(
            text_id(conversation_id, "conversation_id"), changed, self._context
        )

    async def remember(
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
        batch = _made(Batch, messages=messages, create=create)
        return await remember_messages(
            text_id(conversation_id, "conversation_id"), batch, self._context
        )

    async def conversations(
        self, *, tags: Sequence[str] | None = None, limit: int = 50, cursor: str | None = None
    ) -> Conversations:
        """Return a page of 1–200 conversations, the latest first, and their total number.

        With `tags`, only conversations that have all of these tags.
        """
        asked = _made(ConversationsAsked, tags=tags, limit=limit, cursor=cursor)
        return await show_conversations(asked, self._context)

    async def sessions(
        self, conversation_id: str, *, limit: int = 50, cursor: str | None = None
    ) -> Sessions:
        """Return a page of 1–200 sessions of a conversation, the latest first, and their total number.

        Raises `ConversationNotFound`.
        """
        asked = _made(SessionsAsked, limit=limit, cursor=cursor)
        return await show_sessions(
            text_id(conversation_id, "conversation_id"), asked, self._context
        )

    async def messages(
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
        asked = _made(
            MessagesAsked,
            session_id=session_id,
            since=since,
            until=until,
            tags=tags,
            order=order,
            limit=limit,
            cursor=cursor,
        )
        return await show_messages(
            text_id(conversation_id, "conversation_id"), asked, self._context
        )

    async def delete_conversation(self, conversation_id: str) -> Deleted:
        """Delete a conversation with everything in it. Raises `ConversationNotFound`."""
        return await delete_conversation(text_id(conversation_id, "conversation_id"), self._context)

    async def remember_episode(
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
        new = _made(
            NewEpisode,
            conversation_id=conversation_id,
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
        return await remember_episode(new, self._context)

    async def segment(self, conversation_id: str, *, leave_growing: bool = False) -> Segmented:
        """Make episodes of the messages without one, and rate the pending reviews.

        Messages of an episode that was deleted, forgotten or has expired itself are left alone.

        With `leave_growing` the last run of each session that is not idle is left for later, because the next
        message may belong to it. Raises `ConversationNotFound`.
        """
        return await segment(
            text_id(conversation_id, "conversation_id"),
            self._context,
            leave_growing=leave_growing,
        )

    async def consolidate(self, conversation_id: str) -> Consolidated:
        """Derive facts from episodes with the language model, oldest first; the answer says if it is off.

        Raises `ConversationNotFound`, `ModelFailed`.
        """
        return await consolidate(text_id(conversation_id, "conversation_id"), self._context)

    # Facts

    async def remember_facts(self, new: Iterable[NewFact | Mapping[str, Any]]) -> list[KeptFact]:
        """Remember 1–100 facts, all or none; return for each whether it is new or known and reinforced.

        A known one keeps its `valid_at` and its `metadata`.

        Raises `ConversationNotFound`, and `MemoryNotFound` for a source.
        """
        return await remember_facts(validated(listed(new, "new"), list[NewFact]), self._context)

    async def remember_fact(
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
        new = _made(
            NewFact,
            fact=fact,
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
        return (await remember_facts([new], self._context, listed=False))[0]

    async def supersede_fact(
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
        new = _made(
            NextFact,
            fact=fact,
            valid_at=valid_at,
            reason=reason,
            category=category,
            conversation_id=conversation_id,
            scope=scope,
            keywords=keywords,
            importance=importance,
            source_episode_ids=source_episode_ids,
        )
        return await supersede_fact(text_id(fact_id, "fact_id"), new, self._context)

    async def categories(self) -> Categories:
        """Return the categories that this client's facts may have."""
        return await show_categories(self._context)

    async def set_categories(self, categories: Iterable[str]) -> Categories:
        """Choose the 1–100 categories that new facts may have; stored facts keep theirs."""
        return await set_categories(_made(Categories, categories=categories), self._context)

    # Single memories

    async def memory(self, memory_id: str, *, client_id: str | None = None) -> Memory:
        """Return one memory of any kind, that of another client by the `client_id` of its item.

        Raises `MemoryNotFound`.
        """
        asked = _made(OwnerAsked, client_id=client_id)
        return await show_memory(text_id(memory_id, "memory_id"), self._context.of(asked.client_id))

    async def memories(
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
        asked = _made(
            MemoriesAsked,
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
        return await list_memories(asked, self._context)

    async def annotate(
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
        changed = _made(
            ChangedAnnotations, **_given(metadata=metadata, tags=tags, expires_at=expires_at)
        )
        return await annotate(text_id(memory_id, "memory_id"), changed, self._context)

    async def delete_memory(self, memory_id: str) -> Deleted:
        """Delete one memory permanently, with all its versions, and a reference with its spans.

        Episodes and summaries that were made of it stay as they are: `forget` deletes these too. A deleted
        episode is not made again of its messages.

        Raises `MemoryNotFound`, and `PartOfContent` for a span of a reference's content.
        """
        return await delete_memory(text_id(memory_id, "memory_id"), self._context)

    async def forget(
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
        asked = _made(
            ForgetAsked,
            memory_ids=memory_ids,
            conversation_id=conversation_id,
            session_id=session_id,
            tags=tags,
            since=since,
            until=until,
            name=name,
            dry_run=dry_run,
        )
        return await forget(asked, self._context)

    async def forget_client(self, *, dry_run: bool = False) -> Receipt:
        """Delete everything of this client, unless `dry_run`; return the receipt. Raises `LegalHold`."""
        return await forget_client(self._context, dry_run=dry_run)

    async def verify_forgotten(self, *, text: str | None = None, id: str | None = None) -> Verified:
        """Search every property of this client's nodes and edges for a text, in any case, or an id.

        It reads the whole store.
        """
        return await verify_forgotten(_made(VerifyAsked, text=text, id=id), self._context)

    async def begin_hold(self, reason: str) -> None:
        """Put this client under a legal hold: no memory is deleted or expires until `end_hold`."""
        await begin_hold(self.client_id, _made(NewHold, reason=reason), self._context.graph)

    async def end_hold(self) -> None:
        """Allow deletion again; memories that have expired meanwhile are deleted."""
        await end_hold(self.client_id, self._context.graph)

    async def versions(
        self, memory_id: str, *, known_as_of: When | None = None, as_of: When | None = None
    ) -> Versions:
        """Return the versions of a memory, oldest first. Raises `MemoryNotFound`.

        Args:
            known_as_of: only versions that were recorded by then.
            as_of: only versions that had become valid by then.
        """
        asked = _made(VersionsAsked, known_as_of=known_as_of, as_of=as_of)
        return await show_versions(text_id(memory_id, "memory_id"), asked, self._context)

    async def link(
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
        new = _link(from_id, to_id, type, start_byte=start_byte, end_byte=end_byte)
        return (await link_memories([new], self._context))[0]

    async def link_all(self, new: Iterable[NewLink | Mapping[str, Any]]) -> list[Link]:
        """Make 1–500 links, all or none. Raises `MemoryNotFound`, `NotHead`; see `link`."""
        return await link_memories(validated(listed(new, "new"), NewLinks), self._context)

    async def unlink(
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
        await unlink_memories(
            _link(from_id, to_id, type, start_byte=start_byte, end_byte=end_byte), self._context
        )

    async def links(
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
        asked = _made(
            LinksAsked,
            type=type,
            kind=kind,
            include_superseded=include_superseded,
            limit=limit,
            cursor=cursor,
        )
        return await show_links(text_id(memory_id, "memory_id"), asked, self._context)

    # Search, peek, chunk, context

    async def search(
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
        asked = _made(
            SearchQuery,
            query=query,
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
        return await search(asked, self._context)

    async def search_with_hops(
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
        return await self.search(
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

    async def search_spans(
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
        asked = _made(
            SpanQuery,
            query=query,
            source_types=source_types,
            source_ids=source_ids,
            tags=tags,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
            limit=limit,
            min_relevance=min_relevance,
        )
        return await search_spans(asked, self._context)

    async def peek(self, memory_id: str, *, client_id: str | None = None) -> PeekResult:
        """Return a memory's card without its content, that of another client by the `client_id` of its item.

        Raises `MemoryNotFound`.
        """
        asked = _made(OwnerAsked, client_id=client_id)
        return await peek(text_id(memory_id, "memory_id"), self._context.of(asked.client_id))

    async def chunk(
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
        options = _made(
            ChunkOptions,
            max_tokens=max_tokens,
            truncation_strategy=truncation_strategy,
            include_header=include_header,
            client_id=client_id,
        )
        return await chunk(text_id(memory_id, "memory_id"), options, self._context)

    async def create_context(
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
        options = _made(
            CreateContextOptions,
            max_tokens=max_tokens,
            system_prompt=system_prompt,
            reserved_for_response=reserved_for_response,
            ttl_seconds=ttl_seconds,
        )
        return await create_context(options, self._context)

    async def context(self, context_id: str) -> RetrievalContext:
        """Return a context with its sections. Raises `ContextNotFound`."""
        return await show_context(text_id(context_id, "context_id"), self._context)

    async def add_to_context(self, context_id: str, memory_id: str) -> Added:
        """Add the part of a memory that fits into a context, at most 500 tokens.

        Raises `ContextNotFound`, `ItemNotFound`, `ContentDamaged`.
        """
        addition = ContextAddition(id=text_id(memory_id, "memory_id"))
        return await add_to_context(text_id(context_id, "context_id"), addition, self._context)

    async def delete_context(self, context_id: str) -> None:
        """Delete a context before it expires; the memories stay. Raises `ContextNotFound`."""
        await delete_context(text_id(context_id, "context_id"), self._context)

    async def compose_context(self, context_id: str) -> str:
        """Return a context as one text. Raises `ContextNotFound`."""
        return await compose_context(text_id(context_id, "context_id"), self._context)

    def retriever(
        self, *, default_max_results: int = 10, default_max_tokens_per_chunk: int = 500
    ) -> MemoryRetriever:
        """Return a retriever with these defaults, for agents that search, peek, chunk and collect.

        Args:
            default_max_results: the items of a search that names no number.
            default_max_tokens_per_chunk: the tokens of a chunk that names no number.
        """
        defaults = _made(
            RetrieverDefaults,
            default_max_results=default_max_results,
            default_max_tokens_per_chunk=default_max_tokens_per_chunk,
        )
        return MemoryRetriever(self, defaults, token_counter=self._tokens)

    # Context for an agent's turn

    async def recall(
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
        question = _made(
            Question,
            query=query,
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
        return await recall(question, self._context)

    async def explain(
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
        question = _made(
            ExplainedQuestion,
            query=query,
            memory_id=memory_id,
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
        return await explain_memory(question, self._context)

    async def search_contextual(
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
        asked = _made(
            ContextualQuery,
            query=query,
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
        return await search_contextual(asked, self._context)

    async def expand_context(
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
        asked = _made(
            ExpansionAsked,
            memory_id=memory_id,
            session_id=session_id,
            direction=direction,
            shown=shown,
            max_tokens=max_tokens,
            as_of=as_of,
            known_as_of=known_as_of,
            client_id=client_id,
        )
        return await expand_context(asked, self._context)

    async def hyde_retrieve(
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
        asked = _made(
            TurnAsked,
            turn_id=turn_id,
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
        return await hyde_retrieve(asked, self._context)

    @staticmethod
    def inject(messages: Sequence[Mapping[str, Any]], injection: str) -> list[Mapping[str, Any]]:
        """Return the messages with the injection of a turn between the system message and the history."""
        return injected(messages, injection)

    async def retrieve_memory(
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
        asked = _made(
            MemoryAsked,
            query=query,
            conversation_id=conversation_id,
            semantic_limit=semantic_limit,
            category=category,
            tags=tags,
            episodic_limit=episodic_limit,
            detail=detail,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
        )
        return await retrieve_memory(asked, self._context, raw=raw)

    async def context_pre_retrieve(
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
        asked = _made(
            FactsAsked,
            query=query,
            conversation_id=conversation_id,
            semantic_limit=semantic_limit,
            category=category,
            tags=tags,
            as_of=as_of,
            known_as_of=known_as_of,
            include_superseded=include_superseded,
        )
        return await context_pre_retrieve(asked, self._context)

    # Reviews

    async def reviews(
        self,
        *,
        state: ReviewState | None = None,
        conversation_id: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Reviews:
        """Return reviews, newest first, 1–200 a page."""
        asked = _made(
            ReviewsAsked, state=state, conversation_id=conversation_id, limit=limit, cursor=cursor
        )
        return await show_reviews(asked, self._context)

    async def run_reviews(self, conversation_id: str | None = None) -> ReviewsRun:
        """Rate the pending reviews of one conversation or of all; return the ratings."""
        asked = _made(RunAsked, conversation_id=conversation_id)
        return await run_reviews(asked.conversation_id, self._context)

    async def review(
        self, memory_id: str, rating: Rating, *, reviewed_at: When | None = None
    ) -> Applied:
        """Rate an episode; `applied` is false when a review of that time or later exists already.

        Raises `MemoryNotFound`.

        Args:
            rating: its usefulness: `again` for none, `hard`, `good` or `easy`.
            reviewed_at: the time when it was shown; None for now.
        """
        new = _made(NewRating, rating=rating, reviewed_at=reviewed_at)
        return await review(text_id(memory_id, "memory_id"), new, self._context)

    # References and spans

    async def add_reference(
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
        new = _made(
            NewReference,
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
        return (await add_references([new], self._context))[0]

    async def add_references(
        self, new: Iterable[NewReference | Mapping[str, Any]]
    ) -> list[Reference]:
        """Add 1–1,000 catalogue cards, all or none; return them in order."""
        return await add_references(validated(listed(new, "new"), NewReferences), self._context)

    async def references(
        self,
        *,
        type: ReferenceType | None = None,
        since: When | None = None,
        tags: Sequence[str] | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> References:
        """Return references, newest first, 1–200 a page."""
        asked = _made(
            ReferencesAsked, type=type, since=since, tags=tags, limit=limit, cursor=cursor
        )
        return await show_references(asked, self._context)

    async def reference(self, reference_id: str) -> Reference:
        """Return one version of a reference. Raises `MemoryNotFound`."""
        return await show_reference(text_id(reference_id, "reference_id"), self._context)

    async def put_content(self, reference_id: str, content: str) -> Content:
        """Set the content of a reference; changed content makes a new version.

        Raises `MemoryNotFound`, `NotHead`, `ContentChanged`.
        """
        return await put_content(
            text_id(reference_id, "reference_id"),
            _made(NewContent, content=content),
            self._context,
        )

    async def register_span(
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
        new = _made(
            NewSpan,
            id=id,
            source_type=source_type,
            source_id=source_id,
            start_byte=start_byte,
            end_byte=end_byte,
            hash=hash,
            token_count=token_count,
            metadata=metadata,
            content=content,
            occurred_at=occurred_at,
        )
        return (await register_spans([new], self._context))[0]

    async def register_spans(self, new: Iterable[NewSpan | Mapping[str, Any]]) -> list[Span]:
        """Register 1–1,000 spans, all or none; return them in order. Raises `IdTaken`, `LegalHold`."""
        return await register_spans(validated(listed(new, "new"), NewSpans), self._context)

    async def span(self, span_id: str) -> Span:
        """Return a span without its text. Raises `SpanNotFound`."""
        return await show_span(text_id(span_id, "span_id"), self._context)

    async def span_content(self, span_id: str) -> SpanContent:
        """Return a span's text, None if it has none. Raises `SpanNotFound`, `ContentDamaged`."""
        return await show_span_content(text_id(span_id, "span_id"), self._context)

    # Summaries and sessions

    @overload
    async def add_summary(
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
    async def add_summary(
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
    async def add_summary(
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

    async def add_summary(self, *, type: SummaryType, target_id: str, **fields: object) -> Summary:
        """Write a summary of a thread, a plan or a session, as the next version of its target.

        No automatic summary follows that of a session before the session has new messages.

        Args:
            type: `thread`, `plan` or `session`, which decides the other arguments.
            target_id: the caller's name of the thread or plan; of a session its id.
            fields: `importance` is 0–1; `content_span_ids` are the spans that it summarizes; `text`, of a
                session, has at most 100,000 bytes of UTF-8; the `key_points`, `key_milestones` and
                `topics` at most 100 entries.
        """
        given = {"type": type, "target_id": target_id, **fields}
        new: NewSummary = validated(given, cast("Any", NewSummary))
        return await add_summary(new, self._context)

    async def summarize_session(self, session_id: str) -> Summary:
        """Summarize a session by its own id, and link it to related ones; return the summary.

        An unchanged summary makes no new version. Raises `SessionNotFound`.
        """
        return await summarize_session(text_id(session_id, "session_id"), self._context)

    async def related_sessions(self, session_id: str) -> RelatedSessions:
        """Return the sessions related to one, strongest relation first.

        Raises `SessionNotFound`.
        """
        return await show_related_sessions(text_id(session_id, "session_id"), self._context)

    async def summaries(
        self,
        *,
        type: SummaryType | None = None,
        since: When | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Summaries:
        """Return summaries, most recently active first, 1–200 a page."""
        asked = _made(SummariesAsked, type=type, since=since, limit=limit, cursor=cursor)
        return await show_summaries(asked, self._context)

    async def summary(self, summary_id: str) -> Summary:
        """Return one version of a summary. Raises `MemoryNotFound`."""
        return await show_summary(text_id(summary_id, "summary_id"), self._context)

    @staticmethod
    def prompt_text(summary: Summary) -> str:
        """Return a summary as text for a prompt."""
        return prompt_text(summary)

    # Entities

    async def entities(
        self, *, name: str | None = None, limit: int = 50, cursor: str | None = None
    ) -> Entities:
        """Return the entities whose names begin with `name`, ordered by name, 1–200 a page."""
        asked = _made(EntitiesAsked, name=name, limit=limit, cursor=cursor)
        return await show_entities(asked, self._context)

    async def add_alias(self, alias: str, canonical: str) -> Alias:
        """Declare one name an alias of another, with priority over the rules.

        Raises `EntityNotFound` for a name that no memory mentions.
        """
        return await add_alias(_made(NewAlias, alias=alias, canonical=canonical), self._context)

    async def undo_alias(self, alias: str) -> Alias:
        """Declare that a name is no alias, also for all rules; return the former alias.

        Raises `AliasNotFound`.
        """
        return await undo_alias(_made(UndoneAlias, alias=alias), self._context)

    async def find_aliases(self) -> AliasesFound:
        """Find the aliases of new names, as the background work does."""
        return await find_aliases(self._context)

    # Runs of agents within budgets

    def runs(
        self,
        *,
        default_budget: RetrievalBudget | Mapping[str, int] | None = None,
        on_access: OnAccess | None = None,
        max_concurrent_sessions: int | None = None,
    ) -> RunEnvironment:
        """Return the environment of this client's runs.

        Args:
            default_budget: of runs that are started without one; see `run`.
            on_access: called once for every operation, including refused ones; it never receives a text.
            max_concurrent_sessions: the maximum number of active runs; None for that of the settings.
        """
        most = self.runtime.settings.max_concurrent_sessions
        return RunEnvironment(
            lambda: self._context,
            default_budget=validated(default_budget or {}, RetrievalBudget),
            on_access=on_access,
            max_concurrent_sessions=max_concurrent_sessions or most,
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
    ) -> Beginning:
        """Start a run for the length of a block: `async with memory.run(…) as run`. Raises `TooManyRuns`.

        Args:
            agent_type: the kind of agent, 1–256 characters.
            episode_id: the task that the run belongs to, 1–256 characters.
            budget: `max_tokens`, `max_time_ms`, `max_retries`; None for 10,000, a minute and 3.
            parent_session_id: the run that pays for this one, and whose remaining budget caps it.
            operation_id: the caller's name for this start; a repetition returns the same run.
            on_access: see `runs`.
        """
        return self.runs(on_access=on_access).run(
            agent_type=agent_type,
            episode_id=episode_id,
            budget=budget,
            parent_session_id=parent_session_id,
            operation_id=operation_id,
        )

    # Exploring the graph

    @staticmethod
    def patterns() -> Patterns:
        """Return the catalogue of patterns: the purpose, parameters and columns of each."""
        return patterns.patterns()

    async def pattern(
        self, name: str, parameters: Mapping[str, Any] | None = None
    ) -> PatternAnswer:
        """Return the rows of a pattern, at most 1,000. Raises `PatternNotFound`, `TookTooLong`.

        Args:
            name: one of those in `patterns()`.
            parameters: as the catalogue names them; omitted ones have defaults.
        """
        asked = _made(PatternAsked, parameters=parameters or {})
        return await patterns.run_pattern(validated(name, str, "name"), asked, self._context)

    async def neighbourhood(
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
        named = types.split(",") if isinstance(types, str) else types
        given = None if named is None else edge_types(validated(named, list[str], "types"))
        asked = _made(NeighbourhoodAsked, depth=depth, types=given, limit=limit)
        return await show_neighbourhood(text_id(node_id, "node_id"), asked, self._context)

    async def graph_schema(self) -> GraphSchema:
        """Return the labels, properties, edges and indexes of this client's graph, with counts.

        Raises `TookTooLong`.
        """
        return await show_graph_schema(self._context)

    async def cypher(
        self,
        query: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        max_rows: int = 1_000,
        timeout_ms: int = 10_000,
    ) -> Table:
        """Return the rows of a read-only statement, which sees all clients.

        Raises `CypherRefused`, `CypherMistake`, `TookTooLong`, `TookTooMuch`.

        Args:
            parameters: the values of `$name` in the statement, as JSON has them: a time is a text, of which
                the statement makes a time by `datetime($name)`.
            max_rows: the maximum number of rows, 1–50,000.
            timeout_ms: the time limit in milliseconds, 1–60,000.
        """
        sent = _made(
            CypherAsked,
            query=query,
            parameters=parameters or {},
            max_rows=max_rows,
            timeout_ms=timeout_ms,
        )
        return await explore(sent, self._context, via="python")

    async def cypher_audit(
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
        asked = _made(AuditAsked, client_id=client_id, outcome=outcome, limit=limit, cursor=cursor)
        return await show_audit(asked, self._context)

    # Background work

    async def jobs(
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
        asked = _made(JobsAsked, state=state, kind=kind, limit=limit, cursor=cursor)
        return await show_jobs(asked, client_id=self.client_id, graph=self._context.graph)

    # Everything of a client

    async def export(
        self, *, vectors: bool = True, cursor: str | None = None
    ) -> AsyncIterator[bytes]:
        """Return everything of this client as the lines of a file, page by page.

        `graphmem import` reads the file. With `vectors` it has the embeddings too. `cursor` is that of the
        last whole page of an interrupted export: the lines after it follow. Raises `InvalidInput` for a
        foreign one, and for one with vectors of another embedding model than the present one.
        """
        return await export(_made(ExportAsked, vectors=vectors, cursor=cursor), self._context)

    async def usage(self) -> ClientUsage:
        """Return the limits of this client, and its use of them: None until its first write under limits."""
        limits = self.runtime.limits.of(self.client_id)
        return await show_usage(self.client_id, limits, self._context.graph)

    # The whole store

    async def clients(self, *, limit: int = 20, cursor: str | None = None) -> Clients:
        """Return the clients of the store in the order of their ids, 1–100 a page, each with its counts."""
        return await list_clients(
            _made(ClientsAsked, limit=limit, cursor=cursor),
            self.runtime.stores(),
            self.runtime.limits,
        )


def _link(
    from_id: str, to_id: str, type: str, *, start_byte: int | None, end_byte: int | None
) -> NewLink:
    """Return a link in the form of a request. Raises `InvalidInput`."""
    named = {"from": from_id, "to": to_id, "type": type}
    return validated({**named, "start_byte": start_byte, "end_byte": end_byte}, NewLink)


def _given(**fields: object) -> dict[str, object]:
    """Return the fields that were given."""
    return {name: value for name, value in fields.items() if value is not UNSET}


def _made(wanted: type[Asked], **fields: object) -> Asked:
    """Return a request with these fields. Raises `InvalidInput` that names the wrong one."""
    return validated(fields, wanted)
