"""Likeness of spelling: forms and compounds of a word share runs of letters."""

import pytest
from hypothesis import given, strategies as st

from graphmem.retrieval.understanding import runs, spelling


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("Wer pflegt den Kompost?", "Im Komposthaufen wohnen Igel.", "Die Laube ist undicht."),
        ("Кто чинил крышу?", "Под крышей мы нашли письма.", "Начальник запретил совещания."),
        ("كم الأجرة؟", "دفعنا أجرة المحل.", "القطة تنام في الحقيبة."),
        ("水管冻裂了吗？", "冬天水管裂过。", "儿子画恐龙。"),
    ],
)
def test_other_forms_of_the_words_are_found(question: str, right: str, wrong: str) -> None:
    scores = spelling(question, {"right": right, "wrong": wrong})

    assert scores["right"] == 1.0
    assert scores.get("wrong", 0.0) < 0.5


def test_what_all_texts_have_tells_less_than_what_one_has() -> None:
    texts = {str(place): f"garden number {place}" for place in range(9)} | {"shed": "garden shed"}

    scores = spelling("garden shed", texts)

    assert max(scores, key=scores.__getitem__) == "shed"
    assert scores["1"] < 0.5


def test_what_shares_nothing_has_no_score() -> None:
    assert spelling("abc", {"x": "xyz", "empty": ""}) == {}
    assert spelling("", {"x": "xyz"}) == {}
    assert spelling("abc", {}) == {}


def test_the_runs_of_a_word_have_its_ends_and_those_of_characters_are_pairs() -> None:
    assert list(runs("Ab")) == [" ab", "ab ", " ab ", " ab "]
    assert list(runs("水管")) == ["水", "管", "水管"]


@given(st.text(max_size=50), st.text(max_size=50))
def test_scores_lie_between_0_and_1(question: str, text: str) -> None:
    assert all(0.0 < score <= 1.0 for score in spelling(question, {"a": text, "b": "x"}).values())
