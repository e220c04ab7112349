"""Serves one memory to the runner: a request a line on standard input, an answer a line on standard output.

    python -m bench.peers.serve MODULE VECTORS

It runs in the memory's own environment, so only the standard library is imported here. The module has a
class `Peer` with the methods of `Served`. The runner is asked for a vector that the file VECTORS lacks, and
the wait is no part of the seconds that are told.
"""

import asyncio
import importlib
import inspect
import json
import logging
import os
import sqlite3
import sys
import time
import traceback
from array import array
from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib.metadata import version
from typing import Any, Protocol, TextIO

Vector = list[float]
Message = dict[str, Any]
"""`id`, `text`, `session`, `role`, `name`, `content`, `occurred_at`; `text` is the content after the name."""

Hit = tuple[str, str]
"""The id of a message and the text that stands for it in an answer."""


class Served(Protocol):
    """What a module of this folder offers; the methods may be asynchronous."""

    distribution: str
    """The name of its package, whose version the report names."""

    def open(self, folder: str, neo4j: dict[str, str] | None) -> Any:
        """Start it, with its data below a folder, or in a Neo4j."""

    def add(self, tenant: str, messages: Sequence[Message], invented: bool) -> Any:
        """Store messages; `invented` ones are there to fill the store."""

    def search(self, tenant: str, query: str, limit: int) -> Any:
        """Return the hits for a question, best first."""

    def close(self) -> Any:
        """Stop it."""


class Vectors:
    """The vectors of texts: from a file, or from the runner, which embeds what the file lacks."""

    dimensions = 384

    def __init__(self, path: str, ask: Callable[[list[str]], list[Vector]]) -> None:
        self._file = sqlite3.connect(f"file:{path}?mode=ro", uri=True, check_same_thread=False)
        self._ask = ask
        self.waited = 0.0

    def known(self, text: str) -> Vector | None:
        """Return a vector of the file."""
        key = sha256(text.encode()).digest()
        row = self._file.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
        return array("f", row[0]).tolist() if row else None

    def of(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text."""
        found = [self.known(text) for text in texts]
        missing = [text for text, vector in zip(texts, found, strict=True) if vector is None]
        if missing:
            started = time.perf_counter()
            asked = iter(self._ask(missing))
            found = [vector or next(asked) for vector in found]
            self.waited += time.perf_counter() - started
        return [vector for vector in found if vector is not None]


class Line:
    """The line to the runner."""

    def __init__(self, requests: TextIO, answers: TextIO) -> None:
        self._requests, self._answers = requests, answers

    def read(self) -> dict[str, Any]:
        """Return the next request; at the end of them the last, `close`."""
        return dict(json.loads(self._requests.readline() or '{"do": "close"}'))

    def write(self, answer: dict[str, Any]) -> None:
        """Send an answer."""
        self._answers.write(json.dumps(answer) + "\n")
        self._answers.flush()

    def embed(self, texts: list[str]) -> list[Vector]:
        """Have texts embedded by the runner."""
        self.write({"embed": texts})
        return list(self.read()["vectors"])


async def serve(peer: Served, vectors: Vectors, line: Line) -> None:
    """Answer requests until the last; an error is an answer."""
    while True:
        request = line.read()
        do = request.pop("do")
        try:
            started, waited = time.perf_counter(), vectors.waited
            result = getattr(peer, do)(**request)
            if inspect.isawaitable(result):
                result = await result
            seconds = time.perf_counter() - started - (vectors.waited - waited)
            line.write({"result": result, "seconds": seconds})
        except Exception as error:
            traceback.print_exc()
            line.write({"error": f"{type(error).__name__}: {error}"[:400]})
        if do == "close":
            return


def main() -> None:
    """Serve the module that is named, and tell its version first."""
    # What a library prints must not stand between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # What a server notes about a query is not written down for each question.
    logging.getLogger("neo4j.notifications").setLevel(logging.ERROR)
    line = Line(sys.stdin, answers)
    vectors = Vectors(sys.argv[2], line.embed)
    peer = importlib.import_module(sys.argv[1]).Peer(vectors)
    line.write({"version": version(peer.distribution)})
    asyncio.run(serve(peer, vectors, line))


if __name__ == "__main__":
    main()
