"""Extraction from a text: its most central sentences, its key phrases, and its surprise.

No language model: vectors and counts in, sentences out, deterministic.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from graphmem.embedding import Vector, cosine
from graphmem.text.languages import function_words, language
from graphmem.text.named_times import NAMES_OF_TIMES
from graphmem.text.segmenting import sentence_ends
from graphmem.text.words import QUESTION_WORDS, stem

SENTENCE_CHARACTERS = 400
"""The maximum length of a sentence; a longer one is cut between words."""

SUMMARY_CHARACTERS = 600
SUMMARY_SENTENCES = 4
TITLE_CHARACTERS = 80
PHRASE_WORDS = 3
PHRASES = 24
"""The number of phrases that are embedded to find a title among them."""

TELLING_WORDS = 6
"""The number of telling words with which a sentence has full weight."""

REDUNDANCY = 0.3
"""The penalty of a sentence for its likeness to a chosen one (Carbonell and Goldstein, 1998)."""

NAMED = 0.1
"""The bonus of a phrase with a name: names distinguish one episode from the next."""

NEW_COSINE, OLD_COSINE = 0.615, 0.90
"""The cosine to earlier texts at which a text is wholly new, and wholly known."""

UNKNOWN_SURPRISE = 0.5
"""The surprise of a text without earlier ones."""

_GOES_ON = re.compile(r"\s+[a-z]")
_FENCED = re.compile(r"^(```|~~~).*?(?:^\1[^\S\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_LIST_MARK = re.compile(r"^(?:[-*+>#|•]+|\d+[.)])\s+")
_EMPHASIS = re.compile(r"\*\*|__|`")
_WORD = re.compile(r"[^\W_]+(?:[-.'’_/][^\W_]+)*|[^\w\s]")

# Words of any conversation, whatever its topic.
_CHATTER = frozenset(
    """
    yes no not okay ok yeah hey hi hello bye thanks thank sorry well oh wow great good nice fine cool
    really very much many more most lot lots bit little only even still already again now today
    tomorrow yesterday morning evening one two thing things something anything everything nothing way
    time like love want need get got getting go going gone make made come came take took see seen look
    let think thought guess feel felt sure maybe actually definitely always never here there back out
    up down over off after before while because since until too both each other another own same new
    awesome amazing happy excited kind kinda wanna gonna gotta pretty super totally wish cheers welcome
    exactly absolutely agree right idea sound looks look looking forward talk chat soon hear heard haha
    don doesn didn isn wasn won can couldn shouldn wouldn ve ll re im dont glad sounds keep hope
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
_UNTELLING = QUESTION_WORDS | _CHATTER


def sentences(text: str, most: int | None = None) -> list[str]:
    """Return a text's sentences without Markdown's marks, the first `most` of them; code is left out."""
    found: list[str] = []
    for line in _parts(_FENCED.sub("\n", text)):
        sentence = " ".join(_EMPHASIS.sub("", _LIST_MARK.sub("", line.strip())).split())
        if any(character.isalnum() for character in sentence):
            found.append(shortened(sentence, SENTENCE_CHARACTERS))
        if most is not None and len(found) >= most:
            break
    return found


def _parts(text: str) -> Iterator[str]:
    """Yield the sentences of the lines of a text."""
    for line in text.split("\n"):
        begin = 0
        for end in sentence_ends(line):
            if not _GOES_ON.match(line, end):
                yield line[begin:end]
                begin = end
        yield line[begin:]


