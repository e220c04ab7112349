"""Names: runs of capitalised words and quoted terms in a text of any script.

A word that begins a sentence, and those of headings and labels, count only if they are not ordinary words.
German capitalises every noun: there lists, and the words beside a word, tell names. Scripts without capitals
have names only in Latin letters, in quotation marks and beside a title (`UNCASED`).

Every expression either matches possessively or looks at a hundred characters at most, so that the search
is linear on any text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from graphmem.text.common_words import (
    ABBREVIATION,
    FUNCTION_WORDS,
    GERMAN_DETERMINERS,
    GERMAN_PLACES,
    GERMAN_PREPOSITIONS,
    GERMAN_ROLES,
    GERMAN_VERBS,
    GIVEN_NAMES,
    is_german_noun,
    is_ordinary,
    is_usually_capital,
)
from graphmem.text.identifiers import LONGEST, Found
from graphmem.text.languages import function_words, language

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

# What a single letter stands behind without beginning a name: vitamin C, plan B, a B, the letter A.
_BEFORE_A_LETTER = frozenset(
    """
    a an the this that my your his her our their and or to
    appendix block building capital category chapter class column disk drive exhibit figure floor gate grade
    group hall hepatitis influenza item key language letter level line model option page panel part phase
    plan platform point room row schedule section series size step table team terminal type unit variant
    version vitamin wing zone
    """.split()  # noqa: SIM905
)


def _capitals() -> str:
    """Return the capital letters of all scripts as the ranges of a character class."""
    points = {point for point in range(0x10000) if chr(point).isupper() or chr(point).istitle()}
    starts = sorted(point for point in points if point - 1 not in points)
    ends = sorted(point for point in points if point + 1 not in points)
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(starts, ends, strict=True))


_CAPITAL = f"[{_capitals()}]"
# No group is possessive: Python before 3.11.5 keeps what such a one has read in vain.
_WORD = (
    # U.S., J.R.R.; then the initial before a name, and Dr. Smith; then plain words: O'Brien, Jean-Luc,
    # AT&T, Node.js.
    rf"(?:(?:{_CAPITAL}\.){{1,6}}{_CAPITAL}(?!\w)\.?"
    rf"|(?:{_CAPITAL}|{_ABBREVIATIONS})\.(?=[ ]?{_CAPITAL})"
    rf"|{_CAPITAL}\w*+(?:['’-]\w++|&\w++|\.(?=[a-z])\w++)*)"
)
_AND_ON = rf"[ \u00a0](?:(?:{'|'.join(sorted(_CONNECTORS))})[ \u00a0]){{0,3}}"
_NUMBER = r"[ ]\d{1,4}(?![\w%]|[.,:/-]\d)"
_NAME = re.compile(rf"(?<![\w.@#]){_WORD}(?:{_AND_ON}{_WORD}){{0,{MOST_WORDS - 1}}}(?:{_NUMBER})?")
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
_KEY = re.compile(r"\s{0,20}:")
"""What follows the name of a field in JSON."""
_NUMBERS = re.compile(r"[\d\s.,:/+–-]*[.,:/+–-][\d\s.,:/+–-]*")
"""A date, a time, a range: numbers with signs between."""
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
_INDENTED = 40
"""The number of characters, mostly spaces, that are searched before the name of a field."""


def quoted(text: str) -> Iterator[Found]:
    """Yield terms in quotation marks: few words, or a title, and no sentence, no field of JSON, no date."""
    for match in _QUOTED.finditer(text):
        term = (match[match.lastindex or 0]).strip().rstrip(",")
        words = term.split()
        if not words or term.lower() in FUNCTION_WORDS or _NUMBERS.fullmatch(term):
            continue
        if _is_field(match, text):
            continue
        title = all(
            word[0].isupper() or not word[0].isalpha() or word in _CONNECTORS | _SMALL
            for word in words
        )
        said = len(words) > 1 and words[0][0].isupper() and not title
        sentence = said or term[-1] in ".!?" or len(words) > MOST_QUOTED_WORDS
        if (title or not sentence) and len(words) <= MOST_WORDS:
            yield match.start(), match.end(), term.rstrip(".")


def _is_field(quoted: re.Match[str], text: str) -> bool:
    """Tell whether a term in quotation marks is the name of a field, as in `{"qty": 3, "unit": "kg"}`."""
    before = text[max(0, quoted.start() - _INDENTED) : quoted.start()].rstrip()
    return before.endswith(("{", ",")) and _KEY.match(text, quoted.end()) is not None


def names(text: str) -> Iterator[Found]:
    """Yield the names in a text: each run of capitalised words, and the readings that it allows."""
    spoken = language(text)
    if pattern := _TITLED.get(spoken or ""):
        yield from _titled(text, pattern)
    text = spaced(text)
    if spoken == "de":
        yield from _german_names(text)
        return
    context = _Context(text, function_words(spoken))
    for match in _NAME.finditer(text):
        initial = context.begins_a_sentence(match.start())
        if initial and " " in match[0] and context.is_all(match.start(), match.end()):
            initial = False  # a title, not a sentence
        label = context.is_label(match.start(), match.end(), initial)
        title = context.is_in_title(match.start())
        lettered = initial or (
            "." in match[0] and context.word_before(match.start()) in _BEFORE_A_LETTER
        )
        for part in _parts(match[0].split(), lettered=lettered):
            if label or title:
                readings = _named_in_label(part, context, least=2 if title else 1)
            else:
                readings = _readings(_opened(part, context) if initial else part, initial)
            for words in readings:
                begins = initial and not label and words[0] == part[0]
                if _is_name(words, begins, context):
                    yield match.start(), match.end(), _POSSESSIVE.sub("", " ".join(words))
            initial = bool(part) and part[-1].endswith(".")


class _Context:
    """A text as the evidence that distinguishes names from words that begin sentences."""

    def __init__(self, text: str, common: frozenset[str] = frozenset()) -> None:
        self._text = text
        self.common = common
        """The commonest words of the text's language, if it is another one than English."""

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

    def word_before(self, start: int) -> str:
        """Return the word before a place, in lower case; '' if there is none close by."""
        words = self._text[max(start - LONGEST, 0) : start].split()
        return words[-1].lower() if words else ""

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


