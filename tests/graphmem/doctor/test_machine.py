import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import psutil
import pytest

from graphmem import config
from graphmem.artifacts import fetch, maven
from graphmem.artifacts.fetch import write_stamp
from graphmem.artifacts.maven import list_hash
from graphmem.doctor import machine
from graphmem.doctor.findings import Finding
from graphmem.errors import JavaNotFound
from graphmem.server.command import Java

GIGABYTE = 10**9


def severities(findings: list[Finding]) -> list[str]:
    return [finding.severity for finding in findings]


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let every disk have so many bytes free."""
    return lambda count: monkeypatch.setattr(
        shutil, "disk_usage", lambda path: SimpleNamespace(free=count)
    )


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Let the machine, and the container it may be, have so many bytes."""

    def set_to(total: int, available: int, limit: str = "max") -> None:
        found = SimpleNamespace(total=total, available=available)
        monkeypatch.setattr(psutil, "virtual_memory", lambda: found)
        (tmp_path / "memory.max").write_text(limit)
        monkeypatch.setattr(config, "CGROUP_LIMIT", tmp_path / "memory.max")

    return set_to


def test_without_a_java_the_sentence_says_what_to_do(monkeypatch):
    def missing(environ):
        raise JavaNotFound("Neo4j needs Java 25 and found none: install one")

    monkeypatch.setattr(machine, "find_java", missing)
    [finding] = machine.java({})
    assert (finding.severity, finding.remedy) == ("problem", "install one")


def test_a_java_home_that_is_passed_over_is_named(monkeypatch, tmp_path):
    found = Java(tmp_path / "good" / "bin" / "java", 25, has_vector_module=True)
    monkeypatch.setattr(machine, "find_java", lambda environ: found)
    assert severities(machine.java({})) == ["ok"]
    assert severities(machine.java({"JAVA_HOME": str(tmp_path / "good")})) == ["ok"]
    _, finding = machine.java({"JAVA_HOME": str(tmp_path / "old")})
    assert finding.severity == "warning"
    assert str(tmp_path / "old") in finding.what


@pytest.mark.parametrize(
    ("count", "severity"),
    [(10 * GIGABYTE, "ok"), (GIGABYTE, "warning"), (GIGABYTE // 10, "problem")],
)
def test_a_disk_that_fills_is_told_of_in_time(free, tmp_path, count, severity):
    free(count)
    [finding] = machine.data_disk(config.load({}, data_dir=tmp_path / "not" / "yet"))
    assert finding.severity == severity
    assert severity == "ok" or "GRAPHMEM_DATA_DIR" in finding.remedy


def test_a_folder_that_cannot_be_written_is_a_problem(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    [finding] = machine.data_disk(config.load({}, data_dir=tmp_path))
    assert finding.severity == "problem"
    assert "cannot be written" in finding.what


def test_what_is_still_to_be_fetched_is_said(free, tmp_path):
    settings = config.load({}, cache_dir=tmp_path)
    free(10 * GIGABYTE)
    _, finding = machine.cache(settings, private=True)
    assert finding.what.startswith("Neo4j and the embedding model will be fetched")
    _, finding = machine.cache(settings, private=False)
    assert finding.what.startswith("the embedding model will be fetched")


def test_a_jar_that_changed_in_the_cache_is_a_problem(free, monkeypatch, tmp_path):
    free(10 * GIGABYTE)
    (tmp_path / "maven").mkdir()
    jar = tmp_path / "maven" / "one.jar"
    jar.write_bytes(b"good")
    first = maven.read_list("neo4j")[0]
    one = msgspec.structs.replace(first, sha256=hashlib.sha256(b"good").hexdigest())
    monkeypatch.setattr(fetch, "read_list", lambda name: [one])
    write_stamp(tmp_path / "maven" / "neo4j.stamp", list_hash("neo4j"), [jar])
    settings = config.load({}, cache_dir=tmp_path, embedding_model=str(tmp_path))
    assert severities(machine.cache(settings, private=True)) == ["ok"]
    jar.write_bytes(b"evil")
    _, finding = machine.cache(settings, private=True)
    assert (finding.severity, str(jar) in finding.what) == ("problem", True)
    assert "fetches it again" in finding.remedy


def test_a_cache_without_room_for_what_is_to_be_fetched_is_a_problem(free, tmp_path):
    settings = config.load({}, cache_dir=tmp_path)
    free(GIGABYTE // 10)
    assert severities(machine.cache(settings, private=True)) == ["problem", "note"]
    (tmp_path / "maven").mkdir()
    for name in ("neo4j", "embedding"):
        write_stamp(tmp_path / "maven" / f"{name}.stamp", list_hash(name), [])
    assert severities(machine.cache(settings, private=True)) == ["ok"]


@pytest.mark.parametrize(
    ("total", "available", "limit", "runs", "severity"),
    [
        (16, 8, "max", False, "ok"),
        (16, 1, "max", False, "warning"),
        (16, 1, "max", True, "ok"),
        (2, 2, "max", False, "problem"),
        (16, 8, str(GIGABYTE), False, "problem"),
    ],
)
def test_neo4j_must_fit_into_the_machine_or_its_container(
    memory, total, available, limit, runs, severity
):
    memory(total * GIGABYTE, available * GIGABYTE, limit)
    [finding] = machine.memory(config.load({}), runs=runs)
    assert finding.severity == severity


def test_a_folder_that_is_gone_under_its_server_is_a_problem(monkeypatch, tmp_path):
    left = [SimpleNamespace(pid=7)]
    monkeypatch.setattr(machine, "servers", lambda folder: left)
    [gone] = machine.folder(tmp_path / "gone")
    assert (gone.severity, "process 7" in gone.what) == ("problem", True)
    left.clear()
    [new] = machine.folder(tmp_path / "gone")
    assert new.severity == "note"
