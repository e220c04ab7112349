"""What else than the legs speaks for a memory: sessions, neighbours, speakers."""

import pytest

from graphmem.retrieval.understanding import Sample
from graphmem.retrieval.weighing import (
    FULL_TOKENS,
    SESSION_BEST,
    SHORT_TOKENS,
    WORDED_MESSAGES,
    asked_role,
    chat_share,
    completed,
    counted_words,
    coverage,
    covered_words,
    neighbour_scores,
    scores_by_words,
    session_coverage,
    session_prior,
    shortened,
    speaker_named,
    substance,
    weighed_words,
)

ASKED = {"boat": 0.5, "leak": 0.3, "dri": 0.2}
"""The stems of a question, with their shares."""


def test_a_session_is_worth_its_two_best_memories() -> None:
    scores = {"a": 0.9, "b": 0.5, "c": 0.4, "d": 0.7}
    sessions = {"a": "one", "b": "one", "c": "one", "d": "two"}

    assert SESSION_BEST == 2
    assert session_prior(scores, sessions) == {
        "a": 1.0,
        "b": 1.0,
        "c": 1.0,
        "d": pytest.approx(0.7 / 1.4),
    }


def test_neighbours_are_those_at_the_offsets() -> None:
    scores = {"a": 1.0, "b": 0.5, "c": 0.25}
    places = {"a": ("s", 0), "b": ("s", 1), "c": ("s", 2)}
    lengths = dict.fromkeys("abc", 10)

    assert neighbour_scores(scores, places, lengths, (-1,)) == {"a": 0.0, "b": 1.0, "c": 0.5}
    assert neighbour_scores(scores, places, lengths, (1,)) == {"a": 0.5, "b": 0.25, "c": 0.0}
    assert neighbour_scores(scores, places, lengths, (-1, 1)) == {"a": 0.5, "b": 1.25, "c": 0.5}


def test_neighbours_are_of_the_same_session() -> None:
    scores, places = {"a": 1.0, "b": 1.0}, {"a": ("s", 0), "b": ("t", 1)}

    assert neighbour_scores(scores, places, {"a": 1, "b": 1}, (-1, 1)) == {"a": 0.0, "b": 0.0}


def test_a_long_memory_stands_alone() -> None:
    scores, places = {"a": 1.0, "b": 1.0, "c": 1.0}, {"a": ("s", 0), "b": ("s", 1), "c": ("s", 9)}
    lengths = {"a": SHORT_TOKENS, "b": 4 * SHORT_TOKENS, "c": 0}

    support = neighbour_scores(scores, places, lengths, (-1, 1))

    assert support == {"a": pytest.approx(1.0), "b": pytest.approx(0.25), "c": 0.0}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["mara", "said"], {"a": 1.0, "c": 1.0}),
        (["lindqvist"], {"a": 1.0, "c": 1.0}),
        (["quill"], {"b": 1.0}),
        (["mara", "quill"], {}),
        (["mar"], {}),
        ([], {}),
    ],
)
def test_a_speaker_counts_when_named_alone(words: list[str], expected: dict[str, float]) -> None:
    names = {"a": "Mara Lindqvist", "b": "Quill", "c": "Mara Lindqvist", "d": None, "e": ""}

    assert speaker_named(words, names) == expected


@pytest.mark.parametrize(
    ("question", "spoken", "expected"),
    [
        ("When does my first sprint end?", None, "user"),
        ("Can you list what I've tried?", "en", "user"),
        ("How did you recommend structuring it?", "en", "assistant"),
        ("Can you list the libraries?", "en", None),
        ("When did Mara move?", None, None),
        ("Wo bin i?", "de", None),
    ],
)
def test_who_is_asked_about_tells_whose_words_answer(
    question: str, spoken: str | None, expected: str | None
) -> None:
    assert asked_role(question, spoken) == expected


def test_a_text_covers_the_words_of_which_it_has_another_form() -> None:
    texts = {"a": "Boats leaked.", "b": "DRY, she said", "c": "Nothing of it", "d": ""}

    covered = covered_words(texts, ASKED)

    assert covered == {"a": {"boat", "leak"}, "b": {"dri"}}
    assert coverage(covered, ASKED) == {"a": pytest.approx(0.8), "b": pytest.approx(0.2)}


def test_words_are_compared_in_their_folded_case() -> None:
    assert covered_words({"a": "Die STRASSE", "b": "die Straße"}, {"strass": 1.0}) == {
        "a": {"strass"},
        "b": {"strass"},
    }


