"""The cache of Neo4j's classes: used where there is one, and never a reason to fail."""

import os
import subprocess
from pathlib import Path

import pytest

from graphmem.errors import ServerFailed
from graphmem.server.command import Java, Programs, find_java
from tests import class_cache
from tests.class_cache import OPTIONS, java_options


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of a user with a cache folder whose name is no plain word."""
    return {"GRAPHMEM_CACHE_DIR": str(tmp_path / "where it is")}


@pytest.fixture
def folder(environ: dict[str, str]) -> Path:
    """The folder of the caches of classes."""
    folder = Path(environ["GRAPHMEM_CACHE_DIR"]) / "classes"
    folder.mkdir(parents=True)
    return folder


def test_servers_start_without_a_cache_where_there_is_none(environ: dict[str, str]) -> None:
    assert java_options(environ) == OPTIONS


def test_servers_start_with_the_cache_that_there_is(environ: dict[str, str], folder: Path) -> None:
    (folder / "a.unfinished").touch()
    (folder / "a.aot").touch()

    assert f'"-XX:AOTCache={folder / "a.aot"}"' in java_options(environ)


def test_a_damaged_cache_is_passed_over_without_a_word(
    environ: dict[str, str], folder: Path
) -> None:
    (folder / "damaged.aot").write_bytes(b"no classes" * 1_000)
    java = find_java()
    if java.version < 25:
        pytest.skip("this Java has no such caches")

    said = [
        subprocess.run(
            [java.path, "-version"],
            env={"JDK_JAVA_OPTIONS": options},
            capture_output=True,
            text=True,
            check=True,
        )
        # The mode of the version's last line says whether a cache is used.
        .stderr.replace(", sharing", "")
        .splitlines()[1:]
        for options in (java_options(environ), OPTIONS)
    ]

    assert said[0] == said[1]


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    """A jar of Neo4j."""
    jar = tmp_path / "neo4j.jar"
    jar.touch()
    return jar


@pytest.fixture
def needed(jar: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """The programs that a server needs, and a Java that can write a cache."""
    needed = Programs(Java(jar, 25, has_vector_module=False), [jar])

    async def found(*given: object) -> Programs:
        return needed

    monkeypatch.setattr(class_cache, "programs", found)
    return needed


@pytest.fixture
def started(needed: Programs, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The caches that a server has written when it ended."""
    started: list[str] = []

    async def write(*given: object) -> None:
        started.append(class_cache._fingerprint(needed))
        (folder / f"{started[-1]}.unfinished").touch()

    monkeypatch.setattr(class_cache, "_use", write)
    return started


def test_a_cache_is_made_once_and_replaces_that_of_other_jars(
    environ: dict[str, str], folder: Path, jar: Path, started: list[str]
) -> None:
    class_cache.make(environ)
    class_cache.make(environ)
    os.utime(jar, (1, 1))
    class_cache.make(environ)

    first, second = started
    assert first != second
    assert {path.name for path in folder.iterdir()} == {f"{second}.aot", "lock"}


def test_a_server_that_does_not_start_leaves_the_former_cache(
    environ: dict[str, str], folder: Path, needed: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*given: object) -> None:
        raise ServerFailed("it did not start")

    (folder / "former.aot").touch()
    monkeypatch.setattr(class_cache, "_use", fail)

    with pytest.raises(ServerFailed):
        class_cache.make(environ)
    assert (folder / "former.aot").exists()
