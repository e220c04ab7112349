"""The public names of graphmem, each imported once; `graphmem` loads them from here on first use."""

from graphmem.blocking.generated import (
    BlockingBeginning as BlockingBeginning,
    BlockingGraphmem as BlockingGraphmem,
    BlockingRetriever as BlockingRetriever,
    BlockingRun as BlockingRun,
    BlockingRuns as BlockingRuns,
)
from graphmem.client import (
    DEFAULT_CLIENT as DEFAULT_CLIENT,
    Graphmem as Graphmem,
    When as When,
)
from graphmem.clients import (
    Clients as Clients,
    ClientUsage as ClientUsage,
    ListedClient as ListedClient,
    Used as Used,
)
from graphmem.config import (
    ClientLimits as ClientLimits,
    Settings as Settings,
    SettingsGiven as SettingsGiven,
)
from graphmem.contexts.context import (
    Added as Added,
    ContextSection as ContextSection,
    CreateContextOptions as CreateContextOptions,
    RetrievalContext as RetrievalContext,
)
from graphmem.contextual.types import (
    ContextualResult as ContextualResult,
    MoreTurns as MoreTurns,
    OmittedTurn as OmittedTurn,
    SessionContext as SessionContext,
)
from graphmem.conversations.types import (
    CalledFunction as CalledFunction,
    Conversation as Conversation,
    Conversations as Conversations,
    Deleted as Deleted,
    ListedConversation as ListedConversation,
    ListedSession as ListedSession,
    MessagePart as MessagePart,
    Messages as Messages,
    NewMessage as NewMessage,
    Remembered as Remembered,
    Sessions as Sessions,
    ToolCall as ToolCall,
)
from graphmem.entities.aliases import (
    Alias as Alias,
    AliasesFound as AliasesFound,
    AliasOf as AliasOf,
    AliasShown as AliasShown,
    Entities as Entities,
    EntityShown as EntityShown,
)
from graphmem.episodes.types import (
    Consolidated as Consolidated,
    KeptEpisode as KeptEpisode,
    MessageRange as MessageRange,
    Segmented as Segmented,
)
from graphmem.exploring.types import (
    Audit as Audit,
    AuditEntry as AuditEntry,
    PlanStep as PlanStep,
    PlanSummary as PlanSummary,
    Table as Table,
)
from graphmem.facts.types import (
    Categories as Categories,
    FactVersion as FactVersion,
    KeptFact as KeptFact,
    NewFact as NewFact,
    Similar as Similar,
)
from graphmem.forgetting.types import (
    FoundPlace as FoundPlace,
    Receipt as Receipt,
    Verified as Verified,
)
from graphmem.hypotheses.types import (
    Turn as Turn,
    TurnMemory as TurnMemory,
)
from graphmem.jobs.outbox import (
    Job as Job,
    Jobs as Jobs,
)
from graphmem.memories.cards import (
    Card as Card,
    Location as Location,
)
from graphmem.memories.chunk import (
    ChunkOptions as ChunkOptions,
    ChunkResult as ChunkResult,
    PeekResult as PeekResult,
)
from graphmem.memories.links import (
    Link as Link,
    Links as Links,
    LinkShown as LinkShown,
    NewLink as NewLink,
)
from graphmem.memories.lists import (
    Memories as Memories,
)
from graphmem.memories.types import (
    ListedMemory as ListedMemory,
    Memory as Memory,
)
from graphmem.memories.versions import (
    Version as Version,
    Versions as Versions,
)
from graphmem.model.progress import (
    Progress as Progress,
)
from graphmem.model.vocabulary import (
    GivenStep as GivenStep,
    Kind as Kind,
    LinkType as LinkType,
    Ranking as Ranking,
    Rating as Rating,
    ReferenceType as ReferenceType,
    SourceType as SourceType,
    SpanSource as SpanSource,
    Step as Step,
    SummaryType as SummaryType,
    TruncationStrategy as TruncationStrategy,
)
from graphmem.neighbourhood.types import (
    Cut as Cut,
    EdgeTypeShown as EdgeTypeShown,
    EndsShown as EndsShown,
    GraphEdge as GraphEdge,
    GraphNode as GraphNode,
    GraphSchema as GraphSchema,
    IndexShown as IndexShown,
    LabelShown as LabelShown,
    Neighbourhood as Neighbourhood,
    PropertyShown as PropertyShown,
)
from graphmem.opening import (
    Client as Client,
    Opening as Opening,
    open as open,
)
from graphmem.patterns.types import (
    Pattern as Pattern,
    PatternAnswer as PatternAnswer,
    PatternColumn as PatternColumn,
    PatternParameter as PatternParameter,
    Patterns as Patterns,
)
from graphmem.recall.types import (
    Compared as Compared,
    ExplainedQuestion as ExplainedQuestion,
    Explanation as Explanation,
    Item as Item,
    Lift as Lift,
    Omitted as Omitted,
    Question as Question,
    Recalled as Recalled,
    ShownExcerpt as ShownExcerpt,
)
from graphmem.references.types import (
    Content as Content,
    NewReference as NewReference,
    NewSpan as NewSpan,
    NewSpanMetadata as NewSpanMetadata,
    Reference as Reference,
    References as References,
    Span as Span,
    SpanContent as SpanContent,
    SpanPointer as SpanPointer,
)
from graphmem.remote.client import (
    AsyncClient as AsyncClient,
)
from graphmem.retrieval.expansion import (
    HopPath as HopPath,
)
from graphmem.retrieve_memory.types import (
    Found as Found,
    FoundEpisode as FoundEpisode,
    FoundFact as FoundFact,
    Retrieved as Retrieved,
    Said as Said,
)
from graphmem.reviews.types import (
    Applied as Applied,
    Rated as Rated,
    Review as Review,
    Reviewed as Reviewed,
    Reviews as Reviews,
    ReviewsRun as ReviewsRun,
)
from graphmem.runs.environment import (
    RunEnvironment as RunEnvironment,
)
from graphmem.runs.session import (
    Beginning as Beginning,
    RunSession as RunSession,
)
from graphmem.runs.types import (
    Access as Access,
    Accesses as Accesses,
    BudgetState as BudgetState,
    FixedBudget as FixedBudget,
    LeftOutSpan as LeftOutSpan,
    OnAccess as OnAccess,
    RetrievalBudget as RetrievalBudget,
    RetrievalResult as RetrievalResult,
    RetrievedSpan as RetrievedSpan,
    Returned as Returned,
    Run as Run,
    RunPeek as RunPeek,
    RunResult as RunResult,
    Runs as Runs,
    SpanRef as SpanRef,
    TreeRun as TreeRun,
    WriteResult as WriteResult,
)
from graphmem.search.retriever import (
    MemoryRetriever as MemoryRetriever,
    MemoryRetrieverConfig as MemoryRetrieverConfig,
    create_memory_retriever as create_memory_retriever,
)
from graphmem.search.types import (
    FoundSpan as FoundSpan,
    LeftOut as LeftOut,
    SearchItem as SearchItem,
    SearchQuery as SearchQuery,
    SearchResult as SearchResult,
    SpanQuery as SpanQuery,
    SpanSearchResult as SpanSearchResult,
)
from graphmem.sessions.related import (
    RelatedSession as RelatedSession,
    RelatedSessions as RelatedSessions,
)
from graphmem.summaries.types import (
    Summaries as Summaries,
    Summary as Summary,
)
from graphmem.tokens import (
    TokenCounter as TokenCounter,
)
