import fcntl
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from graphmem.doctor.findings import Finding
from graphmem.doctor.machine import folder, use
from graphmem.server import folder as data_folder
from graphmem.server.command import home_argument
from graphmem.server.folder import Record, write_record


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A data folder that is as it should be, with no server."""
    data_dir = tmp_path / "data"
    (data_dir / "neo4j").mkdir(parents=True)
    data_dir.chmod(0o700)
    password = data_dir / "password"
    password.write_text("secret-word\n")
    password.chmod(0o600)
    for name in ("lock", "change.lock"):
        (data_dir / name).touch(0o600)
    return data_dir


@pytest.fixture
def server(data_dir: Path) -> Iterator[psutil.Process]:
    """A process that looks like this folder's server."""
    command = [sys.executable, "-c", "import time; time.sleep(60)", home_argument(data_dir)]
    with subprocess.Popen(command) as process:
        found = psutil.Process(process.pid)
        deadline = time.monotonic() + 10
        while home_argument(data_dir) not in found.cmdline() and time.monotonic() < deadline:
            time.sleep(0.01)
        yield found
        process.kill()


def recorded(data_dir: Path, process: psutil.Process, port: int = 7999) -> None:
    write_record(data_dir, Record(process.pid, process.create_time(), port, "2026.09.0"))


def odd(data_dir: Path) -> list[Finding]:
    return [finding for finding in folder(data_dir) if finding.severity != "ok"]


def test_a_folder_in_order_has_nothing_odd(data_dir):
    assert odd(data_dir) == []


def test_a_folder_that_is_not_there_is_worth_a_note(tmp_path):
    [finding] = folder(tmp_path / "none")
    assert finding.severity == "note"
    assert not (tmp_path / "none").exists()


def test_looking_changes_nothing(data_dir):
    (data_dir / "lock").unlink()
    before = {path: path.stat().st_mtime_ns for path in data_dir.rglob("*")}
    folder(data_dir)
    assert {path: path.stat().st_mtime_ns for path in data_dir.rglob("*")} == before


