"""The committed lists are whole: every line has coordinates and a hash."""

import re

import pytest

from graphmem.artifacts.maven import read_list


@pytest.mark.parametrize(("name", "count"), [("neo4j", 230), ("embedding", 1)])
def test_every_line_names_a_file_and_its_hash(name: str, count: int) -> None:
    listed = read_list(name)

    assert len({str(coordinates) for coordinates in listed}) == count
    assert all(re.fullmatch("[0-9a-f]{64}", coordinates.sha256) for coordinates in listed)
    assert all(coordinates.group and coordinates.version for coordinates in listed)


def test_a_classifier_is_kept() -> None:
    assert any(coordinates.classifier for coordinates in read_list("neo4j"))


def test_one_version_of_neo4j_is_listed() -> None:
    [neo4j] = [c for c in read_list("neo4j") if (c.group, c.artifact) == ("org.neo4j", "neo4j")]

    # 2026.08.0 gives wrong results.
    assert neo4j.version == "2026.09.0"
