"""How well a model knows a language: the bundled one knows English only."""

import pytest

from graphmem.retrieval.knowledge import KNOWN, PAIRS, knowledge_of, knows
from graphmem.runtime import Runtime

SURELY = [[1.0, 0.0], [0.0, 1.0]]


def test_a_question_nearer_to_its_own_answer_is_knowledge() -> None:
    assert knowledge_of(SURELY, SURELY) == 1.0
    assert knowledge_of(SURELY, SURELY[::-1]) == 0.0
    # Half of the comparisons are won by chance.
    assert knowledge_of(SURELY, [[1.0, 0.0], [1.0, 0.0]]) == 0.0


def test_a_language_that_was_not_measured_is_known_as_its_least_known_relative() -> None:
    measured = {"de": 0.9, "fr": 0.6, "es": 0.8, "ru": 0.3, "ar": 0.2}

    assert knows(measured, "it") == 0.6
    assert knows(measured, "th") == 0.2
    assert knows(measured, "de") == 0.9
    assert (knows(measured, "en"), knows(measured, None), knows({}, "th")) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("spoken", PAIRS)
async def test_the_bundled_model_knows_no_other_language(spoken: str, runtime: Runtime) -> None:
    assert runtime.calibration.knowledge[spoken] < KNOWN