def test_the_previous_message_adds_the_words_that_an_answer_lacks() -> None:
    covered = {"q": frozenset({"boat", "leak"}), "a": frozenset({"boat"}), "x": frozenset({"dri"})}
    places = {"q": ("s", 0), "a": ("s", 1), "b": ("s", 2), "c": ("t", 1), "x": ("s", 7)}

    assert completed(covered, places, ASKED) == {
        "a": pytest.approx(0.3),
        "b": pytest.approx(0.5),
    }


def test_a_session_covers_what_its_messages_cover_together() -> None:
    covered = {"a": frozenset({"boat"}), "b": frozenset({"leak"}), "c": frozenset({"boat"})}
    sessions = {"a": "one", "b": "one", "c": "two", "d": "one", "f": "three"}
    bm25 = {"a": 3.0, "b": 2.0, "c": 3.0}

    assert session_coverage(covered, sessions, bm25, ASKED) == {
        "a": 1.0,
        "b": 1.0,
        "d": 1.0,
        "c": pytest.approx(0.5 / 0.8),
    }


def test_only_a_session_s_best_messages_by_words_cover() -> None:
    ids = [str(n) for n in range(WORDED_MESSAGES + 1)]
    covered = {ids[-1]: frozenset({"boat"}), "z": frozenset({"dri"})}
    sessions = dict.fromkeys(ids, "one") | {"z": "two"}
    bm25 = {id: 9.0 - place for place, id in enumerate(ids)} | {"z": 1.0}

    found = session_coverage(covered, sessions, bm25, ASKED)

    assert (found["0"], found["z"]) == (0.0, 1.0)


def test_long_memories_keep_little_of_their_coverage() -> None:
    assert shortened({"a": 0.5, "b": 0.5}, {"a": SHORT_TOKENS, "b": 2 * SHORT_TOKENS}) == {
        "a": pytest.approx(0.5),
        "b": pytest.approx(0.25),
    }


def test_short_memories_lack_substance() -> None:
    assert substance({"a": FULL_TOKENS // 2, "b": FULL_TOKENS, "c": 10 * FULL_TOKENS}) == {
        "a": pytest.approx(0.5),
        "b": 1.0,
        "c": 1.0,
    }


@pytest.mark.parametrize(("short", "expected"), [(0, 0.0), (4, 0.0), (6, 0.5), (8, 1.0), (10, 1.0)])
def test_a_chat_is_told_by_its_short_messages(short: int, expected: float) -> None:
    lengths = [SHORT_TOKENS] * short + [SHORT_TOKENS + 1] * (10 - short)

    assert chat_share(lengths) == pytest.approx(expected)


def test_without_memories_there_is_no_chat() -> None:
    assert chat_share([]) == 0.0


USUAL = Sample(length=30.0)


def by_words(
    question: list[str],
    texts: dict[str, str],
    weight: dict[str, float] | None = None,
    spoken: str | None = None,
    sample: Sample = USUAL,
) -> dict[str, float]:
    """Return the scores of texts by words."""
    asked = weighed_words(question, weight or {}, spoken, sample)
    counted = {id: counted_words(text, asked) for id, text in texts.items()}
    return scores_by_words(counted, {id: len(text) for id, text in texts.items()}, asked)


def best(scores: dict[str, float]) -> list[str]:
    return sorted(scores, key=lambda one: -scores[one])


def test_rare_words_short_texts_and_repeated_words_have_higher_scores() -> None:
    texts = {
        "rare": "A kettle, and nothing else.",
        "common": "The boats, and nothing else.",
        "long": "A kettle, and nothing else, but much of that: " + "so it goes, " * 20,
        "twice": "A kettle, and a kettle too.",
        "none": "Nothing at all.",
    }

    scores = by_words(["kettles", "boat"], texts, {"boat": 0.1})

    assert best(scores) == ["twice", "rare", "long", "common"]


def test_a_common_word_counts_least_in_a_chat() -> None:
    texts = {"rare": "A kettle.", "common": "A boat."}

    chat, prose = (
        by_words(["kettle", "boat"], texts, {"boat": 0.1}, sample=Sample(length=30.0, short=short))
        for short in (1.0, 0.0)
    )

    assert chat["rare"] == prose["rare"]
    assert 0 < chat["common"] < prose["common"] < prose["rare"]


@pytest.mark.parametrize(
    ("spoken", "word", "form", "other"),
    [
        ("de", "häuser", "Das Hausboot liegt fest.", "Der Hammer liegt dort."),
        ("ru", "крышу", "Под крышей дыра.", "Кот спит."),
        ("ar", "دكان", "استأجرنا الدكان.", "القطة تنام."),
        ("zh", "水管", "冬天水管裂过。", "儿子画恐龙。"),
    ],
)
def test_other_forms_count_in_other_languages(
    spoken: str, word: str, form: str, other: str
) -> None:
    assert best(by_words([word], {"form": form, "other": other}, spoken=spoken)) == ["form"]