def shortened(text: str, most: int) -> str:
    """Return a text of at most `most` characters, cut between words and marked with an ellipsis."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    seam = cut.rfind(" ")
    return f"{cut[:seam] if seam > most // 2 else cut}…"


def central(shown: Sequence[str], vectors: Sequence[Vector], wanted: int) -> list[int]:
    """Return the places of the most central sentences, best first, without repetitions."""
    if not shown:
        return []
    centre = centroid(vectors)
    worth = [
        _weight(text) * cosine(vector, centre) for text, vector in zip(shown, vectors, strict=True)
    ]
    chosen: list[int] = []
    said = [0.0] * len(shown)
    while len(chosen) < min(wanted, len(shown)):
        left = [place for place in range(len(shown)) if place not in chosen]
        best = max(left, key=lambda place: (worth[place] - REDUNDANCY * said[place], -place))
        chosen.append(best)
        said = [
            max(known, cosine(vector, vectors[best]))
            for known, vector in zip(said, vectors, strict=True)
        ]
    return chosen


def summary(
    shown: Sequence[str],
    vectors: Sequence[Vector],
    *,
    speakers: Sequence[str] | None = None,
    most_sentences: int = SUMMARY_SENTENCES,
    most_characters: int = SUMMARY_CHARACTERS,
) -> str:
    """Return the most central sentences in their order, as many as fit; '' if there are none.

    With `speakers`, one for each sentence, each change of the speaker is marked.
    """
    kept: list[int] = []
    for place in central(shown, vectors, most_sentences):
        if len(_told(sorted([*kept, place]), shown, speakers)) <= most_characters:
            kept.append(place)
        elif not kept:
            return shortened(_told([place], shown, speakers), most_characters)
    return _told(sorted(kept), shown, speakers)


def key_points(shown: Sequence[str], vectors: Sequence[Vector], most: int) -> list[str]:
    """Return the most central sentences in their order, each a point of its own."""
    return [shown[place] for place in sorted(central(shown, vectors, most))]


def phrases(texts: Iterable[str], *, without: Iterable[str] = ()) -> Counter[str]:
    """Return the most frequent phrases of up to three telling words, in their first spelling.

    `without` are names to ignore, such as the speakers'.
    """
    silent = {stem(word) for name in without for word in name.lower().split()}
    counts: Counter[tuple[str, ...]] = Counter()
    written: dict[tuple[str, ...], str] = {}
    for text in texts:
        for words in _phrases(text):
            key = tuple(stem(word.lower()) for word in words)
            if silent.isdisjoint(key):
                counts[key] += 1
                written.setdefault(key, " ".join(words))
    by_worth = sorted(counts, key=lambda key: -counts[key] * (1 + 0.5 * (len(key) - 1)))
    return Counter({written[key]: counts[key] for key in by_worth[:PHRASES]})


def title(counts: Counter[str], vectors: Sequence[Vector], centre: Vector) -> str:
    """Return the one or two phrases nearest to the centre; '' if there are none.

    `vectors` are those of the phrases, in their order.
    """
    places = dict(zip(counts, vectors, strict=True))
    worth = {
        phrase: cosine(vector, centre) + 0.05 * math.log(counts[phrase]) + NAMED * _names(phrase)
        for phrase, vector in places.items()
        if not NAMES_OF_TIMES.issuperset(phrase.lower().split())
    }
    chosen: list[str] = []
    for phrase in sorted(worth, key=lambda phrase: -worth[phrase]):
        apart = all(_stems(phrase).isdisjoint(_stems(other)) for other in chosen)
        if apart and len(", ".join([*chosen, phrase])) <= TITLE_CHARACTERS:
            chosen.append(phrase)
        if len(chosen) == 2:
            break
    joined = ", ".join(chosen)
    return joined[:1].upper() + joined[1:]


def surprise(nearest: float | None) -> float:
    """Return the surprise of a text, 0–1, from the cosine to its nearest earlier text.

    Values from .7 on are meant to be exceptions; the two cosines are chosen for the default model.
    """
    if nearest is None:
        return UNKNOWN_SURPRISE
    share = (OLD_COSINE - nearest) / (OLD_COSINE - NEW_COSINE)
    return round(min(max(share, 0.0), 1.0), 4)


def centroid(vectors: Sequence[Vector]) -> Vector:
    """Return the unit vector in the middle of some; if they are none or cancel out, their sum."""
    total = [sum(values) for values in zip(*vectors, strict=True)]
    length = math.sqrt(sum(value * value for value in total))
    return [value / length for value in total] if length else total


def _told(places: Sequence[int], shown: Sequence[str], speakers: Sequence[str] | None) -> str:
    told: list[str] = []
    speaker = None
    for place in places:
        if speakers is not None and speakers[place] != speaker:
            speaker = speakers[place]
            told.append(f"{speaker}: {shown[place]}")
        else:
            told.append(shown[place])
    return " ".join(told)


def _weight(sentence: str) -> float:
    """Return the weight of a sentence's likeness: common words say little."""
    silent = function_words(language(sentence))
    telling = sum(_tells(word, silent) for word in _WORD.findall(sentence))
    asking = 0.85 if sentence.rstrip("\"'”)").endswith("?") else 1.0
    return asking * (0.5 + 0.5 * min(telling, TELLING_WORDS) / TELLING_WORDS)


def _phrases(text: str) -> Iterator[list[str]]:
    """Yield every uninterrupted run of one to three telling words."""
    run: list[str] = []
    silent = function_words(language(text))
    for word in [*_WORD.findall(text), "."]:
        if _tells(word, silent):
            run.append(word)
            continue
        for begin in range(len(run)):
            for end in range(begin + 1, min(len(run), begin + PHRASE_WORDS) + 1):
                yield run[begin:end]
        run = []


def _tells(word: str, silent: frozenset[str]) -> bool:
    """Tell whether a word says what a text is about; `silent` are the commonest words of its language."""
    plain = re.split(r"['’]", word.lower())[0]
    return (
        len(plain) > 2
        and not plain[0].isdigit()
        and _UNTELLING.isdisjoint({word.lower(), plain})
        and plain not in silent
    )


def _names(phrase: str) -> bool:
    """Tell whether a phrase has capitals or digits beyond a sentence's first letter."""
    return any(character.isupper() or character.isdigit() for character in phrase[1:]) or (
        phrase[0].isupper() and " " not in phrase
    )


def _stems(phrase: str) -> set[str]:
    return {stem(word) for word in phrase.lower().split()}
