"""A substitute for a language model's server: gives scripted answers, or misbehaves as servers do."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

Misbehaviour = Literal["hang", "drip", "garbage", "status", "nonsense", "half", "empty"]


class StubModel:
    """A server on the loopback interface that speaks the chat API.

    `answer` is its next answer: a text, a function of the request's body that returns one, or a
    `Misbehaviour`. `asked` holds the bodies of the requests.
    """

    def __init__(self) -> None:
        self.answer: str | Callable[[dict[str, Any]], str] = "yes"
        self.misbehaviour: Misbehaviour | None = None
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while body := await self._request(reader):
                    self.asked.append(body)
                    await self._respond(body, writer)
        finally:
            writer.transport.abort()

    async def _request(self, reader: asyncio.StreamReader) -> dict[str, Any] | None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
        }
        assert head.startswith("POST /v1/chat/completions ")
        self.keys.append(headers.get("authorization"))
        return json.loads(await reader.readexactly(int(headers["content-length"])))

    async def _respond(self, body: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        text = self.answer(body) if callable(self.answer) else self.answer
        said = {"choices": [{"message": {"role": "assistant", "content": text}}]}
        status, reply = "200 OK", json.dumps(said).encode()
        match self.misbehaviour:
            case "hang":
                await asyncio.sleep(3600)
            case "status":
                status, reply = "500 Internal Server Error", b"{}"
            case "nonsense":
                reply = b"<html>not JSON</html>"
            case "empty":
                reply = b'{"choices": [{"message": {"content": null}}]}'
            case "half":
                reply = b'{"choices": []}'
            case "garbage":
                reply = b"x" * 10_000_000
            case "drip":
                reply = b" " * 3600
        head = (
            f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(reply)}"
        )
        writer.write(f"{head}\r\n\r\n".encode())
        if self.misbehaviour == "drip":
            for _ in range(3600):
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.05)
        writer.write(reply)
        await writer.drain()


@contextlib.asynccontextmanager
async def stub_model() -> AsyncIterator[StubModel]:
    """Provide a substitute for a language model that listens on the loopback interface."""
    stub = StubModel()
    tasks: set[asyncio.Task[None]] = set()

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        await stub.serve(reader, writer)

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    stub.url = f"http://127.0.0.1:{port}/v1"
    try:
        yield stub
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)
