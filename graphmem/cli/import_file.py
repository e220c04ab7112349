"""`graphmem import`: remember the messages of a file, or bring back an exported client."""

import io
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import click
import msgspec
from click.core import ParameterSource
from msgspec import Struct

from graphmem.cli.lines import (
    BEGINNING,
    BadLine,
    Checkpoint,
    FilePosition,
    Line,
    checkpoint,
    windows,
)
from graphmem.cli.options import RUNNING, Command, checked_id, client_option, settings_options
from graphmem.cli.showing import held, say_json
from graphmem.config import Settings
from graphmem.conversations.forms import plain
from graphmem.errors import InvalidInput
from graphmem.model.annotations import stored_annotations
from graphmem.model.times import present
from graphmem.model.validation import counted, validated
from graphmem.model.vocabulary import ClientId

if TYPE_CHECKING:
    from graphmem.cli.foreign.reading import ForeignContents, ForeignFile
    from graphmem.exports.load import ImportedExport

STDIN = "-"
MOST_REASONS = 8

EPILOG = """\b
FILE is recognised by looking into it. These are read as their programs write them, with their times and
roles; `--dry-run` says what a file holds and imports nothing:
  ChatGPT and Claude: the export, as the zip archive or its conversations.json
  OpenAI, Anthropic, LangChain: messages, as JSON or JSON Lines; LangGraph: states and checkpoints as JSON,
    or the file of its SqliteSaver
  Claude Code and Codex: a transcript (~/.claude/projects/*/*.jsonl, ~/.codex/sessions/**/*.jsonl)
  mem0: get_all; Graphiti and Zep: episodes; Letta: an agent file
Each of their conversations is one here, with its title; with --conversation each is a session of that one.
Importing a file again, or a newer export, adds only what is new.

\b
In graphmem's own form a line is one message, with `conversation_id` (or give --conversation),
`session_id`, `role` (user, assistant, system or tool) and `content`:
  {"conversation_id": "team-chat", "session_id": "monday", "role": "user", "content": "Hello"}
It may have `name`, `occurred_at` (2026-03-02T09:30:00Z), `external_id` and `importance` (0 to 1).
A line with an `external_id` that its conversation has already changes nothing. A line without one
gets one from the file's name and all lines before it, so the same file, also with new lines at its
end, can be imported again. After an interruption the same command continues where it was.
`--dry-run` checks every line.

\b
A file that `graphmem export` has written is recognised: it makes a whole client, by default of the same
name, which must not have anything yet. After an interruption the same command continues, here too.

\b
Examples:
  graphmem import chatgpt-export.zip --dry-run
  graphmem import talk.jsonl
  graphmem import acme-export.jsonl --client acme-copy
  graphmem import - --conversation team-chat < talk.jsonl
  graphmem import talk.jsonl --client acme --json
"""


class Report(Struct, frozen=True, kw_only=True):
    """The result of an import."""

    skipped_lines: int
    messages: int
    known_messages: int
    conversations: int
    new_conversations: int
    embedding_truncated: int
    seconds: float
    form: str | None = None
    """The form of a file of another program."""
    left_out: dict[str, int] = {}
    """What such a file holds beside messages, and how often."""


class Preview(Struct, frozen=True, kw_only=True):
    """What an import of a file would read."""

    form: str
    messages: int
    conversations: int
    roles: dict[str, int]
    first: datetime | None
    last: datetime | None
    left_out: dict[str, int]


@click.command(name="import", cls=Command, epilog=EPILOG)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option(
    "--conversation", metavar="ID", callback=checked_id, help="For lines without conversation_id."
)
@client_option
@click.option("--dry-run", is_flag=True, help="Say what FILE holds, and import nothing.")
@click.option("--restart", is_flag=True, help="Start over after an interruption.")
@click.option("--json", "as_json", is_flag=True, help="Print what was imported as JSON.")
@settings_options(*RUNNING)
def import_file(
    *,
    file: str,
    conversation: str | None,
    client_id: str,
    dry_run: bool,
    restart: bool,
    as_json: bool,
    settings: Settings,
) -> None:
    """Remember the messages of FILE, in any form that people have, or import an export.

    `-` reads messages from standard input, in graphmem's own form.
    """
    from graphmem.cli.running import run

    if file != STDIN and _is_export(Path(file)):
        if conversation or restart or dry_run:
            raise InvalidInput(
                file, "is an export: it takes none of --conversation, --restart and --dry-run"
            )
        given = _is_given("client_id")
        loaded = run(_load(Path(file), client_id if given else None, settings))
        say_json(loaded) if as_json else _show_loaded(loaded)
        return
    source = _source(file, conversation)
    if dry_run:
        preview = _preview(source)
        say_json(preview) if as_json else _show_preview(preview)
        return
    # A pipe has no name by which a later import could recognize it.
    kept = None
    if file != STDIN and Path(file).is_file():
        kept = checkpoint(Path(file), client_id, conversation, settings)
    if kept and restart:
        kept.remove()
    report = run(_import(source, client_id, kept, settings))
    say_json(report) if as_json else _show(report)


