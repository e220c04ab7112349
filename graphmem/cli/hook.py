"""`graphmem hook`: what an agent's program runs when a session begins, and when it ends."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from graphmem.cli.options import RUNNING, Command, client_option, settings_options
from graphmem.config import Settings, variable
from graphmem.errors import GraphmemError, InvalidInput
from graphmem.model.times import Past, happened, present
from graphmem.model.validation import digested_id, validated

if TYPE_CHECKING:
    from graphmem.client import Graphmem

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

LONGEST_LABEL = 256
"""The characters of the name of a session and of a caller's id."""

RETRIES = 3
"""How often a service is asked again to remember."""

Opened = AbstractAsyncContextManager["Graphmem"]


class Event(Struct, frozen=True):
    """What a program tells of a session."""

    cwd: str
    session_id: str = "session"
    transcript_path: str | None = None


class HookCommand(Command):
    """A command that never ends with 2, which to some programs means to stop the session."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments."""
        with _failing_with_one():
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _failing_with_one():
            return super().invoke(ctx)


@contextmanager
def _failing_with_one() -> Iterator[None]:
    try:
        yield
    except click.ClickException as problem:
        problem.show()
        raise click.exceptions.Exit(1) from problem
    except (GraphmemError, OSError) as problem:
        click.echo(f"graphmem: {problem}", err=True)
        raise click.exceptions.Exit(1) from problem


@click.command(cls=HookCommand, epilog=EPILOG)
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
    told = _event(given)
    # A program waits for the beginning, and nobody for the end.
    retries = 0 if event == START else RETRIES
    opened = _open(settings, client_id, url, key_variable, retries)
    run(_print_known(told, opened, budget) if event == START else _keep(_said(told), told, opened))


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


async def _print_known(event: Event, opened: Opened, budget: int) -> None:
    name = Path(event.cwd).name
    query = f"What was decided, preferred, done and left open in the project {name}?"
    async with opened as memory:
        recalled = await memory.recall(query, max_tokens=budget)
    if recalled.context:
        click.echo(f"{HEADING}\n\n{recalled.context}")


def _said(event: Event) -> list[dict[str, Any]]:
    if event.transcript_path is None:
        raise InvalidInput("transcript_path", "is missing: there is nothing to remember")
    with Path(event.transcript_path).open(encoding="utf-8", errors="replace") as file:
        return list(said(file, event.session_id))


async def _keep(messages: list[dict[str, Any]], event: Event, opened: Opened) -> None:
    if not messages:
        return
    async with opened as memory:
        for start in range(0, len(messages), BATCH):
            batch = messages[start : start + BATCH]
            await memory.remember(project(event.cwd), batch, create=True)


def project(cwd: str) -> str:
    """Return the id of the conversation of a folder: its name, and a digest of its whole path."""
    return digested_id(Path(cwd).name or "project", cwd, 8)


def said(lines: Iterable[str], session_id: str) -> Iterator[dict[str, Any]]:
    """Yield what user and assistant said in a transcript of Claude Code.

    Its form is internal to the program: what is not understood is left out, as are the calls and the results
    of tools, what helpers said, and what the program itself put in.
    """
    now = present()
    for one in said_in(_entries(lines), session_id):
        yield one | {
            "session_id": _label(one["session_id"]) or _label(session_id),
            "occurred_at": _time(one["occurred_at"], now),
            "external_id": _label(one["external_id"]),
        }


def _label(given: Any) -> str | None:
    """Return a name as a request may have it; one that is none would cost the whole session."""
    name = _whole(given) if isinstance(given, str) else ""
    return name if name.strip() and len(name) <= LONGEST_LABEL else None


def _time(given: Any, now: datetime) -> str | None:
    """Return the time of an entry; None if it is none that has been, for that of its arrival."""
    try:
        happened(msgspec.convert(given, Past), "timestamp", now)
    except (msgspec.ValidationError, InvalidInput):
        return None
    return str(given)


def _entries(lines: Iterable[str]) -> Iterator[Any]:
    for line in lines:
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
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
                "session_id": str(entry.get("sessionId") or session_id)[:LONGEST_LABEL],
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
    return _whole("\n".join(texts).strip())


def _whole(text: str) -> str:
    """Return a text without halves of emoji: a program may leave them where it cuts, no request has them."""
    return text.encode(errors="replace").decode()


@asynccontextmanager
async def _open(
    settings: Settings, client_id: str, url: str | None, key_variable: str | None, retries: int
) -> AsyncIterator["Graphmem"]:
    """Provide a memory in this process, or that of a running service."""
    if url is None:
        from graphmem.client import Graphmem
        from graphmem.runtime import running

        async with running(settings) as runtime:
            yield Graphmem(runtime, client_id)
        return
    from graphmem.remote.client import AsyncClient

    key = _key(key_variable) if key_variable else None
    client = None if key else client_id
    async with AsyncClient(url, key=key, client_id=client, retries=retries) as memory:
        yield memory


def _key(variable: str) -> str:
    """Return the key in an environment variable. Raises `InvalidInput` if there is none."""
    if not (key := os.environ.get(variable, "").strip()):
        raise InvalidInput(
            "--key-variable", f"{variable} is not set where the program runs: it has no key"
        )
    return key
