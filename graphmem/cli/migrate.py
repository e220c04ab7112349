"""`graphmem migrate`: bring the database's schema up to date."""

import asyncio

import click

from graphmem.cli.options import RUNNING, Command, settings_options
from graphmem.cli.showing import say_json
from graphmem.config import Settings

EPILOG = """\b
Every start does this too. The command prepares a database before an upgrade is rolled out.

\b
Examples:
  graphmem migrate
  graphmem migrate --neo4j-uri bolt://db.internal:7687 --json
"""


@click.command(cls=Command, epilog=EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print the applied files as JSON.")
@settings_options(*RUNNING)
def migrate(as_json: bool, settings: Settings) -> None:
    """Bring the database's schema up to date, and print the applied files."""
    from graphmem.cli.running import run

    applied = run(_migrate(settings))
    if as_json:
        say_json({"applied": applied})
    elif applied:
        click.echo(f"applied {', '.join(applied)}")
    else:
        click.echo("the schema is up to date")


async def _migrate(settings: Settings) -> list[str]:
    from graphmem.cli.running import show_progress
    from graphmem.embedding import load_model
    from graphmem.runtime import database
    from graphmem.serving import described, open_graph

    with show_progress(transient=True) as progress:
        async with database(settings, progress) as graph:
            # The vector index has the model's dimensions.
            model = await asyncio.to_thread(load_model, settings, progress)
            found = await open_graph(graph, described(model, settings), progress)
    return [file.name for file in found.applied]
