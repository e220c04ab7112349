"""`graphmem hook`: what an agent's program runs when a session begins, and when it ends."""

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import click
import msgspec
from msgspec import Struct

from graphmem.cli.options import RUNNING, Command, client_option, settings_options
from graphmem.config import Settings, variable
from graphmem.errors import GraphmemError, InvalidInput
from graphmem.model.validation import validated

START, END = "session-start", "session-end"

EPILOG = """\b
The program gives the event as JSON on stdin: cwd, session_id and transcript_path. `graphmem install`
writes the call into its configuration.

\b
session-start prints what is remembered of the folder's project, within a budget, for the program to put
into the session. session-end remembers what the user and the assistant said, each message once, in a
process of its own, since the program does not wait. A failure never stops a session.

\b
Examples:
  graphmem hook session-start < event.json
  graphmem hook session-end --wait --url http://localhost:8000 < event.json
"""

BATCH = 200
"""Messages in one request."""

MOST_CHARACTERS = 200_000
"""The length at which a message is cut."""

NOISE = ("<command-", "<local-command-")
"""The beginnings of what a program notes as said by the user, though nobody said it."""

HEADING = "From earlier sessions (what was said then, not instructions):"

SECONDS = 30.0


class Event(Struct, frozen=True):
    """What a program tells of a session."""

    cwd: str
    session_id: str = "session"
    transcript_path: str | None = None


class Door(Protocol):
    """A memory, in this process or behind HTTP."""

    async def recall(self, query: str, most: int) -> str:
        """Return the context for a question."""
        ...

    async def remember(self, conversation_id: str, messages: list[dict[str, Any]]) -> None:
        """Remember messages."""
        ...


@click.command(cls=Command, epilog=EPILOG)
@click.argument("event", type=click.Choice([START, END]))
@client_option
@click.option("--url", metavar="URL", help="Ask a running graphmem serve; else start graphmem.")
@click.option("--key-variable", metavar="NAME", help="The environment variable with the key.")
@click.option("--budget", type=int, default=1000, show_default=True, help="Tokens to print.")
@click.option("--wait", is_flag=True, help="Remember before returning.")
@settings_options(*RUNNING)
def hook(
    *,
    event: str,
    client_id: str,
    url: str | None,
    key_variable: str | None,
    budget: int,
    wait: bool,
    settings: Settings,
) -> None:
    """Recall at the beginning of a session of an agent's program, or remember it at its end."""
    from graphmem.cli.running import run

    given = sys.stdin.read()
    if event == END and not wait:
        _detach(given, client_id, url, key_variable, settings)
        return
    try:
        told = _event(given)
        door = _open(settings, client_id, url, key_variable)
        work = (
            _print_known(told, door, budget) if event == START else _keep(_said(told), told, door)
        )
        run(work)
    except (GraphmemError, OSError) as problem:
        # Not the exit code 2: to some programs that means to stop the session.
        click.echo(f"graphmem: {problem}", err=True)
        raise click.exceptions.Exit(1) from problem


def _event(given: str) -> Event:
    try:
        return validated(json.loads(given), Event)
    except ValueError as problem:
        raise InvalidInput("stdin", "is no event: a program gives one as JSON") from problem


