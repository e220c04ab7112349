"""`graphmem serve`: the API over HTTP."""

import click

from graphmem.cli.options import LISTENING, RUNNING, Command, settings_options
from graphmem.config import Settings

EPILOG = """\b
Without --keys-file only this machine may call, and X-Client-Id says whose memory is meant. With it
`Authorization: Bearer KEY` decides, and any address may be listened on.

/metrics needs no key on this machine; from elsewhere, or through a proxy, one of the role operator.
The OTEL_… variables send spans where `pip install 'graphmem[otel]'` was run.

\b
Examples:
  graphmem serve
  graphmem serve --port 9000 --data-dir ./memory
  graphmem serve --host 0.0.0.0 --keys-file keys.txt
  GRAPHMEM_NEO4J_PASSWORD=secret graphmem serve --neo4j-uri bolt://db.internal:7687
"""


@click.command(cls=Command, epilog=EPILOG)
@settings_options(*LISTENING, *RUNNING)
def serve(settings: Settings) -> None:
    """Serve the API until Ctrl-C."""
    from graphmem.cli.running import run

    run(_served(settings))


async def _served(settings: Settings) -> None:
    import graphmem_api.serve

    from graphmem.cli.progress import shown

    with shown() as progress:
        await graphmem_api.serve.serve(settings, progress, _say_where)


def _say_where(url: str) -> None:
    click.echo(f"graphmem listens on {url} (Ctrl-C ends it)")
    click.echo(f"the API, to read and to try: {url}/schema")
