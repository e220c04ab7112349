"""The language of a text, and stems in it."""

import sys
import uuid

import pytest
from hypothesis import given, strategies as st

from bench.languages import SET
from bench.paraphrases import conversations
from graphmem.text.languages import (
    asked_kinds,
    is_doubtful,
    is_question,
    language,
    stem_in,
    told_share,
)


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("Where is the boat?", "en"),
        ("Wo ist das Boot?", "de"),
        ("Où est le bateau ?", "fr"),
        ("¿Dónde está el barco?", "es"),
        ("Dove è la barca che ho visto?", "it"),
        ("Onde está o barco que não vi?", "pt"),
        ("Waar is de boot die ik niet zie?", "nl"),
        ("Var är båten som jag har?", "sv"),
        ("Где лодка?", "ru"),
        ("Де човен, який я бачив?", "ru"),
        ("Де його човен і весло?", "cyrillic"),
        ("أين القارب؟", "ar"),
        ("قایق کجاست؟", "fa"),
        ("船在哪里？", "zh"),
        ("船はどこですか。", "ja"),
        ("보트는 어디에 있나요?", "ko"),
        ("Πού είναι η βάρκα;", "el"),
        ("AUTH-4013 in Docker 容器里没有日志", "zh"),
        ("She met Björn and his sister in Köln on the way", "en"),
        ("Duran Duran", None),
        ("c 7", None),
        ("4013", None),
        ("", None),
        ("🎉", None),
    ],
)
def test_the_language_of_a_sentence_is_told(text: str, spoken: str | None) -> None:
    assert language(text) == spoken


@pytest.mark.parametrize("told", conversations(SET), ids=lambda told: str(told["id"]))
def test_few_sentences_of_a_conversation_are_misjudged(told: dict) -> None:
    texts = [message["content"] for session in told["sessions"] for message in session["messages"]]
    texts += [question["text"] for question in told["questions"]]

    right = sum(language(text) == told["id"] for text in texts)

    assert right >= 0.95 * len(texts)


def test_forms_of_a_word_have_one_stem() -> None:
    for spoken, words in {
        "de": ("schlafen", "schlafe"),
        "ru": ("книгами", "книга"),
        "es": ("canciones", "canción"),
        "fr": ("chantaient", "chanter"),
        "ar": ("الكتاب", "كتاب"),
    }.items():
        assert len({stem_in(spoken, word) for word in words}) == 1, spoken
    assert stem_in("th", "เรือ") == "เรือ"


@given(st.text(max_size=80))
def test_any_text_has_a_language_or_none(text: str) -> None:
    assert language(text) is None or isinstance(language(text), str)


@pytest.mark.parametrize(
    ("spoken", "question", "kinds"),
    [
        ("de", "Seit wann wohnt er dort?", {"time"}),
        ("de", "Wie lange dauert es, und wer kommt?", {"time", "person"}),
        ("fr", "Combien coûte le bateau ?", {"number"}),
        ("es", "¿Por qué no vino?", {"reason"}),
        ("ru", "Где лежит ключ?", {"place"}),
        ("zh", "谁照顾宠物？", {"person"}),
        ("ja", "電車はなぜ運休しましたか。", {"reason"}),
        ("ar", "كم ثمن الاشتراك؟", {"number"}),
        ("de", "Das Boot ist neu.", set()),
        ("th", "ใคร", set()),
        (None, "Wer?", set()),
    ],
)
def test_the_words_of_a_question_tell_the_kind_of_its_answer(
    spoken: str | None, question: str, kinds: set[str]
) -> None:
    assert asked_kinds(question, spoken).keys() == kinds


def test_a_text_has_a_share_of_the_kinds_that_are_asked_for() -> None:
    kinds = asked_kinds("Wer kam wann?", "de")

    assert told_share("Meine Schwester kam am Montag.", kinds) == 1.0
    assert told_share("Meine Schwester kam.", kinds) == 0.5
    assert told_share("Es regnet.", kinds) == told_share("Montag", {}) == 0.0


def test_a_text_whose_language_was_told_is_not_held() -> None:
    # In digits: letters of a hexadecimal number may be a word of another language, as `da`.
    text = f"Anna Petrova takes insulin every morning, {uuid.uuid4().int}."
    held = sys.getrefcount(text)

    assert language(text) == language(text) == "en"
    assert sys.getrefcount(text) == held


def test_a_question_ends_with_its_mark() -> None:
    asking = ["Wo?", "谁？", "أين؟", "¿Quién? »"]

    assert [text for text in (*asking, "Was? Nichts.", "", "Ja.") if is_question(text)] == asking


@given(st.text(max_size=80), st.sampled_from(["de", "fr", "es", "ru", "zh", "ja", "ar"]))
def test_any_question_and_text_can_be_compared(text: str, spoken: str) -> None:
    assert 0.0 <= told_share(text, asked_kinds(text, spoken)) <= 1.0


@pytest.mark.parametrize(
    ("text", "doubtful"),
    [
        ("gnocchi da Enzo", True),
        ("Wo wohnt der Hund?", False),
        ("Der Hund wohnt", True),
        ("Haus", False),
        ("где мой кот", False),
    ],
)
def test_a_single_common_word_of_latin_letters_leaves_the_language_in_doubt(
    text: str, doubtful: bool
) -> None:
    assert is_doubtful(text) is doubtful


def test_one_english_word_tells_english_however_long_the_text() -> None:
    assert language("Zebulon Harrow Quill Lindqvist Teodor Mara Ines with Prague Bristol") == "en"
    assert language("Zebulon Harrow Quill Lindqvist Teodor Mara Ines und Prague Bristol") is None
