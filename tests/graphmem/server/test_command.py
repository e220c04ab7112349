"""The command line that runs Neo4j from its jars."""

import stat
import zipfile
from pathlib import Path

import pytest

from graphmem.server import folder
from graphmem.server.command import ENTRY_POINT, Java, command, neo4j_version


@pytest.fixture
def jars(tmp_path: Path) -> list[Path]:
    """Two jars, the second of which is Neo4j's."""
    jar = tmp_path / "org" / "neo4j" / "neo4j" / "2026.09.0" / "neo4j-2026.09.0.jar"
    jar.parent.mkdir(parents=True)
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr(ENTRY_POINT, "org.neo4j.server.Main\n")
    return [tmp_path / 'a "b\\c.jar', jar]


@pytest.mark.parametrize("has_vector_module", [True, False])
def test_the_vector_module_is_only_asked_of_a_java_that_has_it(
    tmp_path: Path, jars: list[Path], has_vector_module: bool
) -> None:
    folder.create(tmp_path / "data")

    words = command(Java(Path("java"), 25, has_vector_module), jars, tmp_path / "data", "512m")

    assert ("--add-modules=jdk.incubator.vector" in words) == has_vector_module


def test_it_names_the_main_class_the_heap_and_the_home(tmp_path: Path, jars: list[Path]) -> None:
    folder.create(tmp_path / "data")

    words = command(Java(Path("java"), 25, False), jars, tmp_path / "data", "512m")

    assert {"-Xms512m", "-Xmx512m", "--enable-native-access=ALL-UNNAMED"} < set(words)
    assert words[-3] == "org.neo4j.server.Main"
    assert words[-2] == f"--home-dir={tmp_path}/data/neo4j"
    assert neo4j_version(jars) == "2026.09.0"


def test_a_row_on_its_way_has_only_so_much_memory(tmp_path: Path, jars: list[Path]) -> None:
    folder.create(tmp_path / "data")

    words = command(Java(Path("java"), 25, False), jars, tmp_path / "data", "512m")

    assert "-Dio.netty.maxDirectMemory=268435456" in words


def test_the_class_path_is_in_a_file_in_java_s_own_quoting(
    tmp_path: Path, jars: list[Path]
) -> None:
    folder.create(tmp_path / "data")

    words = command(Java(Path("java"), 25, False), jars, tmp_path / "data", "512m")

    [arguments] = [Path(word[1:]) for word in words if word.startswith("@")]
    assert arguments.read_text() == f'-cp "{tmp_path}/a \\"b\\\\c.jar:{jars[1]}"\n'
    assert stat.S_IMODE(arguments.stat().st_mode) == 0o600
