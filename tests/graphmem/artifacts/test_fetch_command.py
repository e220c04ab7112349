"""`graphmem fetch`: what a first start needs, before it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from graphmem.cli.main import commands
from graphmem.embedding import NEEDED_FILES


@pytest.fixture
def cache(repository: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GRAPHMEM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("GRAPHMEM_MAVEN_REPOSITORY", repository.url)
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A folder with the files of a model, which are empty."""
    of_a_model = tmp_path / "folder"
    of_a_model.mkdir()
    for name in NEEDED_FILES:
        (of_a_model / name).touch()
    return str(of_a_model)


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
    assert "'java' is not one of 'embedding', 'neo4j', 'reranker'" in result.stderr


@pytest.mark.parametrize("model", ["http://localhost:1/v1#small", "folder"])
def test_a_model_with_files_of_its_own_is_not_fetched(
    cache: Path, folder: str, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv("GRAPHMEM_EMBEDDING_MODEL", folder if model == "folder" else model)
    result = fetched("embedding")
    assert result.exit_code == 0
    assert result.stdout.startswith("the embedding model needs no fetching")
    assert not cache.exists()


def test_the_model_of_the_settings_is_the_one_that_is_fetched(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHMEM_EMBEDDING_MODEL", "BAAI/bge-small-en-v1.5x")
    result = fetched("embedding")
    assert result.exit_code == 2
    assert (
        "fastembed knows no model of this name (much alike: BAAI/bge-small-en-v1.5" in result.stderr
    )
    # Neo4j needs no model.
    assert fetched("neo4j").exit_code == 0


NAMED = "Xenova/ms-marco-MiniLM-L-6-v2"


@pytest.mark.parametrize(
    ("what", "model"), [("embedding", "BAAI/bge-small-en-v1.5"), ("reranker", NAMED)]
)
def test_without_the_hub_there_is_one_sentence_and_nothing_of_the_library(
    cache: Path, what: str, model: str
) -> None:
    option = "--embedding-model" if what == "embedding" else "--reranker"
    ended = subprocess.run(
        [sys.executable, "-m", "graphmem", "fetch", what, option, model],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    [sentence] = ended.stderr.splitlines()
    assert f"{model!r} is not in {cache}" in sentence


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rerankers that are loaded, which fetches them."""
    names: list[str] = []
    monkeypatch.setattr(
        "graphmem.retrieval.reranking.load_reranker",
        lambda settings: names.append(settings.reranker),
    )
    return names


def test_the_reranker_of_the_settings_is_fetched(
    cache: Path, monkeypatch: pytest.MonkeyPatch, loaded: list[str]
) -> None:
    monkeypatch.setenv("GRAPHMEM_RERANKER", NAMED)
    monkeypatch.setattr("graphmem.artifacts.model.bundled_model", lambda *_, **__: cache)
    result = fetched()
    assert (result.exit_code, loaded) == (0, [NAMED])
    assert result.stdout == f"embedding, neo4j and reranker are in {cache}\n"
    assert fetched("neo4j").exit_code == 0
    assert loaded == [NAMED]


@pytest.mark.parametrize("value", ["off", "folder"])
def test_a_reranker_that_is_off_or_in_a_folder_is_not_fetched(
    cache: Path, folder: str, monkeypatch: pytest.MonkeyPatch, loaded: list[str], value: str
) -> None:
    monkeypatch.setenv("GRAPHMEM_RERANKER", folder if value == "folder" else value)
    result = fetched("reranker")
    assert result.stdout == "the reranker needs no fetching: it is off, or in a folder\n"
    assert fetched("neo4j").stdout == f"neo4j is in {cache}\n"
    assert (result.exit_code, loaded) == (0, [])


def test_a_reranker_that_nobody_knows_is_a_sentence(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHMEM_RERANKER", "ms-marco-MiniLM-L6-v2")
    result = fetched("reranker")
    assert result.exit_code == 2
    assert f"much alike: {NAMED}" in result.stderr
