from pathlib import Path
from typing import Any

import pytest

from graphmem.artifacts.__main__ import main


def test_what_is_named_is_fetched_into_the_cache(
    repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("GRAPHMEM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GRAPHMEM_MAVEN_REPOSITORY", repository.url)

    assert main(["neo4j"]) == 0

    assert len(list((tmp_path / "cache" / "maven").rglob("*.jar"))) == 3
    assert capsys.readouterr().err == "fetching Neo4j: done\n"


def test_what_cannot_be_fetched_is_a_sentence(
    repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("GRAPHMEM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GRAPHMEM_MAVEN_REPOSITORY", repository.url)
    repository.files.clear()

    assert main(["neo4j"]) == 1

    assert "the Maven repository did not give" in capsys.readouterr().err


def test_what_is_not_known_is_refused(capsys: Any) -> None:
    assert main(["java"]) == 2
    assert "name embedding or neo4j" in capsys.readouterr().err
