"""Weighing: the signals of a memory besides those of the two legs; pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from graphmem.retrieval.fusion import Scores, by_maximum
from graphmem.text.words import folded

SESSION_BEST = 2
"""The number of a session's best memories that make up its score."""

SHORT_TOKENS = 80
"""The length up to which neighbours count fully; for a longer memory they count less."""


def session_prior(scores: Mapping[str, float], session_of: Mapping[str, str]) -> Scores:
    """Return the score, 0–1, of each memory's session: the sum of the session's best memories.

    It is divided by that of the best session, so that similar sessions keep similar scores.
    """
    by_session: dict[str, list[float]] = defaultdict(list)
    for id, score in scores.items():
        if session_of[id]:
            by_session[session_of[id]].append(score)
    prior = by_maximum(
        {
            session: sum(sorted(found, reverse=True)[:SESSION_BEST])
            for session, found in by_session.items()
        }
    )
    return {id: prior[session_of[id]] for id in scores if session_of[id]}


def neighbour_support(
    scores: Mapping[str, float],
    places: Mapping[str, tuple[str, int]],
    lengths: Mapping[str, int],
    shares: Sequence[float],
) -> Scores:
    """Return for each memory a share of its neighbours' scores: an utterance is read with its context.

    `places` gives session and idx, `lengths` tokens, `shares` the shares of neighbours at distance 1, 2, …. A
    neighbour that is not a candidate contributes nothing.
    """
    at = {place: scores[id] for id, place in places.items()}
    return {
        id: min(1.0, SHORT_TOKENS / max(lengths[id], 1))
        * sum(
            share
            * (at.get((session, idx - distance), 0.0) + at.get((session, idx + distance), 0.0))
            for distance, share in enumerate(shares, start=1)
        )
        for id, (session, idx) in places.items()
    }


def speaker_named(words: Iterable[str], names: Mapping[str, str | None]) -> Scores:
    """Return 1 for the memories whose speaker is the only one that the question names."""
    asked = set(map(folded, words))
    named = {name for name in names.values() if name and set(folded(name).split()) & asked}
    if len(named) != 1:
        return {}
    return {id: 1.0 for id, name in names.items() if name in named}
