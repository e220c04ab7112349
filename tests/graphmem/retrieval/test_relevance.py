"""Relevance is absolute: what else was found does not move it."""

import tracemalloc
from functools import partial

import pytest
from hypothesis import given, strategies as st

from graphmem.graph.installation import Calibration
from graphmem.retrieval.relevance import (
    MEANING_SHARE,
    NAMED_CHARACTERS,
    AskedWords,
    asked_names,
    asked_stems,
    asked_words,
    combined,
    lexical_relevance,
    matched_share,
    meaning,
    stemmed,
)
from graphmem.text.common_words import is_german_noun, is_ordinary
from graphmem.text.languages import stem_in

SCALE = Calibration(low=0.5, high=0.9)
relevance = AskedWords(frozenset()).relevance
shares = st.floats(0, 1)


@pytest.mark.parametrize(
    ("cosine", "expected"), [(-1.0, 0.0), (0.5, 0.0), (0.7, 0.5), (0.9, 1.0), (1.0, 1.0)]
)
def test_a_cosine_counts_from_what_unrelated_texts_have_to_what_related_ones_have(cosine, expected):
    assert meaning(cosine, SCALE) == pytest.approx(expected)


@given(st.floats(-1, 1), shares)
def test_relevance_lies_between_0_and_1_and_grows_with_both_parts(cosine, share):
    value = relevance(cosine, share, SCALE)

    assert 0.0 <= value <= 1.0
    assert value <= relevance(min(1.0, cosine + 0.1), share, SCALE)
    assert value <= relevance(cosine, min(1.0, share + 0.1), SCALE)


def test_what_matches_nothing_has_none():
    assert relevance(0.49, 0.0, SCALE) == 0.0
    assert relevance(0.9, 1.0, SCALE) == pytest.approx(1.0)
    assert relevance(0.9, 0.0, SCALE) == pytest.approx(MEANING_SHARE)


def test_combined_is_seven_parts_relevance_and_three_importance():
    assert combined(0.8, 0.5) == pytest.approx(0.71)  # S1.31


@pytest.mark.parametrize(
    ("query", "text", "share"),
    [
        ("What did we say about pricing?", "The prices of the plans", 1.0),
        ("pricing plans", "nothing of the kind", 0.0),
        ("pricing plans", "PLANNING ahead", 0.5),
        ("What is it?", "it is what it is", 1.0),
        ("O’Neill's boat", "the boat of O'Neill", 1.0),
        ("???", "anything", 0.0),
        ("kubernetes", "x " * 100_000 + "kubernetes", 1.0),
    ],
)
def test_terms_are_matched_by_their_stems_in_the_whole_text(query, text, share):
    assert matched_share(asked_stems(query), text) == pytest.approx(share)


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("pricing plan", "Asked about PRICING", 0.5),
        ("Pricing", "pricing", 1.0),
        ("*", "whatever", 0.5),
        ("boats", "nothing", 0.0),
        ("price", "pricey", 1.0),
    ],
)
def test_the_lexical_formula_is_the_specification_s(query, text, expected):
    assert lexical_relevance(query, text) == expected  # S1.29


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What did Maria say about her trip to Berlin?", ["Maria", "Berlin"]),
        ("who leads the migration?", []),
        ("Was sagte der Arzt über den Blutdruck?", []),
        ("Wie hoch ist das Budget?", []),
        ("Wann war der Termin bei Frau Müller?", ["Müller"]),
    ],
)
def test_a_question_s_names_are_found_but_not_the_nouns_of_a_german_one(question, named):
    assert asked_names(question) == named


def test_names_are_looked_for_at_the_beginning_of_a_long_question() -> None:
    asked = f"Did Ines call? {'so what ' * NAMED_CHARACTERS} Did Zebulon?"
    assert asked_names(asked) == ["Ines"]


STRANGE = {"de": 0.0, "ru": 0.2, "zh": 0.2}


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        (
            "Warum dürfen wir den Kompost nicht umsetzen?",
            "Der Igel wohnt im Komposthaufen.",
            "Das Fenster klemmt.",
        ),
        ("Кто слушал чтение газет?", "Соседка читает газету вслух.", "Печь дымит при ветре."),
        ("水管什么时候裂的？", "冬天水管冻裂过一次。", "儿子上课总是画恐龙。"),
    ],
)
def test_words_and_spelling_decide_where_the_model_does_not_know_the_language(
    question, answer, other
):
    asked = asked_words(question, STRANGE)

    assert asked.share(answer) > 0.05
    assert asked.share(other) == 0.0
    assert asked.relevance(0.9, 0.0, SCALE) == pytest.approx(asked.trust * MEANING_SHARE)
    assert asked.trust < 0.3


def test_a_question_in_a_known_language_is_compared_as_ever():
    for query, knowledge in (
        ("Why did it leak?", STRANGE),
        ("Warum denn?", {}),
        ("Kompost", STRANGE),
    ):
        asked = asked_words(query, knowledge)

        assert (asked.letters, asked.trust) == (frozenset(), 1.0)
        assert asked.share("It leaks.") == matched_share(asked_stems(query), "It leaks.")
        assert asked.relevance(0.8, 0.5, SCALE) == relevance(0.8, 0.5, SCALE)


@pytest.mark.parametrize("find", [stemmed, partial(stem_in, "de"), is_ordinary, is_german_noun])
def test_no_data_that_looks_like_a_word_is_kept(find):
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(50):
        found = find(f"x{number}" * 20_000)
        assert isinstance(found, bool) or len(found) > 20_000
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 500_000


def test_a_word_that_begins_with_a_joined_letter_is_the_same_word() -> None:
    assert matched_share(frozenset({"find"}), "ﬁnd the other") == 1.0
