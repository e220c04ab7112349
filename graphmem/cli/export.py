"""`graphmem export`: write everything of a client to a file."""

import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click
from msgspec import Struct

from graphmem.cli.options import RUNNING, Command, client_option, settings_options
from graphmem.cli.showing import say_json
from graphmem.config import Settings
from graphmem.errors import InvalidInput
from graphmem.model.validation import counted

if TYPE_CHECKING:
    from graphmem.client import Graphmem
    from graphmem.exports.lines import Checked, UnfinishedFile

STDOUT = "-"

EPILOG = """\b
The file has everything that is stored of the client: memories with all their versions and times, the
edges between them, conversations, names and aliases, reviews, runs, recorded questions. `graphmem import`
reads it, also into another database or under another name. It is as secret as the memories are.

\b
After an interruption the same command continues where it was. What is written meanwhile may be missing
in part; the command says so if memories or conversations were added or deleted.

\b
Examples:
  graphmem export talk.jsonl
  graphmem export acme.jsonl --client acme --no-vectors
  graphmem export - --client acme | gzip > acme.jsonl.gz
"""


class ExportReport(Struct, frozen=True, kw_only=True):
    """The result of an export."""

    nodes: int
    edges: int
    bytes: int
    changed: bool
    continued: bool
    seconds: float


@click.command(name="export", cls=Command, epilog=EPILOG)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@client_option
@click.option(
    "--no-vectors", is_flag=True, help="Leave the embeddings out: an import makes them anew."
)
@click.option("--restart", is_flag=True, help="Start over, and replace FILE.")
@click.option("--json", "as_json", is_flag=True, help="Print what was exported as JSON.")
@settings_options(*RUNNING)
def export_file(
    *,
    file: str,
    client_id: str,
    no_vectors: bool,
    restart: bool,
    as_json: bool,
    settings: Settings,
) -> None:
    """Write everything of a client to FILE, as JSON Lines; `-` writes to standard output."""
    from graphmem.cli.running import run

    if file == STDOUT:
        run(_to_stdout(client_id, not no_vectors, settings))
        return
    path = Path(file)
    unfinished = path.with_name(f"{path.name}.part")
    if restart:
        unfinished.unlink(missing_ok=True)
    elif path.exists():
        raise InvalidInput(file, "is there already: --restart replaces it")
    _require_writable(unfinished)
    report = run(_to_file(path, unfinished, client_id, not no_vectors, settings))
    if as_json:
        say_json(report)
    else:
        _show(report)
        if not report.nodes:
            click.echo(
                f"nothing is stored of a client {client_id!r}: the file has no memory; --client names another"
            )


async def _to_stdout(client_id: str, vectors: bool, settings: Settings) -> None:
    from graphmem.client import Graphmem
    from graphmem.runtime import running

    async with running(settings) as runtime:
        async for page in await Graphmem(runtime, client_id).export(vectors=vectors):
            sys.stdout.buffer.write(page)
        sys.stdout.buffer.flush()


async def _to_file(
    path: Path, unfinished: Path, client_id: str, vectors: bool, settings: Settings
) -> ExportReport:
    from graphmem.cli.running import show_progress
    from graphmem.client import Graphmem
    from graphmem.runtime import running

    began = time.perf_counter()
    with show_progress() as progress:
        async with running(settings, progress) as runtime:
            memory = Graphmem(runtime, client_id)
            part = _known(unfinished, memory, vectors)
            stage = f"exporting {client_id}"
            progress(stage)
            cursor = part.page.cursor if part and part.page else None
            pages = await memory.export(vectors=vectors, cursor=cursor)
            with open_from(unfinished, part.size if part and cursor else 0) as file:
                await write_pages(pages, file)
            checked = _ended(path, unfinished)
            progress(stage, 1, 1)
    end = checked.end
    return ExportReport(
        nodes=end.nodes,
        edges=end.edges,
        bytes=checked.size,
        changed=end.changed,
        continued=cursor is not None,
        seconds=round(time.perf_counter() - began, 3),
    )


def _known(unfinished: Path, memory: "Graphmem", vectors: bool) -> "UnfinishedFile | None":
    """Return the whole pages of an interrupted export. Raises `InvalidInput` if it was another one."""
    from graphmem.exports.lines import beginning

    part = beginning(unfinished) if unfinished.exists() else None
    if part is None:
        return None
    model = memory.runtime.context(memory.client_id).embedder.key if vectors else None
    if (part.header.client_id, part.header.embedding_model) != (memory.client_id, model):
        raise InvalidInput(
            str(unfinished),
            "is the beginning of an export of another client, or with other vectors: --restart removes it",
        )
    return part


def _require_writable(path: Path) -> None:
    """Raise `OSError` for a path that cannot be written, before anything is started for it."""
    is_new = not path.exists()
    open_from(path, 0 if is_new else path.stat().st_size).close()
    if is_new:
        path.unlink()


def open_from(path: Path, size: int) -> BinaryIO:
    """Open a file to write behind its first bytes; nobody else may read it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.ftruncate(descriptor, size)
    file = os.fdopen(descriptor, "wb")
    file.seek(size)
    return file


async def write_pages(pages: AsyncIterator[bytes], file: BinaryIO) -> None:
    """Write an export, and wait until it is on the disk."""
    async for page in pages:
        file.write(page)
        file.flush()
    os.fsync(file.fileno())


def _ended(path: Path, unfinished: Path) -> "Checked":
    """Give the file its name, once it is found whole."""
    from graphmem.exports.lines import check

    checked = check(unfinished)
    unfinished.replace(path)
    return checked


def _show(report: ExportReport) -> None:
    click.echo(
        f"{counted(report.nodes, 'node')} and {counted(report.edges, 'edge')}, {report.bytes:,} bytes, in "
        f"{report.seconds:.1f} s"
    )
    if report.changed:
        click.echo(
            "memories or conversations were added or deleted meanwhile: some of that may be missing; export "
            "again for a copy of one moment"
        )
