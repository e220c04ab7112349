"""The figures of the bench of times that are counted, not measured."""

from pathlib import Path

from bench.latency import on_disk


def test_bytes_of_a_memory_are_those_of_the_store_and_its_indexes(tmp_path: Path) -> None:
    store = tmp_path / "neo4j" / "data" / "databases" / "neo4j"
    log = tmp_path / "neo4j" / "data" / "transactions" / "neo4j"
    for folder, size in (
        (store, 500),
        (store / "schema" / "index" / "range-1.0" / "1", 300),
        (store / "schema" / "index" / "vector-3.0" / "2", 200),
        (log, 9_000),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "file").write_bytes(bytes(size))
    assert on_disk(tmp_path, 10) == {
        "memories": 10,
        "bytes a memory": 100,
        "of which in indexes": {"range-1.0": 30, "vector-3.0": 20},
    }
