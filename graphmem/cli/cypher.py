"""`graphmem cypher`: statements that read, once or one after the other."""

import sys
from difflib import get_close_matches
from typing import Any

import click

from graphmem.cli.options import NEO4J, Command, settings_options
from graphmem.config import Settings
from graphmem.graph.query import expanded, names, read

EPILOG = """\b
Only statements that read are run, whatever they look like: each is judged by its plan, limited in time,
memory and rows, and kept in the audit. They see every client. Without a statement, on a terminal, a shell
begins: a statement ends with `;`, `:help` says more. What is piped in is run statement by statement.

\b
Examples:
  graphmem cypher "MATCH (m:Memory) RETURN m.kind AS kind, count(*) AS memories"
  graphmem cypher "MATCH (f:Fact {client_id: $c}) RETURN f.text" --param 'c="demo"' --csv
  graphmem cypher < questions.cypher
  graphmem cypher --show retrieval/hop           one of its own queries, to paste and change
  graphmem cypher
"""


@click.command(cls=Command, epilog=EPILOG)
@click.argument("statement", required=False)
@click.option("--param", multiple=True, metavar="NAME=JSON", help="A parameter; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print what the API answers, a line each.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV with a header.")
@click.option(
    "--max-rows",
    type=click.IntRange(1, 50_000),
    default=1_000,
    show_default=True,
    help="So many rows at most.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.001, 60.0),
    default=10.0,
    show_default=True,
    help="Seconds until a statement is cut off.",
)
@click.option(
    "--show",
    is_flag=False,
    flag_value="",
    metavar="[NAME]",
    help="Print one of graphmem's own queries, without running it; without a name, list all.",
)
@settings_options(*NEO4J)
def cypher(
    *,
    statement: str | None,
    param: tuple[str, ...],
    as_json: bool,
    as_csv: bool,
    max_rows: int,
    timeout: float,
    show: str | None,
    settings: Settings,
) -> None:
    """Explore the graph with Cypher that only reads: a STATEMENT, piped input, or a shell."""
    if show is not None:
        if statement is not None:
            raise click.UsageError("--show prints a query and runs none: leave out the statement")
        click.echo(_own_query(show) if show else "\n".join(names()))
        return
    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")

    from graphmem.cli.running import run
    from graphmem.cli.typed_statements import parameter

    parameters = dict(parameter(one) for one in param)
    limits = {"max_rows": max_rows, "timeout_ms": max(round(1000 * timeout), 1)}
    shape = "json" if as_json else "csv" if as_csv else "table"
    typed = statement if statement is not None else _piped()
    run(_explore(typed, limits, parameters, shape, settings))


def _own_query(name: str) -> str:
    """Return the text of a query file, with its includes and with what it borrows. Raises `Wrong`."""
    if name not in names():
        from graphmem.cli.typed_statements import Wrong

        near = [one for one in names() if one.endswith(f"/{name}")]
        near = near or get_close_matches(name, names())
        hint = (
            f"perhaps {' or '.join(near)}" if near else "`graphmem cypher --show` lists all names"
        )
        raise Wrong(f"there is no query {name!r}: {hint}")
    text = expanded(name, read(name)).rstrip("\n")
    folder, _, pattern = name.rpartition("/")
    if folder == "patterns":
        from graphmem.patterns.types import header

        if lender := header(pattern, text).query:
            _, _, query = _own_query(f"{folder}/{lender}").partition("\n")
            return f"{text}\n{query}"
    return text


def _piped() -> str | None:
    """Return the piped input; None for a terminal. Raises `Wrong`."""
    from graphmem.cli.typed_statements import Wrong

    if sys.stdin.isatty():
        return None
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Wrong("what is piped in is not UTF-8") from problem


async def _explore(
    typed: str | None,
    limits: dict[str, int],
    parameters: dict[str, Any],
    shape: str,
    settings: Settings,
) -> None:
    from graphmem.cli.running import show_progress
    from graphmem.cli.typed_statements import Terminal, Wrong, statements
    from graphmem.graph.statements import Statements
    from graphmem.jobs.afterwards import Afterwards
    from graphmem.runtime import database

    found = [] if typed is None else statements(typed)
    if typed is not None and not found:
        raise Wrong('no statement: try "MATCH (n) RETURN count(n)"')
    with show_progress(transient=True) as progress:
        async with database(settings, progress) as graph, Afterwards() as afterwards:
            at_once = Statements(settings.cypher_at_once)
            terminal = Terminal(graph, afterwards, limits, parameters, at_once)
            if typed is None:
                from graphmem.cli.cypher_shell import converse

                await converse(terminal, shape)
            await terminal.show(found, typed or "", shape)
