"""An interrupted import goes on where it was: nothing twice, nothing lost, in order."""

import io
import json
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from graphmem.cli import lines
from graphmem.cli.lines import Checkpoint, FileChanged, read_lines
from graphmem.conversations.types import Remembered
from graphmem.errors import MemoryNotFound, Unavailable
from graphmem.runtime import Runtime
from tests.graphmem.cli.batches_taken import Taking, load, taken_batches  # noqa: F401, a fixture

LINES = 3_000
KILLED_AFTER = 500

STORED = """CYPHER 25
MATCH (message:Message {client_id: $client_id, conversation_id: 'c'})
RETURN message.text AS text, message.position AS position, message.idx AS idx,
  COUNT { (message)-[:NEXT]->() } AS next
ORDER BY position"""


class Database(Taking):
    """Remembers as a graphmem does, by `external_id`; fails when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: dict[str, str] = {}
        self.asked = 0
        self.fails_after = 1_000_000

    async def memory(self, memory_id: str, *, client_id: str | None = None) -> Any:
        if memory_id not in self.stored:
            raise MemoryNotFound(memory_id)
        return self.stored[memory_id]

    async def append(self, batches: Sequence[Any]) -> list[Remembered]:
        [batch] = batches
        new = batch.given
        if self.asked + len(new) > self.fails_after:
            raise Unavailable("the database does not answer")
        self.asked += len(new)
        for message in new:
            self.stored.setdefault(message.external_id, message.content)
        return [Remembered(ids=[message.external_id for message in new])]


@pytest.fixture
def kept(tmp_path: Path) -> Checkpoint:
    return Checkpoint(tmp_path / "imports" / "one.json")


@pytest.fixture(autouse=True)
def small_windows(monkeypatch):
    monkeypatch.setattr(lines, "WINDOW_MESSAGES", 10)


def line(content: str, **more: str) -> bytes:
    return json.dumps({"session_id": "s", "role": "user", "content": content, **more}).encode()


def talk(count: int, first: int = 0) -> list[bytes]:
    return [line(f"note {number}") for number in range(first, first + count)]


def ids(*contents: bytes, name: str = "talk.jsonl", end: bytes = b"\n") -> list[str]:
    source = io.BytesIO(b"\n".join(contents) + end)
    return [str(one.message.external_id) for one in read_lines(source, "c", name=name)]


async def imported(contents: list[bytes], database: Database, kept: Checkpoint | None):
    source = io.BytesIO(b"\n".join(contents))
    return await load(source, database, conversation_id="c", name="talk.jsonl", checkpoint=kept)


def test_a_line_has_the_same_id_every_time_and_equal_lines_have_different_ones():
    same = line("ok")
    assert ids(same, same) == ids(same, same)
    assert len(set(ids(same, same, same))) == 3


def test_an_id_of_the_caller_s_stays():
    assert ids(line("a", external_id="mine")) == ["mine"]


def test_lines_added_at_the_end_change_no_id_before():
    assert ids(*talk(5), end=b"") == ids(*talk(7))[:5]


def test_another_file_has_other_ids():
    assert not set(ids(*talk(3))) & set(ids(*talk(3), name="other.jsonl"))
    assert not set(ids(line("x"), line("ok"))) & set(ids(line("y"), line("ok")))


async def test_after_a_failure_it_goes_on_after_the_last_acknowledged_line(kept):
    database = Database()
    database.fails_after = 25
    with pytest.raises(Unavailable):
        await imported(talk(40), database, kept)

    database.fails_after = 1_000_000
    report = await imported(talk(40), database, kept)

    assert (report.skipped_lines, report.messages) == (20, 20)
    assert database.asked == 40
    assert list(database.stored.values()) == [f"note {number}" for number in range(40)]


async def test_without_its_checkpoint_it_asks_again_and_doubles_nothing(kept):
    database = Database()
    for _ in range(2):
        await imported(talk(25), database, None)
    assert database.asked == 50
    assert len(database.stored) == 25


async def test_an_import_that_ended_leaves_no_checkpoint(kept):
    database = Database()
    await imported(talk(25), database, kept)
    assert kept.read() is None
    # What was deleted since comes back.
    database.stored.clear()
    report = await imported(talk(25), database, kept)
    assert (report.skipped_lines, len(database.stored)) == (0, 25)


@pytest.mark.parametrize(
    "changed",
    [
        [line("another"), *talk(39, first=1)],
        [*talk(19), line("another"), *talk(20, first=20)],
        talk(15),
        [],
    ],
    ids=["the first line", "the last acknowledged line", "shorter", "empty"],
)
async def test_a_file_that_changed_where_it_was_imported_is_refused(kept, changed):
    database = Database()
    database.fails_after = 25
    with pytest.raises(Unavailable):
        await imported(talk(40), database, kept)
    stored = dict(database.stored)

    with pytest.raises(FileChanged, match=r"its first 20 lines changed .* --restart"):
        await imported(changed, database, kept)

    assert database.stored == stored


async def test_a_file_that_changed_after_that_goes_on_with_what_it_holds_now(kept):
    database = Database()
    database.fails_after = 25
    with pytest.raises(Unavailable):
        await imported(talk(40), database, kept)
    database.fails_after = 1_000_000

    report = await imported([*talk(20), *talk(5, first=100)], database, kept)

    assert (report.skipped_lines, report.messages) == (20, 5)


async def test_a_database_that_lost_what_was_written_gets_it_again(kept):
    database = Database()
    database.fails_after = 25
    with pytest.raises(Unavailable):
        await imported(talk(40), database, kept)

    empty = Database()
    report = await imported(talk(40), empty, kept)

    assert (report.skipped_lines, len(empty.stored)) == (0, 40)


async def test_kill_9_in_the_middle_and_the_same_command_again(
    started, graphmem, environment, client_id, tmp_path, runtime: Runtime
):
    environment["GRAPHMEM_DATA_DIR"] = str(tmp_path / "data")
    file = tmp_path / "long.jsonl"
    file.write_bytes(b"\n".join(talk(LINES)))
    command = ("import", str(file), "--conversation", "c", "--client", client_id, "--json")
    process = started(*command)
    acknowledged = wait_for(tmp_path / "data" / "imports", KILLED_AFTER)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(timeout=300)

    again = graphmem(*command)

    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert acknowledged <= report["skipped_lines"] < LINES
    assert report["skipped_lines"] + report["messages"] == LINES
    assert list((tmp_path / "data" / "imports").iterdir()) == []
    rows = await runtime.graph.execute(STORED, client_id=client_id)
    assert [row["text"] for row in rows] == [f"note {number}" for number in range(LINES)]
    assert [row["position"] for row in rows] == list(range(LINES))
    assert [row["idx"] for row in rows] == list(range(LINES))
    assert [row["next"] for row in rows] == [1] * (LINES - 1) + [0]


async def test_ctrl_c_keeps_what_is_done_and_restart_begins_anew(
    started, graphmem, environment, client_id, tmp_path
):
    environment["GRAPHMEM_DATA_DIR"] = str(tmp_path / "data")
    file = tmp_path / "long.jsonl"
    file.write_bytes(b"\n".join(talk(LINES)))
    command = ("import", str(file), "--conversation", "c", "--client", client_id)
    process = started(*command)
    wait_for(tmp_path / "data" / "imports", 250)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 130
    file.write_bytes(b"\n".join([*talk(100), *talk(10, first=5000)]))

    refused = graphmem(*command)
    assert refused.returncode == 2
    assert "long.jsonl: its first" in refused.stderr
    assert "--restart imports it as it is now" in refused.stderr

    again = graphmem(*command, "--restart", "--json")
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert (report["skipped_lines"], report["messages"]) == (0, 110)


def wait_for(folder: Path, count: int) -> int:
    """Wait until so many lines are acknowledged; return how many are."""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        for path in folder.glob("*.json"):
            acknowledged = Checkpoint(path).read()
            if acknowledged and acknowledged.place.lines >= count:
                return acknowledged.place.lines
        time.sleep(0.02)
    raise AssertionError("no checkpoint was written")
