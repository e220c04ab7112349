"""The command that runs Neo4j from its jars."""

from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

from graphmem.server.folder import home, write_private
from graphmem.server.java import VECTOR_MODULE, Java

ENTRY_POINT = "META-INF/services/org.neo4j.server.startup.EntryPoint"
# A row is laid out in this memory as a whole before any of it is sent, and nothing interrupts that: a list
# of a hundred million numbers fails here, instead of growing to a heap's size beside the heap.
MESSAGES_BYTES = 256 * 2**20
OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.util.concurrent")


def command(java: Java, jars: Sequence[Path], data_dir: Path, heap: str) -> list[str]:
    """Return the command line, after writing the class path, which is long, to a file it names."""
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
    """Return the argument by which a process is known as this data folder's server."""
    return f"--home-dir={home(data_dir)}"


def neo4j_jar(jars: Sequence[Path]) -> Path:
    """Return the jar that carries the server's entry point."""
    return next(jar for jar in jars if jar.name == f"neo4j-{jar.parent.name}.jar")


def neo4j_version(jars: Sequence[Path]) -> str:
    """Return Neo4j's version, which a Maven repository has as the jar's folder."""
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
