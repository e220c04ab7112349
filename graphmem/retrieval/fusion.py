"""Fusing the legs' scores into one: numbers in, numbers out.

Scores are held by candidate id. A candidate that a leg has not found is absent from that leg.
"""

from collections.abc import Mapping, Sequence

Scores = dict[str, float]

# Cormack, Clarke and Büttcher (2009) found the fused order insensitive to k near 60.
RRF_K = 60


def reciprocal_rank(rankings: Sequence[Sequence[str]], k: int = RRF_K) -> Scores:
    """Return Σ 1 / (k + rank) over the rankings, ranks from 1."""
    scores: Scores = {}
    for ranking in rankings:
        for rank, id in enumerate(ranking, start=1):
            scores[id] = scores.get(id, 0.0) + 1.0 / (k + rank)
    return scores


def min_max(scores: Mapping[str, float]) -> Scores:
    """Return the scores moved to 0–1, least to greatest; all equal become 1."""
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    span = high - low
    return {id: (score - low) / span if span else 1.0 for id, score in scores.items()}


def by_maximum(scores: Mapping[str, float]) -> Scores:
    """Return the scores divided by the greatest; 0 stays 0, as it must where absence is 0."""
    high = max(scores.values(), default=0.0)
    return {id: score / high if high else 0.0 for id, score in scores.items()}


def weighted(parts: Sequence[tuple[float, Mapping[str, float]]]) -> Scores:
    """Return Σ weight · score over the parts; absent counts as 0."""
    scores: Scores = {}
    for weight, part in parts:
        for id, score in part.items():
            scores[id] = scores.get(id, 0.0) + weight * score
    return scores
