"""Weighing: what else than the legs speaks for a memory. Numbers in, numbers out."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from graphmem.retrieval.fusion import Scores, min_max

SESSION_BEST = 3
"""How many of a session's best memories speak for it."""


def session_prior(scores: Mapping[str, float], session_of: Mapping[str, str]) -> Scores:
    """Return for each memory how well its session answers, 0–1: its best memories' sum, min-max."""
    by_session: dict[str, list[float]] = defaultdict(list)
    for id, score in scores.items():
        if session_of[id]:
            by_session[session_of[id]].append(score)
    sums = {
        session: sum(sorted(found, reverse=True)[:SESSION_BEST])
        for session, found in by_session.items()
    }
    prior = min_max(sums)
    return {id: prior[session_of[id]] for id in scores if session_of[id]}


def smoothed(
    scores: Mapping[str, float],
    places: Mapping[str, tuple[str, int]],
    weights: Sequence[float],
) -> Scores:
    """Return each score plus shares of its neighbours' in the session.

    `places` gives session and idx; `weights` the share of neighbours at distance 1, 2, ….
    A neighbour that is no candidate adds nothing.
    """
    at = {place: scores[id] for id, place in places.items()}
    return {
        id: score
        + sum(
            weight * (at.get((session, idx - distance), 0.0) + at.get((session, idx + distance), 0.0))
            for distance, weight in enumerate(weights, start=1)
            for session, idx in [places[id]]
        )
        if id in places
        else score
        for id, score in scores.items()
    }


def speaker_named(words: Iterable[str], names: Mapping[str, str | None]) -> Scores:
    """Return 1 for the memories whose speaker is the only one that the question names."""
    asked = set(words)
    named = {name for name in names.values() if name and set(name.lower().split()) & asked}
    if len(named) != 1:
        return {}
    return {id: 1.0 for id, name in names.items() if name in named}
