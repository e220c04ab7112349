"""`graphmem backup` and `graphmem restore`: everything in the database, at one moment or client by client."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from msgspec import Struct

from graphmem.cli.export import open_from, write_pages
from graphmem.cli.options import RUNNING, Command, settings_options
from graphmem.cli.showing import held, say_json
from graphmem.config import Settings
from graphmem.model.validation import counted

if TYPE_CHECKING:
    from graphmem.model.progress import Progress
    from graphmem.runtime import Runtime
    from graphmem.server.backup import BackupFile, Manifest

EPILOG = """\b
Of the private Neo4j the whole store is copied, while it runs. Writes wait for as long as that takes,
which the command tells; nothing that was acknowledged before is missing. Of your own Neo4j
(GRAPHMEM_NEO4J_URI) each client is exported, one after the other: Neo4j's own tools make better
backups of it.

\b
Examples:
  graphmem backup /backups/monday
  graphmem backup /backups/monday --data-dir ./memory --json
"""

EPILOG_OF_RESTORE = """\b
End every process that uses the database first. A store that is there already is put aside with
--replace, not deleted. Exports are imported into a database without those clients; a client that has
something already is left as it is.

\b
Examples:
  graphmem restore /backups/monday
  graphmem restore /backups/monday --replace
  graphmem restore /backups/monday --data-dir ./elsewhere