def test_a_running_server_that_somebody_uses_is_in_order(data_dir, server):
    recorded(data_dir, server)
    with (data_dir / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        assert odd(data_dir) == []


def test_a_server_that_nobody_uses_is_worth_a_note(data_dir, server):
    recorded(data_dir, server)
    [finding] = odd(data_dir)
    assert finding.severity == "note"
    assert "no process uses it" in finding.what


def test_a_server_that_no_record_names_is_found(data_dir, server):
    [finding] = odd(data_dir)
    assert finding.severity == "warning"
    assert f"process {server.pid} is a Neo4j of this folder" in finding.what


def test_a_record_of_a_dead_process_is_stale(data_dir):
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    write_record(data_dir, Record(process.pid, 1.0, 1, "2026.09.0"))
    found = [finding for finding in odd(data_dir) if finding.subject == "record"]
    assert [finding.severity for finding in found] == ["note"]
    assert f"names process {process.pid}" in found[0].what


def test_a_record_of_a_process_that_got_the_number_later_is_stale(data_dir):
    write_record(data_dir, Record(os.getpid(), 1.0, 1, "2026.09.0"))
    assert "record" in {finding.subject for finding in odd(data_dir)}


def test_a_record_that_is_torn_is_named(data_dir):
    (data_dir / "server.json").write_text('{"pid": ')
    [finding] = odd(data_dir)
    assert "cannot be read" in finding.what


def test_a_port_that_a_stranger_took_is_named(data_dir):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        write_record(data_dir, Record(2**22 - 1, 1.0, port, "2026.09.0"))
        assert f"another program has taken port {port}, where the server was" in {
            finding.what for finding in odd(data_dir)
        }
    assert "port" not in {finding.subject for finding in odd(data_dir)}


def test_a_lock_that_is_held_although_nothing_runs_is_named(data_dir):
    with (data_dir / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        [finding] = odd(data_dir)
    assert finding.severity == "warning"
    assert "although no server of it runs" in finding.what


def test_a_start_in_progress_is_left_alone(data_dir):
    with (data_dir / "change.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        [finding] = odd(data_dir)
    assert finding.severity == "note"
    assert "just now" in finding.what


def test_the_locks_are_free_again_afterwards(data_dir):
    assert not use(data_dir).used
    for name in ("lock", "change.lock"):
        with (data_dir / name).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_store_that_another_neo4j_holds_is_a_problem(data_dir):
    store = data_dir / "neo4j" / "data" / "databases"
    store.mkdir(parents=True)
    (store / "store_lock").touch()
    assert odd(data_dir) == []
    program = (
        "import fcntl, sys; f = open(sys.argv[1], 'wb'); fcntl.lockf(f, fcntl.LOCK_EX);"
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(store / "store_lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        [finding] = odd(data_dir)
        holder.kill()
    assert finding.severity == "problem"
    assert "another process holds the store" in finding.what


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_password_that_others_can_read_or_change_is_named(data_dir, mode):
    (data_dir / "password").chmod(mode)
    [finding] = odd(data_dir)
    assert finding.severity == "warning"
    assert finding.remedy == f"chmod 600 {data_dir / 'password'}"


def test_a_folder_that_others_can_enter_is_named(data_dir):
    data_dir.chmod(0o755)
    [finding] = odd(data_dir)
    assert finding.remedy == f"chmod 700 {data_dir}"


def test_a_store_whose_password_is_gone_is_a_problem(data_dir):
    (data_dir / "password").unlink()
    assert odd(data_dir) == []
    (data_dir / "neo4j" / "data" / "databases" / "neo4j").mkdir(parents=True)
    finding = next(one for one in odd(data_dir) if one.subject == "password")
    assert finding.severity == "problem"
    assert "is missing" in finding.what


def test_the_age_of_the_last_backup_is_told(data_dir):
    def told() -> list[tuple[str, str]]:
        return [(one.severity, one.what) for one in folder(data_dir) if one.subject == "backup"]

    assert told() == []
    (data_folder.home(data_dir) / "data" / "databases" / "neo4j").mkdir(parents=True)
    assert [severity for severity, _ in told()] == ["note"]
    for days, severity in ((1, "ok"), (9, "warning")):
        made_at = datetime.now(UTC) - timedelta(days=days)
        data_folder.note_backup(data_dir, Path("/backups/monday"), made_at)
        [(found, what)] = told()
        assert (found, "/backups/monday" in what) == (severity, True)
    made_at = datetime(2026, 3, 2, 4, 30, tzinfo=UTC)
    for days, severity in ((1, "note"), (9, "warning")):
        restored_at = datetime.now(UTC) - timedelta(days=days)
        data_folder.note_backup(data_dir, Path("/backups/monday"), made_at, restored_at=restored_at)
        [(found, what)] = told()
        assert (found, f"restored on {restored_at:%Y-%m-%d} from" in what) == (severity, True)
        assert "the backup of 2026-03-02 04:30 UTC, in /backups/monday" in what


def test_a_restore_that_was_interrupted_is_found(data_dir):
    (data_folder.home(data_dir) / "data.incoming").mkdir()
    [finding] = odd(data_dir)
    assert (finding.severity, finding.subject) == ("problem", "store")
    assert "a restore was interrupted" in finding.what
    assert "graphmem restore" in finding.remedy
    with (data_dir / "change.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert [finding.subject for finding in odd(data_dir)] == ["locks"]
    (data_folder.home(data_dir) / "data").mkdir()
    assert odd(data_dir) == []


def test_no_finding_tells_the_password(data_dir):
    (data_dir / "password").chmod(0o644)
    assert not [finding for finding in folder(data_dir) if "secret-word" in str(finding)]
