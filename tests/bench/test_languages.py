"""The set of questions in eight languages, and its figures."""

from bench.languages import SET, shares
from bench.paraphrases import Paraphrase, conversations, paraphrases

LANGUAGES = {"ar", "de", "en", "es", "fr", "ja", "ru", "zh"}
WITH_SPACES = LANGUAGES - {"ja", "zh"}


def test_the_set_has_the_size_that_its_bench_promises():
    told = {one["id"]: one for one in conversations(SET)}

    assert set(told) == LANGUAGES
    for one in told.values():
        assert sum(len(session["messages"]) for session in one["sessions"]) >= 40
        assert len(one["questions"]) >= 30


def test_most_questions_share_no_rare_word_with_the_message_that_answers():
    asked = [one for one in paraphrases(conversations(SET)) if one.conversation in WITH_SPACES]

    for language in WITH_SPACES:
        shared = [one.shares_word for one in asked if one.conversation == language]
        assert sum(shared) < len(shared) / 2


def test_the_mean_leaves_english_out():
    asked = [Paraphrase("?", language, "", False) for language in ("de", "de", "en", "fr")]

    figures = shares(asked, [1, 3, 1, None])

    assert figures["de"] == {"hit@1": 50.0, "hit@3": 100.0}
    assert figures["mean without English"] == {"hit@1": 25.0, "hit@3": 50.0}
