"""Fusion: combining the scores of the legs, and sorting memories by a score.

Scores are stored by candidate id. A candidate that a leg has not found is absent from that leg.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

DENSE_SHARE = 0.65
"""The vector's share of the hybrid score; tuned with this embedding model on LoCoMo and BEAM."""

Scores = dict[str, float]

# Cormack, Clarke and Büttcher (2009) found the fused order insensitive to k near 60.
RRF_K = 60


class Dated(Protocol):
    """A memory with a time, for sorting."""

    @property
    def id(self) -> str:
        """The memory's id."""
        ...

    @property
    def occurred_at(self) -> datetime:
        """The time at which it happened."""
        ...


Hit = TypeVar("Hit", bound=Dated)


def reciprocal_rank(rankings: Sequence[Sequence[str]], k: int = RRF_K) -> Scores:
    """Return Σ 1 / (k + rank) over the rankings, ranks from 1."""
    scores: Scores = {}
    for ranking in rankings:
        for rank, id in enumerate(ranking, start=1):
            scores[id] = scores.get(id, 0.0) + 1.0 / (k + rank)
    return scores


def min_max(scores: Mapping[str, float]) -> Scores:
    """Return the scores scaled to 0–1, least to greatest; equal scores all become 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    span = high - low
    return {id: (score - low) / span if span else 1.0 for id, score in scores.items()}


def by_maximum(scores: Mapping[str, float]) -> Scores:
    """Return the scores divided by the greatest; 0 stays 0, since absence counts as 0."""
    high = max(scores.values(), default=0.0)
    return {id: score / high if high else 0.0 for id, score in scores.items()}


def weighted(parts: Sequence[tuple[float, Mapping[str, float]]]) -> Scores:
    """Return Σ weight · score over the parts; an absent score counts as 0."""
    scores: Scores = {}
    for weight, part in parts:
        for id, score in part.items():
            scores[id] = scores.get(id, 0.0) + weight * score
    return scores


def best_first(found: Iterable[Hit], score: Callable[[Hit], float]) -> list[Hit]:
    """Return memories by descending score; ties go to the newer, then to the lower id."""
    return sorted(newest_first(found), key=score, reverse=True)


def newest_first(found: Iterable[Hit]) -> list[Hit]:
    """Return memories in the order of those with the same score: the newer first, then the lower id."""
    order = sorted(found, key=lambda one: one.id)
    order.sort(key=lambda one: one.occurred_at, reverse=True)
    return order
