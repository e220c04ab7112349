"""The set of paraphrased questions, and what a place in an order is worth."""

from bench.paraphrases import conversation, conversations, hits, paraphrases


def test_the_set_has_the_size_that_its_bench_promises():
    told = conversations()
    messages = [each for one in told for session in one["sessions"] for each in session["messages"]]

    assert len(told) >= 8
    assert 300 <= len(messages) <= 340
    assert len(list(paraphrases(told))) >= 60
    assert len({message["id"] for message in messages}) == len(messages)


def test_most_questions_share_no_rare_word_with_the_message_that_answers():
    asked = list(paraphrases(conversations()))

    assert sum(not one.shares_word for one in asked) >= max(60, len(asked) / 2)


def test_a_shared_word_is_one_that_few_messages_have():
    lines = "# 2026-03-01T09:00\n" + "".join(
        f"Ada: The boat leaks {word}.\n? Does the {word} boat leak?\n" for word in ("aft", "fore")
    )
    often = lines + "".join(f"Ada: The boat sails {n}.\n" for n in range(3))

    assert [one.shares_word for one in paraphrases([conversation("boats", lines)])] == [True] * 2
    assert [one.shares_word for one in paraphrases([conversation("boats", often)])] == [True] * 2
    bare = often.replace("? Does the aft", "? Does the old")
    assert [one.shares_word for one in paraphrases([conversation("boats", bare)])] == [True, True]
    worn = bare + "user: It leaks.\n" * 2
    assert [one.shares_word for one in paraphrases([conversation("boats", worn)])] == [False, True]


def test_a_conversation_is_read_with_the_message_above_each_question():
    read = conversation(
        "boats",
        "# 2026-03-01T09:00\nAda: It leaks: badly.\n? Is it tight?\nuser: Oh.\n"
        "# 2026-03-02T09:00\nassistant: Still?\n? Who asks?\n",
    )

    assert [session["id"] for session in read["sessions"]] == ["boats-1", "boats-2"]
    said = [message for session in read["sessions"] for message in session["messages"]]
    assert [(one["role"], one["name"], one["content"]) for one in said] == [
        ("user", "Ada", "It leaks: badly."),
        ("user", None, "Oh."),
        ("assistant", None, "Still?"),
    ]
    assert [one["occurred_at"] for one in said] == [
        "2026-03-01T09:00:00+00:00",
        "2026-03-01T09:01:00+00:00",
        "2026-03-02T09:00:00+00:00",
    ]
    assert [one.answer for one in paraphrases([read])] == ["boats-1", "boats-3"]


def test_a_hit_is_a_place_among_the_first():
    assert [hits([1, 2, 3, None], k) for k in (1, 3)] == [25.0, 75.0]
