"""A search over the catalogue and all other memories, with or without hops, and its answer."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from graphmem.model.annotations import WantedTags
from graphmem.model.times import AS_OF, INCLUDE_SUPERSEDED, KNOWN_AS_OF, UNTIL, Time
from graphmem.model.vocabulary import (
    QUERY_CHARACTERS,
    GivenStep,
    Kind,
    Lacks,
    Leg,
    OtherReads,
    SourceType,
    WantedSources,
)
from graphmem.recall.types import Reason
from graphmem.retrieval.expansion import HopPath

SortBy = Literal["relevance", "recency", "importance", "combined"]

Match = Literal["relevance", "exact"]
"""The memories that match: the relevant ones, or those whose text contains the query, in any case."""

SOURCE_IDS = 64
"""The maximum number of sources in one search."""

MOST_RESULTS = 200
MOST_HOPS = 3


class SearchQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search: its query, filters, order, limits, and the number of hops along links.

    The query `*` matches everything. Without `source_types` all kinds are searched, messages, facts and
    episodes too; `span` finds every span, whatever its source type. `since` is inclusive, `until` exclusive.
    Without `sort_by` the most relevant memories are returned by relevance, with hops by `combined`. Another
    order applies to all matches: of each source up to 1,000 by words and 1,000 by meaning (if there are more,
    `total_is_exact` is false). Hops follow links, summaries and names unless `link_types` names the types;
    `part_of` and `next` are only followed if named. `match: exact` finds the texts of a session or a
    conversation that contain the query; there `*` is a character. `session_id` is only used with it:
    the session's own id, or beside `conversation_id` the caller's name for it.
    """

    query: Annotated[str, Meta(min_length=1, max_length=QUERY_CHARACTERS)]
    match: Match = "relevance"
    session_id: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    source_types: WantedSources | None = None
    source_ids: (
        Annotated[
            list[Annotated[str, Meta(min_length=1, max_length=1024)]],
            Meta(min_length=1, max_length=SOURCE_IDS),
        ]
        | None
    ) = None
    conversation_id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    tags: WantedTags | None = None
    since: Time | None = None
    until: Annotated[Time, Meta(description=UNTIL)] | None = None
    as_of: Annotated[Time, Meta(description=AS_OF)] | None = None
    known_as_of: Annotated[Time, Meta(description=KNOWN_AS_OF)] | None = None
    include_superseded: Annotated[bool, Meta(description=INCLUDE_SUPERSEDED)] = False
    max_results: Annotated[int, Meta(ge=1, le=MOST_RESULTS)] = 10
    max_tokens: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    min_relevance: Annotated[float, Meta(ge=0.0, le=1.0)] | None = None
    sort_by: SortBy | None = None
    max_hops: Annotated[int, Meta(ge=0, le=MOST_HOPS)] = 0
    link_types: Annotated[list[GivenStep], Meta(min_length=1, max_length=10)] | None = None
    reads: OtherReads | None = None


class SpanQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A search for spans; without `source_types` for spans of any source."""

    query: Annotated[str, Meta(min_length=1, max_length=QUERY_CHARACTERS)]
    source_types: WantedSources | None = None
    source_ids: (
        Annotated[
            list[Annotated[str, Meta(min_length=1, max_length=1024)]],
            Meta(min_length=1, max_length=SOURCE_IDS),
        ]
        | None
    ) = None
    tags: WantedTags | None = None
    as_of: Annotated[Time, Meta(description=AS_OF)] | None = None
    known_as_of: Annotated[Time, Meta(description=KNOWN_AS_OF)] | None = None
    include_superseded: Annotated[bool, Meta(description=INCLUDE_SUPERSEDED)] = False
    limit: Annotated[int, Meta(ge=1, le=MOST_RESULTS)] = 10
    min_relevance: Annotated[float, Meta(ge=0.0, le=1.0)] | None = None

    @property
    def search(self) -> SearchQuery:
        """The same as a search over all kinds."""
        return SearchQuery(
            query=self.query,
            source_types=self.source_types,
            source_ids=self.source_ids,
            tags=self.tags,
            as_of=self.as_of,
            known_as_of=self.known_as_of,
            include_superseded=self.include_superseded,
            max_results=self.limit,
            min_relevance=self.min_relevance,
            reads=[],
        )


class SearchItem(Struct, frozen=True, kw_only=True):
    """One memory that was found, and the reasons for its rank.

    `scores` holds the score of each leg (`vector`, the cosine; `bm25`), the parts of the relevance
    (`meaning`, `words`) and the relevance passed on by a `hop`. The field `hop` is the number of hops to
    it, and `hop_from` the memory before it.
    """

    id: str
    kind: Kind
    source_type: SourceType
    source_id: str | None
    """The caller's name of the source of a reference, summary or span; of a message its session's id."""
    rank: int
    label: str
    """A title, without the text itself."""
    relevance: float
    """The degree, 0–1, to which it answers, comparable between answers; of a linked one passed on."""
    importance: float
    """0–1, as its writer gave it."""
    combined_score: float
    """.7 · `relevance` + .3 · `importance`, 0–1."""
    token_estimate: int
    """The tokens of its whole text or content; an estimate if no content is stored."""
    snippet: str | None
    """The beginning of its description, or of its text."""
    metadata: dict[str, Any]
    occurred_at: datetime
    scores: dict[str, float]
    ranks: dict[Leg, int]
    """Its rank in each search that has found it, from 1: `vector` by meaning, `bm25` by words. With
    `sort_by` recency or importance it has none by words."""
    hop: int = 0
    hop_from: str | None = None
    client_id: str | None = None
    """The client that it belongs to; null for the caller's own."""


class LeftOut(Struct, frozen=True, kw_only=True):
    """One memory that was found and omitted; `client_id` is null for one of the caller's own client."""

    id: str
    rank: int
    relevance: float
    combined_score: float
    token_estimate: int
    reason: Reason
    """`beyond_limit` if `max_results` memories of higher rank were taken, else `no_room`."""
    client_id: str | None = None


class FoundSpan(SearchItem, frozen=True, kw_only=True):
    """One span that was found, with the field names of a run's span beside those of an item."""

    span_id: str
    """Its `id`."""
    token_count: int
    """Its `token_estimate`, which is measured if the span has a content."""
    relevance_score: float
    """Its `relevance`."""


class SearchResult(Struct, frozen=True, kw_only=True):
    """The memories that were found, the omitted ones, and the query with its defaults.

    `total_count` is the number of matches; if the search has not seen everything, `total_is_exact` is false
    and there may be more. `hops_used` is the depth of the deepest item. If a memory has more links than a hop
    follows, `degraded` contains `fan_out`, and `fan_out` the first 50 such memories of the caller's own.
    """

    items: list[SearchItem]
    total_count: int
    total_is_exact: bool
    tokens_used: int
    """The sum of `token_estimate` of the items."""
    omitted: list[LeftOut]
    omitted_total: int
    """The number of all that were omitted; `omitted` names the first of them."""
    degraded: Lacks
    hops_used: int
    hop_paths: list[HopPath]
    fan_out: list[str]
    query: SearchQuery


class SpanSearchResult(Struct, frozen=True, kw_only=True):
    """The spans that were found, the omitted ones, and the equivalent search over all kinds."""

    items: list[FoundSpan]
    total_count: int
    """The number of matches; a minimum unless `total_is_exact`."""
    total_is_exact: bool
    tokens_used: int
    """The sum of `token_estimate` of the items."""
    omitted: list[LeftOut]
    omitted_total: int
    degraded: Lacks
    hops_used: int
    hop_paths: list[HopPath]
    query: SearchQuery
