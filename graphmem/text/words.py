"""From a question to a Lucene query: selects the words worth searching for, and escapes them.

No input of a caller becomes query syntax: only runs of word characters pass, joined by the few marks that
words may contain, and those are escaped.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from py_rust_stemmers import SnowballStemmer

from graphmem.graph.scope import NOTHING

MOST_TERMS = 64
"""The maximum number of terms of a question."""

MOST_CASES = 3
"""The number of times that ss in a term is tried as ß individually."""

MOST_CHARACTERS = 255
"""The maximum length of a term: the index cuts its own terms there."""

# Scripts written without spaces: the index holds a term for each character.
_UNSPACED = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_TERM = re.compile(
    rf"[{_UNSPACED}\U00020000-\U0003ffff]"
    rf"|[^\W{_UNSPACED}]+(?:[.'’:][^\W{_UNSPACED}]+)*"
)
_MARKS = re.compile(r"([.'’:])")
_POSSESSIVE = re.compile(r"['’]s?$")
_STEMMER = SnowballStemmer("english")

_DOTTED = "i\u0307"

COMMON_SHARE = 0.01
"""The share of a client's memories from which a term counts as common."""

MOST_SHARE = 0.95
"""The greatest share that counts: a term of every memory still weighs a little."""

# Words of any question, whatever its topic. The index's `english` analyzer drops articles and
# prepositions but keeps these; searching for them costs five points of recall on LoCoMo.
QUESTION_WORDS = frozenset(
    """
    what when where which who whom whose why how
    am is are was were be been being do does did doing done have has had having
    can could shall should will would may might must
    i me my mine we us our ours you your yours he him his she her hers it its they them their theirs
    a an the this that these those there here
    and or but if so than then as of at by for from in into on onto to with about
    any some all ever also just tell know say said please
    """.split()  # noqa: SIM905 - a list of words reads better as words
)


def terms(question: str) -> list[str]:
    """Return the terms of a question that are worth searching for, each once, in order.

    Question words are dropped, unless the question has nothing else.
    """
    found = list(dict.fromkeys(term.lower() for term in _TERM.findall(question)))
    telling = [term for term in found if term not in QUESTION_WORDS]
    return [term[:MOST_CHARACTERS] for term in (telling or found)[:MOST_TERMS]]


def weights(words: Iterable[str], shares: Mapping[str, float]) -> dict[str, float]:
    """Return the weights, 0–1, of common terms: the more memories of the client have one, the less it weighs.

    `shares` is keyed by stem; a rare term is omitted and weighs 1. Lucene's document frequencies are global,
    so a name in every tenth memory of one client looks rare and is over-weighted. The square gains 2.5
    points of recall@10 on LoCoMo; the plain quotient gains 1.5.
    """
    return {
        word: (math.log(share) / math.log(COMMON_SHARE)) ** 2
        for word in words
        if (share := min(shares.get(stem(word), 0.0), MOST_SHARE)) > COMMON_SHARE
    }


def lucene_query(
    words: Sequence[str],
    scope: Sequence[Iterable[str]],
    weight: Mapping[str, float] | None = None,
) -> str:
    """Return the query for memories with any of the words and a word of every scope group.

    Scope words weigh nothing: the scores are those of the words alone.
    """
    if not words:
        return f"scope_words:{NOTHING}"
    weight = weight or {}
    terms_query = " ".join(
        f"{_escaped(form)}^{weight[word]:.3f}" if word in weight else _escaped(form)
        for word in words
        for form in _forms(word)
    )
    return f"{scope_query(scope)} +search_text:({terms_query})"


def scope_query(scope: Sequence[Iterable[str]]) -> str:
    """Return the query for all memories with a word of every scope group."""
    return " ".join(f"+scope_words:({' '.join(group)})^0" for group in scope)


def stem(word: str) -> str:
    """Return a word's English stem, without a possessive ending, whatever its case."""
    return str(_STEMMER.stem_word(_POSSESSIVE.sub("", folded(word))))


def folded(text: str) -> str:
    """Return a text in Unicode's folded case; İ becomes i, as in the index."""
    return text.casefold().replace(_DOTTED, "i")


def stems(text: str) -> set[str]:
    """Return the stems of a text's words."""
    return set(map(stem, words_of(text)))


def shared_weight(text: str, weight: Mapping[str, float]) -> float:
    """Return the sum of the weights of those stems that occur in a text."""
    return sum(weight[stem] for stem in stems(text) & weight.keys())


def words_of(text: str) -> set[str]:
    """Return a text's words in lower case, each once."""
    return {word.lower() for word in _TERM.findall(text)}


def _forms(term: str) -> list[str]:
    """Return the forms in which a term may be indexed: with each apostrophe, and in each case."""
    written = (
        form.replace(*apostrophes)
        for form in (term.replace(_DOTTED, "i"), *_cases(folded(term)))
        for apostrophes in (("’", "'"), ("'", "’"))
    )
    return list(dict.fromkeys(form[:MOST_CHARACTERS] for form in written))


def _cases(word: str) -> Iterator[str]:
    """Yield the forms in which the index may hold a folded word.

    The index lowers letter by letter: it has ß beside ss, and no ς for a Σ at the end of a word.
    """
    yield word
    if "ss" in word:
        yield word.replace("ss", "ß")
        places = [place for place in range(len(word)) if word.startswith("ss", place)]
        yield from (f"{word[:place]}ß{word[place + 2 :]}" for place in places[:MOST_CASES])
    if word.endswith("σ"):
        yield f"{word[:-1]}ς"


def _escaped(term: str) -> str:
    return _MARKS.sub(r"\\\1", term)
