"""The reasons for which a memory is in an answer or not: the stage at which it fell out, and by how much."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.errors import MemoryNotFound
from graphmem.graph.query import Query
from graphmem.model.vocabulary import KINDS, Kind, Leg, bare_id
from graphmem.recall.types import Compared, Explanation, Item, Lift, Question
from graphmem.retrieval.filters import Filters, conditions
from graphmem.retrieval.finding import MOST_CANDIDATES, IndexQuery, find
from graphmem.retrieval.fusion import best_first
from graphmem.retrieval.ranking import LONGEST_RANKED, NEIGHBOURS, Ranked
from graphmem.retrieval.understanding import Understood
from graphmem.retrieval.weighing import SESSION_BEST

LEG_NAMES: Mapping[Leg, str] = {"vector": "by meaning", "bm25": "by words"}


class AskedMemory(Struct, frozen=True, kw_only=True):
    """A memory as the filters of a question see it."""

    id: str
    external_id: str | None
    kind: Kind
    conversation_id: str
    active: bool
    occurred_at: datetime
    tags: list[str] = []
    passes: bool
    """Whether it was valid, and known, at the times of the question."""
    newer: list[str]
    """The newest version, if it is not that itself."""

    @property
    def superseded_by(self) -> str | None:
        """The newest version; None if it is that itself."""
        return next(iter(self.newer), None)


class FoundMemory(Struct, frozen=True):
    """A row with one memory."""

    memory: AskedMemory


class ExactRank(Struct, frozen=True):
    """A cosine, and the rank that it gives; None without an embedding."""

    cosine: float | None
    rank: int


ASKED_MEMORY = Query("recall/asked_memory", FoundMemory)
EXACT_RANK = Query("recall/exact_rank", ExactRank)


async def load_memory(memory_id: str, filters: Filters, context: Context) -> AskedMemory:
    """Return a memory. Raises `MemoryNotFound`, also for a memory of another client."""
    rows = await context.graph.rows(
        ASKED_MEMORY,
        client_id=context.client_id,
        id=memory_id,
        **filters.validity.conditions,
    )
    if not rows:
        raise MemoryNotFound(memory_id)
    return rows[0].memory


def excluding(memory: AskedMemory, question: Question, filters: Filters) -> list[str]:
    """Return the options of a question that exclude a memory, by their names."""
    excluded = []
    if question.kinds and memory.kind not in question.kinds:
        excluded.append("kinds")
    if question.conversation_id not in (None, memory.conversation_id):
        excluded.append("conversation_id")
    if not filters.tags <= set(memory.tags):
        excluded.append("tags")
    if memory.occurred_at < filters.since:
        excluded.append("since")
    if memory.occurred_at >= filters.until:
        excluded.append("until")
    if filters.only_active:
        if not memory.active:
            excluded.append("superseded" if memory.superseded_by else "not_valid")
    elif not memory.passes:
        times = ("as_of", "known_as_of")
        excluded += [name for name in times if getattr(question, name)] or ["not_valid"]
    return excluded


async def exact_ranks(
    memory: AskedMemory, asked: Understood, filters: Filters, context: Context
) -> tuple[dict[Leg, int | None], dict[str, float]]:
    """Return the rank of a memory among all that pass, in each leg that was searched, and its scores.

    By words at most 10,000 memories are ranked.
    """
    ranks: dict[Leg, int | None] = {}
    scores: dict[str, float] = {}
    if asked.embedding is not None:
        rows = await context.graph.rows(
            EXACT_RANK,
            client_id=context.client_id,
            id=memory.id,
            embedding=asked.embedding,
            kinds=sorted(filters.values("kind") or KINDS),
            actives=filters.validity.actives,
            **conditions(filters),
        )
        exact = next((row for row in rows if row.cosine is not None), None)
        ranks["vector"] = exact.rank if exact else None
        scores |= {"vector": exact.cosine or 0.0} if exact else {}
    if asked.words:
        query = IndexQuery(
            words=asked.words,
            weight=asked.weight_in(context.client_id),
            spoken=asked.spoken,
            filters=filters,
            wanted=MOST_CANDIDATES,
            longest_text=LONGEST_RANKED,
            sample=asked.sample,
        )
        found = (await find(query, client_id=context.client_id, graph=context.graph)).found
        worded = (one for one in found if one.bm25 is not None)
        order = best_first(worded, lambda one: one.bm25 or 0.0)
        place = next((n for n, one in enumerate(order, 1) if one.id == memory.id), None)
        ranks["bm25"] = place
        scores |= {"bm25": order[place - 1].bm25 or 0.0} if place else {}
    return ranks, scores


def lifted(items: Iterable[Item], ranking: Sequence[Ranked]) -> list[Item]:
    """Return the items with the memories that have lifted them."""
    hybrid = [one for one in ranking if "hybrid" in one.scores]
    places = {(one.candidate.session_id, one.candidate.idx): one for one in hybrid}
    best: dict[str, list[Ranked]] = {}
    for one in sorted(hybrid, key=lambda one: -one.scores["hybrid"]):
        if one.candidate.session_id:
            best.setdefault(one.candidate.session_id, []).append(one)
    return [replace(item, lifted_by=[*_beside(item, places), *_best(item, best)]) for item in items]


def _beside(item: Item, places: Mapping[tuple[str, int | None], Ranked]) -> Iterable[Lift]:
    """Yield the candidates beside an item that count for it."""
    for signal, offsets in NEIGHBOURS.items():
        for offset in offsets if item.scores.get(signal) else ():
            if (one := places.get((item.session_id or "", (item.idx or 0) + offset))) is not None:
                yield _lift(signal, one)


def _best(item: Item, best: Mapping[str, Sequence[Ranked]]) -> Iterable[Lift]:
    """Yield the best candidates of an item's session, which stand for the session; never itself."""
    if item.scores.get("session"):
        for one in best.get(item.session_id or "", [])[:SESSION_BEST]:
            if one.id != item.id:
                yield _lift("session", one)


