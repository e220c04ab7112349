import contextlib
import io
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from graphmem.cli import lines
from graphmem.cli.lines import BadLine, read_lines, windows

MESSAGE = {"session_id": "s", "role": "user", "content": "hello"}


def file(*contents: bytes | dict) -> io.BytesIO:
    return io.BytesIO(
        b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in contents)
    )


def complaint(*contents: bytes | dict, conversation_id: str | None = "c") -> str:
    with pytest.raises(BadLine) as problem:
        list(read_lines(file(*contents), conversation_id))
    return str(problem.value)


def test_a_line_is_a_message_with_its_place():
    occurred = MESSAGE | {"occurred_at": "2026-03-02T09:30:00Z", "conversation_id": "own"}
    first, second = read_lines(file(MESSAGE, occurred), "given")
    assert (first.number, first.conversation_id, first.message.content) == (1, "given", "hello")
    assert (second.number, second.conversation_id) == (2, "own")
    assert second.message.occurred_at == datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def test_a_byte_order_mark_carriage_returns_and_blank_lines_are_tolerated():
    raw = (
        b"\xef\xbb\xbf"
        + json.dumps(MESSAGE).encode()
        + b"\r\n\r\n  \n"
        + json.dumps(MESSAGE).encode()
    )
    read = list(read_lines(io.BytesIO(raw), "c"))
    assert [line.number for line in read] == [1, 4]
    assert read[-1].end == len(raw)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b"{oops", "line 2: is not JSON in UTF-8 (expecting property name enclosed in double"),
        (b"[]", "line 2: expected an object, got a list"),
        (b'{"graphmem_export":1}', "line 2: begins an export: write it to a file, and import that"),
        (b'{"session_id": "s", "role": "user", "content": "\xff"}', "line 2: is not JSON in UTF-8"),
        (
            MESSAGE | {"role": "robot"},
            "line 2: role: invalid enum value 'robot'; it is one of ai, assistant, developer, function",
        ),
        (MESSAGE | {"mood": "good"}, "line 2: mood: object contains unknown field `mood`"),
        ({"session_id": "s"}, "line 2: role: object missing required field"),
        ({"session_id": "s", "role": "user"}, "line 2: content: is missing: only a message with"),
        (MESSAGE | {"content": " "}, "line 2: content: is blank"),
        (MESSAGE | {"content": "x" * 1_000_001}, "line 2: content: 1,000,001 bytes"),
        (MESSAGE | {"content": "\ud800"}, "line 2: "),
        (MESSAGE | {"occurred_at": "yesterday"}, "line 2: occurred_at: is not a time as RFC 3339"),
        (MESSAGE | {"occurred_at": "9999-01-01T00:00:00Z"}, "line 2: occurred_at: 9999-01-01T"),
        (
            MESSAGE | {"conversation_id": "a b"},
            "line 2: conversation_id: does not have the form that it must have; 1–128 of letters, digits",
        ),
        (
            MESSAGE | {"tags": ["ok", "Berlin, Mitte"]},
            "line 2: tags[1]: does not have the form that it must have; 1–64 characters without commas",
        ),
        (MESSAGE | {"importance": 2}, "line 2: importance: expected a number <= 1.0; 0–1"),
        (b'{"metadata": {"a":' + b"[" * 100_000, "line 2: is nested too deeply to be read"),
        (b" " * 8_000_001, "line 2: is longer than 8,000,000 bytes"),
    ],
)
def test_a_bad_line_is_named_with_its_field(line, sentence):
    assert complaint(MESSAGE, line).startswith(sentence)


def test_a_message_of_no_conversation_says_what_to_do():
    assert complaint(MESSAGE, conversation_id=None) == (
        "line 1: conversation_id: is missing: add it, or give --conversation"
    )


def test_windows_are_small(monkeypatch):
    monkeypatch.setattr(lines, "WINDOW_MESSAGES", 2)
    assert [len(window) for window in windows(file(*[MESSAGE] * 5), "c")] == [2, 2, 1]


def test_long_messages_make_windows_smaller(monkeypatch):
    monkeypatch.setattr(lines, "WINDOW_BYTES", 1000)
    long = MESSAGE | {"content": "x" * 600}
    assert [len(window) for window in windows(file(*[long] * 5), "c")] == [2, 2, 1]


def test_what_stands_before_a_bad_line_comes_first():
    read = windows(file(MESSAGE, MESSAGE, b"oops"), "c")
    assert len(next(read)) == 2
    with pytest.raises(BadLine):
        next(read)


@given(st.binary(max_size=200))
def test_any_bytes_are_messages_or_a_bad_line(raw):
    with contextlib.suppress(BadLine):
        list(read_lines(io.BytesIO(raw), "c"))
