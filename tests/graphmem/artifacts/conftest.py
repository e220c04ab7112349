"""A small Maven repository on the loopback interface, and a list of its files."""

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from graphmem.artifacts import maven

FILES = {
    "org.example:first:1.0": b"the first jar",
    "org.example:second:2.0:linux": b"the second jar, with a classifier",
    "com.example.deep:third:3.0": b"the third jar",
}


class Repository:
    """The answers of the repository, and the requests to it."""

    def __init__(self) -> None:
        self.files = {path_of(coordinate): content for coordinate, content in FILES.items()}
        self.asked: Counter[str] = Counter()
        self.faults: dict[str, list[str]] = {}
        self.url = ""


class Handler(BaseHTTPRequestHandler):
    def __init__(self, repository: Repository, *arguments: Any) -> None:
        self.repository = repository
        super().__init__(*arguments)

    def do_GET(self) -> None:
        path = self.path.lstrip("/")
        self.repository.asked[path] += 1
        faults = self.repository.faults.get(path)
        fault = faults.pop(0) if faults else ""
        content = self.repository.files.get(path)
        if content is None or fault == "refused":
            self.send_error(404 if content is None else 503)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:5] if fault == "cut" else content)

    def log_message(self, *arguments: object) -> None:
        pass


def path_of(coordinate: str) -> str:
    group, artifact, version, *classifier = coordinate.split(":")
    name = "-".join([artifact, version, *classifier])
    return f"{group.replace('.', '/')}/{artifact}/{version}/{name}.jar"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """Serve FILES, under the list that is called neo4j."""
    repository = Repository()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, repository))
    repository.url = f"http://127.0.0.1:{server.server_port}/"
    (tmp_path / "lists").mkdir()
    lines = [f"{name}\t{hashlib.sha256(content).hexdigest()}\n" for name, content in FILES.items()]
    (tmp_path / "lists" / "neo4j.tsv").write_text("".join(lines))
    monkeypatch.setattr(maven, "FOLDER", tmp_path / "lists")
    monkeypatch.setattr(maven, "PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setenv("NO_PROXY", "*")
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
    thread.start()
    yield repository
    server.shutdown()
    server.server_close()
    thread.join()