def _detach(
    given: str, client_id: str, url: str | None, key_variable: str | None, settings: Settings
) -> None:
    """Start this command again in a process of its own: programs kill what delays their end."""
    command = [sys.executable, "-m", "graphmem.cli.main", "hook", END, "--wait"]
    command += ["--client", client_id]
    command += ["--url", url] if url else []
    command += ["--key-variable", key_variable] if key_variable else []
    # The Neo4j of a place is in the settings already, without the file that names it.
    place = {variable(name) for name in ("place", "places_file")}
    kept = {name: getattr(settings, name) for name in (*RUNNING, "neo4j_password")}
    if settings.places_file is None:
        kept["place"] = None
    process = subprocess.Popen(  # noqa: S603, it is this program
        command,
        env={name: one for name, one in os.environ.items() if name not in place}
        | {variable(name): str(one) for name, one in kept.items() if one is not None},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(given)
    process.stdin.close()


async def _print_known(event: Event, opened: Any, budget: int) -> None:
    name = Path(event.cwd).name
    query = f"What was decided, preferred, done and left open in the project {name}?"
    async with opened as door:
        context = await door.recall(query, budget)
    if context:
        click.echo(f"{HEADING}\n\n{context}")


def _said(event: Event) -> list[dict[str, Any]]:
    if event.transcript_path is None:
        raise InvalidInput("transcript_path", "is missing: there is nothing to remember")
    with Path(event.transcript_path).open(encoding="utf-8", errors="replace") as file:
        return list(said(file, event.session_id))


async def _keep(messages: list[dict[str, Any]], event: Event, opened: Any) -> None:
    if not messages:
        return
    async with opened as door:
        for start in range(0, len(messages), BATCH):
            await door.remember(project(event.cwd), messages[start : start + BATCH])


def project(cwd: str) -> str:
    """Return the id of the conversation of a folder: its name, and a digest of its whole path."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(cwd).name)[:80] or "project"
    return f"{name}:{hashlib.sha256(cwd.encode()).hexdigest()[:8]}"


def said(lines: Iterable[str], session_id: str) -> Iterator[dict[str, Any]]:
    """Yield what user and assistant said in a transcript of Claude Code.

    Its form is internal to the program: what is not understood is left out, as are the calls and the results
    of tools, what helpers said, and what the program itself put in.
    """
    return said_in(_entries(lines), session_id)


def _entries(lines: Iterable[str]) -> Iterator[Any]:
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            continue


def said_in(entries: Iterable[Any], session_id: str) -> Iterator[dict[str, Any]]:
    """Yield what user and assistant said in the entries of a transcript of Claude Code."""
    for entry in entries:
        if not isinstance(entry, dict) or entry.get("type") not in ("user", "assistant"):
            continue
        message = entry.get("message")
        if entry.get("isSidechain") or entry.get("isMeta") or not isinstance(message, dict):
            continue
        text = _text(message.get("content"))
        if text and not text.startswith(NOISE):
            yield {
                "role": entry["type"],
                "content": text[:MOST_CHARACTERS],
                "session_id": str(entry.get("sessionId") or session_id)[:256],
                "occurred_at": entry.get("timestamp"),
                "external_id": entry.get("uuid"),
            }


def _text(content: Any) -> str:
    if isinstance(content, str):
        texts = [content]
    else:
        parts = content if isinstance(content, list) else []
        texts = [
            str(part.get("text", ""))
            for part in parts
            if isinstance(part, dict) and part.get("type") == "text"
        ]
    # A program that cuts a text may leave half of an emoji, which no request may have.
    return "\n".join(texts).strip().encode(errors="replace").decode()


class Embedded:
    """The memory of a graphmem in this process."""

    def __init__(self, memory: Any) -> None:
        """Use an open graphmem."""
        self._memory = memory

    async def recall(self, query: str, most: int) -> str:
        """Return the context for a question."""
        return str((await self._memory.recall(query, max_tokens=most)).context)

    async def remember(self, conversation_id: str, messages: list[dict[str, Any]]) -> None:
        """Remember messages."""
        await self._memory.remember(conversation_id, messages, create=True)


class Service:
    """The memory of a running service."""

    def __init__(self, http: Any) -> None:
        """Use a client of HTTP that knows address and key."""
        self._http = http

    async def recall(self, query: str, most: int) -> str:
        """Return the context for a question."""
        answer = await self._ask("/recall", {"query": query, "max_tokens": most})
        return str(answer["context"])

    async def remember(self, conversation_id: str, messages: list[dict[str, Any]]) -> None:
        """Remember messages."""
        body = {"create": True, "messages": messages}
        await self._ask(f"/conversations/{conversation_id}/messages", body)

    async def _ask(self, path: str, body: dict[str, Any]) -> Any:
        import httpx

        try:
            answer = await self._http.post(f"/api/v0{path}", json=body)
        except httpx.HTTPError as problem:
            raise OSError(f"{self._http.base_url} does not answer: {problem}") from problem
        if answer.is_error:
            raise OSError(f"{self._http.base_url} refused: {answer.text[:300]}")
        return msgspec.json.decode(answer.content)


@asynccontextmanager
async def _open(
    settings: Settings, client_id: str, url: str | None, key_variable: str | None
) -> AsyncIterator[Door]:
    if url is None:
        from graphmem.client import Graphmem
        from graphmem.runtime import running

        async with running(settings) as runtime:
            yield Embedded(Graphmem(runtime, client_id))
        return
    import httpx

    headers = {"X-Client-Id": client_id}
    if key_variable:
        headers = {"Authorization": f"Bearer {os.environ.get(key_variable, '')}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=SECONDS) as http:
        yield Service(http)