def _parts(words: list[str], *, lettered: bool) -> Iterator[list[str]]:
    """Yield the parts of a run, split at each `I` and at a full stop that ends a sentence after all.

    `lettered` tells that a letter at the beginning of the run may be a label, not a name's initial.
    """
    part: list[str] = []
    for word in words:
        ended = part and (
            (part[-1].endswith(".") and word.lower() in FUNCTION_WORDS)
            or (
                _INITIAL.fullmatch(part[-1])
                and is_ordinary(word)
                and (part[-2].lower() in _BEFORE_A_LETTER if part[1:] else lettered)
            )
        )
        if ended or _FIRST_PERSON.fullmatch(word):
            yield part
            part = []
        if not _FIRST_PERSON.fullmatch(word):
            part.append(word)
    yield part


def _opened(words: list[str], context: _Context) -> list[str]:
    """Return a part without the commonest words of its language at the beginning of a sentence."""
    first = 0
    while context.common and first < len(words):
        if _base(words[first]) not in context.common and not is_ordinary(words[first]):
            break
        first += 1
    return words[first:]


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
    common = base in FUNCTION_WORDS or (base in context.common and not word.isupper())
    if len(base.rstrip(".")) < 2 or common or _NEGATED.fullmatch(word):
        return False
    if not initial or any(letter.isupper() or letter.isdigit() for letter in word[1:]):
        shouted = word.isupper() and len(word) > ABBREVIATION
        return not ((initial or shouted) and is_ordinary(word))
    # Lists of ordinary words are English.
    foreign = context.common and not is_usually_capital(word)
    if is_ordinary(word) or base in context.lower_case or foreign:
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


