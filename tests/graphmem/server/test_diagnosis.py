"""What Neo4j logs becomes a sentence that says what to do."""

from pathlib import Path

import pytest

from graphmem.errors import DataFolderInUse, ServerFailed, SetupError, StoreUnreadable
from graphmem.server import folder
from graphmem.server.process import UNREADABLE, PortTaken, failure


@pytest.mark.parametrize(
    ("line", "error", "sentence"),
    [
        (
            "Lock file has been locked by another process: store_lock.",
            DataFolderInUse,
            "another process holds the store",
        ),
        ("java.lang.UnsupportedClassVersionError: x", ServerFailed, "this Java is too old"),
        ("java.io.IOException: No space left on device", ServerFailed, "the disk of .* is full"),
        ("Unknown store version 'x'", ServerFailed, "another version of Neo4j"),
        (
            "There is insufficient memory for the Java Runtime",
            ServerFailed,
            "lower GRAPHMEM_NEO4J_HEAP",
        ),
    ],
)
def test_a_known_cause_is_named(
    tmp_path: Path, line: str, error: type[SetupError], sentence: str
) -> None:
    folder.create(tmp_path)
    (folder.logs(tmp_path) / "neo4j.log").write_text(f"Starting...\n{line}\n")

    found = failure("ended", tmp_path)

    assert type(found) is error
    with pytest.raises(error, match=sentence):
        raise found
    assert str(found).splitlines()[1:] == ["Starting...", line]


def test_a_taken_port_is_told_apart(tmp_path: Path) -> None:
    folder.create(tmp_path)
    (folder.logs(tmp_path) / "console.log").write_text("BindException: Address already in use\n")

    assert isinstance(failure("ended", tmp_path), PortTaken)


def test_the_end_of_the_log_comes_without_where_in_neo4j_it_was(tmp_path: Path) -> None:
    folder.create(tmp_path)
    lines = [f"line {number}" for number in range(50)]
    (folder.logs(tmp_path) / "neo4j.log").write_text("\n\tat org.neo4j.X\n".join(lines))

    said = str(failure("ended", tmp_path)).splitlines()

    assert said[0].startswith("Neo4j ended: its last lines are below")
    assert said[1:] == lines[-20:]


def test_a_store_that_cannot_be_opened_names_the_way_back_unless_its_cause_is_known(
    tmp_path: Path,
) -> None:
    told = failure("cannot open its store", tmp_path, "Unable to start", unknown=UNREADABLE)
    assert isinstance(told, StoreUnreadable)
    assert f"the store in {tmp_path}" in str(told)
    assert "graphmem restore" in str(told)
    told = failure("cannot open", tmp_path, "No space left on device", unknown=UNREADABLE)
    assert not isinstance(told, StoreUnreadable)


def test_a_given_reason_counts_as_the_log_does(tmp_path: Path) -> None:
    assert "is full" in str(failure("cannot open", tmp_path, "No space left on device"))
