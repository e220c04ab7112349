"""Chaining: the memories that what was found names, for questions whose evidence is in several passages."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from graphmem.context import Context
from graphmem.model.vocabulary import KINDS
from graphmem.retrieval.expansion import expand, joined
from graphmem.retrieval.filters import Filters, Sources
from graphmem.retrieval.finding import Candidate, load_candidates
from graphmem.retrieval.fusion import best_first
from graphmem.retrieval.ranking import Ranked
from graphmem.retrieval.weighing import chat_share

SEEDS = 5
"""The first memories, whose names are followed: on HotpotQA three gain as much, ten no more."""

HOP = "hop"
"""The name of the score that a hop adds."""


def is_prose(ranking: Sequence[Ranked]) -> bool:
    """Tell whether the memories are passages or long answers: names connect these, but all of a chat's."""
    return bool(ranking) and not chat_share(one.candidate.token_count for one in ranking)


async def chained(ranking: Sequence[Ranked], filters: Filters, context: Context) -> list[Ranked]:
    """Return a ranking of prose with the memories one hop from its first, along the names in these.

    Raises `Unavailable`.
    """
    best = ranking[0].score
    own = {one.id: min(1.0, max(0.0, one.score / best)) for one in ranking} if best > 0 else {}
    if not own:
        return list(ranking)
    expansion = await expand(
        {one.id: own[one.id] for one in ranking[:SEEDS]},
        own,
        hops=1,
        steps=["mentions"],
        sources=_sources(filters),
        client_id=context.client_id,
        graph=context.graph,
    )
    reached = expansion.reached()
    others = [id for id in reached if id not in own]
    found = await load_candidates(others, client_id=context.client_id, graph=context.graph)
    inherited = {id: row.inherited for id, row in reached.items()}
    return lifted(ranking, own, inherited, found)


def lifted(
    ranking: Sequence[Ranked],
    own: Mapping[str, float],
    inherited: Mapping[str, float],
    found: Mapping[str, Candidate],
) -> list[Ranked]:
    """Return a ranking with the scores that a hop adds, and with the memories that only the hop has found."""
    best, weights = ranking[0].score, {**ranking[0].weights, HOP: 1.0}
    only = [Ranked(one, 0.0, {}, {}) for one in found.values()]
    scored = {}
    for one in (*ranking, *only):
        gained = best * joined(own.get(one.id, 0.0), inherited.get(one.id, 0.0))
        more = max(0.0, gained - one.score)
        scores = one.scores | {HOP: more} if more else one.scores
        scored[one.id] = replace(one, score=one.score + more, scores=scores, weights=weights)
    order = best_first((one.candidate for one in scored.values()), lambda one: scored[one.id].score)
    return [scored[one.id] for one in order]


def _sources(filters: Filters) -> Sources:
    wanted = filters.kind
    return Sources(
        kinds=frozenset(kind for kind in KINDS if wanted is None or kind in wanted),
        conversation_id=next(iter(filters.conversation_id or ()), None),
        tags=frozenset(filters.tags),
        since=filters.since,
        until=filters.until,
        validity=filters.validity,
    )
