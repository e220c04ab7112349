"""Cutting to tokens: never over the limit, never much under it, and honest about it."""

import time
from functools import cache

import pytest
from hypothesis import given, settings, strategies as st

from graphmem.model.vocabulary import TruncationStrategy
from graphmem.prompts.truncation import ELLIPSIS, GAP, HEAD, Truncated, boundary, truncated
from graphmem.tokens import TokenCounter, pieces

TOKENS = TokenCounter()
STRATEGIES: tuple[TruncationStrategy, ...] = ("end", "sentence", "middle")
HEADER = "[knowledge_base: Product FAQ]\n"

WORDS = st.sampled_from(
    [
        *("the ", "keeper ", "of light", ". ", "! ", "\n\n", " ", "    ", "...", "e.g. ", "3.14"),
        *(
            "漢字",
            "灯台は港にあります。",
            "\U0001f98a",
            "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        ),
        *(
            "e\u0301",
            "\U0001f44d\U0001f3fd",
            "xxxxxxxxxxxxxxxxxxxx",
            "antidisestablishment",
            "\0",
            "ß",
        ),
    ]
)
TEXTS = st.one_of(st.lists(WORDS, max_size=80).map("".join), st.text(max_size=300))


@settings(max_examples=200)
@given(
    TEXTS, st.integers(1, 200), st.sampled_from(STRATEGIES), st.sampled_from(["", HEADER, "漢字 "])
)
def test_no_limit_is_ever_exceeded(
    text: str, limit: int, strategy: TruncationStrategy, header: str
) -> None:
    # S1.52 S1.53
    # S1.66
    cut = truncated(text, limit, strategy, TOKENS, header=header)

    assert cut.token_count == TOKENS.count(cut.content) <= limit
    assert cut.truncated == (TOKENS.count(header + text) > limit)
    cut.content.encode()
    if not cut.truncated:
        assert cut.content == header + text
    elif cut.content:
        assert cut.content.startswith(header)
    else:
        assert TOKENS.count(header or ELLIPSIS) > limit


def test_an_abbreviation_a_price_or_a_version_is_no_sentence() -> None:
    # S1.54
    text = "Dr. Smith paid 3.50 USD for v1.2.3. He left early, without a word to anybody."

    assert truncated(text, 14, "sentence", TOKENS).content.startswith("Dr. Smith paid 3.50 USD")
    assert truncated(text, 22, "sentence", TOKENS).content == f"{text[:35]}{ELLIPSIS}"


@settings(max_examples=200)
@given(TEXTS, st.integers(1, 200), st.sampled_from(["", HEADER]))
def test_the_end_is_cut_and_marked_and_as_much_as_fits_is_kept(
    text: str, limit: int, header: str
) -> None:
    # S1.54
    cut = truncated(text, limit, "end", TOKENS, header=header)
    if not cut.truncated or cut.content in {"", header}:
        return

    kept = cut.content.removeprefix(header).removesuffix(ELLIPSIS)
    assert cut.content == f"{header}{kept}{ELLIPSIS}"
    assert text.startswith(kept)
    assert len(kept) == cut.kept
    # The next character may be one of many tokens: a family of emoji has up to fourteen.
    longer = text[: boundary(text, cut.kept + 1, forward=True)]
    assert cut.token_count >= limit - 3 or TOKENS.count(f"{header}{longer}{ELLIPSIS}") > limit - 3


@settings(max_examples=200)
@given(TEXTS, st.integers(1, 200))
def test_the_middle_is_cut_out_and_marked(text: str, limit: int) -> None:
    # S1.54
    cut = truncated(text, limit, "middle", TOKENS)
    if not cut.truncated or cut == truncated(text, limit, "end", TOKENS):
        return

    splits = [
        place
        for place in range(len(cut.content))
        if cut.content.startswith(GAP, place)
        and text.startswith(cut.content[:place])
        and text.endswith(cut.content[place + len(GAP) :])
    ]
    assert splits
    assert cut.kept == len(cut.content) - len(GAP) <= len(text)


@pytest.mark.parametrize("limit", [50, 333, 5_000, 20_000])
def test_the_middle_keeps_three_fifths_of_its_tokens_before_the_gap(limit: int) -> None:
    # S1.54
    text = " ".join(f"line {number} of the log" for number in range(20_000))

    head, tail = truncated(text, limit, "middle", TOKENS).content.split(GAP)

    before, after = TOKENS.count(head), TOKENS.count(tail)
    assert before + after >= limit - 6
    assert abs(before - HEAD * (before + after)) <= 2


def test_where_no_gap_fits_the_end_is_cut() -> None:
    # S1.54
    text = "The keeper of the light walks down to the harbour"

    assert truncated(text, 2, "middle", TOKENS).content == "The..."


def sentences(*lengths: int) -> str:
    return " ".join(" ".join(["word"] * length) + "." for length in lengths)


@settings(max_examples=200)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(1, 120))
def test_whole_sentences_are_kept_as_many_as_fit(lengths: list[int], limit: int) -> None:
    # S1.54
    cut = truncated(sentences(*lengths), limit, "sentence", TOKENS)
    fitting = [f"{sentences(*lengths[:count])}{ELLIPSIS}" for count in range(1, len(lengths))]
    fitting = [content for content in fitting if TOKENS.count(content) <= limit]

    if cut.truncated and fitting:
        assert cut.content == fitting[-1]
    elif cut.truncated:
        assert cut == truncated(sentences(*lengths), limit, "end", TOKENS)


