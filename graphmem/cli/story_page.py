"""The demo on stdout: for people a page of text, for programs lines of JSON."""

import json
import shutil
import textwrap
from collections.abc import Iterator

import click

from graphmem.cli.showing import cost, counted, harmless, left_out, say_json
from graphmem.cli.story import CLIENT, Answered, Told

WIDEST = 100
SHOWN_OMITTED = 3
ASK_TOO = "Is session affinity still set in deploy/ingress.yaml?"


class Machine:
    """The demo for a program: a line of JSON for what was told, and one for where it listens."""

    def show(self, told: Told) -> None:
        """Print what was told."""
        say_json(told)

    def say_taken(self, port: int) -> None:
        """Tell a person that another port is taken."""
        click.echo(f"port {port} is taken: taking a free one", err=True)

    def show_where(self, url: str, *, keys: bool) -> None:
        """Print where the API listens."""
        say_json({"url": url, "client_id": CLIENT, "keys": keys})


class Page:
    """The demo for a person."""

    def show(self, told: Told) -> None:
        """Print what was told."""
        click.echo()
        click.secho("graphmem: the memory that agents deserve", bold=True)
        click.echo(f"{told.title}: {counted(told.messages, 'message')} in Neo4j.")
        for answer in told.answers:
            _show_answer(answer)

    def say_taken(self, port: int) -> None:
        """Say that another port is taken."""
        click.echo(f"\nPort {port} is taken by another program: taking a free one.")

    def show_where(self, url: str, *, keys: bool) -> None:
        """Say where the API listens, and what to try."""
        click.secho(f"\nServing on {url} until Ctrl-C", bold=True)
        click.echo(
            f"  the API, to read and to try: {url}/schema\n  ask it from another terminal:\n"
        )
        click.echo(f"{_curl(url, keys=keys)}\n")


def _show_answer(answer: Answered) -> None:
    asked, recalled = answer.asked, answer.recalled
    click.echo()
    click.secho(f"? {asked.query}", fg="cyan", bold=True)
    click.echo(f"  the best context within {counted(asked.max_tokens, 'token')}:\n")
    for line in _wrapped(harmless(recalled.context)):
        click.echo(click.style("  │ ", dim=True) + click.style(line, bold=line.startswith("## ")))
    click.echo()
    spent = cost(recalled, asked.max_tokens, answer.milliseconds)
    click.secho(f"  {spent} (again: {answer.milliseconds_again:.0f} ms)", fg="green")
    for omitted in recalled.omitted[:SHOWN_OMITTED]:
        click.secho(f"  left out: {left_out(omitted)}", dim=True)
    more = recalled.omitted_total - SHOWN_OMITTED
    if more > 0:
        click.secho(f"  … and {more:,} more", dim=True)


def _wrapped(context: str) -> Iterator[str]:
    width = min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST) - 4
    for line in context.rstrip("\n").split("\n"):
        yield from textwrap.wrap(line, width, subsequent_indent="  ") or [""]


def _curl(url: str, *, keys: bool) -> str:
    header = "Authorization: Bearer YOUR-KEY" if keys else f"X-Client-Id: {CLIENT}"
    body = json.dumps({"query": ASK_TOO, "max_tokens": 300})
    return (
        f"curl -s {url}/api/v0/recall -H '{header}' \\\n"
        f"  -H 'Content-Type: application/json' -d '{body}'"
    )