def _source(file: str, conversation: str | None) -> "ForeignSource | OwnSource":
    """Return what is read: a file of another program, or one in graphmem's own form."""
    from graphmem.cli.foreign.reading import recognised

    # A named pipe can be read only once, as graphmem's own lines.
    found = recognised(Path(file), conversation) if Path(file).is_file() else None
    if found:
        return ForeignSource(found)
    return OwnSource(file, conversation)


async def _import(
    source: "Source", client_id: str, kept: Checkpoint | None, settings: Settings
) -> Report:
    from graphmem.cli.loading import load_windows
    from graphmem.cli.running import show_progress
    from graphmem.client import Graphmem
    from graphmem.runtime import running

    stage = f"importing {source.name}"
    with source.opened() as (read, size), show_progress() as progress:
        async with running(settings, progress) as runtime:
            progress(stage, 0, size)
            began = time.perf_counter()
            imported = await load_windows(
                read,
                Graphmem(runtime, client_id),
                checkpoint=kept,
                # The end is reported once, below: the last line may be blank.
                heard=lambda end: progress(stage, min(end, size - 1), size) if size else None,
                unit=source.unit,
            )
            seconds = time.perf_counter() - began
            progress(stage, size or 1, size or 1)
    counts = msgspec.structs.asdict(imported)
    return Report(**counts, **source.told(), seconds=round(seconds, 3))


Reader = Callable[[FilePosition], Iterator[list[Line]]]


class Source(Protocol):
    """A file to import: its windows of messages after a position, and its size in bytes."""

    name: str
    unit: str

    def opened(self) -> AbstractContextManager[tuple[Reader, int]]:
        """Open the file."""
        ...

    def told(self) -> dict[str, Any]:
        """Return what a report says of the file itself."""
        ...


class OwnSource:
    """A file, or standard input, with graphmem's own JSON Lines."""

    unit = "line"

    def __init__(self, file: str, conversation: str | None) -> None:
        """Read lines; those without a conversation are of this one."""
        self._file, self._conversation = file, conversation
        self.name = "standard input" if file == STDIN else Path(file).name

    @contextmanager
    def opened(self) -> Iterator[tuple[Reader, int]]:
        """Open the file."""
        with _open(self._file) as file:
            conversation, name = self._conversation, self.name
            yield lambda after: windows(file, conversation, name=name, after=after), _size(file)

    def told(self) -> dict[str, Any]:
        """Return nothing: the form is ours, and all of it is messages."""
        return {}


class ForeignSource:
    """A file of another program."""

    unit = "message"

    def __init__(self, found: "ForeignFile") -> None:
        """Read a file whose form is known."""
        self.found, self.name = found, found.name

    @contextmanager
    def opened(self) -> Iterator[tuple[Reader, int]]:
        """Open the file, or those in an archive, whose size is not told."""
        with self.found.opened() as files:
            size = sum(map(_size, files))
            yield lambda after: self.found.windows(files, after), size

    def told(self) -> dict[str, Any]:
        """Return the form, and what was no message."""
        return {"form": self.found.seen.form, "left_out": dict(self.found.seen.left_out)}


def _preview(source: "ForeignSource | OwnSource") -> Preview:
    """Read a whole file, and say what it holds. Raises `BadLine` for a line that an import would refuse."""
    with source.opened() as (read, _):
        windows = read(BEGINNING)
        if isinstance(source, OwnSource):
            seen = _own_contents(line for window in windows for line in window)
        else:
            for _window in windows:
                pass
            seen = source.found.seen
    return Preview(
        form=seen.form,
        messages=seen.messages,
        conversations=len(seen.conversations),
        roles=dict(seen.roles),
        first=seen.first,
        last=seen.last,
        left_out=dict(seen.left_out),
    )


