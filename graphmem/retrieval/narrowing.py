"""Narrowing: which sessions answer a question, and what stands around a hit. Numbers in, numbers out."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from graphmem.retrieval.candidates import Candidate
from graphmem.retrieval.fusion import Scores, by_maximum, min_max, weighted
from graphmem.retrieval.ranking import DENSE_SHARE

BEST_MESSAGES = 3
"""How many of a session's best messages speak for it (RANKING: the sum of its three best)."""

One = TypeVar("One")


def hybrid(found: Sequence[Candidate]) -> Scores:
    """Return each candidate's cosine and words' score as one, 0–1."""
    cosines = {one.id: one.cosine for one in found if one.cosine is not None}
    bm25 = {one.id: one.bm25 for one in found if one.bm25 is not None}
    if not cosines:
        return by_maximum(bm25)
    return weighted([(DENSE_SHARE, min_max(cosines)), (1 - DENSE_SHARE, by_maximum(bm25))])


def best_of_sessions(
    found: Sequence[Candidate], scores: Mapping[str, float], most: int = BEST_MESSAGES
) -> dict[str, list[Candidate]]:
    """Return each session's best candidates, the best first; those of no session are left out."""
    best: dict[str, list[Candidate]] = defaultdict(list)
    for one in sorted(found, key=lambda one: (-scores[one.id], one.id)):
        if one.session_id and len(best[one.session_id]) < most:
            best[one.session_id].append(one)
    return dict(best)


def session_order(
    messages: Mapping[str, Sequence[Candidate]],
    summaries: Mapping[str, Sequence[Candidate]],
    message_scores: Mapping[str, float],
    summary_scores: Mapping[str, float],
) -> list[str]:
    """Return the sessions, the best first: by the sum of their best messages and their summary's score."""
    scores = weighted(
        [
            (1.0, {id: sum(message_scores[c.id] for c in best) for id, best in messages.items()}),
            (1.0, {id: summary_scores[best[0].id] for id, best in summaries.items()}),
        ]
    )
    return sorted(scores, key=lambda session: (-scores[session], session))


def around(turns: Sequence[One], hits: Collection[int], reach: int) -> dict[int, list[int]]:
    """Return for each hit, by its place, the places within its reach that no hit before it has taken.

    Places run over `turns`; a place that is a hit is nobody's neighbour.
    """
    taken = set(hits)
    neighbours: dict[int, list[int]] = {}
    for hit in sorted(hits):
        within = range(max(0, hit - reach), min(len(turns), hit + reach + 1))
        neighbours[hit] = [place for place in within if place not in taken]
        taken |= set(neighbours[hit])
    return neighbours
