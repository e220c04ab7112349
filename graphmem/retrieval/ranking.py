"""Ranking: the four orders of candidates, and their signals."""

from collections.abc import Sequence

from msgspec import Struct

from graphmem.model.vocabulary import Leg, Ranking
from graphmem.retrieval.finding import Candidate
from graphmem.retrieval.fusion import (
    Scores,
    best_first,
    by_maximum,
    min_max,
    reciprocal_rank,
    weighted,
)
from graphmem.retrieval.weighing import neighbour_support, session_prior, speaker_named

DENSE_SHARE = 0.65
"""The vector's share of the hybrid score; tuned with this embedding model on LoCoMo and BEAM."""

SPEAKER_BONUS = 0.1
SESSION_WEIGHT = 0.4
NEIGHBOUR_SHARES = (0.2, 0.1)


class Ranked(Struct, frozen=True):
    """A candidate with its score and all signals of the score."""

    candidate: Candidate
    score: float
    scores: dict[str, float]
    ranks: dict[Leg, int]

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.candidate.id


def ranked(found: Sequence[Candidate], words: Sequence[str], ranking: Ranking) -> list[Ranked]:
    """Return the candidates in order, best first; ties go to the newer, then to the lower id."""
    cosines = {c.id: c.cosine for c in found if c.cosine is not None}
    bm25 = {c.id: c.bm25 for c in found if c.bm25 is not None}
    by_vector = best_first((c for c in found if c.by_vector), lambda c: cosines[c.id])
    by_words = best_first((c for c in found if c.id in bm25), lambda c: bm25[c.id])
    legs: dict[Leg, list[str]] = {
        "vector": [candidate.id for candidate in by_vector],
        "bm25": [candidate.id for candidate in by_words],
    }
    signals: dict[str, Scores] = {"vector": cosines, "bm25": bm25}
    match ranking:
        case "vector":
            scores = {id: cosines[id] for id in legs["vector"]}
        case "bm25":
            scores = dict(bm25)
        case "rrf":
            scores = reciprocal_rank(list(legs.values()))
        case "default":
            scores = _fused(found, cosines, bm25, words, signals)
    places: dict[Leg, dict[str, int]] = {
        leg: {id: rank for rank, id in enumerate(ids, start=1)} for leg, ids in legs.items()
    }
    order = best_first((c for c in found if c.id in scores), lambda c: scores[c.id])
    return [
        Ranked(
            candidate,
            scores[candidate.id],
            {
                name: signal[candidate.id]
                for name, signal in signals.items()
                if candidate.id in signal
            },
            {leg: place[candidate.id] for leg, place in places.items() if candidate.id in place},
        )
        for candidate in order
    ]


def _fused(
    found: Sequence[Candidate],
    cosines: Scores,
    bm25: Scores,
    words: Sequence[str],
    signals: dict[str, Scores],
) -> Scores:
    """Return the default score; add its parts to `signals`."""
    hybrid = weighted([(DENSE_SHARE, min_max(cosines)), (1 - DENSE_SHARE, by_maximum(bm25))])
    speaker = speaker_named(words, {c.id: c.name for c in found})
    neighbours = neighbour_support(
        hybrid,
        {c.id: (c.session_id, c.idx) for c in found if c.idx is not None},
        {c.id: c.token_count for c in found},
        NEIGHBOUR_SHARES,
    )
    session = session_prior(hybrid, {c.id: c.session_id for c in found})
    signals |= {"hybrid": hybrid, "neighbours": neighbours, "session": session, "speaker": speaker}
    return weighted(
        [(1.0, hybrid), (1.0, neighbours), (SESSION_WEIGHT, session), (SPEAKER_BONUS, speaker)]
    )
