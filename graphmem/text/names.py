"""Names: runs of capitalised words and quoted terms in a text of any script.

Every expression either matches possessively or looks at a hundred characters at most, so that the search
is linear on any text.
"""

import re
from collections.abc import Iterator
from functools import cached_property

from graphmem.text.common_words import FUNCTION_WORDS, OPENING_WORDS
from graphmem.text.identifiers import LONGEST, Found

MOST_WORDS = 12
"""The maximum number of words of a name."""

MOST_QUOTED_WORDS = 5
"""The maximum number of words of a quoted term; more are a quotation."""

_ABBREVIATIONS = "Capt|Col|Dr|Ft|Gen|Gov|Hon|Jr|Lt|Mr|Mrs|Ms|Mt|Prof|Rev|Sen|Sgt|Sr|St"
_HONORIFICS = frozenset({"Mr", "Mrs", "Ms", "Miss", "Dr", "Prof", "Professor"})

# Lower-case words inside one name.
_INNER = (
    "of the de la las los van der von den del della di da do dos das du des le el al bin ibn zu".split()  # noqa: SIM905
)
# Words inside one name or between two, the strongest separators first: both readings are kept.
_BETWEEN = (frozenset({"in", "for", "to"}), frozenset({"and", "&", "und", "et", "y"}))
_CONNECTORS = frozenset({*_INNER, *_BETWEEN[0], *_BETWEEN[1]})


# Adjectives that names begin with as often as sentences do.
_OPENING_NAMES = frozenset(
    "big blue good great green high long new old red super white world".split()  # noqa: SIM905
)


def _capitals() -> str:
    """Return the capital letters of all scripts as the ranges of a character class."""
    points = {point for point in range(0x10000) if chr(point).isupper() or chr(point).istitle()}
    starts = sorted(point for point in points if point - 1 not in points)
    ends = sorted(point for point in points if point + 1 not in points)
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(starts, ends, strict=True))