UNCASED: Mapping[str, str] = {
    "ar": "Arabic",
    "fa": "Persian and Urdu",
    "he": "Hebrew",
    "hi": "Hindi",
    "ja": "Japanese",
    "ko": "Korean",
    "th": "Thai",
    "zh": "Chinese",
}
"""The languages without capital letters: there a name is found only in Latin letters, in quotation marks or,
in some, beside a title."""

_UNSPACED = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]"
)

_SURNAME = (
    "[王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾"
    "夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤張劉陳楊黃趙吳孫馬羅鄭許韓馮鄧蕭葉蘇盧鍾譚陸賈]"
)
_TITLED: Mapping[str, re.Pattern[str]] = {
    language: re.compile(pattern)
    for language, pattern in {
        "zh": rf"({_SURNAME}[\u4e00-\u9fff]{{0,2}}?)"
        "(?:先生|女士|小姐|太太|老师|老師|医生|醫生|教授|经理|經理|总监|博士|律师|律師|阿姨|叔叔|师傅)",
        "ja": r"(?<![\u4e00-\u9fffおご々])(?!お?(?:客|皆|奥|娘|息子|母|父|兄|姉|叔|伯|祖|店員|職人|隣|大家"
        r"|先輩|医者|看護師|運転手|赤|子))([\u4e00-\u9fff々]{1,5}|[\u30a1-\u30faー]{2,12})"
        r"(?:さん|ちゃん|くん)"
        r"|(?<![\u30a1-\u30faー])([\u30a1-\u30faー]{2,12}(?:・[\u30a1-\u30faー]{1,12}){1,3})",
        "ko": r"(?<!\w)([가-힣]{2,4})[ ](?:씨|선생님|교수님|팀장님|대리님|과장님|부장님|사장님)"
        r"(?![가-힣]{3})",
        "ar": r"(?<!\w)(?:[وبل])?(?:السيدة|السيد|الأستاذة|الأستاذ|الدكتورة|الدكتور|المهندسة|المهندس|الشيخ)[ ]"
        r"([\u0620-\u064a]{3,20}(?:[ ](?:بن|بنت|أبو|آل)[ ][\u0620-\u064a]{2,20})?)"
        r"|(?<!\w)([\u0620-\u064a]{3,20}[ ]بن[ ][\u0620-\u064a]{3,20})",
    }.items()
}


def spaced(text: str) -> str:
    """Return a text of the same length with Latin names apart from Chinese, Japanese and Korean letters."""
    return text if text.isascii() else _UNSPACED.sub("・", text)


def _titled(text: str, pattern: re.Pattern[str]) -> Iterator[Found]:
    """Yield the names beside a title, such as 先生, in a script without capitals."""
    for match in pattern.finditer(text):
        place = match.lastindex or 0
        yield match.start(place), match.end(place), match[place]


_GERMAN_BETWEEN = frozenset({"von", "van", "zu", "der", "de", "da", "di", "del", "la", "al", "bin"})
_WORD_BEFORE = re.compile(r"([^\W\d_]+|\d+)[ \u00a0]$")
_WORD_AFTER = re.compile(r"[ \u00a0]([^\W\d_]+)")
_ADJECTIVE = re.compile(r"\w{2,}e[mnrs]?")
_NAMING = frozenset({"namens", "heißt", "heißen", "hieß", "genannt"})
_LOOKED_BEFORE = 30
"""The characters before a word in which the one before it is looked for."""


def _german_names(text: str) -> Iterator[Found]:
    """Yield the names in a German text, where a capital letter alone tells nothing.

    Names are those of lists, of programs by their spelling, what follows a title, a role, or a preposition
    without an article, and the subjects of what persons do. A name is one everywhere in its text.
    """
    context = _Context(text)
    known: set[str] = set()
    undecided: list[Found] = []
    for match in _NAME.finditer(text):
        start, end = match.span()
        lead = _WORD_BEFORE.search(text[max(0, start - _LOOKED_BEFORE) : start])
        follow = _WORD_AFTER.match(text, end)
        before = lead[1].lower() if lead else ""
        begins = context.begins_a_sentence(start)
        for part in _german_parts(match[0].split()):
            words, before, begins = _without_determiners(part, before, begins)
            if name := _german_name(words, before, begins, follow[1] if follow else ""):
                known |= {" ".join(name), *name}
                yield start, end, " ".join(name)
            elif len(words) == 1:
                undecided.append((start, end, words[0]))
            before, begins = words[-1].lower() if words else "", False
    yield from (one for one in undecided if one[2] in known and not is_german_noun(one[2]))


