"""The bench of times: what it counts, and the client that it asks with."""

import asyncio
from pathlib import Path

import pytest

from bench.latency import Connections, on_disk


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


async def test_a_connection_is_kept_for_the_next_request() -> None:
    made, asked = list[asyncio.StreamWriter](), list[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.append(writer)
        for status in ("200 OK", "200 OK", "503 Busy"):
            asked.append(await reader.readuntil(b"}"))
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 6\r\n\r\nanswer".encode())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        connections = Connections(server.sockets[0].getsockname()[1])
        answers = [await connections.post("/recall", {"query": "sea"}, "x") for _ in range(2)]
        with pytest.raises(AssertionError, match="503"):
            await connections.post("/recall", {"query": "sea"}, "x")
        connections.close()

    assert answers == [b"answer"] * 2
    assert len(made) == 1
    assert asked[0].startswith(b"POST /recall HTTP/1.1\r\n")
    assert asked[0].endswith(b'Content-Length: 16\r\n\r\n{"query": "sea"}')
