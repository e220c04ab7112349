"""`graphmem import`: remember the messages of a file, or bring back an exported client."""

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click
import msgspec
from click.core import ParameterSource
from msgspec import Struct

from graphmem.cli.checkpoint import Checkpoint, checkpoint
from graphmem.cli.options import RUNNING, Command, checked_id, client_option, settings_options
from graphmem.cli.showing import say_json
from graphmem.config import Settings
from graphmem.errors import InvalidInput
from graphmem.model.text import counted
from graphmem.model.validation import validated
from graphmem.model.vocabulary import ClientId

if TYPE_CHECKING:
    from graphmem.exports.load import ImportedExport

STDIN = "-"

EPILOG = """\b
A line is one message, with `session_id`, `role` (user, assistant, system or tool) and `content`:
  {"conversation_id": "team-chat", "session_id": "monday", "role": "user", "content": "Hello"}
It may have `name`, `occurred_at` (2026-03-02T09:30:00Z), `external_id` and `importance` (0 to 1).
A line with an `external_id` that its conversation has already changes nothing. A line without one
gets one from the file's name and all lines before it, so the same file, also with new lines at its
end, can be imported again. After an interruption the same command continues where it was.

\b
A file that `graphmem export` has written is recognised: it makes a whole client, by default of the same
name, which must not have anything yet. After an interruption the same command continues, here too.

\b
Examples:
  graphmem import talk.jsonl
  graphmem import acme-export.jsonl --client acme-copy
  graphmem import - --conversation team-chat < talk.jsonl
  graphmem import talk.jsonl --client acme --json
"""


class Report(Struct, frozen=True, kw_only=True):
    """The result of an import."""

    skipped_lines: int
    messages: int
    conversations: int
    new_conversations: int
    embedding_truncated: int
    seconds: float


@click.command(name="import", cls=Command, epilog=EPILOG)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--conversation", metavar="ID", callback=checked_id, help="For lines without conversation_id."
)
@client_option
@click.option("--restart", is_flag=True, help="Start over after an interruption.")
@click.option("--json", "as_json", is_flag=True, help="Print what was imported as JSON.")
@settings_options(*RUNNING)
def import_file(
    *,
    file: str,
    conversation: str | None,
    client_id: str,
    restart: bool,
    as_json: bool,
    settings: Settings,
) -> None:
    """Remember the messages of FILE, which holds JSON Lines, or import an export.

    `-` reads messages from standard input.
    """
    from graphmem.cli.running import run

    if file != STDIN and _is_export(Path(file)):
        if conversation or restart:
            raise InvalidInput(file, "is an export: it takes neither --conversation nor --restart")
        given = _is_given("client_id")
        loaded = run(_load(Path(file), client_id if given else None, settings))
        say_json(loaded) if as_json else _show_loaded(loaded)
        return
    with _open(file) as opened:
        # A pipe has no name by which a later import could recognize it.
        kept = (
            checkpoint(Path(file), client_id, conversation, settings)
            if file != STDIN and _size(opened)
            else None
        )
        if kept and restart:
            kept.remove()
        name = "standard input" if file == STDIN else Path(file).name
        report = run(_import(opened, name, conversation, client_id, kept, settings))
    if as_json:
        say_json(report)
    else:
        _show(report)


async def _import(
    file: BinaryIO,
    name: str,
    conversation: str | None,
    client_id: str,
    kept: Checkpoint | None,
    settings: Settings,
) -> Report:
    from graphmem.cli.loading import load
    from graphmem.cli.progress import show_progress
    from graphmem.client import Graphmem
    from graphmem.runtime import running

    stage, size = f"importing {name}", _size(file)
    with show_progress() as progress:
        async with running(settings, progress) as runtime:
            progress(stage, 0, size)
            began = time.perf_counter()
            imported = await load(
                file,
                Graphmem(runtime, client_id),
                conversation_id=conversation,
                name=name,
                checkpoint=kept,
                # The end is reported once, below: the last line may be blank.
                heard=lambda end: progress(stage, min(end, size - 1), size) if size else None,
            )
            seconds = time.perf_counter() - began
            progress(stage, size or 1, size or 1)
    return Report(**msgspec.structs.asdict(imported), seconds=round(seconds, 3))


def _is_export(file: Path) -> bool:
    from graphmem.exports.lines import BEGINNING

    with file.open("rb") as opened:
        return opened.read(len(BEGINNING)) == BEGINNING


def _is_given(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is not ParameterSource.DEFAULT


async def _load(file: Path, client_id: str | None, settings: Settings) -> "ImportedExport":
    """Import an export into a client, or into one with the name that it had."""
    from graphmem.cli.progress import show_progress
    from graphmem.exports.lines import header_of
    from graphmem.exports.load import load
    from graphmem.runtime import running

    with file.open("rb") as opened:
        header = header_of(opened.readline())
    with show_progress() as progress:
        async with running(settings, progress) as runtime:
            context = runtime.context(validated(client_id or header.client_id, ClientId))
            return await load(file, context, progress)


def _show_loaded(loaded: "ImportedExport") -> None:
    click.echo(
        f"client {loaded.client_id}: {counted(loaded.nodes, 'node')} and "
        f"{counted(loaded.edges, 'edge')}{', continued' if loaded.resumed else ''}"
    )
    if loaded.embedded:
        click.echo(f"{counted(loaded.embedded, 'text')} embedded anew")
    if loaded.changed:
        click.echo("the client was written to during its export: some of that may be missing")


def _show(report: Report) -> None:
    new = f" ({report.new_conversations:,} new)" if report.new_conversations else ""
    click.echo(
        f"{counted(report.messages, 'message')} in "
        f"{counted(report.conversations, 'conversation')}{new} in {report.seconds:.1f} s"
    )
    if report.skipped_lines:
        click.echo(
            f"{counted(report.skipped_lines, 'line')} skipped, which were imported before the "
            "interruption"
        )
    if report.embedding_truncated:
        click.echo(
            f"{counted(report.embedding_truncated, 'message')} longer than the embedding model "
            "sees: the rest is found by its words"
        )


@contextmanager
def _open(file: str) -> Iterator[BinaryIO]:
    """Open a file, or standard input, for reading.

    Only the descriptor is closed: closing the reader would wait for a thread that reads from a silent
    pipe, and with `sys.stdin` so would the end of the process.
    """
    source = os.dup(sys.stdin.fileno()) if file == STDIN else os.open(file, os.O_RDONLY)
    try:
        yield open(source, "rb", closefd=False)  # noqa: SIM115, see above
    finally:
        os.close(source)


def _size(file: BinaryIO) -> int:
    """Return the file's size in bytes, 0 for a pipe."""
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
