"""Weighing: the score by words, and the signals of a memory besides those of the two legs; pure."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TypeVar

from msgspec import Struct

from graphmem.model.vocabulary import Role
from graphmem.retrieval.fusion import Scores, by_maximum
from graphmem.retrieval.relevance import matched_stems, stemmed
from graphmem.retrieval.understanding import K1, B, Sample
from graphmem.text.languages import ENGLISH, UNSPACED, function_words
from graphmem.text.words import (
    FUNCTION_SHARE,
    beginnings,
    every_word,
    folded,
    is_pair,
    words_from,
)

SESSION_BEST = 2
"""The number of a session's best memories that make up its score."""

SHORT_TOKENS = 80
"""The length up to which neighbours count fully; for a longer memory they count less."""

FULL_TOKENS = 30
"""The length from which a memory has full substance: shorter ones are greetings, thanks and questions."""

CHAT_FROM, CHAT_TO = 0.4, 0.8
"""The shares of short memories among the candidates from which they are partly, and wholly, a chat."""

WORDED_MESSAGES = 5
"""The messages of a session, those with the best scores by words, that decide its coverage."""

FIRST_PERSON = frozenset({"i", "me", "my", "mine", "myself"})
SECOND_PERSON = frozenset({"you", "your", "yours", "yourself"})
_REQUEST = re.compile(r"\b(can|could|would|will) you\b")
_LETTERS = re.compile(r"[^\W\d_]+")

Key = TypeVar("Key")

Covered = Mapping[str, frozenset[str]]
"""By memory the stems of the question that it has; only memories with at least one."""


class WeighedWords(Struct, frozen=True):
    """The words of a question with the weights that they have for a client."""

    weights: Mapping[str, float]
    """By stem; by pair of characters, or by word, where the language has no stems of its own."""
    length: float
    """The usual number of characters of a memory."""
    starts: Mapping[str, tuple[str, ...]] = {}
    """In another language than English: by word the beginnings of its forms."""
    initials: frozenset[str] = frozenset()
    pairs: tuple[str, ...] = ()
    """The pairs of characters among the words, of scripts without spaces."""


def weighed_words(
    words: Iterable[str], weight: Mapping[str, float], spoken: str | None, sample: Sample
) -> WeighedWords:
    """Return the words weighed by their rarity for the client; `weight` has those below 1.

    `weight` goes with the square of the rarity, so its root is the inverse document frequency of BM25. In a
    chat common words, most of them names, count less than that.
    """
    power = 0.5 + chat_of(sample.short)
    common = function_words(spoken)
    other = spoken not in (None, ENGLISH) and spoken not in UNSPACED
    weights = {
        word if other or is_pair(word) else stemmed(word): weight.get(word, 1.0) ** power
        * (FUNCTION_SHARE if word in common else 1.0)
        for word in words
    }
    starts = {word: beginnings(word, spoken) for word in weights} if other else {}
    pairs = tuple(word for word in weights if is_pair(word))
    return WeighedWords(
        weights, sample.length, starts, frozenset(word[0] for word in weights), pairs
    )


def counted_words(text: str, asked: WeighedWords) -> Mapping[str, int]:
    """Return the number of times that a text has each word, or another form of it; without those it lacks."""
    if asked.starts:
        return _counted_forms(text, asked.starts)
    weights = asked.weights
    counts: dict[str, int] = {}
    for word in words_from(asked.initials, text):
        if (stem := stemmed(word)) in weights:
            counts[stem] = counts.get(stem, 0) + 1
    counts |= {word: number for word in asked.pairs if (number := text.count(word))}
    return counts


def _counted_forms(text: str, starts: Mapping[str, tuple[str, ...]]) -> Mapping[str, int]:
    every = tuple({start for some in starts.values() for start in some})
    counts: Counter[str] = Counter()
    for word in every_word(text):
        if (form := folded(word)).startswith(every):
            counts.update(asked for asked, some in starts.items() if _is_form(form, asked, some))
    return counts


def _is_form(form: str, asked: str, starts: tuple[str, ...]) -> bool:
    """Tell whether a word is another form of one that is asked for; a short one only if it is the same."""
    return form == folded(asked) or (len(starts) > 1 and form.startswith(starts[1:]))


def scores_by_words(
    counted: Mapping[Key, Mapping[str, int]], lengths: Mapping[Key, int], asked: WeighedWords
) -> dict[Key, float]:
    """Return the BM25 score of texts with these words and lengths, by the client's own statistics.

    Those of the index are of the whole store, and change whenever another client writes.
    """
    return {
        key: _bm25(counts, K1 * (1 - B + B * lengths[key] / asked.length), asked.weights)
        for key, counts in counted.items()
        if counts
    }


def _bm25(counts: Mapping[str, int], damped: float, weights: Mapping[str, float]) -> float:
    return math.fsum(weights[word] * number / (number + damped) for word, number in counts.items())


