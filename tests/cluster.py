"""A cluster as its driver sees it, in front of one real server: it routes, refuses and fails as members do.

Every member passes Bolt on to the same Neo4j, so replication is not part of it. A real cluster adds for a
driver: `ROUTE` is answered with a table of readers and a writer, a member that is not the leader refuses to
write, members disappear, and a transaction names the bookmarks that it waits for.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct
from neo4j._codec.packstream.v1 import PackableBuffer, Packer, UnpackableBuffer, Unpacker

MAGIC = bytes.fromhex("6060b017")
VERSION = bytes.fromhex("00000405")
"""Bolt 5.4."""

GOODBYE, RESET, RUN, BEGIN, COMMIT, ROUTE = 0x02, 0x0F, 0x10, 0x11, 0x12, 0x66
SUCCESS, RECORD, IGNORED, FAILURE = 0x70, 0x71, 0x7E, 0x7F

NOT_A_LEADER = "Neo.ClientError.Cluster.NotALeader"


class Asked(Struct, frozen=True):
    """A transaction or a statement of its own that a member was asked for."""

    member: int
    writes: bool
    text: str
    bookmarks: list[str]


class Cluster:
    """Some members in front of one server, the leader among them, and what they were asked."""

    def __init__(self, uri: str, members: int = 3) -> None:
        found = urlsplit(uri)
        self.upstream = (found.hostname or "", found.port or 7687)
        self.members = [Member(number, self) for number in range(members)]
        self.leader = 0
        self.asked: list[Asked] = []
        self.refusals: list[str] = []
        """Codes with which the next transactions are refused, one after the other."""
        self.on_commit: Callable[[], None] = lambda: None

    @property
    def uri(self) -> str:
        """The address of a member that knows the others."""
        return f"neo4j://127.0.0.1:{self.members[-1].port}"

    def table(self) -> dict[str, Any]:
        """Return the routing table: readers are the members that do not lead."""
        up = [member for member in self.members if member.is_up]
        writers = [member for member in up if member.number == self.leader]
        readers = [member for member in up if member not in writers] or writers
        roles = {"WRITE": writers, "READ": readers, "ROUTE": up}
        servers = [
            {"role": role, "addresses": [f"127.0.0.1:{one.port}" for one in some]}
            for role, some in roles.items()
        ]
        return {"ttl": 300, "db": "neo4j", "servers": servers}

    def elect(self, leader: int) -> None:
        """Make another member the leader; drivers learn of it by being refused."""
        self.leader = leader

    def said(self, part: str) -> list[Asked]:
        """Return the statements whose text contains a part."""
        return [one for one in self.asked if part in one.text]


class Member:
    """One member: a port that speaks Bolt."""

    def __init__(self, number: int, cluster: Cluster) -> None:
        self.number = number
        self.port = 0
        self._cluster = cluster
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def is_up(self) -> bool:
        """Whether it takes connections."""
        return self._server is not None

    async def start(self) -> None:
        """Take connections, on the port of before."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Drop all connections and take no more."""
        server, self._server = self._server, None
        if server:
            server.close()
        for writer in list(self._open):
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        up: asyncio.StreamWriter | None = None
        try:
            assert (await reader.readexactly(20))[:4] == MAGIC
            server, up = await asyncio.open_connection(*self._cluster.upstream)
            self._open.add(up)
            up.write(MAGIC + VERSION + bytes(12))
            writer.write(await server.readexactly(4))
            await self._pass_on(reader, writer, server, up)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for one in (writer, up):
                if one is not None:
                    self._open.discard(one)
                    one.transport.abort()

    async def _pass_on(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        up: asyncio.StreamWriter,
    ) -> None:
        failed = writes = False
        while True:
            message = await received(reader)
            kind = message[1]
            if kind == ROUTE:
                writer.write(framed(SUCCESS, {"rt": self._cluster.table()}))
                continue
            if failed and kind not in {RESET, GOODBYE}:
                writer.write(framed(IGNORED))
                continue
            failed = False
            if kind in {RUN, BEGIN}:
                writes = self._note(kind, message, writes)
            if kind == COMMIT:
                self._cluster.on_commit()
            if kind in {RUN, BEGIN, COMMIT} and (code := self._refusal(kind, writes)):
                failed = True
                writer.write(framed(FAILURE, {"code": code, "message": "by the stub"}))
                continue
            up.write(chunked(message))
            if kind == GOODBYE:
                return
            answer = b"\0\0"
            while answer[1] not in {SUCCESS, IGNORED, FAILURE}:
                answer = await received(server)
                writer.write(chunked(answer))
            await writer.drain()

    def _note(self, kind: int, message: bytes, writes: bool) -> bool:
        """Record a transaction or a statement of its own; return whether it may write."""
        fields = unpacked(message)
        extra = fields[-1]
        if kind == RUN and "mode" not in extra and not extra.get("db"):
            # Inside a transaction, which `BEGIN` has described.
            self._cluster.asked.append(Asked(self.number, writes, fields[0], []))
            return writes
        text = fields[0] if kind == RUN else "BEGIN"
        may_write = extra.get("mode", "w") != "r"
        marks = list(extra.get("bookmarks", []))
        self._cluster.asked.append(Asked(self.number, may_write, text, marks))
        return may_write

    def _refusal(self, kind: int, writes: bool) -> str | None:
        """Return the code with which this member refuses, if it does."""
        if kind != COMMIT and self._cluster.refusals:
            return self._cluster.refusals.pop(0)
        return NOT_A_LEADER if writes and self.number != self._cluster.leader else None


@asynccontextmanager
async def cluster(uri: str, members: int = 3) -> AsyncIterator[Cluster]:
    """Start a cluster in front of a server, for the length of a block."""
    made = Cluster(uri, members)
    for member in made.members:
        await member.start()
    try:
        yield made
    finally:
        for member in made.members:
            with contextlib.suppress(OSError):
                await member.stop()


async def received(reader: asyncio.StreamReader) -> bytes:
    """Return the next message, joined of its chunks."""
    message = b""
    while True:
        length = int.from_bytes(await reader.readexactly(2), "big")
        if length:
            message += await reader.readexactly(length)
        elif message:
            return message


def chunked(message: bytes) -> bytes:
    """Return a message in chunks, with its end."""
    parts = [message[at : at + 0xFFFF] for at in range(0, len(message), 0xFFFF)]
    return b"".join(len(part).to_bytes(2, "big") + part for part in parts) + b"\0\0"


def framed(kind: int, *fields: Any) -> bytes:
    """Return a message of the stub's own."""
    buffer = PackableBuffer()
    Packer(buffer).pack_struct(bytes([kind]), list(fields))
    return chunked(bytes(buffer.data))


def unpacked(message: bytes) -> list[Any]:
    """Return the fields of a message."""
    buffer = UnpackableBuffer(message)
    unpacker = Unpacker(buffer)
    size, _ = unpacker.unpack_structure_header()
    return [unpacker.unpack() for _ in range(size)]
