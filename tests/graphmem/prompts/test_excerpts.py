"""Excerpts: whole sentences around a hit, within their room, with the bytes at which they stand."""

import random

import pytest

from graphmem.prompts.truncation import LEFT_OUT, Excerpt, Part, Surroundings
from graphmem.retrieval.relevance import asked_stems
from graphmem.text.passages import passages
from graphmem.tokens import TokenCounter

TOKENS = TokenCounter()
FILLER = [f"Line {number} of the log says that disk {number % 7} is fine." for number in range(300)]
NEEDLE = "The Bergen ledger answered two hours late."


def around(text: str, question: str, place: int, *, whole: bool = False) -> Surroundings:
    """Return what is around the passage of a text at a place, or beyond it the whole text."""
    parts = [
        Part(place=at, start=one.start, end=one.end, text=one.text)
        for at, one in enumerate(passages(text))
        if whole or abs(at - place) <= 4
    ]
    words = dict.fromkeys(asked_stems(question), 1.0)
    return Surroundings(parts, place, words, total=len(text.encode()), tokens=TOKENS)


def place_of(text: str, needle: str) -> int:
    return next(at for at, one in enumerate(passages(text)) if needle in one.text)


def bare(excerpt: Excerpt) -> str:
    return excerpt.text.removeprefix(f"{LEFT_OUT} ").removesuffix(f" {LEFT_OUT}")


@pytest.fixture
def log() -> str:
    return "\n".join([*FILLER[:150], NEEDLE, *FILLER[150:]])


def test_a_small_room_holds_the_sentence_that_shares_words_with_the_question(log: str) -> None:
    excerpt = around(log, "Which ledger was late?", place_of(log, NEEDLE)).excerpt(20)

    assert excerpt is not None
    assert excerpt.text == f"{LEFT_OUT} {NEEDLE} {LEFT_OUT}"


def test_a_word_that_every_entry_has_does_not_choose_the_sentence() -> None:
    names = [f"pkg-{number}" for number in range(90)]
    names[40] = "cryptography"
    lock = "\n".join(f'name = "{name}"\nversion = "1.{name[-1]}"\n' for name in names)
    question = "Why is cryptography pinned to an old version?"
    excerpt = around(lock, question, place_of(lock, "cryptography")).excerpt(12)

    assert excerpt is not None
    assert excerpt.text == f'{LEFT_OUT} name = "cryptography" {LEFT_OUT}'


@pytest.mark.parametrize("room", [20, 50, 100, 333, 1_000])
def test_an_excerpt_fits_and_is_what_stands_at_its_bytes(log: str, room: int) -> None:
    excerpt = around(log, "Which ledger was late?", place_of(log, NEEDLE)).excerpt(room)

    assert excerpt is not None
    assert TOKENS.count(excerpt.text) <= room
    assert log.encode()[excerpt.start : excerpt.end].decode() == bare(excerpt)
    assert NEEDLE in excerpt.text
    assert all(line in {*FILLER, NEEDLE} for line in bare(excerpt).split("\n"))


def test_more_room_gives_more_on_both_sides(log: str) -> None:
    surroundings = around(log, "Which ledger was late?", place_of(log, NEEDLE))
    small, large = surroundings.excerpt(60), surroundings.excerpt(300)

    assert small is not None
    assert large is not None
    assert large.start < small.start < small.end < large.end


def test_the_beginning_and_the_end_of_a_text_carry_no_mark(log: str) -> None:
    first = around(log, "disk 0", 0).excerpt(60)
    final = len(list(passages(log))) - 1
    last = around(log, "Line 299", final).excerpt(60)

    assert first is not None
    assert last is not None
    assert first.start == 0
    assert first.text.startswith(FILLER[0])
    assert first.text.endswith(LEFT_OUT)
    assert last.text.startswith(LEFT_OUT)
    assert last.text.endswith(FILLER[-1])
    assert last.end == len(log.encode())


def test_with_room_for_all_it_is_the_whole_text(log: str) -> None:
    excerpt = around(log, "ledger", 3, whole=True).excerpt(100_000)

    assert excerpt == Excerpt(log, 0, len(log.encode()))


def test_a_sentence_that_does_not_fit_gives_none(log: str) -> None:
    assert around(log, "ledger", place_of(log, NEEDLE)).excerpt(5) is None
    assert around("word " * 900, "word", 0).excerpt(10) is None


def test_a_passage_that_is_not_there_gives_none(log: str) -> None:
    assert around(log, "ledger", 3).excerpt(100) is not None
    assert Surroundings([], 3, {}, total=0, tokens=TOKENS).excerpt(100) is None


@pytest.mark.parametrize("seed", range(20))
def test_any_text_is_cut_within_its_room(seed: int) -> None:
    chance = random.Random(seed)
    parts = [
        "word",
        " ",
        "\n",
        "\n\n",
        ". ",
        "ü",
        "語",
        "\U0001f600",
        "\r\n",
        "x" * 90,
        "\t",
        " \n ",
    ]
    text = "".join(chance.choices(parts, k=3_000))
    place = chance.randrange(len(list(passages(text))))
    for room in (10, 40, 200):
        excerpt = around(text, "word", place).excerpt(room)
        if excerpt is not None:
            assert TOKENS.count(excerpt.text) <= room
            assert text.encode()[excerpt.start : excerpt.end].decode() == bare(excerpt)


@pytest.mark.parametrize("room", [40, 60, 70])
@pytest.mark.parametrize(
    ("filler", "needle"),
    [("Zm9vYmFy/x9+", "ledger:Bergen"), ("船在雾里慢慢地走", "ledger在卑尔根")],
)
def test_of_a_text_without_sentences_a_part_fits_that_begins_with_a_word_of_the_question(
    filler: str, needle: str, room: int
) -> None:
    text = f"{filler * 150}{needle}{filler * 150}"
    surroundings = around(text, "Which ledger?", place_of(text, needle))
    assert surroundings.excerpt(40) is None

    part = surroundings.part(room)

    assert part is not None
    assert room / 2 < TOKENS.count(part.text) <= room + 2
    assert text.encode()[part.start : part.end].decode() == bare(part)
    assert bare(part).startswith(needle)