def session_prior(scores: Mapping[str, float], session_of: Mapping[str, str]) -> Scores:
    """Return the score, 0–1, of each memory's session: the sum of the session's best memories.

    It is divided by that of the best session, so that similar sessions keep similar scores.
    """
    by_session: dict[str, list[float]] = defaultdict(list)
    for id, score in scores.items():
        by_session[session_of[id]].append(score)
    prior = by_maximum(
        {
            session: sum(sorted(found, reverse=True)[:SESSION_BEST])
            for session, found in by_session.items()
        }
    )
    return {id: prior[session_of[id]] for id in scores}


def neighbour_scores(
    scores: Mapping[str, float],
    places: Mapping[str, tuple[str, int]],
    lengths: Mapping[str, int],
    offsets: Iterable[int],
) -> Scores:
    """Return for each memory the scores of its neighbours: an utterance is read with its context.

    `places` gives session and idx, `lengths` tokens, `offsets` the neighbours, -1 for the previous message. A
    neighbour that is not a candidate contributes nothing; for a long memory neighbours count less.
    """
    at = {place: scores[id] for id, place in places.items()}
    found = dict.fromkeys(places, 0.0)
    for offset in offsets:
        for id, (session, idx) in places.items():
            if near := at.get((session, idx + offset)):
                found[id] += near * brevity(lengths[id])
    return found


def speaker_named(words: Iterable[str], names: Mapping[str, str | None]) -> Scores:
    """Return 1 for the memories whose speaker is the only one that the question names."""
    asked = set(map(folded, words))
    named = {name for name in names.values() if name and set(folded(name).split()) & asked}
    if len(named) != 1:
        return {}
    return {id: 1.0 for id, name in names.items() if name in named}


def asked_role(question: str, spoken: str | None = None) -> Role | None:
    """Return the role whose words an English question asks for; None if it tells none.

    `I said` asks for words of the user, `you said` of the assistant; `can you` asks for nothing said.
    """
    if spoken not in (None, ENGLISH):
        return None
    words = set(_LETTERS.findall(_REQUEST.sub("", question.lower())))
    if words & FIRST_PERSON:
        return "user"
    return "assistant" if words & SECOND_PERSON else None


def brevity(length: int) -> float:
    """Return 1 for a short memory, less for a long one, which needs its surroundings less."""
    return min(1.0, SHORT_TOKENS / max(length, 1))


def shortened(scores: Mapping[str, float], lengths: Mapping[str, int]) -> Scores:
    """Return the scores, less for long memories: these have most words of any question."""
    return {id: brevity(lengths[id]) * score for id, score in scores.items()}


def substance(lengths: Mapping[str, int]) -> Scores:
    """Return 1 for memories long enough to say something, less for shorter ones."""
    return {id: min(1.0, length / FULL_TOKENS) for id, length in lengths.items()}


def chat_share(lengths: Iterable[int]) -> float:
    """Return the degree, 0–1, to which memories of these lengths are a chat: 0 for long answers."""
    short = [length <= SHORT_TOKENS for length in lengths]
    return chat_of(sum(short) / len(short) if short else 0.0)


def chat_of(short: float) -> float:
    """Return the degree, 0–1, to which memories are a chat, of which this share is short."""
    return min(1.0, max(0.0, (short - CHAT_FROM) / (CHAT_TO - CHAT_FROM)))


def covered_words(
    texts: Mapping[str, str], asked: Iterable[str], spoken: str | None = None
) -> Covered:
    """Return the question's stems that each text has; without the texts that have none."""
    wanted = frozenset(asked)
    found = {id: matched_stems(wanted, text, spoken) for id, text in texts.items()}
    return {id: words for id, words in found.items() if words}


def coverage(covered: Covered, asked: Mapping[str, float]) -> Scores:
    """Return the share of the question that each memory has; `asked` has the share of each stem."""
    return {id: _share(words, asked) for id, words in covered.items()}


def completed(
    covered: Covered, places: Mapping[str, tuple[str, int]], asked: Mapping[str, float]
) -> Scores:
    """Return the share of the question that the previous message has and the memory lacks.

    An answer seldom repeats its question: both together have the words of a later question about them.
    """
    at = {place: id for id, place in places.items()}
    nothing = frozenset[str]()
    shares = {}
    for id, (session, idx) in places.items():
        if before := covered.get(at.get((session, idx - 1), "")):
            shares[id] = _share(before - covered.get(id, nothing), asked)
    return {id: share for id, share in shares.items() if share}


def session_coverage(
    covered: Covered,
    session_of: Mapping[str, str],
    bm25: Mapping[str, float],
    asked: Mapping[str, float],
) -> Scores:
    """Return the share of the question that each memory's session has, 1 for the best session.

    Words that one message lacks are in another. A session's best messages by words decide.
    """
    best: dict[str, list[str]] = defaultdict(list)
    for id in sorted(bm25, key=lambda one: (-bm25[one], one)):
        best[session_of[id]].append(id)
    shares = by_maximum(
        {
            session: _share(
                frozenset[str]().union(*(covered.get(id, ()) for id in ids[:WORDED_MESSAGES])),
                asked,
            )
            for session, ids in best.items()
        }
    )
    return {id: shares[session] for id, session in session_of.items() if session in shares}


def _share(words: Iterable[str], asked: Mapping[str, float]) -> float:
    return math.fsum(asked[word] for word in words)
