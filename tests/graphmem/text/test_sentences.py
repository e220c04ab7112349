"""Where sentences end: not after abbreviations, initials and numbers; in other scripts too."""

import itertools

import pytest

from graphmem.text.segmenting import sentence_ends


def parts(text: str) -> list[str]:
    ends = [0, *sentence_ends(text), len(text)]
    found = [text[begin:end].strip() for begin, end in itertools.pairwise(ends)]
    return [one for one in found if one]


@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith paid 3.50 USD for v1.2.3.",
        "See Fig. 3, p. 12 and e.g. Bob et al. (2020) on it.",
        "J. R. Smith of the U.S. Army met Ms. Jones on Jan. 5 at 5 p.m. by the gate.",
        "Er kam z.B. mit Hr. Maier, ca. 3 km, usw. und ging.",
        "Oma kommt am 23. Dezember, war vom 3.-5. Januar da und feiert am 19. Juni.",
        "Он жил в г. Москве на ул. Мира и т.д. до конца.",
        "Look at example.org and README.md before you go!",
        "Ask Acme Inc. about it, Nr. 7 etc. included?",
        "1. Fill the tank",
    ],
)
def test_a_full_stop_inside_a_sentence_ends_none(text: str) -> None:  # S1.54
    assert parts(f"{text} Next one.") == [text, "Next one."] if text[-1] in ".!?" else [text]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is v1.2.3. He left.", ["It is v1.2.3.", "He left."]),
        ("Er kommt am 10. Der Termin steht.", ["Er kommt am 10.", "Der Termin steht."]),
        ("So do I. Then go.", ["So do I.", "Then go."]),
        ("it was late. we left. ok", ["it was late.", "we left.", "ok"]),
        ("Cups, forks etc. They came.", ["Cups, forks etc.", "They came."]),
        ('He said "Yes." (Why?) No...', ['He said "Yes."', "(Why?)", "No..."]),
        ("渡し船は早い。「はい。」次", ["渡し船は早い。", "「はい。」", "次"]),
        ("यह है। वह है।", ["यह है।", "वह है।"]),
        ("کیا؟ جی۔ ہاں", ["کیا؟", "جی۔", "ہاں"]),
        ("", []),
        ("...", ["..."]),
    ],
)
def test_a_sentence_ends_behind_its_marks(text: str, expected: list[str]) -> None:
    assert parts(text) == expected


@pytest.mark.parametrize("text", [".", ". ", '."', "1. ", "a. ", "!? ", "。"])
def test_any_length_is_read_once(text: str) -> None:
    assert sum(1 for _ in sentence_ends(text * 100_000)) <= 100_000
