"""A substitute for an embeddings server: answers as an OpenAI-compatible API, or misbehaves as servers do."""

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from tests.fake_models import FakeModel

Misbehaviour = Literal[
    "drip", "drip head", "fewer", "flood", "hang", "html", "longer", "nan", "null", "reset", "zero"
]
LONGEST_TEXT = 2_000
DRIP_SECONDS = 0.05


class StubEmbeddings:
    """A server on the loopback interface; its vectors are those of a `FakeModel`.

    `misbehave` is asked with the number of each request and says how to misbehave: a `Misbehaviour`, a
    status, or None. A text of more than `LONGEST_TEXT` characters is refused with 400. `asked` holds the
    bodies.
    """

    def __init__(self, model: str = "fake-256-plain") -> None:
        self.model = FakeModel(model)
        self.misbehave: Callable[[int], Misbehaviour | int | None] = lambda _number: None
        self.key: str | None = None
        self.asked: list[dict[str, Any]] = []
        self.ended = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """The setting that names the model behind this server."""
        return f"http://127.0.0.1:{self._port}/v1#fake"

    def start(self) -> None:
        """Listen, on the same port as before."""
        self.ended.clear()
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", self._port), type("OwnHandler", (Handler,), {"stub": self})
        )
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """End, and let nothing hang any more."""
        self.ended.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class Handler(BaseHTTPRequestHandler):
    """Answers the requests to a server of its class's `stub`."""

    stub: StubEmbeddings
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        """Answer, or misbehave."""
        stub = self.stub
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/embeddings"
        stub.asked.append(body)
        manner = stub.misbehave(len(stub.asked))
        if stub.key is not None and self.headers.get("Authorization") != f"Bearer {stub.key}":
            manner = 401
        if any(len(text) > LONGEST_TEXT for text in body["input"]):
            manner = 400
        with contextlib.suppress(ConnectionError):
            self.misbehave(manner, body)

    def misbehave(self, manner: Misbehaviour | int | None, body: dict[str, Any]) -> None:
        """Answer in this manner."""
        if isinstance(manner, int):
            self.send(b"{}", manner)
        elif manner in ("hang", "reset"):
            self.stub.ended.wait(60 if manner == "hang" else 0)
            self.close_connection = True
        elif manner == "drip":
            self.drip(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", b" ")
        elif manner == "drip head":
            self.drip(b"HTTP/1.1 200 OK\r\n", b"X")
        else:
            self.send(reply(self.stub.model.embed(body["input"]), manner))

    def drip(self, head: bytes, piece: bytes) -> None:
        """Send a byte at a time."""
        self.wfile.write(head)
        while not self.stub.ended.wait(DRIP_SECONDS):
            self.wfile.write(piece)
        self.close_connection = True

    def send(self, answer: bytes, status: int = 200) -> None:
        """Send a whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        if status in (429, 503):
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(answer)


def reply(vectors: list[list[float]], manner: Misbehaviour | None) -> bytes:
    """Return the body of an answer; a good one has its vectors in another order, each with its index."""
    if manner == "html":
        return b"<html>busy</html>"
    if manner == "flood":
        return b"[" * 3_000_000
    if manner == "null":
        return b'{"data": null}'
    if manner == "nan":
        return b'{"data": [{"index": 0, "embedding": [NaN, 1.0]}]}'
    if manner == "zero":
        vectors = [[0.0] * len(vector) for vector in vectors]
    if manner == "longer":
        vectors = [[*vector, 1.0] for vector in vectors]
    if manner == "fewer":
        vectors = vectors[1:]
    items = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
    return json.dumps({"object": "list", "data": items[::-1], "model": "fake"}).encode()


@contextlib.contextmanager
def stub_embeddings(model: str = "fake-256-plain") -> Iterator[StubEmbeddings]:
    """Provide a server that listens on the loopback interface."""
    stub = StubEmbeddings(model)
    stub.start()
    try:
        yield stub
    finally:
        stub.stop()
