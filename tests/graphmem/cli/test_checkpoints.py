"""The file of LangGraph's SqliteSaver, with checkpoints that LangGraph's own serializer has written."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from graphmem.cli.foreign.reading import recognised
from graphmem.errors import InvalidInput
from tests.graphmem.cli.test_foreign import ids, lines_of, rows

# The tables of `SqliteSaver.setup` in libs/checkpoint-sqlite of github.com/langchain-ai/langgraph.
TABLES = """
CREATE TABLE checkpoints (
    thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', checkpoint_id TEXT NOT NULL,
    parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB,
    PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);
"""
TALK: list[BaseMessage] = [
    HumanMessage("Book a table.", id="1"),
    AIMessage("", id="2", tool_calls=[{"name": "book", "args": {"at": 7}, "id": "c"}]),
    ToolMessage("done", id="3", tool_call_id="c"),
    AIMessage([{"type": "text", "text": "At seven."}], id="4"),
]
SAID = [
    ("thread-4", "user", "Book a table."),
    ("thread-4", "assistant", 'book({"at": 7})'),
    ("thread-4", "tool", "done"),
    ("thread-4", "assistant", "At seven."),
]


def stored(path: Path, *states: dict[str, Any], form: str | None = None) -> Path:
    """Write a file with a checkpoint for each state, a minute after the one before."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript(TABLES)
        for minute, state in enumerate(states):
            thread, space = state.pop("thread", "thread-4"), state.pop("space", "")
            id = f"1f0-{minute}"
            checkpoint = {
                "v": 4,
                "ts": datetime(2026, 3, 1, 10, minute, tzinfo=UTC).isoformat(),
                "id": id,
                "channel_values": state,
                "channel_versions": {},
            }
            kind, content = JsonPlusSerializer().dumps_typed(checkpoint)
            database.execute(
                "INSERT INTO checkpoints VALUES (?, ?, ?, NULL, ?, ?, '{}')",
                (thread, space, id, form or kind, content),
            )
        database.commit()
    return path


def test_messages_are_read_once_with_the_time_of_the_first_checkpoint_that_has_them(tmp_path):
    other = {"key": uuid4(), "when": datetime.now(UTC), "seen": {1, 2}, "messages": TALK[:1]}
    path = stored(
        tmp_path / "checkpoints.sqlite",
        {"__start__": {"messages": []}},
        other,
        {"messages": TALK[:3]},
        {"messages": [HumanMessage("Elsewhere.", id="1")], "thread": "5"},
        {"messages": [HumanMessage("Inside of a node.", id="9")], "space": "inner"},
        # What a node has removed from the state was said all the same.
        {"messages": TALK[2:]},
    )
    found = recognised(path)
    lines = lines_of(path)

    assert found is not None
    assert found.seen.form == "checkpoints of LangGraph"
    assert rows(lines) == [*SAID[:3], ("5", "user", "Elsewhere."), SAID[3]]
    assert ids(lines) == ["1", "2", "3", "1", "4"]
    minutes = [line.message.occurred_at.minute for line in lines]  # type: ignore[union-attr]
    assert minutes == [1, 2, 2, 3, 5]


def test_checkpoints_of_older_versions_are_json(tmp_path):
    path = stored(tmp_path / "old.db")
    values = {"messages": [dumpd(one) for one in TALK]}
    content = json.dumps({"ts": "2024-03-01T10:00:00+00:00", "channel_values": values}).encode()
    with closing(sqlite3.connect(path)) as database:
        row = ("thread-4", "", "1", None, "json", content, "{}")
        database.execute("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        database.commit()
    assert rows(lines_of(path)) == SAID


def test_a_file_that_is_still_written_to_is_read_as_it_is(tmp_path):
    path = stored(tmp_path / "checkpoints.sqlite", {"messages": TALK[:2]})
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM checkpoints")
        assert rows(lines_of(path)) == SAID[:2]


@pytest.mark.parametrize(
    ("states", "form", "told"),
    [
        ([{"count": 1}], None, "has checkpoints of LangGraph, but none with a list of `messages`"),
        ([{"messages": TALK}], "pickle", "has checkpoints of type pickle, which are not read"),
        ([{"messages": TALK}], "msgpack+aes", "of type msgpack.aes, which are not read"),
        ([{"messages": TALK}], "json", "has a checkpoint that is damaged"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path, states, form, told):
    path = stored(tmp_path / "checkpoints.sqlite", *states, form=form)
    with pytest.raises(InvalidInput, match=told):
        recognised(path)


def test_a_file_of_sqlite_without_checkpoints_is_told(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE other (id TEXT)")
    with pytest.raises(InvalidInput, match="without checkpoints of LangGraph"):
        recognised(path)


@pytest.mark.parametrize("form", ["msgpack", "json"])
def test_a_checkpoint_without_contents_is_damaged(tmp_path, form):
    path = stored(tmp_path / "checkpoints.sqlite", {"messages": TALK}, form=form)
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE checkpoints SET checkpoint = NULL")
        database.commit()
    with pytest.raises(InvalidInput, match="has a checkpoint that is damaged"):
        recognised(path)
