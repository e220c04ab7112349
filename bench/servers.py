"""What HTTP servers do with a small Litestar application: speed, slow callers, many connections, the end.

    pip install litestar uvicorn granian hypercorn      in an environment of its own
    python -m bench.servers --seconds 5 --out build/servers.json

Each server runs with one worker, the HTTP/1.1 parser in Python where it has a choice, and its own defaults
for all else but the time for headers. The rates are the best of three rounds, in which they take turns.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.reporting import arguments, report

PROGRAM = """
import asyncio
from litestar import Litestar, get
from litestar.response import Stream

@get("/health/live")
async def live() -> dict[str, str]:
    return {"status": "live"}

async def slowly():
    for _ in range(30):
        yield b"x"
        await asyncio.sleep(0.1)

@get("/stream")
async def stream() -> Stream:
    return Stream(slowly())

app = Litestar([live, stream], openapi_config=None, logging_config=None)
"""

COMMANDS = {
    "uvicorn, h11": "uvicorn served:app --port {port} --http h11 --log-level error --no-access-log",
    "granian": "granian served:app --interface asgi --port {port} --http 1 --log-level error "
    "--http1-header-read-timeout 10000",
    "hypercorn": "hypercorn served:app --bind 127.0.0.1:{port} --log-level error",
}
ROUNDS = 3
CALLERS = 16
CONNECTIONS = 1_500
HEADERS_WAITED = 25.0
ASKED = b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
STREAMED = b"GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@contextmanager
def serving(command: str, folder: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run a server for the length of the block, and provide its port and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = command.format(port=port).split()
    program = subprocess.Popen(  # noqa: S603 - of the list above
        [sys.executable, "-m", *words], cwd=folder, env=os.environ | {"PYTHONPATH": str(folder)}
    )
    try:
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield port, program
    finally:
        program.terminate()
        program.wait()


async def rate(port: int, seconds: float) -> float:
    """Return the answers a second to callers that ask over and over on open connections."""
    end = time.perf_counter() + seconds

    async def ask() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        answers = 0
        while time.perf_counter() < end:
            writer.write(ASKED)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(x for x in head.lower().split(b"\r\n") if x.startswith(b"content-length"))
            await reader.readexactly(int(length.partition(b":")[2]))
            answers += 1
        writer.close()
        return answers

    return round(sum(await asyncio.gather(*(ask() for _ in range(CALLERS)))) / seconds, 0)


async def half_headers(port: int) -> float | None:
    """Return the seconds after which half a header is ended; None if it is not."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(ASKED[:-4])
    began = time.perf_counter()
    try:
        async with asyncio.timeout(HEADERS_WAITED):
            await reader.read()
    except TimeoutError:
        return None
    finally:
        writer.close()
    return round(time.perf_counter() - began, 1)


async def held(port: int) -> int:
    """Return how many of many idle connections are taken and stay open."""
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS)]
    await asyncio.sleep(1)
    stay = sum(not reader.at_eof() for reader, _ in opened)
    for _, writer in opened:
        writer.close()
    return stay


async def ended(port: int, program: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Tell a server to end while it streams for three seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(STREAMED)
    await reader.readuntil(b"\r\n\r\n")
    began = time.perf_counter()
    program.send_signal(signal.SIGTERM)
    rest = b""
    with contextlib.suppress(ConnectionError):
        rest = await reader.read()
    await asyncio.to_thread(program.wait)
    writer.close()
    return {
        "stream_whole": rest.count(b"x") >= 29,
        "ended_after_s": round(time.perf_counter() - began, 1),
    }


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("servers", __doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--folder", type=Path, default=Path("build/servers"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    (given.folder / "served.py").write_text(PROGRAM, "utf-8")
    found: dict[str, dict[str, Any]] = {name: {"answers_a_second": 0.0} for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            with serving(command, given.folder) as (port, _):
                await rate(port, 1)
                best = max(found[name]["answers_a_second"], await rate(port, given.seconds))
                found[name]["answers_a_second"] = best
    for name, command in COMMANDS.items():
        with serving(command, given.folder) as (port, program):
            found[name]["half_headers_ended_after_s"] = await half_headers(port)
            found[name][f"of_{CONNECTIONS}_connections_stay"] = await held(port)
            found[name] |= await ended(port, program)
    report(found, given.out)


if __name__ == "__main__":
    asyncio.run(main())
