"""What a text says in its own words: bounded, in order, the same each time."""

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from graphmem.runtime import Runtime
from graphmem.text.extraction import (
    SENTENCE_CHARACTERS,
    SUMMARY_CHARACTERS,
    TITLE_CHARACTERS,
    central,
    centroid,
    key_points,
    phrases,
    sentences,
    shortened,
    summary,
    surprise,
    title,
)

TALK = [
    "The login fails with AUTH-401 whenever the clock of the token server runs fast.",
    "Hi there!",
    "The clock of the token server is 47 seconds fast since its image was rebuilt.",
    "We allow sixty seconds of leeway when the token server checks a login.",
    "The cat sleeps on the keyboard.",
]


async def embedded(runtime: Runtime, texts: list[str]) -> list[list[float]]:
    return [one.vector for one in await runtime.embedder.passages(texts)]


def test_sentences_come_without_marks_and_without_code() -> None:
    text = "# Plan\n\n- **First** step. Then e.g. more.\n```python\nx = 1.\n```\n> Last one? Yes!"
    assert sentences(text) == ["Plan", "First step.", "Then e.g. more.", "Last one?", "Yes!"]
    assert sentences(text, 2) == ["Plan", "First step."]
    assert sentences(" \n --- \n!!!") == []
    assert len(sentences("word " * 500)[0]) <= SENTENCE_CHARACTERS


@given(st.text(max_size=300), st.integers(20, 60))
def test_what_is_shortened_fits(text: str, most: int) -> None:
    cut = shortened(text, most)
    assert len(cut) <= most
    assert cut == text or cut.endswith("…")


async def test_a_summary_holds_what_is_central_in_its_order(runtime: Runtime) -> None:
    vectors = await embedded(runtime, TALK)
    chosen = central(TALK, vectors, 3)
    assert sorted(chosen) == [0, 2, 3]
    told = summary(TALK, vectors, most_sentences=3)
    assert told == " ".join([TALK[0], TALK[2], TALK[3]])
    assert told == summary(TALK, vectors, most_sentences=3)
    assert key_points(TALK, vectors, 3) == [TALK[0], TALK[2], TALK[3]]
    assert summary([], []) == ""


async def test_a_summary_says_nothing_twice_and_stays_in_its_bounds(runtime: Runtime) -> None:
    doubled = [*TALK, TALK[0].replace("whenever", "when")]
    chosen = central(doubled, await embedded(runtime, doubled), 2)
    assert set(chosen) != {0, 5}
    vectors = await embedded(runtime, TALK)
    assert len(summary(TALK, vectors, most_characters=100)) <= 100
    long = ["word " * 200]
    assert len(summary(long, await embedded(runtime, long))) <= SUMMARY_CHARACTERS


async def test_a_summary_says_who_speaks_where_that_changes(runtime: Runtime) -> None:
    vectors = await embedded(runtime, TALK)
    told = summary(
        TALK, vectors, speakers=["Mara", "Quill", "Mara", "Quill", "Mara"], most_sentences=3
    )
    assert told == f"Mara: {TALK[0]} {TALK[2]} Quill: {TALK[3]}"


async def test_a_title_names_what_is_talked_about(runtime: Runtime) -> None:
    found = phrases(TALK, without=["Mara"])
    name = title(
        found, await embedded(runtime, list(found)), centroid(await embedded(runtime, TALK))
    )
    assert "token server" in name.lower() or "clock" in name.lower()
    assert len(name) <= TITLE_CHARACTERS
    assert name[0].isupper()
    assert not phrases(["Hi there, what is it?", "Mara!"], without=["Mara"])
    assert title(phrases([]), [], []) == ""


@pytest.mark.parametrize(
    ("nearest", "expected"),
    [(None, 0.5), (1.0, 0.0), (0.9, 0.0), (0.615, 1.0), (-1.0, 1.0), (0.7575, 0.5)],
)
def test_surprise_grows_with_the_distance_to_what_came_before(nearest, expected) -> None:
    assert surprise(nearest) == pytest.approx(expected)


def test_the_centre_of_what_cancels_out_is_nothing() -> None:
    assert centroid([[1.0, 0.0], [-1.0, 0.0]]) == [0.0, 0.0]
    assert centroid([]) == []


def test_between_phrases_of_one_meaning_the_one_said_more_often_is_the_title() -> None:
    near, far = [1.0, 0.0], [0.8, 0.6]
    assert title(Counter({"copper pipe": 1, "token server": 9}), [near, near], near).startswith(
        "Token server"
    )
    # How often it is said weighs little beside the meaning.
    assert title(Counter({"copper pipe": 1, "token server": 3}), [near, far], near).startswith(
        "Copper pipe"
    )


def test_the_commonest_words_of_a_language_are_in_no_phrase() -> None:
    german = phrases(
        ["Wir schicken Ihnen eine neue Kanne.", "Aber er hat mir die Arbeitsplatte zerkratzt."]
    )
    assert set(german) == {
        "schicken", "neue", "Kanne", "neue Kanne",
        "Arbeitsplatte", "zerkratzt", "Arbeitsplatte zerkratzt",
    }  # fmt: skip
    assert set(phrases(["¿Cuándo llegó el tren con retraso?"])) == {"llegó", "tren", "retraso"}


def test_a_title_is_no_weekday_and_no_month() -> None:
    near, far = [1.0, 0.0], [0.8, 0.6]
    counts = Counter({"Friday": 3, "Juli": 2, "Saturday Friday": 1, "copper pipe": 1})
    assert title(counts, [near, near, near, far], near) == "Copper pipe"
    assert title(Counter({"Black Friday": 1}), [near], near) == "Black Friday"


def test_a_longer_phrase_comes_first_among_those_said_as_often() -> None:
    [first, *_] = phrases(["The token server restarts.", "Rain."])
    assert first == "token server restarts"
