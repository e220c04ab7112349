"""Relevance: the degree, from 0 to 1, to which a memory answers, whatever else was found; pure."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from graphmem.graph.installation import Calibration
from graphmem.text.languages import ENGLISH, UNSPACED, stem_in
from graphmem.text.names import names
from graphmem.text.words import folded, pairs, stem, terms, words_of

EVERYTHING = "*"
"""The query that asks for everything."""

NEUTRAL = 0.5
"""The relevance of every memory when nothing in particular is searched for."""

MEANING_SHARE = 0.65
"""The cosine's share of the relevance; the rest is the share of the query's terms that occur."""

RELEVANCE_SHARE = 0.7
"""The share of relevance in the combined score; the rest is importance."""

NAMES_SHARE = 0.35
"""The share of its relevance that an answer loses if the question's names occur nowhere in what is searched.

What is said of others and elsewhere may be much alike; who asks for Melanie wants nothing of Maria's.
"""

# Words of German questions that are no words of English ones. German capitalises every noun.
_GERMAN = frozenset(
    """
    das dem der ein eine einem einen einer ist sind hat haben habe hatte wurde wurden wann warum welche
    welchem welchen welcher welches wer wie wieso wo woher wohin und oder nicht kein keine ich wir sie mein
    meine mir uns unser unsere für über mit von vom beim zum zur
    """.split()  # noqa: SIM905 - a list of words reads better as words
)

STEMS_KEPT = 65_536


def relevance(cosine: float, matched: float, scale: Calibration) -> float:
    """Return a · clip((cosine - low) / (high - low)) + (1 - a) · share of terms matched, 0–1.

    0 is no match: the cosine is no higher than that of unrelated texts, and no term occurs.
    """
    return MEANING_SHARE * meaning(cosine, scale) + (1 - MEANING_SHARE) * matched


def meaning(cosine: float, scale: Calibration) -> float:
    """Return the position of a cosine between unrelated and equivalent, 0–1."""
    return min(1.0, max(0.0, (cosine - scale.low) / (scale.high - scale.low)))


def combined(relevance: float, importance: float) -> float:
    """Return .7 · relevance + .3 · importance, 0–1."""
    return RELEVANCE_SHARE * relevance + (1 - RELEVANCE_SHARE) * importance


def asked_stems(query: str) -> frozenset[str]:
    """Return the stems of a query's terms; question words are dropped unless there are no others."""
    return frozenset(map(stemmed, terms(query)))


def weighed_stems(words: Iterable[str], weight: Mapping[str, float]) -> dict[str, float]:
    """Return the stems of a question's words with their weights; a word that is not in `weight` weighs 1."""
    return {stemmed(word): weight.get(word, 1.0) for word in words}


def matched_share(asked: frozenset[str], text: str) -> float:
    """Return the share of the query's stems that occur in a text, 0–1; 0 for a query without stems."""
    if not asked:
        return 0.0
    return len(asked & stems_in(text)) / len(asked)


def stems_in(text: str, spoken: str | None = None) -> frozenset[str]:
    """Return the stems of a text's words; long texts cost little more, since they repeat their words.

    In a language without spaces the pairs of characters that `terms` returns too.
    """
    if spoken in (None, ENGLISH):
        return frozenset(map(stemmed, words_of(text)))
    if spoken in UNSPACED:
        return frozenset(pairs(text))
    return frozenset(stem_in(spoken, folded(word)) for word in words_of(text))


def matched_shares(asked: frozenset[str], texts: Sequence[str]) -> list[float]:
    """Return the share of each text."""
    return [matched_share(asked, text) for text in texts]


def lexical_relevance(query: str, text: str) -> float:
    """Return the share of a query's words that occur in a text, ignoring case.

    For answers without vectors. `*` is neutral.
    """
    if query.strip() == EVERYTHING:
        return NEUTRAL
    words = folded(query).split()
    shown = folded(text)
    return sum(word in shown for word in words) / len(words) if words else 0.0


def asked_names(question: str) -> list[str]:
    """Return the names in a question; none in a German one, where a capital letter does not tell a name."""
    if not _GERMAN.isdisjoint(words_of(question)):
        return []
    return [name for _, _, name in names(question)]


@lru_cache(STEMS_KEPT)
def stemmed(word: str) -> str:
    """Return a word's stem, whatever apostrophe it is written with; cached, since texts repeat words."""
    return stem(word.replace("’", "'"))
