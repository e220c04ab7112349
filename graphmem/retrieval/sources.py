"""Search's candidates: of each source the nearest in meaning and those that share words, or a list.

Filters act inside the indexes, one search for each kind or source type that may be found, so that a
rare one is not crowded out by a common one.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Any, get_args

from msgspec import Struct
from msgspec.structs import replace

from graphmem.embedding import Vector
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.graph.scope import scope_word
from graphmem.model.times import BEGINNING, END
from graphmem.model.vocabulary import KINDS, Kind, SourceType
from graphmem.retrieval.enough import MOST_CANDIDATES, enough
from graphmem.retrieval.filters import LAST_TEXT
from graphmem.retrieval.holding import NOW_ONLY, Holding
from graphmem.text.words import lucene_query, scope_query

CATALOGUE: tuple[Kind, ...] = ("summary", "reference", "span")
"""The kinds that are searched when no source type is named, as S1 has it."""

OWN_KIND: Mapping[str, Kind] = {
    "message": "message",
    "episode": "episode",
    "fact": "fact",
    "thread_summary": "summary",
    "plan_summary": "summary",
    "session_summary": "summary",
}
"""The kind of which the memories of a source type are; of all others they are references. Or spans of it."""

LEAST_POOL = 50
"""How many candidates each leg brings of each source, unless more results are asked for."""

POOL_FACTOR = 2
"""How many candidates of each source there are for a result, as S1 has it."""

LONG_TEXT = 20_000
"""A longer text, in characters, is fetched by itself."""

TEXTS_AT_ONCE = 8
"""How many long texts are fetched at once."""


class Sources(Struct, frozen=True, kw_only=True):
    """Among which memories is searched: of whole kinds, and of source types whatever their kind."""

    kinds: frozenset[Kind] = frozenset(CATALOGUE)
    types: frozenset[SourceType] = frozenset()
    only: Kind | None = None
    """The one kind of which all must be, whatever their source type."""
    ids: frozenset[str] = frozenset()
    """The sources that pass, all when empty."""
    conversation_id: str | None = None
    since: datetime = BEGINNING
    until: datetime = END
    holding: Holding = NOW_ONLY

    @property
    def kinds_of(self) -> list[Kind]:
        """The kinds among which all that passes is."""
        if self.only:
            return [self.only]
        own = {OWN_KIND.get(one, "reference") for one in self.types}
        return sorted(self.kinds | own | ({"span"} if self.types else set()), key=KINDS.index)

    @property
    def timed(self) -> bool:
        """Whether only some times pass."""
        return (self.since, self.until) != (BEGINNING, END)

    @property
    def branches(self) -> list["Sources"]:
        """One search for each kind and each source type."""
        kinds = [replace(self, kinds=frozenset({one}), types=frozenset()) for one in self.kinds]
        types = [replace(self, kinds=frozenset(), types=frozenset({one})) for one in self.types]
        return [*kinds, *types]


class Found(Struct, frozen=True, kw_only=True):
    """A memory that search has found, with everything that its relevance and its place need."""

    id: str
    kind: Kind
    source_type: SourceType
    importance: float
    token_count: int
    occurred_at: datetime
    text: str | None = None
    """The text that was searched; none when it is long."""
    cosine: float | None = None
    bm25: float | None = None
    by_vector: bool = False
    passes: bool = True
    """Whether it passes what the words index could not decide."""
    source_id: str = ""
    start_byte: int | None = None
    end_byte: int | None = None
    sha256: str | None = None
    """Of a span where it is in its source, and its text's hash; not every search brings these."""

    @property
    def content(self) -> str | None:
        """The text of a span, if its hash says so: what is searched begins with it."""
        if self.text is None or self.start_byte is None or self.end_byte is None:
            return None
        content = self.text.encode()[: self.end_byte - self.start_byte]
        return content.decode() if sha256(content).hexdigest() == self.sha256 else None


class Text(Struct, frozen=True):
    """The text by which a memory is found."""

    id: str
    text: str


class Count(Struct, frozen=True):
    """How many memories pass."""

    memories: int


class Pool(Struct, frozen=True):
    """Search's candidates, and how much of each leg they are."""

    found: list[Found]
    all_by_vector: bool
    """Whether the vector leg has returned all that pass."""
    all_by_words: bool
    least_cosine: float
    """No memory that passes and was not found by vector lies nearer."""


