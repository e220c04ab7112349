"""The private Neo4j: the first process that needs it starts it, the last one that leaves stops it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from graphmem.config import Settings
from graphmem.errors import DataFolderInUse, ServerFailed, SetupError
from graphmem.model.progress import Progress, silent
from graphmem.server import folder, process
from graphmem.server.command import (
    DAMAGED_JAR,
    Programs,
    command,
    conf,
    fetch_damaged_jars,
    neo4j_version,
    programs,
)
from graphmem.server.folder import Record, UseLock, changing
from graphmem.server.process import (
    USER,
    PasswordRefused,
    PortTaken,
    end,
    free_port,
    kill,
    living,
    online,
    servers,
    spawn,
)

STAGE = "starting Neo4j"
# The number of attempts to start when another program takes the port in between.
PORT_ATTEMPTS = 3
LEAVE_SECONDS = 30.0


async def always() -> bool:
    """Say yes: the restart is needed whatever has happened meanwhile."""
    return True


class PrivateServer:
    """One process's use of the private Neo4j of a data folder."""

    user = USER

    def __init__(self, settings: Settings, progress: Progress = silent) -> None:
        self._settings = settings
        self._data_dir = _resolved(settings.data_dir)
        self._progress = progress
        self._use = UseLock(self._data_dir)
        self._ensuring = asyncio.Lock()
        self._record: Record | None = None
        self._password = ""

    @property
    def uri(self) -> str:
        """The server's bolt address, which `ensure` may have to change."""
        return process.uri(self._joined.port)

    @property
    def password(self) -> str:
        """The generated password."""
        return self._password

    @property
    def pid(self) -> int:
        """The number of the server's process."""
        return self._joined.pid

    @property
    def _joined(self) -> Record:
        if self._record is None:
            raise ServerFailed("the private Neo4j was not started")
        return self._record

    async def join(self) -> None:
        """Join the running server, or start it.

        Raises `JavaNotFound`, `FetchFailed`, `DataFolderInUse` or `ServerFailed`.
        """
        with folder.disk_faults(self._data_dir):
            folder.create(self._data_dir)
            running = living(folder.read_record(self._data_dir), self._data_dir)
        if running is None:
            # Before the lock is taken, since fetching can take minutes.
            await programs(self._settings, self._progress)
        await self._join_or_start()

    async def ensure(self) -> bool:
        """Start a server that died anew, or join another process's start; return whether it was started here.

        Costs a tenth of a millisecond while the server lives. Raises the errors of `join`.
        """
        async with self._ensuring:
            if living(self._record, self._data_dir):
                return False
            return await self._join_or_start()

    async def restart(self, is_needed: Callable[[], Awaitable[bool]] = always) -> bool:
        """End the server with the work that it cannot end, and start it, or join another process's restart.

        Callers see a server that died. `is_needed` is asked once nobody else changes the server: a backup
        that had suspended it has ended then. Return whether it was started here. Raises the errors of `join`.
        """
        async with self._ensuring:
            return await self._join_or_start(instead_of=self._record, is_needed=is_needed)

    async def leave(self) -> None:
        """End this process's use; the last process stops the server."""
        try:
            if self._use.held:
                async with changing(self._data_dir, LEAVE_SECONDS):
                    if self._use.take_all():
                        await end_servers(self._data_dir)
        except (DataFolderInUse, ServerFailed):
            # Another process is changing the server, or the folder is gone: the next start handles it.
            pass
        finally:
            self._use.release()

    async def _join_or_start(
        self,
        *,
        instead_of: Record | None = None,
        is_needed: Callable[[], Awaitable[bool]] = always,
    ) -> bool:
        async with changing(self._data_dir, self._patience, self._progress):
            self._use.take()
            with folder.disk_faults(self._data_dir):
                self._password = folder.password(self._data_dir)
                found = folder.read_record(self._data_dir)
            process = living(found, self._data_dir) if found == instead_of else None
            if process is not None and await is_needed():
                await kill(process)
            try:
                if await self._join_running():
                    return False
                await self._start()
            except PasswordRefused as refused:
                raise ServerFailed(_refused(self._data_dir)) from refused
            return True

    @property
    def _patience(self) -> float:
        # The holder of the lock may wait for a server that does not answer, then start another.
        return 2.0 * self._settings.neo4j_start_seconds + LEAVE_SECONDS

    async def _join_running(self) -> bool:
        found = folder.read_record(self._data_dir)
        process = living(found, self._data_dir)
        if found is None or process is None:
            return False
        try:
            await self._wait_until_online(process, found.port)
        except (SetupError, PortTaken):
            return False
        self._record = found
        return True

    async def _start(self) -> None:
        if folder.lacks_restored(self._data_dir):
            raise ServerFailed(_interrupted(self._data_dir))
        needed = await programs(self._settings, self._progress)
        await end_servers(self._data_dir)
        self._progress(STAGE)
        try:
            await self._start_somewhere(needed)
        except (ServerFailed, *DAMAGED_JAR):
            # Their sizes are right, or they would have been fetched again.
            if not await fetch_damaged_jars(self._settings, self._progress):
                raise
            await self._start_somewhere(needed)
        self._progress(STAGE, 1, 1)

    async def _start_somewhere(self, needed: Programs) -> None:
        for _ in range(PORT_ATTEMPTS):
            with contextlib.suppress(PortTaken):
                self._record = await self._start_once(needed)
                return
        raise ServerFailed("Neo4j found every port taken that was free just before: try again")

    async def _start_once(self, needed: Programs) -> Record:
        # The same port as before if possible, so that open drivers reconnect.
        port = free_port(self._record.port if self._record else 0)
        with folder.disk_faults(self._data_dir):
            folder.require_space(self._data_dir)
            process = self._spawn(port, needed)
            started = Record(process.pid, process.create_time(), port, neo4j_version(needed.jars))
            folder.write_record(self._data_dir, started)
        await self._wait_until_online(process, port)
        return started

    def _spawn(self, port: int, needed: Programs) -> psutil.Process:
        settings, conf_dir = self._settings, folder.home(self._data_dir) / "conf"
        folder.write_private(conf_dir / "neo4j.conf", conf(port, settings.neo4j_page_cache))
        return spawn(
            command(needed.java, needed.jars, self._data_dir, settings.neo4j_heap), self._data_dir
        )

    async def _wait_until_online(self, process: psutil.Process, port: int) -> None:
        await online(
            process,
            port,
            self._password,
            data_dir=self._data_dir,
            seconds=self._settings.neo4j_start_seconds,
        )