def _own_contents(lines: Iterable[Line]) -> "ForeignContents":
    """Return what graphmem's own lines hold, each checked as an import checks it."""
    from graphmem.cli.foreign.reading import ForeignContents

    seen, now = ForeignContents(form="an empty file"), present()
    for line in lines:
        message = plain(line.message, now)
        try:
            stored_annotations(message, "", now)
        except InvalidInput as problem:
            sentence = str(problem).removeprefix(f"{problem.field}: ")
            raise BadLine(line.number, problem.field, sentence) from problem
        at = None if line.message.occurred_at is None else message.occurred_at
        seen.form = "graphmem's own lines"
        seen.take(line.conversation_id, message, at)
    return seen


def _show_preview(preview: Preview) -> None:
    roles = ", ".join(f"{number:,} {role}" for role, number in sorted(preview.roles.items()))
    click.echo(
        f"{preview.form}: {counted(preview.messages, 'message')} "
        f"in {counted(preview.conversations, 'conversation')} ({roles or 'none'})"
    )
    if preview.first and preview.last:
        click.echo(f"from {preview.first:%Y-%m-%d} to {preview.last:%Y-%m-%d}")
    _show_left_out(preview.left_out)


def _show_left_out(left_out: dict[str, int]) -> None:
    if not left_out:
        return
    click.echo(f"left out: {sum(left_out.values()):,}")
    for reason, number in sorted(left_out.items(), key=lambda item: -item[1])[:MOST_REASONS]:
        click.echo(f"  {number:,} × {reason}")
    if len(left_out) > MOST_REASONS:
        click.echo(f"  and for {len(left_out) - MOST_REASONS:,} more reasons: see --json")


def _is_export(file: Path) -> bool:
    from graphmem.exports.lines import BEGINNING

    with file.open("rb") as opened:
        return opened.read(len(BEGINNING)) == BEGINNING


def _is_given(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is not ParameterSource.DEFAULT


async def _load(file: Path, client_id: str | None, settings: Settings) -> "ImportedExport":
    """Import an export into a client, or into one with the name that it had."""
    from graphmem.cli.running import show_progress
    from graphmem.exports.lines import header_of
    from graphmem.exports.load import load
    from graphmem.runtime import running

    with file.open("rb") as opened:
        header = header_of(opened.readline())
    with show_progress() as progress:
        async with running(settings, progress) as runtime:
            context = runtime.context(
                validated(client_id or header.client_id, ClientId, "client_id")
            )
            return await load(file, context, progress)


def _show_loaded(loaded: "ImportedExport") -> None:
    click.echo(
        f"client {loaded.client_id}: {counted(loaded.nodes, 'node')} and "
        f"{counted(loaded.edges, 'edge')}{', continued' if loaded.resumed else ''}"
    )
    if loaded.embedded:
        click.echo(f"{counted(loaded.embedded, 'text')} embedded anew")
    if loaded.changed:
        click.echo(
            "memories or conversations were added or deleted during the export: some of that may be missing"
        )
    if loaded.legal_hold is not None:
        click.echo(held("the client", loaded.legal_hold))


def _show(report: Report) -> None:
    if report.form:
        click.echo(f"{report.form}:")
    new = f" ({report.new_conversations:,} new)" if report.new_conversations else ""
    click.echo(
        f"{counted(report.messages, 'message')} in "
        f"{counted(report.conversations, 'conversation')}{new} in {report.seconds:.1f} s"
    )
    if report.known_messages:
        were = "was" if report.known_messages == 1 else "were"
        click.echo(f"{report.known_messages:,} of them {were} there already, or twice in the file")
    if report.skipped_lines:
        skipped = counted(report.skipped_lines, "message" if report.form else "line")
        click.echo(f"{skipped} skipped, which were imported before the interruption")
    if report.embedding_truncated:
        click.echo(
            f"{counted(report.embedding_truncated, 'message')} longer than the embedding model "
            "sees: the rest is found by its words"
        )
    _show_left_out(report.left_out)


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
    """Return the file's size in bytes, 0 for a pipe and for a file in an archive."""
    try:
        status = os.fstat(file.fileno())
    except io.UnsupportedOperation:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
