"""`graphmem cypher`: statements that read, once or one after the other."""

import re
import sys
from typing import TYPE_CHECKING, Any

import click

from graphmem.cli.options import NEO4J, Command, settings_options
from graphmem.config import Settings
from graphmem.errors import CypherMistake, CypherRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphmem.cli.statements import Statement
    from graphmem.graph.driver import Graph
    from graphmem.model.cypher import Limits, Table

_SAID_TWICE = re.compile(r" \(line \d+, column \d+ \(offset: \d+\)\)$")
"""Neo4j tells a place in the statement; ours is that in all that was typed."""

EPILOG = """\b
Only statements that read are run, whatever they look like: each is judged by its plan, limited in time,
memory and rows, and kept in the audit. They see every client. Without a statement, on a terminal, a shell
begins: a statement ends with `;`, `:help` says more. What is piped in is run statement by statement.

\b
Examples:
  graphmem cypher "MATCH (m:Memory) RETURN m.kind AS kind, count(*) AS memories"
  graphmem cypher "MATCH (f:Fact {client_id: $c}) RETURN f.text" --param 'c="demo"' --csv
  graphmem cypher < questions.cypher
  graphmem cypher
"""


class Wrong(click.ClickException):
    """A statement was refused or is wrong; the sentence says where."""

    exit_code = 2


class Explorer:
    """Runs statements on one database, within limits, with the parameters that are set."""

    def __init__(self, graph: "Graph", limits: "Limits", parameters: dict[str, Any]) -> None:
        self.graph = graph
        self.limits = limits
        self.parameters = parameters

    async def show(self, found: "Sequence[Statement]", typed: str, shape: str) -> None:
        """Print what the statements found in what was typed answer, one after the other. Raises as `run`."""
        from graphmem.cli.tables import SHOWING

        for one in found:
            SHOWING[shape](await self.run(one.text, within=typed, start=one.start))

    async def run(self, text: str, *, within: str = "", start: int = 0) -> "Table":
        """Return what a statement answers; where it stands `within` a text, that is where it is wrong.

        Raises `Wrong`, `InvalidInput`, `TookTooLong`, `TookTooMuch`, `Unavailable`.
        """
        from graphmem.cli.statements import marked
        from graphmem.exploring import Asked, explore
        from graphmem.service.bound import DEFAULT_CLIENT, new_id, now

        asked = Asked(id=new_id(), client_id=DEFAULT_CLIENT, at=now(), via="shell")
        try:
            return await explore(
                text, self.parameters, limits=self.limits, asked=asked, graph=self.graph
            )
        except (CypherMistake, CypherRefused) as problem:
            sentence = _SAID_TWICE.sub("", str(problem).removeprefix("query: ").partition("\n")[0])
            offset = None if problem.offset is None else start + problem.offset
            raise Wrong(marked(sentence, within or text, offset)) from problem


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
@settings_options(*NEO4J)
def cypher(
    *,
    statement: str | None,
    param: tuple[str, ...],
    as_json: bool,
    as_csv: bool,
    max_rows: int,
    timeout: float,
    settings: Settings,
) -> None:
    """Explore the graph with Cypher that only reads: a STATEMENT, what is piped in, or a shell."""
    from graphmem.cli.running import run
    from graphmem.cli.statements import parameter
    from graphmem.model.cypher import Limits

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    parameters = dict(parameter(one) for one in param)
    limits = Limits(max_rows=max_rows, timeout_ms=max(round(1000 * timeout), 1))
    shape = "json" if as_json else "csv" if as_csv else "table"
    typed = statement if statement is not None else _piped()
    run(_explored(typed, limits, parameters, shape, settings))


def _piped() -> str | None:
    """Return what is piped in; None where a terminal waits."""
    if sys.stdin.isatty():
        return None
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Wrong("what is piped in is not UTF-8") from problem


async def _explored(
    typed: str | None,
    limits: "Limits",
    parameters: dict[str, Any],
    shape: str,
    settings: Settings,
) -> None:
    from graphmem.cli.progress import shown
    from graphmem.cli.statements import statements
    from graphmem.runtime import database

    found = [] if typed is None else statements(typed)
    if typed is not None and not found:
        raise Wrong('no statement: try "MATCH (n) RETURN count(n)"')
    with shown(transient=True) as progress:
        async with database(settings, progress) as graph:
            explorer = Explorer(graph, limits, parameters)
            if typed is None:
                from graphmem.cli.cypher_shell import converse

                await converse(explorer, shape)
            await explorer.show(found, typed or "", shape)
