"""The forms in which frameworks write a message: one text, one role, one time, one session."""

from datetime import UTC, datetime
from typing import Any

import pytest

from graphmem.conversations.forms import MOST_LEVELS, plain
from graphmem.conversations.types import Batch, NewMessage
from graphmem.errors import InvalidInput, TooLarge
from graphmem.model.validation import validated

NOW = datetime(2026, 3, 2, 23, 59, tzinfo=UTC)


def stored(**fields: Any) -> Any:
    """Return a message as it is stored, given as JSON has it."""
    return plain(validated({"role": "user", "content": "text"} | fields, NewMessage), NOW)


@pytest.mark.parametrize(
    ("role", "ours"),
    [
        ("human", "user"),
        ("ai", "assistant"),
        ("function", "tool"),
        ("developer", "system"),
        ("tool", "tool"),
    ],
)
def test_roles_of_frameworks_are_stored_as_ours(role: str, ours: str) -> None:
    assert stored(role=role).role == ours


OPENAI_CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "timetable", "arguments": '{"line": "Leeward"}'},
}
LANGCHAIN_CALL = {"name": "timetable", "args": {"line": "Leeward"}, "id": "1", "type": "tool_call"}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"content": ["one", {"type": "text", "text": "two"}]}, "one\ntwo"),
        ({"content": [{"type": "input_text", "text": "one"}]}, "one"),
        ({"content": [{"type": "refusal", "refusal": "I will not."}]}, "I will not."),
        (
            {
                "content": [
                    {"type": "text", "text": "Whose boat is it?"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                ]
            },
            "Whose boat is it?\n[image_url]",
        ),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "x"},
                    {"type": "tool_use", "id": "1", "name": "tide", "input": {"at": "Brest"}},
                ]
            },
            'tide({"at": "Brest"})',
        ),
        (
            {
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "high"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "2",
                        "content": [{"type": "text", "text": "low"}],
                    },
                ]
            },
            "high\nlow",
        ),
        ({"content": None, "tool_calls": [OPENAI_CALL]}, 'timetable({"line": "Leeward"})'),
        ({"content": "", "tool_calls": [LANGCHAIN_CALL]}, 'timetable({"line": "Leeward"})'),
        (
            {"content": "I look.", "tool_calls": [OPENAI_CALL, {"name": "now", "args": {}}]},
            'I look.\ntimetable({"line": "Leeward"})\nnow()',
        ),
        ({"role": "tool", "content": "09:10", "tool_call_id": "call_1"}, "09:10"),
        ({"content": "plain", "tool_calls": None}, "plain"),
    ],
)
def test_a_content_in_another_form_becomes_one_text(fields: dict[str, Any], text: str) -> None:
    assert stored(**fields).content == text


@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"content": None}, "content", "is missing: only a message with `tool_calls`"),
        ({"content": []}, "content", "is blank"),
        ({"content": [{"type": "thinking", "thinking": "hm"}]}, "content", "is blank"),
        ({"occurred_at": 1772443800000}, "occurred_at", "milliseconds are divided by 1000"),
        ({"occurred_at": -99_999_999_999}, "occurred_at", "no time in Unix seconds"),
        ({"occurred_at": NOW.timestamp() + 3600}, "occurred_at", "lies in the future"),
        ({"session_id": " "}, "session_id", "is blank"),
    ],
)
def test_what_is_ambiguous_is_refused_with_its_field(
    fields: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(InvalidInput, match=words) as refused:
        stored(**fields)
    assert refused.value.field == field


@pytest.mark.parametrize(("levels", "is_read"), [(MOST_LEVELS - 1, True), (MOST_LEVELS, False)])
def test_parts_are_nested_at_most_so_deeply(levels: int, is_read: bool) -> None:
    content: Any = "the kettle"
    for _ in range(levels + 1):
        content = [{"type": "tool_result", "content": content}]
    if is_read:
        assert stored(content=content).content == "the kettle"
    else:
        with pytest.raises(InvalidInput, match="at most 50 levels") as refused:
            stored(content=content)
        assert refused.value.field == "content"


def test_the_size_of_all_parts_together_is_limited() -> None:
    parts = [{"type": "text", "text": "x" * 500_000}, {"type": "text", "text": "x" * 500_000}]
    with pytest.raises(TooLarge) as refused:
        stored(content=parts)
    assert refused.value.field == "content"


@pytest.mark.parametrize("given", [1772443800, 1772443800.5])
def test_a_number_is_a_time_in_unix_seconds(given: float) -> None:
    moment = stored(occurred_at=given).occurred_at
    assert moment.timestamp() == given
    assert moment.tzinfo is UTC


@pytest.mark.parametrize(
    ("fields", "session"),
    [
        ({}, "2026-03-02"),
        ({"occurred_at": "2026-03-01T23:30:00-02:00"}, "2026-03-02"),
        ({"occurred_at": 0}, "1970-01-01"),
        ({"session_id": "mine"}, "mine"),
    ],
)
def test_a_message_without_a_session_belongs_to_that_of_its_day(
    fields: dict[str, Any], session: str
) -> None:
    assert stored(**fields).session_id == session


def test_an_unknown_part_of_a_batch_is_named_with_its_place() -> None:
    messages = [
        {"role": "user", "content": "x"},
        {"role": "user", "content": [{"text": "no type"}]},
    ]
    with pytest.raises(InvalidInput) as refused:
        validated({"messages": messages}, Batch)
    assert refused.value.field == "messages[1].content[0].type"