SOURCES_OF_KIND = Query("retrieval/sources_of_kind", Found)
SOURCES_OF_TYPE = Query("retrieval/sources_of_type", Found)
SOURCES_BY_ID = Query("retrieval/sources_by_id", Found)
SOURCES_AT_TIMES = Query("retrieval/sources_at_times", Found)
SOURCES_BY_WORDS = Query("retrieval/sources_by_words", Found)
NEAREST_SOURCES = Query("retrieval/nearest_sources", Found)
NEAREST_LISTED = Query("retrieval/nearest_listed", Found)
LISTED_BY_TIME = Query("retrieval/listed_by_time", Found)
LISTED_BY_IMPORTANCE = Query("retrieval/listed_by_importance", Found)
COUNTED_SOURCES = Query("retrieval/counted_sources", Count)
NEAREST_AT_TIMES = Query("retrieval/nearest_at_times", Found)
LISTED_AT_TIMES = Query("retrieval/listed_at_times", Found)
COUNTED_AT_TIMES = Query("retrieval/counted_at_times", Count)
SEARCHED_TEXTS = Query("retrieval/searched_texts", Text)


def sources_asked(
    types: Sequence[SourceType] | None,
    ids: Sequence[str] | None,
    conversation_id: str | None,
    since: datetime,
    until: datetime,
    only: Kind | None = None,
    holding: Holding = NOW_ONLY,
) -> Sources:
    """Return what a search's filters ask for; `span` is the kind, every other name a source type."""
    named = frozenset(types or ())
    spans: frozenset[Kind] = frozenset({"span"}) if "span" in named else frozenset()
    return Sources(
        kinds=spans if named else frozenset({only} if only else CATALOGUE),
        only=only,
        types=named - {"span"},
        ids=frozenset(ids or ()),
        conversation_id=conversation_id,
        since=since,
        until=until,
        holding=holding,
    )


async def pool(
    embedding: Vector | None,
    words: list[str],
    sources: Sources,
    *,
    client_id: str,
    results: int,
    weight: Mapping[str, float],
    graph: Graph,
) -> Pool:
    """Return the candidates of every source; one that several searches found stands once.

    Raises `Unavailable`.
    """
    wanted = max(LEAST_POOL, POOL_FACTOR * results)
    branches = await asyncio.gather(
        *(
            _branch(embedding, words, one, client_id, wanted, weight, graph)
            for one in sources.branches
        )
    )
    united: dict[str, Found] = {}
    for branch in branches:
        for one in branch.found:
            united[one.id] = _both(united[one.id], one) if one.id in united else one
    found = await _with_long_texts(list(united.values()), client_id, graph)
    return Pool(
        found,
        all(branch.all_by_vector for branch in branches),
        all(branch.all_by_words for branch in branches),
        max((branch.least_cosine for branch in branches), default=-1.0),
    )


async def listed(
    sources: Sources, *, by_importance: bool, client_id: str, limit: int, graph: Graph
) -> tuple[list[Found], int]:
    """Return the newest or the most important that pass, and how many pass in all."""
    parameters = {"client_id": client_id, "kinds": sources.kinds_of} | passing(sources)
    if sources.holding.only_active:
        query = LISTED_BY_IMPORTANCE if by_importance else LISTED_BY_TIME
        listing = graph.rows(query, limit=limit, **parameters)
        counting = graph.rows(COUNTED_SOURCES, **parameters)
    else:
        parameters |= sources.holding.conditions
        listing = graph.rows(
            LISTED_AT_TIMES, limit=limit, by_importance=by_importance, **parameters
        )
        counting = graph.rows(COUNTED_AT_TIMES, **parameters)
    found, counted = await asyncio.gather(listing, counting)
    return found, counted[0].memories


def passing(sources: Sources) -> dict[str, Any]:
    """Return the conditions of passing, as the queries take them."""
    return {
        "whole_kinds": sorted(sources.kinds),
        "source_types": sorted(sources.types),
        "source_ids": sorted(sources.ids),
        "conversation_ids": [sources.conversation_id] if sources.conversation_id else [],
        "since": sources.since,
        "until": sources.until,
    }


def passing_then(sources: Sources) -> dict[str, Any]:
    """Return the conditions of passing and of holding at the times that are asked for.

    `timed` says whether there are such times: else what is active holds.
    """
    return passing(sources) | sources.holding.of_versions


async def _branch(
    embedding: Vector | None,
    words: list[str],
    branch: Sources,
    client_id: str,
    wanted: int,
    weight: Mapping[str, float],
    graph: Graph,
) -> Pool:
    """Return one source's candidates; more are asked for while times let too few through."""
    scope = _scope(branch, client_id)
    lucene = lucene_query(words, scope, weight)
    rows, limit = await enough(
        lambda limit: _both_legs(embedding, lucene, branch, limit, client_id, graph), _legs, wanted
    )
    by_words, by_vector = _legs(rows)
    found = {row.id: row for row in rows if row.passes}
    full = len(by_vector) >= limit
    if embedding is not None and not full:
        for row in await _exactly(embedding, branch, scope, wanted, client_id, graph):
            found[row.id] = _both(found[row.id], row) if row.id in found else row
        full = sum(row.by_vector for row in found.values()) >= wanted
    return Pool(
        list(found.values()),
        embedding is None or not full,
        len(by_words) < limit,
        min((row.cosine or 0.0 for row in found.values() if row.by_vector), default=-1.0),
    )


