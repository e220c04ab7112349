"""A statement's answer as a table, as CSV or as JSON."""

import csv
import io
import sys
from collections.abc import Callable, Mapping
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from graphmem.cli.showing import harmless, say_json
from graphmem.exploring.types import Table
from graphmem.model.validation import counted

CELL_CHARACTERS = 500
"""The number of characters of a value that a table shows; CSV and JSON show all of it."""

PIPED_COLUMNS = 160
"""The width of a table in characters, without a terminal."""


def show_grid(table: Table) -> None:
    """Print a table, and below it the number of rows and the time."""
    if table.columns:
        grid = Grid(show_lines=False, header_style="bold")
        for column in table.columns:
            grid.add_column(Text(harmless(column)), overflow="fold")
        for row in table.rows:
            grid.add_row(*(_shown(row[column]) for column in table.columns))
        console = Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS, highlight=False)
        console.print(grid)
    click.echo(cost(table))


def show_csv(table: Table) -> None:
    """Print a header and a line for each row: null is empty, texts are plain, other values JSON."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow([_flat(row[column]) for column in table.columns])
    click.echo(written.getvalue(), nl=False)
    if table.truncated:
        click.echo(cost(table), err=True)


def show_json(table: Table) -> None:
    """Print the API's answer in one line."""
    say_json(table)


SHOWING: Mapping[str, Callable[[Table], None]] = {
    "table": show_grid,
    "csv": show_csv,
    "json": show_json,
}


def cost(table: Table) -> str:
    """Return the number of rows, whether there are more, and the time."""
    rows = counted(len(table.rows), "row")
    more = ", and there is more: raise --max-rows, or ask for less" if table.truncated else ""
    return f"{rows}{more} · {table.milliseconds:.0f} ms"


def _shown(value: Any) -> Text:
    if value is None:
        return Text("null", style="dim")
    flat = harmless(_flat(value))
    return Text(flat if len(flat) <= CELL_CHARACTERS else f"{flat[: CELL_CHARACTERS - 1]}…")


def _flat(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return msgspec.json.encode(value).decode()
