"""`graphmem doctor`: find problems, and name their remedies."""

import stat
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from graphmem.cli.options import RUNNING, Command, settings_options
from graphmem.cli.showing import say_json
from graphmem.config import Settings
from graphmem.doctor.findings import SEVERITIES, Examination, Finding
from graphmem.errors import SettingError
from graphmem.model.validation import counted

if TYPE_CHECKING:
    from graphmem_api.keys import KeyEntry

MARKS = {"ok": "✓", "note": "·", "warning": "!", "problem": "✗"}
SOON = timedelta(days=7)
COLOURS = {"ok": "green", "note": "cyan", "warning": "yellow", "problem": "red"}

EPILOG = """\b
It changes nothing. Its exit code is 0 without problems, and 1 otherwise. It starts the private Neo4j only
with --start.

\b
Examples:
  graphmem doctor
  graphmem doctor --start
  graphmem doctor --json | jq '.findings[] | select(.severity == "problem")'
"""


@click.command(cls=Command, epilog=EPILOG)
@click.option("--start", is_flag=True, help="Start the private Neo4j if it does not run.")
@click.option("--json", "as_json", is_flag=True, help="Print the examination as JSON.")
@settings_options("host", "keys_file", "limits_file", *RUNNING)
def doctor(start: bool, as_json: bool, settings: Settings) -> None:
    """Find problems, and name their remedies."""
    from graphmem.cli.running import run

    examination = run(_examine(settings, start=start))
    if as_json:
        say_json(examination)
    else:
        _show(examination)
    if not examination.healthy:
        raise click.exceptions.Exit(1)


async def _examine(settings: Settings, *, start: bool) -> Examination:
    from graphmem.cli.running import show_progress
    from graphmem.doctor.examination import examine
    from graphmem.doctor.server import places

    with show_progress(transient=True) as progress:
        examination = await examine(settings, start=start, progress=progress)
    findings = listening(settings) + limits(settings) + await places(settings)
    findings += examination.findings
    return Examination(
        healthy=not any(finding.severity == "problem" for finding in findings),
        findings=findings,
        connection=examination.connection,
    )


def listening(settings: Settings) -> list[Finding]:
    """Check who has access: the listening address, and the keys file."""
    from graphmem_api.clients import check_listener
    from graphmem_api.keys import WRITABLE_BY_OTHERS, read_keys

    from graphmem.doctor.findings import note, ok, refused, warning

    try:
        check_listener(settings)
        if settings.keys_file is None:
            return [ok("keys", "without a keys file, only this machine may ask")]
        keys = read_keys(settings.keys_file)
    except SettingError as error:
        return [refused("keys", error)]
    findings = [ok("keys", f"{counted(len(keys), 'key')} in {settings.keys_file}")]
    if not keys:
        findings = [
            note("keys", f"{settings.keys_file} holds no key, so nobody may ask", "add one")
        ]
    findings += _expiring(list(keys.values()), settings.keys_file)
    if stat.S_IMODE(settings.keys_file.stat().st_mode) & WRITABLE_BY_OTHERS:
        what = f"{settings.keys_file} can be changed by other users: each could add a key"
        findings.append(warning("keys", what, f"chmod go-w {settings.keys_file}"))
    return findings


def limits(settings: Settings) -> list[Finding]:
    """Check the limits file: `graphmem serve` does not start with one that it cannot use."""
    from graphmem.clients import LimitsOfClients
    from graphmem.doctor.findings import ok, refused

    if settings.limits_file is None:
        return []
    try:
        LimitsOfClients(settings)
    except SettingError as error:
        return [refused("limits", error)]
    return [ok("limits", f"{settings.limits_file} can be used")]


def _expiring(keys: "Sequence[KeyEntry]", path: Path) -> list[Finding]:
    """Tell which keys have ended, and which end within a week."""
    from graphmem.doctor.findings import note, warning
    from graphmem.model.times import present

    now, found = present(), list[Finding]()
    ended = [key.id for key in keys if key.has_expired(now)]
    soon = [key.id for key in keys if key.has_expired(now + SOON) and key.id not in ended]
    remedy = (
        f"`graphmem keys create` makes new ones, `graphmem keys revoke ID` removes one from {path}"
    )
    if ended:
        found.append(note("keys", f"have expired and get 401: {', '.join(ended)}", remedy))
    if soon:
        found.append(warning("keys", f"expire within {SOON.days} days: {', '.join(soon)}", remedy))
    return found


def _show(examination: Examination) -> None:
    for finding in examination.findings:
        mark = click.style(MARKS[finding.severity], fg=COLOURS[finding.severity], bold=True)
        click.echo(f"{mark} {finding.subject}: {finding.what}")
        if finding.remedy:
            click.echo(f"    → {finding.remedy}")
    connection = examination.connection
    if connection:
        click.echo(
            f"\nto connect: {connection.uri}, user {connection.user}, database "
            f"{connection.database}, password in {connection.credentials}"
        )
        for way in connection.ways:
            click.echo(f"    {way.program}: {way.how}")
        if connection.ways:
            from graphmem.doctor.findings import CAUTION

            click.echo(f"    {CAUTION}")
    found = Counter(finding.severity for finding in examination.findings)
    told = ", ".join(
        f"{found[one]} ok" if one == "ok" else counted(found[one], one)
        for one in reversed(SEVERITIES)
        if found[one]
    )
    click.secho(f"\n{told}", bold=True)
