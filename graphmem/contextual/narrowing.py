"""Narrowing: which sessions answer a question, and what stands around a hit. Numbers in, numbers out."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from graphmem.retrieval.candidates import Candidate
from graphmem.retrieval.fusion import Scores, by_maximum, min_max, weighted
from graphmem.retrieval.ranking import DENSE_SHARE, ranked
from graphmem.retrieval.relevance import asked_stems, stems_in
from graphmem.text.named_times import NamedTime, nearness

BEST_MESSAGES = 3
"""How many of a session's best messages tell how relevant it is."""

WORDED_MESSAGES = 5
"""How many of a session's messages, those that share most words, tell what it covers of the question."""

TIME_SHARE = 0.4
"""What a time that the question names adds to the messages of that time: their text seldom names it."""

COVERAGE_SHARE = 0.3
"""What it adds to a session that all of the question's words come up somewhere in it.

With the time it brings a session with evidence among the first three for 92 % of LoCoMo's questions, where
the order of recall's hits does for 88 %; each alone gains one and a half to two points.
"""

SUMMARY_SHARE = 0.05
"""What the best summary adds to its session: in a session's own words it says little that they do not."""

One = TypeVar("One")


def answering(
    found: Sequence[Candidate], words: Sequence[str], times: Iterable[NamedTime]
) -> list[tuple[Candidate, float]]:
    """Return the messages as recall ranks them, those of a time that is named before their like."""
    times = list(times)
    scored = [
        (one.candidate, one.score + TIME_SHARE * nearness(one.candidate.occurred_at, times))
        for one in ranked(found, words, "default")
    ]
    return sorted(scored, key=lambda one: -one[1])


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


def session_standing(
    messages: Mapping[str, Sequence[Candidate]],
    summaries: Mapping[str, Sequence[Candidate]],
    message_scores: Mapping[str, float],
    summary_scores: Mapping[str, float],
) -> Scores:
    """Return how well each session answers: by its best message, and a little by its summary."""
    return weighted(
        [
            (1.0, {id: message_scores[best[0].id] for id, best in messages.items()}),
            (SUMMARY_SHARE, {id: summary_scores[best[0].id] for id, best in summaries.items()}),
        ]
    )


def coverage(
    words: Iterable[str], weight: Mapping[str, float], texts: Mapping[str, Iterable[str]]
) -> Scores:
    """Return for each session the share of a question's words that its texts hold, 1 for the best, 0–1.

    What a message leaves out stands in the message before it: a session answers the whole question.
    `weight` says which words weigh less than 1.
    """
    weights = {stem: weight.get(word, 1.0) for word in words for stem in asked_stems(word)}
    return by_maximum(
        {
            session: sum(
                weights[stem]
                for stem in weights.keys() & frozenset[str]().union(*map(stems_in, some))
            )
            for session, some in texts.items()
        }
    )


def in_order(scores: Mapping[str, float]) -> list[str]:
    """Return what is scored, the best first; ties by id."""
    return sorted(scores, key=lambda one: (-scores[one], one))


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
