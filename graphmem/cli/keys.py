"""`graphmem keys`: make, list and revoke the keys of a keys file."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from graphmem.cli.options import Command, checked_id, settings_options
from graphmem.cli.showing import say_json
from graphmem.config import Settings, variable
from graphmem.errors import SettingError
from graphmem.model.validation import counted
from graphmem.model.vocabulary import MOST_READS

if TYPE_CHECKING:
    from graphmem_api.keys import KeyEntry

ROLES = ("reader", "analyst", "agent", "operator")

EPILOG = """\b
The file of --keys-file (GRAPHMEM_KEYS_FILE) holds one line for each key, with its SHA-256 and not the key;
`graphmem serve` with the same setting obeys it, and each change of it, from the next request on.

\b
A reader asks and reads memories of its client, and changes nothing. An analyst also reads patterns, the
graph, explanations, runs, reviews, jobs and the export of its client, and verifies what is forgotten. An
agent also writes and deletes. An operator also sees what concerns all clients: their list, metrics, legal
holds and Cypher.

\b
Examples:
  graphmem keys create acme --keys-file keys.txt
  KEY=$(graphmem keys create acme --role reader --days 90 --keys-file keys.txt)
  graphmem keys create alice --reads team,handbook --keys-file keys.txt
  graphmem keys list --keys-file keys.txt
  graphmem keys revoke 3f0c9a525d0e --keys-file keys.txt
"""

LONGEST_DAYS = 36_500

REVOKED_ID = re.compile(r"[0-9a-fA-F]{6,64}")


class KeyShown(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key as people see it; `key` itself only when it is made."""

    id: str
    client: str
    role: str
    created: datetime | None
    expires: datetime | None
    expired: bool
    reads: list[str] = []
    key: str | None = None


class ShownKeys(Struct, frozen=True):
    """The keys of a file."""

    keys: list[KeyShown]


@click.group(epilog=EPILOG)
def keys() -> None:
    """Make, list and revoke keys of the API."""


def _checked_key_id(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    if not REVOKED_ID.fullmatch(value):
        raise click.BadParameter("`graphmem keys list` shows ids; at least 6 characters are needed")
    return value


def _checked_reads(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(value.split(","))) if value is not None else ()
    for name in names:
        checked_id(context, parameter, name)
    if len(names) > MOST_READS:
        raise click.BadParameter(f"at most {MOST_READS} clients, separated by commas")
    return names


@keys.command(cls=Command)
@click.argument("client_id", metavar="CLIENT", callback=checked_id)
@click.option(
    "--role", type=click.Choice(ROLES), default="agent", show_default=True, help="What it may do."
)
@click.option(
    "--reads",
    metavar="CLIENTS",
    callback=_checked_reads,
    help="Other clients, separated by commas, that recall and searches read beside its own.",
)
@click.option(
    "--days",
    type=click.IntRange(1, LONGEST_DAYS),
    help="How long it is valid.  [default: until it is revoked]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@settings_options("keys_file")
def create(
    *,
    client_id: str,
    role: Any,
    reads: tuple[str, ...],
    days: int | None,
    as_json: bool,
    settings: Settings,
) -> None:
    """Make a key for a client, and print it: it is shown this once."""
    from graphmem_api.keys import RequestClient, create_key

    path, now = _path(settings), datetime.now(UTC).replace(microsecond=0)
    expires_in = timedelta(days=days) if days else None
    others = tuple(one for one in reads if one != client_id)
    client = RequestClient(client_id, role, others)
    key, entry = create_key(path, client, expires_in=expires_in, now=now)
    if as_json:
        say_json(_shown(entry, now, key))
        return
    click.echo(key)
    until = f"until {entry.expires:%Y-%m-%d %H:%M} UTC" if entry.expires else "until it is revoked"
    beside = f" that also reads {', '.join(others)}" if others else ""
    click.echo(
        f"a key of {client_id} for the role {role}{beside}, {until}; its id is {entry.id}. It is shown only "
        f"now: {path} holds its SHA-256",
        err=True,
    )


@keys.command(name="list", cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@settings_options("keys_file")
def list_keys(as_json: bool, settings: Settings) -> None:
    """List the keys: ids, clients, roles, times and the other clients that they read, never a key."""
    from graphmem_api.keys import read_keys

    path, now = _path(settings), datetime.now(UTC)
    shown = [_shown(entry, now) for entry in read_keys(path).values()]
    if as_json:
        say_json(ShownKeys(shown))
        return
    for one in shown:
        click.echo(f"{one.id}  {one.client}  {one.role}  {_about(one)}")
    click.echo(f"{counted(len(shown), 'key')} in {path}", err=True)


@keys.command(cls=Command)
@click.argument("id", callback=_checked_key_id)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@settings_options("keys_file")
def revoke(id: str, as_json: bool, settings: Settings) -> None:
    """Remove a key by its id: it is refused from the next request on."""
    from graphmem_api.keys import revoke_key

    shown = _shown(revoke_key(_path(settings), id), datetime.now(UTC))
    if as_json:
        say_json(shown)
    else:
        click.echo(f"the key {shown.id} of {shown.client} ({shown.role}) is revoked")


def _path(settings: Settings) -> Path:
    if settings.keys_file is None:
        raise SettingError(
            variable("keys_file"), "name the keys file, with this variable or with --keys-file"
        )
    return settings.keys_file


def _shown(entry: "KeyEntry", now: datetime, key: str | None = None) -> KeyShown:
    return KeyShown(
        id=entry.id,
        client=entry.client.id,
        role=entry.client.role,
        created=entry.created,
        expires=entry.expires,
        expired=entry.has_expired(now),
        reads=list(entry.client.reads),
        key=key,
    )


def _about(one: KeyShown) -> str:
    told = [f"made {one.created:%Y-%m-%d}"] if one.created else []
    if one.expires:
        told.append(f"{'EXPIRED' if one.expired else 'expires'} {one.expires:%Y-%m-%d %H:%M} UTC")
    if one.reads:
        told.append(f"reads {' '.join(one.reads)}")
    return ", ".join(told)
