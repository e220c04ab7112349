"""Neo4j's process and its port: starting it, recognizing it, ending it."""

import asyncio
import contextlib
import os
import re
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import psutil

from graphmem.server.command import home_argument
from graphmem.server.conf import HOST
from graphmem.server.folder import Record, home, logs

# The output of Java, and Neo4j's messages to its operator.
CONSOLE = "console.log"
NEO4J_LOG = "neo4j.log"
POLL_SECONDS = 0.05
TERM_SECONDS = 20.0
KILL_SECONDS = 5.0
# Passwords and keys of graphmem and of others are no business of Neo4j's, whose environment a dump shows.
INHERITED = re.compile(
    r"PATH|HOME|USER|LOGNAME|LANG|TZ|TMPDIR|(LC|LD|DYLD|MALLOC|GLIBC|JAVA|JDK|FAKETIME)_\w+|_JAVA_OPTIONS"
)
# The difference between two readings of the same process's start time.
SAME_START_SECONDS = 1.0


def spawn(command: Sequence[str], data_dir: Path) -> psutil.Process:
    """Start Neo4j in a session of its own, so that Ctrl-C in the terminal does not reach it."""
    with _console(data_dir) as output:
        child = subprocess.Popen(  # noqa: S603  # the command is ours
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=home(data_dir),
            env=_environment(os.environ),
            start_new_session=True,
            umask=0o077,
        )
    process = psutil.Process(child.pid)
    # The server may outlive us: Popen must neither warn of that nor wait for it. We reap it.
    child.returncode = 0
    return process


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Return the part of our environment that a Java needs, without secrets."""
    kept = {name: value for name, value in ours.items() if INHERITED.fullmatch(name)}
    # Java reads paths and argument files in the locale's encoding.
    return kept | {"LC_ALL": "C.UTF-8"}


def _console(data_dir: Path) -> BinaryIO:
    """Open the console's log; the logs of the start before are kept beside it."""
    for log in (logs(data_dir) / CONSOLE, logs(data_dir) / NEO4J_LOG):
        if log.exists():
            log.replace(log.with_suffix(".previous.log"))
    descriptor = os.open(logs(data_dir) / CONSOLE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    return os.fdopen(descriptor, "wb")


def living(record: Record | None, data_dir: Path) -> psutil.Process | None:
    """Return the record's process if it lives and is the recorded one.

    Its start time distinguishes it from a later process with the same number. Its command line is the
    fallback when the clock was set in between.
    """
    if record is None:
        return None
    _reap(record.pid)
    with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
        process = psutil.Process(record.pid)
        same = abs(process.create_time() - record.started) < SAME_START_SECONDS
        if (same or is_ours(process, data_dir)) and not _dead(process):
            return process
    return None


def is_ours(process: psutil.Process, data_dir: Path) -> bool:
    """Tell whether a process is a Neo4j of this data folder."""
    try:
        return home_argument(data_dir) in process.cmdline()
    except psutil.Error:
        return False


def listens(process: psutil.Process, port: int) -> bool:
    """Tell whether this process, and not another one, listens on the port."""
    try:
        sockets = process.net_connections("tcp")
    except psutil.AccessDenied:
        # Without the permission to look, the login decides.
        return True
    except psutil.NoSuchProcess:
        return False
    return any(s.status == psutil.CONN_LISTEN and s.laddr.port == port for s in sockets)


def free_port(preferred: int = 0) -> int:
    """Return the preferred port of the loopback if it is free, else any free port."""
    try:
        return _bound(preferred)
    except OSError:
        return _bound(0)


def _bound(port: int) -> int:
    with socket.socket() as probe:
        # As Java does: lingering connections of the server before do not keep the port taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return int(probe.getsockname()[1])


def servers(data_dir: Path) -> list[psutil.Process]:
    """Return the living servers of this data folder, recorded or not."""
    return [
        process
        for process in psutil.process_iter()
        if is_ours(process, data_dir) and not _dead(process)
    ]


async def kill(process: psutil.Process) -> None:
    """End a process at once. Neo4j recovers all commits, and never stops for work that it cannot end."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()
        await _ended_within(process, KILL_SECONDS)


async def end(process: psutil.Process) -> None:
    """Ask a process to stop, and kill it if it does not stop in time."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
        if not await _ended_within(process, TERM_SECONDS):
            process.kill()
            await _ended_within(process, KILL_SECONDS)


async def _ended_within(process: psutil.Process, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not ended(process):
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(POLL_SECONDS)
    return True


def ended(process: psutil.Process) -> bool:
    """Tell whether a process has ended; our own child is reaped."""
    _reap(process.pid)
    return _dead(process)


def _dead(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _reap(pid: int) -> None:
    # It may be another process's child, or no process at all.
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
