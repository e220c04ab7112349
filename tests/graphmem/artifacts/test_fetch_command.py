"""`graphmem fetch`: what a first start needs, before it."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from graphmem.cli.main import commands


@pytest.fixture
def cache(repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRAPHMEM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GRAPHMEM_MAVEN_REPOSITORY", repository.url)
    return tmp_path / "cache"


def fetched(*names: str) -> Result:
    return CliRunner().invoke(commands, ["fetch", *names])


@pytest.mark.parametrize("names", [["neo4j"], ["neo4j", "neo4j"]])
def test_what_is_named_is_fetched_into_the_cache(cache: Path, names: list[str]) -> None:
    result = fetched(*names)
    assert (result.exit_code, result.stdout) == (0, f"neo4j is in {cache}\n")
    assert len(list((cache / "maven").rglob("*.jar"))) == 3


def test_what_cannot_be_fetched_is_a_sentence(cache: Path, repository: Any) -> None:
    repository.files.clear()
    result = fetched("neo4j")
    assert result.exit_code == 2
    assert "the Maven repository did not give" in result.stderr


def test_what_is_not_known_is_refused(cache: Path) -> None:
    result = fetched("java")
    assert result.exit_code == 2
    assert "'java' is not one of 'embedding', 'neo4j'" in result.stderr