def _legs(rows: list[Found]) -> tuple[list[Found], list[Found]]:
    """Return what the words have found, and what the vector has."""
    return [row for row in rows if row.bm25 is not None], [row for row in rows if row.by_vector]


async def _both_legs(
    embedding: Vector | None,
    lucene: str,
    branch: Sources,
    limit: int,
    client_id: str,
    graph: Graph,
) -> list[Found]:
    """Return what both indexes find; without a vector, what the words do."""
    common: dict[str, Any] = {
        "client_id": client_id,
        "words": lucene,
        "limit": limit,
        "longest": LONG_TEXT,
    }
    if embedding is None:
        return await graph.rows(
            SOURCES_BY_WORDS, **common, **passing(branch), **branch.holding.conditions
        )
    common |= {
        "embedding": embedding,
        "since": branch.since,
        "until": branch.until,
        "conversation_from": branch.conversation_id or "",
        "conversation_to": branch.conversation_id or LAST_TEXT,
    }
    kind, type = next(iter(branch.kinds), branch.only), next(iter(branch.types), None)
    kinds = {"kind_from": kind or "", "kind_to": kind or LAST_TEXT}
    types = {"type_from": type or "", "type_to": type or LAST_TEXT}
    if not branch.holding.only_active:
        sources = {
            "source_ids": sorted(branch.ids),
            "source_from": min(branch.ids, default=""),
            "source_to": max(branch.ids, default=LAST_TEXT),
        }
        return await graph.rows(
            SOURCES_AT_TIMES, **common, **kinds, **types, **sources, **branch.holding.conditions
        )
    if branch.ids:
        return await graph.rows(
            SOURCES_BY_ID, **common, source_ids=sorted(branch.ids), **kinds, **types
        )
    if branch.kinds:
        return await graph.rows(SOURCES_OF_KIND, kind=kind, **common)
    return await graph.rows(SOURCES_OF_TYPE, source_type=type, **kinds, **common)


async def _exactly(
    embedding: Vector,
    branch: Sources,
    scope: list[list[str]],
    wanted: int,
    client_id: str,
    graph: Graph,
) -> list[Found]:
    """Return the nearest by exact cosine: the index may fall short where hardly more exist than asked."""
    common = {
        "client_id": client_id,
        "embedding": embedding,
        "limit": wanted,
        "longest": LONG_TEXT,
    }
    among = passing(branch)
    if not branch.holding.only_active:
        among |= branch.holding.conditions
        return await graph.rows(NEAREST_AT_TIMES, kinds=branch.kinds_of, **common, **among)
    if branch.timed:
        return await graph.rows(NEAREST_LISTED, kinds=branch.kinds_of, **common, **among)
    del among["since"], among["until"]
    return await graph.rows(
        NEAREST_SOURCES, scope=scope_query(scope), most=MOST_CANDIDATES, **common, **among
    )


def _scope(branch: Sources, client_id: str) -> list[list[str]]:
    """Return the groups of scope words that a memory must carry one word each of."""
    groups = [[scope_word(client_id, "client")]]
    if branch.holding.only_active:
        groups.append([scope_word(client_id, "active")])
    kinds = branch.kinds or ({branch.only} if branch.only else set())
    groups += [[scope_word(client_id, "kind", kind)] for kind in kinds]
    groups += [[scope_word(client_id, "source_type", one)] for one in branch.types]
    if branch.ids:
        groups.append([scope_word(client_id, "source_id", id) for id in sorted(branch.ids)])
    if branch.conversation_id:
        groups.append([scope_word(client_id, "conversation_id", branch.conversation_id)])
    return groups


async def _with_long_texts(found: list[Found], client_id: str, graph: Graph) -> list[Found]:
    """Return the candidates with all their texts."""
    long = [one.id for one in found if one.text is None]
    texts: dict[str, str] = {}
    for start in range(0, len(long), TEXTS_AT_ONCE):
        some = long[start : start + TEXTS_AT_ONCE]
        rows = await graph.rows(SEARCHED_TEXTS, client_id=client_id, ids=some)
        texts |= {row.id: row.text for row in rows}
    return [replace(one, text=texts.get(one.id, "")) if one.text is None else one for one in found]


def _both(one: Found, other: Found) -> Found:
    """Return what two searches have found of the same memory."""
    return replace(
        one,
        by_vector=one.by_vector or other.by_vector,
        bm25=one.bm25 if other.bm25 is None else max(one.bm25 or 0.0, other.bm25),
        cosine=other.cosine if one.cosine is None else one.cosine,
    )


assert set(OWN_KIND) < set(get_args(SourceType)), "every source type of a kind is one of the list"
