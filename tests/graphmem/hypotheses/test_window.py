"""The window of a conversation."""

from typing import Any

from graphmem.hypotheses.window import window

SAID: list[dict[str, Any]] = [
    {"role": "system", "content": "You are Quill."},
    {"role": "user", "content": "Hello"},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi"}, {"type": "tool_use", "id": 1}],
    },
    {"role": "tool", "content": "42"},
    {"role": "assistant", "content": "  "},
    {"role": "assistant", "content": None},
    {"role": "user", "content": "And now?"},
]


def test_what_user_and_assistant_said_stands_with_its_role_and_tools_are_left_out():  # S4.30
    assert window(SAID) == ["user: Hello", "assistant: Hi", "user: And now?"]


def test_it_begins_after_the_last_summary():
    assert window(SAID, 3) == ["user: And now?"]
    assert window(SAID, 1) == window(SAID, 0) == window(SAID, -1)
    assert window(SAID, 99) == []
