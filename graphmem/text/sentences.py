"""The ends of sentences in any script: not after an abbreviation or an initial, nor inside a number."""

import re
from collections.abc import Iterator

_CLOSING = r"[\"'”’»›)\]」』）】]*"
_END = re.compile(
    # Only before a space: 3.50, v1.2.3 and example.org contain no end. A run of marks is tried once.
    rf"(?<![.!?…])(?P<marks>[.!?…]++){_CLOSING}+(?=\s)"
    # Chinese and Japanese, Devanagari, Urdu, Arabic, Ethiopic, Armenian, Burmese, Khmer.
    rf"|[。！？｡।॥۔؟።፧։။៕។]+{_CLOSING}"
)
_NEXT = re.compile(r"\s+[\"'“‘«‹(\[「『（【¿¡]*(?P<first>\S)")
_LINE_BEGIN = re.compile(r"(?:\A|\n)[^\S\n]*\Z")
_WORD = re.compile(r"[^\s\"'“‘«‹(\[/]*\Z")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_LOOKED_BACK = 24
"""The number of characters before a full stop that may reveal its role."""

# Before a capital or a number inside a sentence.
_ABBREVIATIONS = frozenset(
    """
    dr mr mrs ms prof st mt ft rev hon gov sen rep pres gen col maj capt lt sgt cmdr messrs
    no nos vol ch sec eq fig figs ref refs p pp ed eds v cf viz e.g i.e eg ie approx ca al
    hr frl nr abs art bd kap vgl bzw ggf evtl sog inkl z.b d.h u.a o.ä u.ä s.o s.u
    m mm mme mlle mgr sra srta dra sig dott avv ing av
    г гг ул им проф акад т.е т.к т.н стр рис
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
# At the end of a sentence, or inside of one before a small letter.
_OFTEN_LAST = frozenset(
    "etc usw usf inc ltd co corp bros jr sr dept est vs tel a.m p.m т.д т.п др руб".split()  # noqa: SIM905
)
_BEFORE_NUMBERS = frozenset(
    "jan feb mar apr jun jul aug sep sept oct nov dec mär okt dez tel ext".split()  # noqa: SIM905
)


def sentence_ends(text: str) -> Iterator[int]:
    """Yield the places after the sentences of a text, closing quotes and brackets included.

    The end of the text does not count unless a mark of another script is there.
    """
    for match in _END.finditer(text):
        if match["marks"] != "." or not _is_part_of_word(text, match.start(), match.end()):
            yield match.end()


def _is_part_of_word(text: str, point: int, end: int) -> bool:
    """Tell whether a full stop belongs to the abbreviation, initial or number before it."""
    after = _NEXT.match(text, end)
    first = after["first"] if after else ""
    begin = max(0, point - _LOOKED_BACK)
    found = _WORD.search(text, begin, point)
    word = found[0] if found else ""
    known = word.casefold()
    if known in _ABBREVIATIONS:
        return True
    if (first.isdigit() and known in _BEFORE_NUMBERS) or (first.islower() and known in _OFTEN_LAST):
        return True
    if _INITIALS.fullmatch(word):
        return word[0].isupper() and word != "I"
    # The number of an item, at the beginning of its line.
    return word.isdigit() and bool(_LINE_BEGIN.search(text, begin, point - len(word)))
