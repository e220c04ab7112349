"""The life of the private server between processes, with a stand-in that starts at once."""

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from graphmem.config import Settings
from graphmem.errors import DataFolderInUse, ServerFailed
from graphmem.model.progress import Progress, silent
from graphmem.server import folder, private, process
from graphmem.server.folder import POLL_SECONDS, Record, changing
from graphmem.server.private import PrivateServer, private_server, status, stop
from graphmem.server.process import PasswordRefused, free_port, servers, spawn


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_it_runs_for_the_length_of_the_block(stand_in: Settings) -> None:
    async with private_server(stand_in) as server:
        pid = server.pid
        assert lives(pid)
        assert status(stand_in.data_dir) == folder.read_record(stand_in.data_dir.resolve())
        assert server.uri == f"bolt://127.0.0.1:{folder.read_record(stand_in.data_dir).port}"  # type: ignore[union-attr]
        assert server.user == "neo4j"

    assert not lives(pid)
    assert status(stand_in.data_dir) is None
    assert not (stand_in.data_dir / "server.json").exists()


async def test_it_stops_when_the_block_fails(stand_in: Settings) -> None:
    with suppress(ZeroDivisionError):
        async with private_server(stand_in) as server:
            pid = server.pid
            raise ZeroDivisionError

    assert not lives(pid)


async def test_only_its_owner_reads_the_folder_and_the_secrets(stand_in: Settings) -> None:
    async with private_server(stand_in) as server:
        assert (stand_in.data_dir / "password").read_text() == server.password + "\n"
        files = [path for path in stand_in.data_dir.rglob("*") if path.is_file()]
        assert {"password", "server.json", "lock", "console.log"} <= {file.name for file in files}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        assert stat.S_IMODE(stand_in.data_dir.stat().st_mode) == 0o700


async def test_the_password_stays_from_start_to_start(stand_in: Settings) -> None:
    async with private_server(stand_in) as server:
        first = server.password
    async with private_server(stand_in) as server:
        assert server.password == first
    assert len(first) >= 32


async def test_a_second_process_joins_and_the_last_to_leave_stops_it(
    stand_in: Settings, participants: Any
) -> None:
    async with private_server(stand_in) as server:
        pid = server.pid
        other = participants.start(stand_in.data_dir)
        assert await participants.server_of(other) == pid
    assert lives(pid)

    await participants.leave(other)

    assert not lives(pid)


async def test_two_in_one_process_share_it(stand_in: Settings) -> None:
    async with private_server(stand_in) as first:
        async with private_server(stand_in) as second:
            assert first.uri == second.uri
        assert lives(first.pid)


async def test_many_starting_at_once_have_one_server(stand_in: Settings, participants: Any) -> None:
    several = [participants.start(stand_in.data_dir) for _ in range(4)]

    pids = {await participants.server_of(one) for one in several}

    assert len(pids) == 1
    await asyncio.gather(*(participants.leave(one) for one in several))
    assert not lives(pids.pop())


async def test_who_arrives_while_the_last_one_leaves_has_a_server(stand_in: Settings) -> None:
    leaving = PrivateServer(stand_in)
    await leaving.join()
    for _ in range(5):
        arriving = PrivateServer(stand_in)
        await asyncio.gather(leaving.leave(), arriving.join())
        assert lives(arriving.pid)
        leaving = arriving
    await leaving.leave()


async def test_killed_parents_leave_a_server_that_the_next_start_joins(
    stand_in: Settings, participants: Any
) -> None:
    parent = participants.start(stand_in.data_dir)
    pid = await participants.server_of(parent)
    participants.kill(parent)
    assert lives(pid)

    async with private_server(stand_in) as server:
        assert server.pid == pid

    assert not lives(pid)


async def test_ctrl_c_in_the_terminal_does_not_reach_it(stand_in: Settings) -> None:
    async with private_server(stand_in) as server:
        assert os.getsid(server.pid) == server.pid != os.getsid(0)