def _german_parts(words: list[str]) -> Iterator[list[str]]:
    """Yield the parts of a run that are read by themselves: those around `und`, and after a genitive."""
    part: list[str] = []
    for word in words:
        if _is_german_possessive(word):
            yield [*part, word]
            part = []
        elif word in _CONNECTORS and not (
            word in _GERMAN_BETWEEN and part and part[0].lower() in GIVEN_NAMES
        ):
            if part:
                yield part
            part = []
        else:
            part.append(word)
    if part:
        yield part


def _without_determiners(
    words: list[str], before: str, begins: bool
) -> tuple[list[str], str, bool]:
    """Return a part without the words that open its sentence, and the word before the rest of it."""
    common = function_words("de")
    while words and (begins or len(words) > 1) and words[0].lower() in common:
        before, words, begins = words[0].lower(), words[1:], False
    return words, before, begins


def _german_name(words: list[str], before: str, begins: bool, after: str) -> list[str]:
    """Return the name in a part of a German run; nothing if it is made of nouns."""
    while words and (words[-1] in _CONNECTORS or words[-1].isdigit()):
        words = words[:-1]
    titled = before in GERMAN_ROLES or before in _NAMING
    while len(words) > 1 and _is_role(words[0]):
        words, titled, begins, before = words[1:], True, False, ""
    if not words or words[0].lower() in function_words("de"):
        return []
    determined = before in GERMAN_DETERMINERS or before.isdigit()
    if _is_german_possessive(words[-1]):
        return [*words[:-1], words[-1][:-1]]
    if len(words) > 1:
        return _german_words(words, determined=determined, titled=titled, begins=begins)
    word = words[0]
    if _is_spelled_as_name(word) or word.lower() in GIVEN_NAMES | GERMAN_PLACES:
        return words
    alone = titled or (before in GERMAN_PREPOSITIONS and not word.endswith(("en", "ern")))
    acts = begins and after in GERMAN_VERBS
    noun = is_german_noun(word) or determined or "-" in word
    return words if (alone or acts) and not noun else []


def _german_words(words: list[str], *, determined: bool, titled: bool, begins: bool) -> list[str]:
    """Return the name in several capitalised words; behind an article a noun is first."""
    if words[0].lower() in GIVEN_NAMES or titled:
        last = len(words)
        while last > 1 and is_german_noun(words[last - 1]):
            last -= 1
        return [] if last == 1 and is_german_noun(words[0]) else words[:last]
    if any(map(is_german_noun, words)):
        return [word for word in words if _is_spelled_as_name(word)][:1]
    if determined:
        return words[1:] if len(words) == 2 else words
    return [] if begins and _ADJECTIVE.fullmatch(words[0]) else words


def _is_role(word: str) -> bool:
    """Tell whether a noun is one that a name follows: a role, or the feminine form of one."""
    return word.rstrip(".").lower() in GERMAN_ROLES or (
        len(word) > 5 and word.endswith("in") and word.lower() not in GIVEN_NAMES | GERMAN_PLACES
    )


def _is_german_possessive(word: str) -> bool:
    base = word.lower()
    return word.endswith("s") and base[:-1] in GIVEN_NAMES and base not in GIVEN_NAMES


def _is_spelled_as_name(word: str) -> bool:
    """Tell whether the letters of a word show that it is no noun: PostgreSQL, NASA, Node.js."""
    if "-" in word or word.endswith(("In", "Innen")) or word.lower() in function_words("de"):
        return False
    inside = any(letter.isupper() or letter.isdigit() for letter in word[1:])
    return (inside or "." in word[1:-1] or "&" in word) and not is_ordinary(word)
