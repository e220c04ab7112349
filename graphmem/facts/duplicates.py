"""Duplicates: whether two texts state the same fact in the same words.

Vectors cannot tell: "two cats" and "three cats" are as near as two wordings of one fact. So the words decide;
in doubt the facts are different: a duplicate is visible, a lost fact is not. Keywords and categories do not
count: the known fact gets those of both.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

SAME = 0.95
"""The lowest cosine of two facts that may be equal, if their words are the same."""

SIMILAR = 0.75
"""The lowest cosine of two facts that are linked (measured: `python -m bench.near_duplicates`)."""

MOST_KEYWORDS = 256
"""The maximum number of keywords of a fact that is repeated with other keywords each time."""

# Only words that can be added, dropped or exchanged without changing the statement: no negation, no
# preposition, not "was" and not "been".
ARTICLES = frozenset({"a", "an", "the"})
BEING = frozenset({"is", "are"})

_NEGATED = re.compile(r"\b(\w+?)n't\b|\b(can)(?=not\b)", re.IGNORECASE)
_SHORTENED = {"ca": "can", "wo": "will", "sha": "shall"}
# A number with its marks and sign; an ending 's; a word with the dots and signs that belong to it; a sign.
_WORD = re.compile(
    r"(?:(?<!\S)[-−])?\d+(?:[.,:/-]\d+)*\w*"
    r"|(?<=\w)'s\b"
    r"|[^\W\d]\w*(?:\.\w+)*[+#]*"
    r"|[^\w\s]"
)
_MARKS = frozenset("!\"'(),-.:;?[]`{}¡«»¿‐‑–—‘“”…")


def same_words(one: str, other: str) -> bool:
    """Return whether two texts have the same words in the same order.

    Case, punctuation, articles, "is" and "are", and the endings of the plural and of the present tense do not
    count. Numbers, names, negations, prepositions, the past and signs such as `+`, `%` and `€` do.
    """
    words, others = list(_significant(one)), list(_significant(other))
    return len(words) == len(others) and all(
        forms & other_forms for forms, other_forms in zip(words, others, strict=True)
    )


def same_text(one: str, other: str) -> bool:
    """Return whether two texts are equal apart from case and punctuation."""
    return _words(one) == _words(other)


def united_keywords(known: Iterable[str], new: Iterable[str]) -> list[str]:
    """Return the keywords of two mentions of a fact, each once ignoring case, the known ones first."""
    by_word: dict[str, str] = {}
    for keyword in (*known, *new):
        by_word.setdefault(keyword.casefold(), keyword)
    return list(by_word.values())[:MOST_KEYWORDS]


def _words(text: str) -> list[str]:
    return [
        word.casefold()
        for word in _WORD.findall(unicodedata.normalize("NFKC", text).replace("’", "'"))
        if word not in _MARKS
    ]


def _significant(text: str) -> Iterator[frozenset[str]]:
    """Yield the significant words, each as the set of its possible base forms."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'")
    words = _WORD.findall(_NEGATED.sub(_spelled_out, text))
    after_being = False
    for place, word in enumerate(words):
        # Names have no plural, and articles are lower case: Williams is not William, "Room A" is a room.
        plain = word[0].islower() or place == 0
        lower = word.casefold()
        if word in _MARKS or (plain and lower in ARTICLES):
            continue
        if lower not in BEING:
            yield _forms(lower, after_being) if plain else frozenset({lower})
        after_being = lower in BEING


def _spelled_out(found: re.Match[str]) -> str:
    """Return "does not" for "doesn't", and "can not" for "cannot"."""
    if found[2]:
        return f"{found[2]} "
    return f"{_SHORTENED.get(found[1].lower(), found[1])} not"


def _forms(word: str, after_being: bool) -> frozenset[str]:
    """Return a word and its possible base forms: singular, infinitive."""
    forms = {word}
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "news")):
        forms.add(word[:-1])
        if word.endswith("ies"):
            forms.add(f"{word[:-3]}y")
        if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
            forms.add(word[:-2])
    if after_being and len(word) > 5 and word.endswith("ing"):
        forms |= {word[:-3], f"{word[:-3]}e"}
        if word[-4] == word[-5]:
            forms.add(word[:-4])
    return frozenset(forms)
