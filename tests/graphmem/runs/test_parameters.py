"""What is kept of an operation's parameters: never a text, the same for the same."""

from graphmem.runs.types import NewWrite, RunQuestion, continued, digest, of_question, of_write

SECRET = "sesame quince"


# S3.36 S3.37
def test_no_text_is_kept_of_a_question_or_a_write() -> None:
    question = RunQuestion(
        query=SECRET,
        max_tokens=10,
        source_ids=[SECRET],
        source_types=["offer"],
        min_relevance=0.5,
        cursor=SECRET,
    )
    kept = of_question(question, "session-1")
    assert SECRET not in str(kept)
    assert (kept["query_length"], kept["max_tokens"], kept["source_ids"]) == (13, 10, 1)
    written = of_write(NewWrite(type="log", content=SECRET, metadata={SECRET: SECRET}), "session-1")
    assert SECRET not in str(written)
    assert written["content_bytes"] == 13


def test_a_digest_is_the_same_in_one_run_and_another_in_the_next() -> None:
    assert digest("session-1", SECRET) == digest("session-1", SECRET)
    assert digest("session-1", SECRET) != digest("session-2", SECRET)
    assert digest("session-1", [0.5]) != digest("session-1", [0.25])


def test_two_pages_of_a_question_have_all_but_room_and_cursor_in_common() -> None:
    first = of_question(RunQuestion(query="a", max_tokens=10), "r")
    second = of_question(RunQuestion(query="a", max_tokens=20, cursor="x"), "r")
    other = of_question(RunQuestion(query="a", max_tokens=20, sort_by="recency"), "r")
    assert continued(first) == continued(second) != continued(other)
