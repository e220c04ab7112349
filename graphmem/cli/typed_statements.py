"""Statements typed in a terminal: cut apart, run, and their answers printed as a table, CSV or JSON."""

import csv
import io
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
import msgspec
from msgspec import Struct
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from graphmem.cli.showing import harmless, say_json
from graphmem.client import DEFAULT_CLIENT
from graphmem.context import random_id
from graphmem.errors import CypherMistake, CypherRefused, InvalidInput
from graphmem.exploring.running import run_statement
from graphmem.exploring.types import CypherAsked, Sender, Table
from graphmem.exploring.words import place_of, words
from graphmem.graph.driver import Graph
from graphmem.graph.statements import Statements
from graphmem.jobs.afterwards import Afterwards
from graphmem.model.times import present
from graphmem.model.validation import counted, validated

_SAID_TWICE = re.compile(r" \(line \d+, column \d+ \(offset: \d+\)\)$")
"""Neo4j's position is relative to the statement; ours is relative to the whole input."""

CONTEXT_CHARACTERS = 60
"""The number of characters of a long line that are shown on either side of the mark."""

CELL_CHARACTERS = 500
"""The number of characters of a value that a table shows; CSV and JSON show all of it."""

PIPED_COLUMNS = 160
"""The width of a table in characters, without a terminal."""


class TypedStatement(Struct, frozen=True):
    """One statement, its position in the input, and whether a `;` ends it."""

    text: str
    start: int
    is_ended: bool


def statements(typed: str) -> list[TypedStatement]:
    """Return the statements of a text; a `;` in a string, a comment or a quoted name ends none."""
    ends = [word.start for word in words(typed) if (word.kind, word.text) == ("sign", ";")]
    found = []
    for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(typed)], strict=True):
        piece = typed[start:end]
        if words(piece):
            blank = len(piece) - len(piece.lstrip())
            found.append(TypedStatement(piece.strip(), start + blank, is_ended=end < len(typed)))
    return found


def parameter(given: str) -> tuple[str, Any]:
    """Return the name and the value of `name=JSON`. Raises `InvalidInput`."""
    name, sign, value = given.partition("=")
    name = name.strip()
    if not sign or not re.fullmatch(r"\w+", name):
        raise InvalidInput("param", "expected name=JSON, for example 'limit=10' or 'name=\"Mara\"'")
    try:
        return name, msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeEncodeError) as problem:
        raise InvalidInput(
            f"param {name}", f"{value[:40]!r} is not JSON; a text needs double quotes"
        ) from problem


def marked(problem: str, typed: str, offset: int | None) -> str:
    """Return a sentence with the line and column of a mistake, and a caret below it."""
    if offset is None:
        return problem
    place = place_of(typed, min(offset, len(typed)))
    line = typed.split("\n")[place.line - 1].rstrip("\r")
    at = place.column - 1
    begin, end = max(at - CONTEXT_CHARACTERS, 0), at + CONTEXT_CHARACTERS
    shown = "".join(char if char.isprintable() else " " for char in line[begin:end])
    return (
        f"{problem} (line {place.line}, column {place.column})\n  {shown}\n  {' ' * (at - begin)}^"
    )


class Wrong(click.ClickException):
    """A statement was refused or is wrong; the sentence names the position."""

    exit_code = 2


class Terminal:
    """Runs statements on one database, within limits, with the parameters that are set; prints the answers.

    A mistake is shown with its position.
    """

    def __init__(
        self,
        graph: Graph,
        afterwards: Afterwards,
        limits: Mapping[str, int],
        parameters: dict[str, Any],
        statements: Statements,
    ) -> None:
        self.graph = graph
        self._afterwards = afterwards
        self._statements = statements
        self._limits = limits
        self.parameters = parameters

    async def show(self, found: Sequence[TypedStatement], typed: str, shape: str) -> None:
        """Print the answers of the statements of the input, in order. Raises the errors of `run`."""
        for one in found:
            SHOWING[shape](await self.run(one.text, within=typed, start=one.start))

    async def run(self, text: str, *, within: str, start: int) -> Table:
        """Return a statement's answer; a mistake is shown in the text, where the statement begins at `start`.

        Raises `Wrong`, `InvalidInput`, `TookTooLong`, `TookTooMuch`, `TooManyStatements`, `Unavailable`.
        """
        sender = Sender(id=random_id(), client_id=DEFAULT_CLIENT, at=present(), via="shell")
        try:
            fields = {"query": text, "parameters": self.parameters, **self._limits}
            sent = validated(fields, CypherAsked)
            return await run_statement(
                sent,
                sender,
                graph=self.graph,
                afterwards=self._afterwards,
                statements=self._statements,
            )
        except (CypherMistake, CypherRefused) as problem:
            sentence = _SAID_TWICE.sub("", str(problem).removeprefix("query: ").partition("\n")[0])
            offset = None if problem.offset is None else start + problem.offset
            raise Wrong(marked(sentence, within, offset)) from problem


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
    """Print a header and a line for each row: null is empty, texts are plain, other values JSON.

    On a terminal control characters are replaced; a file or a pipe gets them as they are stored.
    """
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow([_flat(row[column]) for column in table.columns])
    click.echo(harmless(written.getvalue()), nl=False)
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
