"""The set of needles is what its bench says it is, and the same every time."""

from bench.needle_set import TOKENS, needles
from bench.needle_set.fillers import LINES
from graphmem.tokens import TokenCounter


def test_there_are_needles_of_every_form_and_language_with_a_question_each() -> None:
    found = needles()

    assert len(found) >= 60
    assert {one.form for one in found} == set(LINES)
    assert {one.language for one in found} == {"en", "de", "es"}
    assert len({one.text for one in found}) == len({one.question for one in found}) == len(found)
    assert all(one.question.endswith("?") for one in found)


def test_a_needle_stands_once_in_a_text_of_its_length_that_is_always_the_same() -> None:
    tokens = TokenCounter()
    for one in needles()[:11]:
        text = one.haystack(tokens)

        assert text.count(one.text) == 1
        assert text == one.haystack(tokens)
        assert 0.9 * one.tokens < tokens.count(text) < 1.1 * one.tokens + 100
    assert min(TOKENS) == 1_000
    assert max(TOKENS) == 20_000
