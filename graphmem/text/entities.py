"""Entities: the names that a text mentions, found by their spelling, without a model.

A name is a run of capitalised words, an identifier, or a quoted term. Words that merely begin a
sentence are recognized by lists, by how frequent they are in lower case (`common_words`), or because they
occur elsewhere in lower case. Code, tags and formulas hold identifiers only.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from graphmem.text.identifiers import LONGEST, identifiers
from graphmem.text.names import names, quoted, spaced

MOST_ENTITIES = 64
"""The maximum number of names of a memory: those it mentions most, then those it mentions first."""

SEEN_CHARACTERS = 100_000
"""The number of characters of a text that are searched."""

_SPACES = re.compile(r"\s+")
_EDGES = " \t\"'“”„«»‘’`*_,;:!?…()[]{}<>|#~–—-"
_PARENTHESIS = re.compile(r" \([^()]*+\)$")
# Formulas name nothing that lasts. None holds the beginning of another, so that the search is linear.
_FORMULA = re.compile(r"\\\((?:(?!\\[()]).)*\\\)|\\\[(?:(?!\\[\[\]]).)*\\\]|\$\$.*?\$\$", re.DOTALL)
# A block of code, to its end or that of the text, code in a line, a tag: their words are no prose.
_CODE = re.compile(
    r"^[ \t]*```.*?(?:^[ \t]*```|\Z)|`[^`\n]{1,300}`|</?[a-zA-Z][^<>\n]{0,300}>",
    re.DOTALL | re.MULTILINE,
)
_ARTICLE = re.compile(r"(?:the|an?) (?=\S)")


class Entity(Struct, frozen=True):
    """A name in its first spelling, and its normal form."""

    name: str
    normalized: str


def entities(text: str, keywords: Iterable[str] = ()) -> list[Entity]:
    """Return the names that a text mentions, at most `MOST_ENTITIES`, the most mentioned first.

    Keywords that were given for the text count as mentioned.
    """
    text = text[:SEEN_CHARACTERS]
    text = _without(text, (match.span() for match in _FORMULA.finditer(text)))
    spelled = list(identifiers(spaced(text)))
    prose = _without(text, (match.span() for match in _CODE.finditer(text)))
    terms = list(quoted(prose))
    prose = _without(prose, ((start, end) for start, end, _ in spelled))
    found = sorted([*spelled, *terms, *names(prose)])
    counted = Counter(name for _, _, name in found)
    counted.update(keywords)
    mentions: Counter[str] = Counter()
    written: dict[str, str] = {}
    for name, times in counted.items():
        if key := normalized(name):
            mentions[key] += times
            written.setdefault(key, displayed(name))
    return [Entity(written[key], key) for key, _ in mentions.most_common(MOST_ENTITIES)]


def titles(label: str) -> list[Entity]:
    """Return the names in a title: itself, and its part before a comma, as in `Leland, North Carolina`."""
    forms = [label, label.partition(",")[0]]
    by_key = {normalized(form): displayed(form) for form in reversed(forms)}
    return [Entity(name, key) for key, name in by_key.items() if key]


def normalized(name: str) -> str:
    """Return the normal form, by which names are compared; '' if nothing of a name remains.

    Case and compatibility forms are folded; a leading article, a possessive ending, a call's
    parentheses and a trailing parenthesis, as in `Ed Wood (film)`, are dropped.
    """
    form = unicodedata.normalize("NFKC", displayed(name)).casefold()
    form = _SPACES.sub(" ", unicodedata.normalize("NFKC", form).replace("’", "'"))
    form = _PARENTHESIS.sub("", form).removesuffix("()")
    form = _edged(_edged(form).removesuffix("'s"))
    form = _ARTICLE.sub("", form, count=1) if _ARTICLE.match(form) else form
    return form if len(form) <= LONGEST else ""


def displayed(name: str) -> str:
    """Return a name for display: on one line, and at most twice as long as a name may be."""
    return _SPACES.sub(" ", name[: 2 * LONGEST]).strip()


def _edged(form: str) -> str:
    """Return a form without surrounding punctuation; a leading point is part of a file's name."""
    return form.strip(_EDGES).rstrip(". ")


def _without(text: str, places: Iterable[tuple[int, int]]) -> str:
    """Return a text of the same length with some places blanked."""
    parts, at = [], 0
    for start, end in sorted(places):
        if start >= at:
            parts += [text[at:start], "\0" * (end - start)]
            at = end
    return "".join([*parts, text[at:]]) if parts else text
