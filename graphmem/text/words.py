"""From a question to a Lucene query: selects the words worth searching for, and escapes them.

No input of a caller becomes query syntax: only runs of word characters pass, joined by the few marks that
words may contain, and those are escaped.
"""

import itertools
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from py_rust_stemmers import SnowballStemmer

from graphmem.graph.scope import NOTHING
from graphmem.text.languages import ENGLISH, UNSPACED, function_words, stem_in

MOST_TERMS = 64
"""The maximum number of terms of a question."""

MOST_CASES = 3
"""The number of times that ss in a term is tried as ß individually."""

MOST_FORMS = 12
"""The maximum number of forms of a term: Lucene takes 1,024 clauses."""

KINDRED_SHARE = 2.0
"""The weight of a word's beginning, which scores the same in every text, beside that of the word."""

FUNCTION_SHARE = 0.5
"""The weight of the commonest words of another language than English: they tell at least the language."""

SHORTEST_BEGINNING = 4
"""The number of letters from which the beginning of a word tells it from others."""

OPENINGS = {"ar": ("", "ال", "وال", "بال", "لل", "و", "ب", "ل", "ف")}
"""What is written as one word with the next: in Arabic the article, conjunctions and prepositions."""

INITIALS_KEPT = 256
"""The number of sets of initials, those of a question's words, whose patterns are kept."""

MOST_CHARACTERS = 255
"""The maximum length of a term: the index cuts its own terms there."""

# Scripts written without spaces: the index holds a term for each character.
UNSPACED_LETTERS = (
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
UNSPACED_LETTER = (
    rf"[{UNSPACED_LETTERS}\U00020000-\U0003ffff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
)
"""A pattern for a letter of a script written without spaces, those of South-East Asia among them."""

_TERM = re.compile(
    rf"[{UNSPACED_LETTERS}\U00020000-\U0003ffff]"
    rf"|[^\W{UNSPACED_LETTERS}]+(?:(?:[.'’:]|(?<=\d),(?=\d))[^\W{UNSPACED_LETTERS}]+)*"
)
# The same for texts of plain ASCII, in two thirds of the time.
_ASCII_REST = r"(?:(?:[.':]|(?<=\d),(?=\d))\w+)*"
_ASCII_TERM = re.compile(rf"\w+{_ASCII_REST}", re.ASCII)
_GROUPED = re.compile(r"\d{1,3}(?:([.,'’])\d{3})(?:\1\d{3})*", re.ASCII)
_DECIMAL = re.compile(r"(\d+)[.,](\d{1,2})", re.ASCII)
_YEARS = range(1900, 2100)
# The characters that join or ask in any text, whatever its topic.
_JOINING = (
    "的了是在我你您他她它们什么吗呢哪谁怎这那个有和就也都不还把被"
    "从对为与及或到上下吧啊着过得地很要会能可没"
)
_RUN = re.compile(
    rf"(?:(?![{_JOINING}\u3005-\u3007\u3040-\u309f])[{UNSPACED_LETTERS}\U00020000-\U0003ffff])+"
)
_PAIR = re.compile(f"[{UNSPACED_LETTERS}]{{2}}")
_MARKS = re.compile(r"([.,'’:])")
_POSSESSIVE = re.compile(r"['’]s?$")
_STEMMER = SnowballStemmer("english")

_DOTTED = "i\u0307"
# The letters that typesetters join, and PDF files with them; the longest first.
_JOINED = (("ffi", "ﬃ"), ("ffl", "ﬄ"), ("ff", "ﬀ"), ("fi", "ﬁ"), ("fl", "ﬂ"))

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


def terms(question: str, spoken: str | None = None) -> list[str]:
    """Return the terms of a question that are worth searching for, each once, in order.

    Question words are dropped, unless the question has nothing else. If `spoken` is a language without
    spaces, pairs of characters are terms too.
    """
    question = composed(question)
    found = list(dict.fromkeys(term.lower() for term in _TERM.findall(question)))
    if spoken in UNSPACED:
        found = list(dict.fromkeys([*pairs(question), *found]))
    telling = [term for term in found if term not in QUESTION_WORDS]
    return [term[:MOST_CHARACTERS] for term in (telling or found)[:MOST_TERMS]]


def pairs(text: str) -> Iterator[str]:
    """Yield the pairs of neighbouring characters that tell something, of a text in a script without spaces.

    Hiragana inflect and join; so do the commonest Chinese characters.
    """
    for run in _RUN.findall(text):
        yield from (run[place : place + 2] for place in range(len(run) - 1))


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
    spoken: str | None = None,
) -> str:
    """Return the query for memories with any of the words and a word of every scope group.

    Scope words weigh nothing: the scores are those of the words alone. In another language than English a
    word is also searched for by the beginning that it shares with its other forms.
    """
    if not words:
        return f"scope_words:{NOTHING}"
    weight = weight or {}
    common = function_words(spoken)
    clauses = [
        _weighed(clause, weight.get(word, 1.0) * (FUNCTION_SHARE if word in common else share))
        for word in words
        for clause, share in (*_own_forms(word), *_kindred(word, spoken))
        if share == 1 or word not in common
    ]
    return f"{scope_query(scope)} +search_text:({' '.join(clauses)})"