"""


class BackedUp(Struct, frozen=True, kw_only=True):
    """The result of a backup; `clients` are those that were exported, of a store none."""

    kind: Literal["store", "exports"]
    files: int
    bytes: int
    clients: list[str]
    paused_seconds: float
    seconds: float


class Restored(Struct, frozen=True, kw_only=True):
    """The result of a restore."""

    kind: Literal["store", "exports"]
    made_at: datetime
    memories: int
    left_alone: list[str]
    """Clients that had something already."""
    put_aside: str | None
    """Where the former store is."""
    legal_holds: dict[str, str] = {}
    """The reasons of the legal holds that came with exports, by client."""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print what was copied as JSON.")
@settings_options(*RUNNING)
def backup(folder: Path, as_json: bool, settings: Settings) -> None:
    """Copy everything in the database into the new folder DIR."""
    from graphmem.cli.running import run

    done = run(_back_up(folder, settings))
    if as_json:
        say_json(done)
        return
    click.echo(f"{counted(done.files, 'file')}, {done.bytes:,} bytes, in {done.seconds:.1f} s")
    if done.kind == "store":
        click.echo(f"writes waited {done.paused_seconds:.1f} s")
    else:
        click.echo(f"exported: {', '.join(done.clients) or 'no client'}")


async def _back_up(folder: Path, settings: Settings) -> BackedUp:
    from graphmem.cli.running import show_progress
    from graphmem.model.times import present
    from graphmem.server.backup import Manifest, begin_backup, check_apart, end_backup
    from graphmem.server.folder import note_backup

    began, made_at = time.perf_counter(), present()
    if not settings.neo4j_uri:
        check_apart(folder, settings.data_dir)
    begin_backup(folder)
    with show_progress() as progress:
        if settings.neo4j_uri:
            kind: Literal["store", "exports"] = "exports"
            clients, files, neo4j, paused = *await _export_all(folder, settings, progress), "", 0.0
        else:
            kind, clients = "store", []
            files, neo4j, paused = await _copy(folder, settings, progress)
    end_backup(folder, Manifest(kind=kind, made_at=made_at, neo4j=neo4j, files=files))
    if kind == "store":
        note_backup(settings.data_dir, folder, made_at)
    return BackedUp(
        kind=kind,
        files=len(files),
        bytes=sum(one.size for one in files),
        clients=clients,
        paused_seconds=paused,
        seconds=round(time.perf_counter() - began, 3),
    )


async def _copy(
    folder: Path, settings: Settings, progress: "Progress"
) -> tuple[list["BackupFile"], str, float]:
    """Copy the store of the private Neo4j; return the files, its version, and how long writes waited."""
    from graphmem.server.backup import copy_store
    from graphmem.server.private import status

    running = status(settings.data_dir)
    copied = await copy_store(settings.data_dir, folder, progress=progress)
    return copied.files, running.version if running else "", copied.paused_seconds


async def _export_all(
    folder: Path, settings: Settings, progress: "Progress"
) -> tuple[list[str], list["BackupFile"]]:
    """Export each client of the database into a file; return the clients and the files."""
    from graphmem.clients import client_ids
    from graphmem.exports.lines import check
    from graphmem.places import at_home
    from graphmem.runtime import running
    from graphmem.server.backup import STORE, described

    clients: list[str] = []
    files = []
    async with running(at_home(settings), progress) as runtime:
        async for client_id in client_ids(runtime.graph):
            progress(f"exporting {client_id}")
            # Not by its name: some disks tell no capital letters from small ones.
            path = folder / STORE / f"{len(clients):06d}.jsonl"
            await _export(runtime, client_id, path)
            check(path)
            clients.append(client_id)
            files.append(described(path, folder))
            progress(f"exporting {client_id}", 1, 1)
    return clients, files


async def _export(runtime: "Runtime", client_id: str, path: Path) -> None:
    from graphmem.client import Graphmem

    pages = await Graphmem(runtime, client_id).export()
    with open_from(path, 0) as file:
        await write_pages(pages, file)


@click.command(cls=Command, epilog=EPILOG_OF_RESTORE)
@click.argument(
    "folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--replace", is_flag=True, help="Put a store that is there already aside.")
@click.option("--json", "as_json", is_flag=True, help="Print what was restored as JSON.")
@settings_options(*RUNNING)
def restore(folder: Path, replace: bool, as_json: bool, settings: Settings) -> None:
    """Bring back what `graphmem backup` has copied into DIR."""
    from graphmem.cli.running import run

    done = run(_restore(folder, replace, settings))
    if as_json:
        say_json(done)
    else:
        _show_restored(done)


def _show_restored(done: Restored) -> None:
    click.echo(f"{counted(done.memories, 'memory')}, as of {done.made_at:%Y-%m-%d %H:%M:%S} UTC")
    for client_id in done.left_alone:
        click.echo(f"client {client_id} has something already and was left as it is")
    for client_id, reason in done.legal_holds.items():
        click.echo(held(f"client {client_id}", reason))
    if done.put_aside:
        click.echo(f"the former store is in {done.put_aside}")


async def _restore(folder: Path, replace: bool, settings: Settings) -> Restored:
    from graphmem.cli.running import show_progress
    from graphmem.errors import InvalidInput
    from graphmem.graph.inspection import COUNTED_MEMORIES
    from graphmem.model.times import present
    from graphmem.places import at_home
    from graphmem.runtime import running
    from graphmem.server.backup import check_backup, read_manifest, restore_store

    manifest, aside = read_manifest(folder), None
    left, holds = list[str](), dict[str, str]()
    if manifest.kind == "store" and settings.neo4j_uri:
        raise InvalidInput(
            str(folder),
            "is a copy of a private Neo4j's store: unset GRAPHMEM_NEO4J_URI to restore it",
        )
    with show_progress() as progress:
        if manifest.kind == "store":
            aside = await restore_store(
                settings.data_dir, folder, replace=replace, now=present(), progress=progress
            )
        else:
            await asyncio.to_thread(check_backup, manifest, folder, progress)
        # It is restored only once it opens: Neo4j recovers, and the schema is brought up to date.
        with _copied(manifest):
            async with running(at_home(settings), progress) as runtime:
                if manifest.kind == "exports":
                    left, holds = await _import_all(manifest, folder, runtime, progress)
                [counted_] = await runtime.graph.rows(COUNTED_MEMORIES)
    return Restored(
        kind=manifest.kind,
        made_at=manifest.made_at,
        memories=counted_.memories,
        left_alone=left,
        put_aside=str(aside) if aside else None,
        legal_holds=holds,
    )


@contextmanager
def _copied(manifest: "Manifest") -> Iterator[None]:
    """Have a failure of the start say what it does not concern: the copy, and that the next start goes on."""
    from graphmem.errors import ServerFailed, StoreUnreadable

    try:
        yield
    except StoreUnreadable:
        raise
    except ServerFailed as problem:
        if manifest.kind != "store":
            raise
        raise ServerFailed(
            f"the copy is whole, and the next `graphmem serve` goes on with it; but now {problem}"
        ) from problem


async def _import_all(
    manifest: "Manifest", folder: Path, runtime: "Runtime", progress: "Progress"
) -> tuple[list[str], dict[str, str]]:
    """Import the exports of a backup; return the clients that had something already, and the legal holds."""
    from graphmem.exports.lines import header_of
    from graphmem.exports.load import ClientTaken, load

    left, holds = list[str](), dict[str, str]()
    for one in manifest.files:
        path = folder / one.path
        with path.open("rb") as file:
            client_id = header_of(file.readline()).client_id
        try:
            loaded = await load(path, runtime.context(client_id), progress)
        except ClientTaken:
            left.append(client_id)
        else:
            if loaded.legal_hold is not None:
                holds[client_id] = loaded.legal_hold
    return left, holds
