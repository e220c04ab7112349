"""Cutting a long text: the passages are the text, in order, within their sizes, at the best borders."""

import random

import pytest

from graphmem.text.passages import (
    LEAST_CHARACTERS,
    LONG_CHARACTERS,
    MOST_CHARACTERS,
    is_long,
    passages,
)

LINE = "2025-03-01T00:00:53Z INFO billing[143] health check of node 6 passed\n"
SENTENCE = "The landlord has ordered forty folding chairs before the holidays. "
HOSTILE = {
    "no border": "x" * 100_000,
    "only spaces": " " * 100_000,
    "only lines": "\n" * 100_000,
    "only stops": "." * 100_000,
    "stops and quotes": '."' * 50_000,
    "brackets": "[" * 100_000,
    "clauses": ", " * 50_000,
    "initials": "A. " * 33_000,
    "accents": "e\u0301" * 50_000,
    "marks alone": "\u0301" * 100_000,
    "emoji": "\U0001f469\u200d\U0001f469\u200d\U0001f467" * 20_000,
    "one line of JSON": '{"key":[1,2,{"a":"b"}],' * 4_000,
    "carriage returns": "a\r\n" * 30_000,
    "Chinese": "今天天气很好。" * 14_000,
    "null": "\x00" * 100_000,
}


def made(seed: int) -> str:
    """Return a text of any characters, with borders of every kind."""
    chance = random.Random(seed)
    parts = [
        "word",
        " ",
        "\n",
        "\n\n",
        ". ",
        "! ",
        ", ",
        "ü",
        "語",
        "\U0001f600",
        "\r\n",
        "x" * 90,
        "\t",
        "e\u0301",
    ]
    return "".join(chance.choices(parts, k=chance.randint(1, 3_000)))


@pytest.mark.parametrize(
    "text", [*HOSTILE.values(), *map(made, range(40)), "", "a"], ids=lambda t: repr(t[:8])
)
def test_the_passages_are_the_text_in_order_and_within_their_sizes(text: str) -> None:
    found = list(passages(text))

    data = text.encode()
    assert "".join(one.text for one in found) == text
    assert [one.start for one in found] == [0, *(one.end for one in found)][: len(found)]
    assert all(data[one.start : one.end].decode() == one.text for one in found)
    assert all(0 < len(one.text) <= MOST_CHARACTERS for one in found)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_makes_more_passages_than_its_length_allows(name: str) -> None:
    text = HOSTILE[name]

    assert len(list(passages(text))) <= len(text) // LEAST_CHARACTERS + 1


def test_lines_are_never_cut() -> None:
    found = list(passages(LINE * 200))

    assert all(one.text.endswith("\n") for one in found)
    assert {len(one.text) // len(LINE) for one in found[:-1]} == {MOST_CHARACTERS // len(LINE)}


def test_sentences_are_never_cut() -> None:
    found = list(passages(SENTENCE * 100))

    assert all(one.text.endswith(". ") for one in found)


def test_a_paragraph_ends_a_passage_before_a_line_does() -> None:
    text = SENTENCE * 3 + "\n\n" + LINE * 30

    assert next(passages(text)).text == SENTENCE * 3 + "\n\n"


def test_one_line_of_json_is_cut_between_its_values() -> None:
    text = '{"id": "route-00000", "place": "Bristol", "load": 0.064}, ' * 50

    assert all(one.text.endswith((", ", ",")) for one in list(passages(text))[:-1])


def test_an_accent_stays_with_its_letter() -> None:
    assert all(not one.text.startswith("\u0301") for one in passages("e\u0301" * 5_000))


def test_a_text_of_a_few_sentences_is_not_long() -> None:
    assert not is_long("a" * LONG_CHARACTERS)
    assert is_long("a" * (LONG_CHARACTERS + 1))


def test_without_a_border_a_passage_ends_where_no_character_is_parted() -> None:
    assert next(passages("x" * (MOST_CHARACTERS + 200))).text == "x" * MOST_CHARACTERS
    family = "\U0001f469\u200d\U0001f467"
    for joined in (family, "e\u0300"):
        for before in range(MOST_CHARACTERS - len(joined), MOST_CHARACTERS):
            found = next(passages("x" * before + joined * 200)).text
            assert found == "x" * before + joined * ((len(found) - before) // len(joined))