def _weighed(clause: str, weight: float) -> str:
    return clause if weight == 1 else f"{clause}^{weight:.3f}"


def _own_forms(word: str) -> Iterator[tuple[str, float]]:
    """Yield the clauses that find a word as it is written, each with its share of the weight."""
    if is_pair(word):
        # The index has a term for each character, so that two in a row are a phrase.
        yield f'"{word[0]} {word[1]}"', 1.0
    else:
        yield from ((_escaped(form), 1.0) for form in _forms(word))


def is_pair(word: str) -> bool:
    """Tell whether a term is a pair of characters of a script without spaces."""
    return len(word) == 2 and _PAIR.fullmatch(word) is not None


def _kindred(word: str, spoken: str | None) -> Iterator[tuple[str, float]]:
    """Yield the clauses that find other forms of a word, and what is made of it, in its language."""
    yield from ((f"{_escaped(start)}*", KINDRED_SHARE) for start in beginnings(word, spoken)[1:])


def beginnings(word: str, spoken: str | None) -> tuple[str, ...]:
    """Return a folded word and the beginnings that tell its other forms in another language than English."""
    whole = folded(word)
    if spoken is None or spoken == ENGLISH or spoken in UNSPACED:
        return (whole,)
    stem = stem_in(spoken, whole)
    # Lucene takes 1,024 clauses: of each of 64 words one beginning with nine openings, or two with none.
    if spoken in OPENINGS:
        found = {opening + stem for opening in OPENINGS[spoken]} if len(stem) > 2 else set()
    else:
        either = (stem, _common_beginning(stem, whole))
        found = {one for one in either if len(one) >= SHORTEST_BEGINNING}
    return (whole, *sorted(found))


def _common_beginning(one: str, other: str) -> str:
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return "".join(letter for letter, _ in same)


def scope_query(scope: Sequence[Iterable[str]]) -> str:
    """Return the query for all memories with a word of every scope group."""
    return " ".join(f"+scope_words:({' '.join(group)})^0" for group in scope)


def stem(word: str) -> str:
    """Return a word's English stem, without a possessive ending, whatever its case.

    That of a number has no marks between thousands, and a point before its decimals.
    """
    if word[:1].isdigit():
        if _GROUPED.fullmatch(word):
            return _without_marks(word)
        if decimal := _DECIMAL.fullmatch(word):
            return ".".join(decimal.groups())
    return str(_STEMMER.stem_word(_POSSESSIVE.sub("", folded(word))))


def folded(text: str) -> str:
    """Return a text in Unicode's folded case, its letters composed; İ becomes i, as in the index."""
    return composed(text.casefold()).replace(_DOTTED, "i")