async def test_ensure_starts_a_killed_one_anew_on_its_port(
    stand_in: Settings, eventually: Any
) -> None:
    async with private_server(stand_in) as server:
        pid, uri = server.pid, server.uri
        assert not await server.ensure()
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: not lives(pid))

        anew = await asyncio.gather(server.ensure(), server.ensure())
        assert list(anew) == [True, False]

        assert server.pid != pid
        assert server.uri == uri
        assert not await server.ensure()


async def test_a_restart_ends_a_server_that_heeds_nothing_and_keeps_its_port(
    stand_in: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_STAND_IN", "deaf")
    async with private_server(stand_in) as server:
        pid, uri = server.pid, server.uri
        await server.restart()
        assert not lives(pid)
        assert lives(server.pid)
        assert server.uri == uri


async def test_a_restart_asks_again_once_nobody_else_changes_the_server(
    stand_in: Settings, eventually: Any
) -> None:
    asked: list[bool] = []

    async def is_needed() -> bool:
        asked.append(True)
        return False

    async with private_server(stand_in) as server:
        pid = server.pid
        async with changing(stand_in.data_dir.resolve(), 1):
            restarting = asyncio.create_task(server.restart(is_needed))
            await asyncio.sleep(3 * POLL_SECONDS)
            assert not asked
        assert not await restarting
        assert (asked, server.pid) == ([True], pid)
        assert lives(pid)
        assert await server.restart()
        assert not lives(pid)


async def test_two_that_restart_at_once_restart_once(stand_in: Settings) -> None:
    async with private_server(stand_in) as one, private_server(stand_in) as other:
        pid = one.pid
        await asyncio.gather(one.restart(), other.restart())
        assert not lives(pid)
        assert one.pid == other.pid
        assert len(servers(stand_in.data_dir.resolve())) == 1


async def test_one_of_two_starts_it_anew_and_the_other_joins(
    stand_in: Settings, eventually: Any
) -> None:
    async with private_server(stand_in) as first, private_server(stand_in) as second:
        pid = first.pid
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: not lives(pid))

        anew = await asyncio.gather(first.ensure(), second.ensure())
        assert sorted(anew) == [False, True]

        assert first.pid == second.pid != pid


async def test_a_record_of_a_dead_process_does_not_stop_the_next_start(
    stand_in: Settings,
) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    stand_in.data_dir.mkdir()
    folder.write_record(stand_in.data_dir, Record(gone.pid, 1.0, 1, "2026.09.0"))

    async with private_server(stand_in) as server:
        assert lives(server.pid)


async def test_a_record_whose_number_another_process_has_now_harms_neither(
    stand_in: Settings,
) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as stranger:
        stand_in.data_dir.mkdir()
        folder.write_record(stand_in.data_dir, Record(stranger.pid, 1.0, 1, "2026.09.0"))

        async with private_server(stand_in) as server:
            assert server.pid != stranger.pid

        assert stranger.poll() is None
        stranger.kill()


async def test_a_process_that_is_not_ours_is_never_killed(
    stand_in: Settings, late_at_first: None
) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as stranger:
        started = psutil.Process(stranger.pid).create_time()
        stand_in.data_dir.mkdir()
        folder.write_record(stand_in.data_dir, Record(stranger.pid, started, 1, "2026.09.0"))

        async with private_server(stand_in) as server:
            assert server.pid != stranger.pid

        assert stranger.poll() is None
        stranger.kill()