@asynccontextmanager
async def private_server(
    settings: Settings, progress: Progress = silent
) -> AsyncIterator[PrivateServer]:
    """Keep the private Neo4j running for the length of the block.

    Raises `JavaNotFound`, `FetchFailed`, `DataFolderInUse` or `ServerFailed`.
    """
    server = PrivateServer(settings, progress)
    try:
        await server.join()
        yield server
    finally:
        await server.leave()


async def stop(data_dir: Path) -> bool:
    """Stop a server that was left running; return whether there was one.

    Raises `DataFolderInUse` while another process uses the server: it would start it again.
    """
    data_dir = _resolved(data_dir)
    if not data_dir.is_dir():
        return False
    use = UseLock(data_dir)
    try:
        async with changing(data_dir, LEAVE_SECONDS):
            if not use.take_all():
                raise DataFolderInUse(
                    f"another process uses the server of {data_dir}: end that process, and the "
                    "server stops with it"
                )
            return await end_servers(data_dir)
    finally:
        use.release()


def status(data_dir: Path) -> Record | None:
    """Return the record of the running server, None if there is none."""
    found = folder.read_record(data_dir)
    return found if living(found, _resolved(data_dir)) else None


def _resolved(data_dir: Path) -> Path:
    # One name for one folder, however it was spelled: the server is recognized by it.
    return data_dir.resolve()


async def end_servers(data_dir: Path) -> bool:
    """End every server of the folder, recorded or not. The caller holds the change lock."""
    found = servers(data_dir)
    for one in found:
        await end(one)
    with folder.disk_faults(data_dir):
        folder.remove_record(data_dir)
    return bool(found)


def _refused(data_dir: Path) -> str:
    return (
        f"the server refuses the password in {data_dir / 'password'}, which is not the one its "
        "store was made with: put that one back, or choose another folder with GRAPHMEM_DATA_DIR"
    )


def _interrupted(data_dir: Path) -> str:
    return (
        f"there is no store in {data_dir}, since a restore was interrupted: repeat `graphmem restore`, or "
        f"delete {folder.incoming(data_dir)} to begin with an empty store"
    )