def composed(text: str) -> str:
    """Return a text with each accent in its letter, where Unicode has both as one character."""
    return unicodedata.normalize("NFC", text)


def stems(text: str) -> set[str]:
    """Return the stems of a text's words."""
    return set(map(stem, words_of(text)))


def shared_weight(text: str, weight: Mapping[str, float]) -> float:
    """Return the sum of the weights of those stems that occur in a text."""
    return sum(weight[stem] for stem in stems(text) & weight.keys())


def words_of(text: str) -> set[str]:
    """Return a text's words in lower case, each once."""
    return set(every_word(text))


def every_word(text: str) -> list[str]:
    """Return a text's words in lower case, as often as they occur."""
    if text.isascii():
        return _ASCII_TERM.findall(text.lower())
    # Letters such as İ become two, of which one is a mark.
    return [word.lower() for word in _TERM.findall(composed(text))]


def words_from(initials: frozenset[str], text: str) -> list[str]:
    """Return those of `every_word` that begin with one of some word characters; the others are not read."""
    if text.isascii():
        return _ascii_terms_from(initials).findall(text.lower())
    return [word for word in every_word(text) if word[0] in initials]


@lru_cache(INITIALS_KEPT)
def _ascii_terms_from(initials: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of the terms that begin with one of some word characters, in a text in lower case.

    The initial comes first, since a search for one of a few characters is fast; then that no part of the same
    term is before it.
    """
    first = "".join(sorted(filter(str.isascii, initials)))
    begins = r"(?<!\w.)(?<!\w[.':].)(?<!\d,\d)"
    return re.compile(rf"[{first}]{begins}\w*{_ASCII_REST}" if first else r"(?!)", re.ASCII)


def lower_forms(text: str) -> list[str]:
    """Return a text in the forms that it may have where it is stored, in lower case.

    To lower letter by letter, as the database and its index do, leaves ß beside ss, ς beside σ, joined
    letters such as ﬁ beside fi, and an accent beside its letter. Apostrophes are of two kinds.
    """
    written = (
        form.replace(*apostrophes)
        for form in (text.lower().replace(_DOTTED, "i"), *_cases(folded(text)))
        for apostrophes in (("’", "'"), ("'", "’"))
    )
    return list(dict.fromkeys(written))


def _forms(term: str) -> list[str]:
    """Return the forms in which the index may hold a term."""
    every = (*lower_forms(term), *_numbers(term))
    return list(dict.fromkeys(form[:MOST_CHARACTERS] for form in every))[:MOST_FORMS]


def _numbers(term: str) -> Iterator[str]:
    """Yield the other forms of a number: 27400, 27,400 and 27.400; 24.99 and 24,99."""
    if decimal := _DECIMAL.fullmatch(term):
        yield from (mark.join(decimal.groups()) for mark in ".,")
    number = _without_marks(term) if _GROUPED.fullmatch(term) else term
    if not (number.isascii() and number.isdecimal()) or number[0] == "0":
        return
    if number == term and (int(term) < 1_000 or int(term) in _YEARS):
        return
    grouped = f"{int(number):,}"
    yield from (number, grouped, grouped.replace(",", "."))


def _without_marks(number: str) -> str:
    return "".join(filter(str.isdecimal, number))


def _cases(text: str) -> Iterator[str]:
    yield text
    if "ss" in text:
        yield text.replace("ss", "ß")
        places = [found.start() for found in re.finditer("(?=ss)", text)]
        yield from (f"{text[:place]}ß{text[place + 2 :]}" for place in places[:MOST_CASES])
    if text.endswith("σ"):
        yield f"{text[:-1]}ς"
    yield _joined(text)
    yield unicodedata.normalize("NFD", text)


def _joined(text: str) -> str:
    for letters, joined in _JOINED:
        text = text.replace(letters, joined)
    return text


def _escaped(term: str) -> str:
    return _MARKS.sub(r"\\\1", term)