def _lift(signal: str, one: Ranked) -> Lift:
    return Lift(
        signal=signal,
        id=one.id,
        external_id=one.candidate.external_id,
        score=one.scores["hybrid"],
    )


def compared(item: Item) -> Compared:
    """Return the part of an item that another memory is compared with."""
    return Compared(
        id=bare_id(item.id),
        client_id=item.client_id,
        external_id=item.external_id,
        rank=item.rank,
        score=item.score,
        scores=item.scores,
    )


def sentence(found: Explanation) -> str:
    """Return an explanation in words."""
    match found.stage:
        case "filtered":
            return f"excluded by {', '.join(found.filters)}"
        case "not_a_candidate":
            return f"not among the {found.candidates} candidates: {_places(found.ranks)}"
        case "below_min_relevance":
            least = found.min_relevance or 0.0
            return f"relevance {found.relevance or 0.0:.3f}, {least:.3f} is needed"
        case "outranked":
            last = found.last_taken
            return f"rank {found.rank}, score {found.score or 0.0:.3f}" + (
                f"; the last one taken has rank {last.rank}, score {last.score:.3f}" if last else ""
            )
        case "no_room":
            needed, left = found.tokens_needed or 0, found.tokens_left or 0
            # The excerpts before it took less than estimated.
            unread = (
                "" if needed > left else "; its text was not read, since it did not fit by estimate"
            )
            return f"rank {found.rank}; needs {needed} tokens, {left} were left{unread}"
        case "taken":
            return f"taken, rank {found.rank} of {found.candidates}"


def _places(ranks: Mapping[Leg, int | None]) -> str:
    return ", ".join(
        f"{LEG_NAMES[leg]} it is number {rank}" if rank else f"{LEG_NAMES[leg]} it has no rank"
        for leg, rank in ranks.items()
    )