@pytest.fixture
def late_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the first wait for a server run out."""
    wait, waits = process._online, []

    async def late(*given: Any, **named: Any) -> None:
        waits.append(given)
        if len(waits) == 1:
            raise ServerFailed("did not answer")
        await wait(*given, **named)

    monkeypatch.setattr(process, "_online", late)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "no"}'])
async def test_a_record_that_cannot_be_read_does_not_stop_the_next_start(
    stand_in: Settings, content: str
) -> None:
    stand_in.data_dir.mkdir()
    (stand_in.data_dir / "server.json").write_text(content)

    async with private_server(stand_in) as server:
        assert lives(server.pid)


async def test_a_server_that_nobody_recorded_makes_way(
    stand_in: Settings, participants: Any
) -> None:
    parent = participants.start(stand_in.data_dir)
    pid = await participants.server_of(parent)
    participants.kill(parent)
    folder.remove_record(stand_in.data_dir)

    async with private_server(stand_in) as server:
        assert server.pid != pid
        assert not lives(pid)


async def test_a_server_is_known_by_its_command_when_the_clock_was_set(
    stand_in: Settings, participants: Any
) -> None:
    parent = participants.start(stand_in.data_dir)
    pid = await participants.server_of(parent)
    participants.kill(parent)
    known = folder.read_record(stand_in.data_dir)
    assert known is not None
    folder.write_record(
        stand_in.data_dir, Record(pid, known.started + 3600, known.port, known.version)
    )

    async with private_server(stand_in) as server:
        assert server.pid == pid


async def test_a_living_server_that_does_not_answer_is_replaced(
    stand_in: Settings,
    participants: Any,
    late_at_first: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parent = participants.start(stand_in.data_dir)
    pid = await participants.server_of(parent)
    participants.kill(parent)
    monkeypatch.setattr("graphmem.server.process.TERM_SECONDS", 0.2)
    os.kill(pid, signal.SIGSTOP)

    async with private_server(stand_in) as server:
        assert server.pid != pid
        assert not lives(pid)


async def test_a_server_that_does_not_heed_is_killed(
    stand_in: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_STAND_IN", "deaf")
    monkeypatch.setattr("graphmem.server.process.TERM_SECONDS", 0.2)
    async with private_server(stand_in) as server:
        pid = server.pid

    assert not lives(pid)


async def test_a_server_that_dies_gives_the_end_of_its_log(
    stand_in: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_STAND_IN", "dies")

    with pytest.raises(ServerFailed) as raised:
        async with private_server(stand_in):
            pass

    sentence, *tail = str(raised.value).splitlines()
    assert sentence.startswith("Neo4j ended while it started: its last lines are below")
    assert tail == ["Could not start:", "because of this"]
    assert not (stand_in.data_dir / "server.json").exists()


async def test_a_server_that_a_damaged_jar_keeps_from_starting_is_started_again(
    stand_in: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_STAND_IN", "dies")

    async def mended(settings: Settings, progress: Progress) -> bool:
        monkeypatch.setenv("JAVA_STAND_IN", "")
        return True

    monkeypatch.setattr(private, "fetch_damaged_jars", mended)
    async with private_server(stand_in) as server:
        assert lives(server.pid)


async def test_a_server_whose_own_jar_is_damaged_is_started_again(
    stand_in: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    [jar] = stand_in.cache_dir.rglob("neo4j-*.jar")
    whole = jar.read_bytes()
    jar.write_bytes(bytes(len(whole)))

    async def mended(settings: Settings, progress: Progress) -> bool:
        jar.write_bytes(whole)
        return True

    monkeypatch.setattr(private, "fetch_damaged_jars", mended)
    async with private_server(stand_in) as server:
        assert lives(server.pid)


async def test_a_server_that_does_not_come_up_in_time_is_ended(
    stand_in: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_STAND_IN", "mute")
    spawned: list[int] = []

    def noted(*given: Any) -> Any:
        process = spawn(*given)
        spawned.append(process.pid)
        return process

    monkeypatch.setattr(private, "spawn", noted)
    hurried = msgspec.structs.replace(stand_in, neo4j_start_seconds=1)

    with pytest.raises(ServerFailed, match=r"within 1 s \(GRAPHMEM_NEO4J_START_SECONDS\)"):
        async with private_server(hurried):
            pass
    assert [lives(pid) for pid in spawned] == [False]


async def test_a_restart_that_fails_leaves_nothing_that_the_next_has_to_wait_for(
    stand_in: Settings, monkeypatch: pytest.MonkeyPatch, eventually: Any
) -> None:
    async with private_server(stand_in) as server:
        pid = server.pid
        os.kill(pid, signal.SIGKILL)
        await eventually(lambda: not lives(pid))
        monkeypatch.setenv("JAVA_STAND_IN", "mute")
        hurried = msgspec.structs.replace(stand_in, neo4j_start_seconds=1)

        with monkeypatch.context() as patch:
            patch.setattr(server, "_settings", hurried)
            with pytest.raises(ServerFailed, match="did not answer"):
                await server.ensure()

        assert not servers(stand_in.data_dir)
        monkeypatch.setenv("JAVA_STAND_IN", "")
        assert await server.ensure()
        assert lives(server.pid)


async def test_a_port_taken_in_between_is_changed_for_another(
    stand_in: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        offered = [taken.getsockname()[1]]
        monkeypatch.setattr(
            private, "free_port", lambda preferred: offered.pop() if offered else free_port(0)
        )

        async with private_server(stand_in) as server:
            assert not server.uri.endswith(f":{taken.getsockname()[1]}")


async def test_a_password_that_the_store_does_not_take_is_a_sentence(
    stand_in: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(port: int, password: str) -> None:
        raise PasswordRefused

    monkeypatch.setattr("graphmem.server.process.log_in", refuse)

    with pytest.raises(ServerFailed, match=r"refuses the password in .*/password"):
        async with private_server(stand_in):
            pass
    assert status(stand_in.data_dir) is None


async def test_no_empty_store_is_made_where_a_restore_was_interrupted(stand_in: Settings) -> None:
    home = folder.home(stand_in.data_dir)
    (home / "data.incoming").mkdir(parents=True)
    with pytest.raises(ServerFailed, match="a restore was interrupted: repeat `graphmem restore`"):
        async with private_server(stand_in):
            pass
    assert not (stand_in.data_dir / "neo4j" / "logs" / "console.log").exists()
    (home / "data").mkdir()
    async with private_server(stand_in) as server:
        assert lives(server.pid)


async def test_stop_ends_a_server_that_was_left_behind(
    stand_in: Settings, participants: Any
) -> None:
    parent = participants.start(stand_in.data_dir)
    pid = await participants.server_of(parent)
    participants.kill(parent)

    assert await stop(stand_in.data_dir)

    assert not lives(pid)
    assert not await stop(stand_in.data_dir)


async def test_stop_refuses_while_somebody_uses_it(stand_in: Settings) -> None:
    async with private_server(stand_in) as server:
        with pytest.raises(DataFolderInUse, match="another process uses the server"):
            await stop(stand_in.data_dir)
        assert lives(server.pid)


async def test_stop_makes_no_folder(tmp_path: Path) -> None:
    assert not await stop(tmp_path / "none")
    assert not (tmp_path / "none").exists()


async def test_a_data_folder_that_cannot_be_is_a_sentence(
    stand_in: Settings, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    settings = msgspec.structs.replace(stand_in, data_dir=tmp_path / "file" / "data")

    with pytest.raises(ServerFailed, match="choose another folder with GRAPHMEM_DATA_DIR"):
        async with private_server(settings, silent):
            pass


async def test_one_folder_spelled_in_two_ways_has_one_server(
    stand_in: Settings, tmp_path: Path, participants: Any
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "data")
    parent = participants.start(tmp_path / "link")
    pid = await participants.server_of(parent)
    participants.kill(parent)

    assert [process.pid for process in servers(stand_in.data_dir)] == [pid]
    async with private_server(stand_in) as server:
        assert server.pid == pid


async def test_a_cancelled_start_leaves_nothing_running(
    stand_in: Settings, monkeypatch: pytest.MonkeyPatch, eventually: Any
) -> None:
    monkeypatch.setenv("JAVA_STAND_IN", "mute")

    async def run() -> None:
        async with private_server(stand_in):
            pass

    starting = asyncio.create_task(run())
    await eventually(lambda: folder.read_record(stand_in.data_dir) is not None)
    pid = folder.read_record(stand_in.data_dir).pid  # type: ignore[union-attr]
    starting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not lives(pid)