@pytest.mark.parametrize(
    ("text", "limit", "content"),
    [
        ("Pi is 3.14 today. It was 3 then. " + "x" * 400, 11, "Pi is 3.14 today...."),
        ("Is it? “Yes!” he said and went away over the hills", 9, "Is it? “Yes!”..."),
        ("灯台は港にあります。猫は箱の中にいます。犬は外にいる", 11, "灯台は港にあります。..."),
        ("no sentence ends here at all it goes on", 5, "no sentence ends here..."),
    ],
)
def test_a_sentence_ends_where_one_does(text: str, limit: int, content: str) -> None:
    # S1.54
    assert truncated(text, limit, "sentence", TOKENS).content == content


def test_where_not_even_the_header_fits_there_is_nothing() -> None:
    # S1.53
    needed = TOKENS.count(HEADER)
    for limit in range(1, needed):
        for strategy in STRATEGIES:
            cut = truncated("Questions about pricing", limit, strategy, TOKENS, header=HEADER)
            assert (cut.content, cut.token_count, cut.truncated, cut.kept) == ("", 0, True, 0)
    assert truncated("about pricing", needed, "end", TOKENS, header=HEADER).content == HEADER


def test_an_empty_text_is_not_cut() -> None:
    assert truncated("", 1, "end", TOKENS).truncated is False
    assert truncated("", 1, "end", TOKENS, header=HEADER).truncated is True


SHORT_HEADER = "# "
LONG = {
    "prose": "The keeper of the light walks down to the harbour. " * 20_000,
    "one word": "x" * 100_000,
    "han": "漢" * 333_333,
    "emoji": "\U0001f98a" * 250_000,
    "spaces": " " * 1_000_000,
    "random": "".join(chr(33 + (place * place * 7919) % 90) for place in range(1_000_000)),
    "marks": "e" + "\u0301" * 500_000,
}


@cache
def whole(name: str) -> int:
    """Return the tokens of a megabyte and its header."""
    return TOKENS.count(SHORT_HEADER + LONG[name])


def check(
    cut: Truncated, limit: int, strategy: TruncationStrategy, *, name: str, needed: int
) -> None:
    """Check that a cut text, which needs so many tokens as a whole, holds its limit and uses it."""
    assert cut.token_count == TOKENS.count(cut.content) <= limit
    assert cut.truncated == (needed > limit)
    # A character is not parted from its marks, unless it has very many.
    least = 100 if name == "marks" else 7
    if cut.truncated and limit >= least and strategy != "sentence":
        assert cut.token_count >= limit - 6


@pytest.mark.parametrize("name", LONG)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_megabyte_of_anything_is_cut_soon(strategy: TruncationStrategy, name: str) -> None:
    # S1.52 S1.66
    limit = min(50_000, whole(name) // 2)
    began = time.perf_counter()
    cut = truncated(LONG[name], limit, strategy, TOKENS, header=SHORT_HEADER)

    assert time.perf_counter() - began < 10
    check(cut, limit, strategy, name=name, needed=whole(name))


@pytest.mark.parametrize("name", LONG)
def test_a_megabyte_that_just_fits_is_not_cut(name: str) -> None:
    cut = truncated(LONG[name], whole(name), "end", TOKENS, header=SHORT_HEADER)

    assert (cut.content, cut.truncated) == (SHORT_HEADER + LONG[name], False)


@settings(max_examples=200)
@given(st.sampled_from(sorted(LONG)), st.integers(0, 3_000), st.sampled_from(STRATEGIES), st.data())
def test_every_limit_of_anything_is_held_and_used(
    name: str, characters: int, strategy: TruncationStrategy, data: st.DataObject
) -> None:
    # S1.52 S1.66
    text = LONG[name][:characters]
    needed = TOKENS.count(SHORT_HEADER + text)
    limit = data.draw(st.integers(1, needed + 2))

    cut = truncated(text, limit, strategy, TOKENS, header=SHORT_HEADER)

    check(cut, limit, strategy, name=name, needed=needed)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_limit_of_one_long_word_is_held_and_used(strategy: TruncationStrategy) -> None:
    word = "x" * 100_000
    for limit in [*range(1, 40), *range(40, 12_500, 500)]:
        cut = truncated(word, limit, strategy, TOKENS)
        assert cut.token_count == TOKENS.count(cut.content) <= limit
        assert cut.truncated
        if limit > 5:
            assert cut.token_count >= limit - 4


@pytest.mark.parametrize(
    ("text", "place", "back", "forth"),
    [
        ("abc", 1, 1, 1),
        ("e\u0301x", 1, 0, 2),
        ("\U0001f44d\U0001f3fdx", 1, 0, 2),
        ("\U0001f468\u200d\U0001f469x", 2, 0, 3),
        ("\u0301" * 100, 50, 50, 50),
        ("abc", 3, 3, 3),
        ("", 0, 0, 0),
    ],
)
def test_a_character_is_not_parted_from_its_marks(
    text: str, place: int, back: int, forth: int
) -> None:
    assert boundary(text, place) == back
    assert boundary(text, place, forward=True) == forth


@given(TEXTS, st.integers(0, 100))
def test_a_limit_is_exceeded_exactly_when_the_count_is(text: str, limit: int) -> None:
    assert TOKENS.exceeds(text, limit) == (TOKENS.count(text) > limit)
    assert min(TOKENS.count_up_to(text, limit), limit + 1) == min(TOKENS.count(text), limit + 1)


def test_a_table_s_pieces_are_the_text() -> None:
    assert "".join(pieces(LONG["prose"], 1_000)) == LONG["prose"]
