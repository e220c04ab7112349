"""`graphmem stop`: stop the private Neo4j of a data folder."""

import click

from graphmem.cli.options import Command, settings_options
from graphmem.cli.showing import say_json
from graphmem.config import Settings

EPILOG = """\b
The last command that uses the private Neo4j stops it; one that was killed may leave it running.

\b
Examples:
  graphmem stop
  graphmem stop --data-dir ./memory --json
"""


@click.command(cls=Command, epilog=EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print whether one ran as JSON.")
@settings_options("data_dir")
def stop(as_json: bool, settings: Settings) -> None:
    """Stop the private Neo4j that was left running in the data folder."""
    from graphmem.cli.running import run
    from graphmem.server import private

    stopped = run(private.stop(settings.data_dir))
    if as_json:
        say_json({"stopped": stopped, "data_dir": str(settings.data_dir)})
    elif stopped:
        click.echo(f"the private Neo4j of {settings.data_dir} is stopped")
    else:
        click.echo(f"no private Neo4j runs in {settings.data_dir}")
