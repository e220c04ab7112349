"""The programs that a start needs, a Java and Neo4j's jars, and the command that runs them."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

from msgspec import Struct

from graphmem.artifacts.fetch import fetch
from graphmem.config import Settings
from graphmem.model.progress import Progress
from graphmem.server.folder import home, write_private
from graphmem.server.java import VECTOR_MODULE, Java, find_java

ENTRY_POINT = "META-INF/services/org.neo4j.server.startup.EntryPoint"
# A row is serialized in this memory as a whole before any of it is sent, and nothing interrupts that: with
# this limit a list of a hundred million numbers fails, instead of using a heap's size beside the heap.
MESSAGES_BYTES = 256 * 2**20
OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")


class Programs(Struct, frozen=True):
    """A Java that can run Neo4j, and the jars of Neo4j in the order of the class path."""

    java: Java
    jars: list[Path]


async def programs(settings: Settings, progress: Progress) -> Programs:
    """Find a Java, and fetch the jars that the cache lacks.

    Raises `JavaNotFound` or `FetchFailed`.
    """
    abandoned = threading.Event()

    def heard(stage: str, done: int = 0, total: int = 0) -> None:
        # A thread cannot be cancelled: the fetch ends with its next report of progress.
        if abandoned.is_set():
            raise asyncio.CancelledError
        progress(stage, done, total)

    try:
        return await asyncio.to_thread(_find, settings, heard)
    finally:
        abandoned.set()


def _find(settings: Settings, progress: Progress) -> Programs:
    # Java first: without one the jars are of no use.
    java = find_java()
    repository = settings.maven_repository
    return Programs(java, fetch("neo4j", settings.cache_dir, progress, repository=repository))


def command(java: Java, jars: Sequence[Path], data_dir: Path, heap: str) -> list[str]:
    """Return the command line; it names a file with the long class path, which is written here."""
    arguments = home(data_dir) / "conf" / "java.args"
    write_private(arguments, _class_path(jars))
    return [
        str(java.path),
        *_flags(java, heap),
        f"@{arguments}",
        _main_class(neo4j_jar(jars)),
        home_argument(data_dir),
        f"--config-dir={home(data_dir) / 'conf'}",
    ]


def home_argument(data_dir: Path) -> str:
    """Return the argument that identifies a process as this data folder's server."""
    return f"--home-dir={home(data_dir)}"


def neo4j_jar(jars: Sequence[Path]) -> Path:
    """Return the jar that carries the server's entry point."""
    return next(jar for jar in jars if jar.name == f"neo4j-{jar.parent.name}.jar")


def neo4j_version(jars: Sequence[Path]) -> str:
    """Return Neo4j's version, which is the name of the jar's folder in a Maven repository."""
    return neo4j_jar(jars).parent.name


def _flags(java: Java, heap: str) -> list[str]:
    vector = [f"--add-modules={VECTOR_MODULE}"] if java.has_vector_module else []
    return [
        f"-Xms{heap}",
        f"-Xmx{heap}",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED),
        "--enable-native-access=ALL-UNNAMED",
        f"-Dio.netty.maxDirectMemory={MESSAGES_BYTES}",
        *vector,
    ]


def _class_path(jars: Sequence[Path]) -> str:
    # In a java argument file a backslash escapes, also inside quotes.
    joined = ":".join(str(jar) for jar in jars).replace("\\", "\\\\").replace('"', '\\"')
    return f'-cp "{joined}"\n'


def _main_class(jar: Path) -> str:
    with ZipFile(jar) as archive:
        return archive.read(ENTRY_POINT).decode().split()[0]
