"""Names: runs of capitalised words and quoted terms in a text of any script.

A word that begins a sentence, and those of headings and labels, count only if they are not ordinary words.

Every expression either matches possessively or looks at a hundred characters at most, so that the search
is linear on any text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from graphmem.text.common_words import ABBREVIATION, FUNCTION_WORDS, is_ordinary
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
# What titles have in lower case beside these: A Dance with Dragons.
_SMALL = frozenset("a an as at by from into on or over than the with".split())  # noqa: SIM905


# Adjectives that names begin with as often as sentences do.
_OPENING_NAMES = frozenset(
    """
    big blue central east fort good grand great green high king lady lake long lord lower mount new north
    old port prince queen red royal saint san south super university upper west white world
    """.split()  # noqa: SIM905
)

# Verbs that instructions begin with: what follows is the name, even if it is an ordinary word as well.
_IMPERATIVES = frozenset(
    """
    add apply avoid build check click configure consider create define deploy enable ensure implement
    import include install move navigate remove replace select set test try update use using utilize verify
    """.split()  # noqa: SIM905
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
_ROMAN = re.compile(r"[IVX]+")
_INITIAL = re.compile(r"\w\.")
_FIRST_PERSON = re.compile(r"I(?:['’](?:m|ll|d|ve))?")
_NEGATED = re.compile(r".*n['’]t", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s?$")
_CONTRACTED = re.compile(r"['’].*")
_ADVERB_OR_PARTICIPLE = re.compile(r"\w{4,}(?:ly|ing|ed|in)")
_SOUND = re.compile(r"[aehouwy-]{3,}|\w*(\w)\1\1\w*")
# A heading, or something in bold: what it names is set in capitals like everything around it.
_HEADING = re.compile(
    r"^[ \t]{0,9}#{1,6}[ \t][^\n]*+|(?:\*\*|__)[^*_\n]{1,300}+(?:\*\*|__)", re.MULTILINE
)
_AFTER_A_LABEL = re.compile(r"[ \t*_]{0,9}(?:[:\n]|$)")

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
            word[0].isupper() or not word[0].isalpha() or word in _CONNECTORS | _SMALL
            for word in words
        )
        said = len(words) > 1 and words[0][0].isupper() and not title
        sentence = said or term[-1] in ".!?" or len(words) > MOST_QUOTED_WORDS
        if (title or not sentence) and len(words) <= MOST_WORDS:
            yield match.start(), match.end(), term.rstrip(".")


def names(text: str) -> Iterator[Found]:
    """Yield the names in a text: each run of capitalised words, and the readings that it allows."""
    context = _Context(text)
    for match in _NAME.finditer(text):
        initial = context.begins_a_sentence(match.start())
        if initial and " " in match[0] and context.is_all(match.start(), match.end()):
            initial = False  # a title, not a sentence
        label = context.is_label(match.start(), match.end(), initial)
        title = context.is_in_title(match.start())
        for part in _parts(match[0].split()):
            if label or title:
                readings = _named_in_label(part, context, least=2 if title else 1)
            else:
                readings = _readings(part, initial)
            for words in readings:
                begins = initial and not label and words[0] == part[0]
                if _is_name(words, begins, context):
                    yield match.start(), match.end(), _POSSESSIVE.sub("", " ".join(words))
            initial = bool(part) and part[-1].endswith(".")


class _Context:
    """A text as the evidence that distinguishes names from words that begin sentences."""

    def __init__(self, text: str) -> None:
        self._text = text

    def is_label(self, start: int, end: int, initial: bool) -> bool:
        """Tell whether a run is part of a heading, or of the label that a line or a sentence begins with."""
        if initial and _AFTER_A_LABEL.match(self._text, end):
            return True
        return _covers(self._headings, start)

    def is_all(self, start: int, end: int) -> bool:
        """Tell whether the text says nothing else."""
        return (start, end) == self._stripped

    def is_in_title(self, start: int) -> bool:
        """Tell whether a run is part of a quoted term of several words, which is a name by itself."""
        return _covers(self._titles, start)

    @cached_property
    def _stripped(self) -> tuple[int, int]:
        """Where the text begins and ends, without the white space around it."""
        return len(self._text) - len(self._text.lstrip()), len(self._text.rstrip())

    @cached_property
    def _headings(self) -> list[tuple[int, int]]:
        """Where headings, and what is in bold, begin and end."""
        return [match.span() for match in _HEADING.finditer(self._text)]

    @cached_property
    def _titles(self) -> list[tuple[int, int]]:
        """Where quoted terms of several words begin and end."""
        return [(start, end) for start, end, term in quoted(self._text) if " " in term]

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
        ended = part and (
            (part[-1].endswith(".") and word.lower() in FUNCTION_WORDS)
            or (_INITIAL.fullmatch(part[-1]) and is_ordinary(word))
        )
        if ended or _FIRST_PERSON.fullmatch(word):
            yield part
            part = []
        if not _FIRST_PERSON.fullmatch(word):
            part.append(word)
    yield part


def _covers(places: Sequence[tuple[int, int]], start: int) -> bool:
    """Tell whether one of some places, in order, holds the one where something starts."""
    place = bisect_right(places, start, key=lambda one: one[0]) - 1
    return place >= 0 and start < places[place][1]


def _named_in_label(words: list[str], context: _Context, *, least: int) -> Iterator[list[str]]:
    """Yield the runs of at least so many words that are names by themselves, with a number behind them."""
    runs: list[list[str]] = [[]]
    for word in words:
        if (
            word in _CONNECTORS
            or is_ordinary(_POSSESSIVE.sub("", word))
            or word.lower() in context.lower_case
        ):
            runs.append([])
        elif runs[-1] or not word.isdigit():
            runs[-1].append(word)
    yield from (run for run in runs if len(run) >= least)


def _readings(words: list[str], initial: bool) -> Iterator[list[str]]:
    """Yield the names that a run may contain: the whole, the parts around an `and`, the owner, the owned."""
    whole = words
    words = _trimmed(words, initial)
    if not words:
        return
    if initial and words[:2] == whole[:2] and len(words) > 1 and _opens(words[0]):
        rest = _trimmed(words[1:], False)
        if not _ROMAN.fullmatch(rest[0] if rest else ""):
            behind = words[1] == "the" or (bool(rest) and _parts_from(words[0], rest[0]))
            if behind or len(rest) > 1:
                yield from _readings(rest, False)
            if behind:
                return
    parts = _parted(words)
    two = "&" not in words and any(_is_named(part) for part in parts) and parts[1][:1] != ["the"]
    if not two:
        yield words
    if parts:
        yield from _readings(parts[0], initial)
        yield from _readings(parts[1], False)
        return
    owner = next((n for n, word in enumerate(words[:-1], 1) if _POSSESSIVE.search(word)), None)
    if owner is not None:
        yield words[:owner]
        yield from _readings(words[owner:], False)
    elif len(words) > 1 and words[-1].isdigit():
        yield words[:-1]


def _opens(word: str) -> bool:
    """Tell whether a word merely opens a sentence, where a name may follow it."""
    return word.lower() not in _OPENING_NAMES and is_ordinary(word)


def _parts_from(opening: str, word: str) -> bool:
    """Tell whether a name begins behind a word that opens a sentence, rather than with it."""
    verb = opening.lower() in _IMPERATIVES or _ADVERB_OR_PARTICIPLE.fullmatch(opening.lower())
    return bool(verb) or (word.isupper() and not opening.isupper()) or not is_ordinary(word)


def _parted(words: list[str]) -> list[list[str]]:
    """Return what stands before and after the word that parts a run the most, nothing where none does."""
    for between in _BETWEEN:
        for place, word in enumerate(words):
            if word in between:
                return [words[:place], words[place + 1 :]]
    return []


def _is_named(words: list[str]) -> bool:
    """Tell whether words are a name by themselves: those in `Nike and Gatorade` are."""
    return any(
        word not in _CONNECTORS and not word.isdigit() and not is_ordinary(word) for word in words
    )


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
        return not (_is_shouted(words, bases) or _is_numbered(words))
    word, base = words[0], bases[0]
    if len(base.rstrip(".")) < 2 or base in FUNCTION_WORDS or _NEGATED.fullmatch(word):
        return False
    if not initial or any(letter.isupper() or letter.isdigit() for letter in word[1:]):
        shouted = word.isupper() and len(word) > ABBREVIATION
        return not ((initial or shouted) and is_ordinary(word))
    if is_ordinary(word) or base in context.lower_case:
        return False
    return not (_ADVERB_OR_PARTICIPLE.fullmatch(base) or _SOUND.fullmatch(base))


def _is_shouted(words: list[str], bases: list[str]) -> bool:
    shouted = len(words) > 2 and all(word.isupper() for word in words)
    return shouted and any(base in FUNCTION_WORDS for base in bases)


def _is_numbered(words: list[str]) -> bool:
    """Tell whether words are a place in an order, as in `Plan B`."""
    last = words[-1]
    return len(last) == 1 and last.isupper() and all(map(is_ordinary, words[:-1]))


def _base(word: str) -> str:
    """Return a word in lower case, without an apostrophe and the letters after it."""
    return _CONTRACTED.sub("", word).lower()
