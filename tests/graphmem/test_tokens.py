"""Counting tokens: golden counts, and texts of any length."""

import time

import bpe_openai
import pytest
from hypothesis import example, given, strategies as st

from graphmem.errors import InvalidInput
from graphmem.tokens import PIECE_CHARACTERS, TOKENIZER, TOKENIZERS, TokenCounter, pieces

TOKENS = TokenCounter()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("Hello, world!", 4),
        ("The lighthouse keeper is called Ansgar.", 9),
        ("## 2026-03-02 09:30\n", 13),
        ("auth/middleware.py", 4),
        ("灯台は港にあります。", 7),
        ("\U0001f98a", 3),
        ("\n\n\n", 1),
    ],
)
def test_counts_are_those_of_the_tokenizer(text: str, count: int) -> None:
    assert TOKENS.count(text) == count


@pytest.mark.parametrize("text", ["<|endoftext|>", "<|endofprompt|>", "a<|im_start|>b"])
def test_what_looks_special_is_counted_as_text(text: str) -> None:
    assert TOKENS.count(text) > 3


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
@example("a\ud800b \ud83e\udd8a")
@given(st.text(st.characters(codec=None), max_size=60))
def test_counts_are_those_of_the_package_also_of_half_characters(name: str, text: str) -> None:
    whole = bpe_openai.get_encoding(name).encode_ordinary(text)

    assert TokenCounter(name).count(text) == len(whole)
    assert TokenCounter(name).exceeds(text, len(whole) - 1)
    assert not TokenCounter(name).exceeds(text, len(whole))


def test_the_tokenizer_is_the_one_that_is_stored() -> None:
    assert TOKENS.name == TOKENIZER == "o200k_base"
    assert TokenCounter("cl100k_base").count("灯台は港にあります。") != TOKENS.count(
        "灯台は港にあります。"
    )


def test_what_comes_again_is_counted_alike() -> None:
    assert TOKENS.count_again("## Facts\n") == TOKENS.count("## Facts\n")
    assert TOKENS.count_again("## Facts\n") == TOKENS.count("## Facts\n")


def test_a_long_text_counts_as_its_parts_do() -> None:
    sentence = "The keeper of the light walks down to the harbour"
    text = " ".join([sentence] * 20_000)

    assert len(text) > 900_000
    assert TOKENS.count(text) == TOKENS.count(sentence) + 19_999 * TOKENS.count(f" {sentence}")


@pytest.mark.parametrize(
    "text",
    ["x" * 1_000_000, "漢" * 333_333, "\U0001f98a" * 250_000, " " * 1_000_000, "a b" * 333_333],
    ids=["letters", "han", "emoji", "spaces", "pairs"],
)
def test_a_megabyte_of_anything_is_counted_soon(text: str) -> None:
    begin = time.perf_counter()

    count = TOKENS.count(text)

    assert 0 < count <= len(text.encode())
    assert time.perf_counter() - begin < 10


def test_more_tokens_than_the_encoder_takes_at_once_are_counted() -> None:
    # Each is three tokens: the encoder by itself refuses more than 200,000.
    assert TOKENS.count("\U0001f98a" * 80_000) > 200_000


@given(
    st.lists(st.sampled_from(["word", " ", "\n", "漢", "-", "\U0001f98a"]), max_size=200).map(
        "".join
    ),
    st.integers(2, 20),
)
def test_pieces_are_the_text(text: str, characters: int) -> None:
    cut = list(pieces(text, characters))

    assert "".join(cut) == text
    assert all(0 < len(piece) <= characters for piece in cut[:-1])
    assert len(cut[-1]) <= characters


@given(st.lists(st.text("abcdefg", min_size=1, max_size=8), min_size=1, max_size=60))
def test_a_cut_between_two_words_changes_no_count(words: list[str]) -> None:
    text = " ".join(words)

    cut = list(pieces(text, 20))

    assert sum(TOKENS.count(piece) for piece in cut) == TOKENS.count(text)
    assert all(piece.startswith(" ") for piece in cut[1:])


def test_a_short_text_is_one_piece() -> None:
    text = "word " * (PIECE_CHARACTERS // 5)

    assert list(pieces(text)) == [text]
    assert list(pieces("")) == [""]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-4", "cl100k_base"),
        ("gpt-4-0613", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("gpt-4o", "o200k_base"),
        ("gpt-4o-2024-08-06", "o200k_base"),
        ("gpt-4.1-mini", "o200k_base"),
        ("o3", "o200k_base"),
    ],
)
def test_a_model_s_counter_is_that_of_its_tokenizer(model: str, name: str) -> None:
    # S1.5
    counter = TokenCounter.for_model(model)

    assert counter.name == name
    assert counter.count("Hello, world!") == 4


@pytest.mark.parametrize("model", ["", "gpt-99", "GPT-4", "gpt-4-", "cl100k_base", "gpt-4-12"])
def test_a_model_that_is_not_known_is_refused_with_those_that_are(model: str) -> None:
    # S1.5
    with pytest.raises(InvalidInput) as raised:
        TokenCounter.for_model(model)

    assert raised.value.field == "model"
    assert repr(model) in str(raised.value)
    assert "gpt-4, gpt-4-32k" in str(raised.value)


def test_every_model_that_is_known_has_a_tokenizer_here() -> None:
    assert {TokenCounter.for_model(model).count("x") for model in TOKENIZERS} == {1}