_CAPITAL = f"[{_capitals()}]"
_WORD = (
    # U.S., J.R.R.; then the initial before a name, and Dr. Smith; then plain words: O'Brien, Jean-Luc,
    # AT&T, Node.js.
    rf"(?:(?:{_CAPITAL}\.){{1,6}}{_CAPITAL}(?!\w)\.?"
    rf"|(?:{_CAPITAL}|{_ABBREVIATIONS})\.(?=[ ]?{_CAPITAL})"
    rf"|{_CAPITAL}\w*+(?:['’-]\w++|&\w++|\.(?=[a-z])\w++)*+)"
)
_AND_ON = rf"[ \u00a0](?:(?:{'|'.join(sorted(_CONNECTORS))})[ \u00a0]){{0,3}}"
_NUMBER = r"[ ]\d{1,4}(?![\w%]|[.,:/-]\d)"
_NAME = re.compile(
    rf"(?<![\w.@#]){_WORD}(?:{_AND_ON}{_WORD}){{0,{MOST_WORDS - 1}}}+(?:{_NUMBER})?+"
)
_QUOTED = re.compile(
    "|".join(
        rf"{left}([^{inside}\n]{{1,{LONGEST}}}){right}"
        for left, inside, right in (
            ("“", "“”", "”"),
            ("„", "„“”", "[“”]"),
            ("«", "«»", "»"),
            ("「", "「」", "」"),
            ("『", "『』", "』"),
            ("《", "《》", "》"),
            (r'(?<![\w"])"', '"', r'"(?!\w)'),
        )
    )
)
_LOWER_CASE = re.compile(r"(?<!\w)[^\W\d_]++")
_FIRST_PERSON = re.compile(r"I(?:['’](?:m|ll|d|ve))?")
_NEGATED = re.compile(r".*n['’]t", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s?$")
_CONTRACTED = re.compile(r"['’].*")
_ADVERB_OR_PARTICIPLE = re.compile(r"\w{4,}(?:ly|ing|ed)")

_SENTENCE_ENDS = frozenset(".!?…。！？:;|\n\r")
_BEFORE_A_SENTENCE = frozenset(" \t\u00a0\"'“”„«»‘’()[]{}*_#>-–—•")
_LOOKED_BACK = 8


def quoted(text: str) -> Iterator[Found]:
    """Yield terms in quotation marks: few words, or a title, and no sentence."""
    for match in _QUOTED.finditer(text):
        term = (match[match.lastindex or 0]).strip().rstrip(",")
        words = term.split()
        if not words or term.lower() in FUNCTION_WORDS:
            continue
        title = all(
            word[0].isupper() or not word[0].isalpha() or word in _CONNECTORS for word in words
        )
        sentence = term[-1] in ".!?" or len(words) > MOST_QUOTED_WORDS
        if (title or not sentence) and len(words) <= MOST_WORDS:
            yield match.start(), match.end(), term.rstrip(".")


def names(text: str) -> Iterator[Found]:
    """Yield the names in a text: each run of capitalised words, and the readings that it allows."""
    context = _Context(text)
    for match in _NAME.finditer(text):
        initial = context.begins_a_sentence(match.start())
        for part in _parts(match[0].split()):
            for words in _readings(part, initial):
                if _is_name(words, initial, context):
                    yield match.start(), match.end(), _POSSESSIVE.sub("", " ".join(words))
            initial = False


class _Context:
    """A text as the evidence that distinguishes names from words that begin sentences."""

    def __init__(self, text: str) -> None:
        self._text = text

    def begins_a_sentence(self, start: int) -> bool:
        """Tell whether this is the beginning of a text, a line or a sentence."""
        for place in range(start - 1, max(start - 1 - _LOOKED_BACK, -1), -1):
            if self._text[place] not in _BEFORE_A_SENTENCE:
                return self._text[place] in _SENTENCE_ENDS
        return start <= _LOOKED_BACK

    @cached_property
    def lower_case(self) -> set[str]:
        """The lower-case words of the text."""
        return {word for word in _LOWER_CASE.findall(self._text) if word[0].islower()}


def _parts(words: list[str]) -> Iterator[list[str]]:
    """Yield the parts of a run, split at each `I` and at a full stop that ends a sentence after all."""
    part: list[str] = []
    for word in words:
        ended = part and part[-1].endswith(".") and word.lower() in FUNCTION_WORDS
        if ended or _FIRST_PERSON.fullmatch(word):
            yield part
            part = []
        if not _FIRST_PERSON.fullmatch(word):
            part.append(word)
    yield part


def _readings(words: list[str], initial: bool) -> Iterator[list[str]]:
    """Yield the names that a run may contain: the whole, the parts around an `and`, the owner, the owned."""
    words = _trimmed(words, initial)
    if not words:
        return
    yield words
    if initial and len(words) > 1 and words[0].lower() in OPENING_WORDS - _OPENING_NAMES:
        yield from _readings(words[1:], False)
    for between in _BETWEEN:
        for place, word in enumerate(words):
            if word in between:
                yield from _readings(words[:place], initial)
                yield from _readings(words[place + 1 :], False)
                return
    owner = next((n for n, word in enumerate(words[:-1], 1) if _POSSESSIVE.search(word)), None)
    if owner is not None:
        yield words[:owner]
        yield from _readings(words[owner:], False)
    elif len(words) > 1 and words[-1].isdigit():
        yield words[:-1]


def _trimmed(words: list[str], initial: bool) -> list[str]:
    """Return a run without words that cannot begin a name, and without a connector at its end."""
    first, last = 0, len(words)
    while first < last and (
        words[first] in _CONNECTORS
        or words[first].rstrip(".") in _HONORIFICS
        or (initial and _base(words[first]) in FUNCTION_WORDS)
    ):
        first += 1
    while last > first and words[last - 1] in _CONNECTORS:
        last -= 1
    return words[first:last]


def _is_name(words: list[str], initial: bool, context: _Context) -> bool:
    """Tell a name from a word that is capitalised because of its position, and from shouting."""
    bases = [_base(word) for word in words]
    if words[-1].isdigit() and all(base in FUNCTION_WORDS for base in bases[:-1]):
        return False
    if len(words) > 1:
        shouted = len(words) > 2 and all(word.isupper() for word in words)
        return not (shouted and any(base in FUNCTION_WORDS for base in bases))
    word, base = words[0], bases[0]
    if len(base.rstrip(".")) < 2 or base in FUNCTION_WORDS or _NEGATED.fullmatch(word):
        return False
    if not initial or any(letter.isupper() or letter.isdigit() for letter in word[1:]):
        return True
    if base in OPENING_WORDS or base in context.lower_case:
        return False
    return not _ADVERB_OR_PARTICIPLE.fullmatch(base)


def _base(word: str) -> str:
    """Return a word in lower case, without an apostrophe and the letters after it."""
    return _CONTRACTED.sub("", word).lower()
