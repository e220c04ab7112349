"""`graphmem migrate` and `graphmem reembed`: bring the schema up to date, or change the embedding model."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import click

from graphmem.cli.options import RUNNING, Command, settings_options
from graphmem.cli.showing import say_json
from graphmem.config import Settings
from graphmem.errors import ModelMismatch
from graphmem.model.progress import Progress

if TYPE_CHECKING:
    from graphmem.embedding import Embedder
    from graphmem.graph.driver import Graph
    from graphmem.graph.installation import Change, EmbeddingModel, Installation
    from graphmem.graph.schema import Migrated

LOOK_SECONDS = 0.5

STAGES = {
    "announced": "waiting until every process has the model",
    "embedding": "embedding the memories again",
    "switched": "waiting, up to a minute, until every process has switched",
    "cleaning": "removing the former embeddings",
}

EPILOG = """\b
Searches use the former model until every memory has its new embedding; then every process switches
within a minute. Leave GRAPHMEM_EMBEDDING_MODEL of running processes as it is, and set it to the new
model after this command has ended.

A running `graphmem serve` does the work too, and continues when this command is stopped. The command
can be repeated: it continues the work.

\b
Examples:
  graphmem reembed --embedding-model BAAI/bge-base-en-v1.5
  GRAPHMEM_EMBEDDING_MODEL=./my-model graphmem reembed
  graphmem reembed --no-wait
  graphmem reembed --cancel
"""


@click.command(cls=Command, epilog=EPILOG)
@click.option("--cancel", is_flag=True, help="Give up a change that has not switched yet.")
@click.option("--no-wait", is_flag=True, help="Only ask for it: `graphmem serve` does the work.")
@settings_options(*RUNNING)
def reembed(cancel: bool, no_wait: bool, settings: Settings) -> None:
    """Embed all memories with the model of the settings, while they are searched."""
    from graphmem.cli.running import run

    click.echo(run(_cancel(settings) if cancel else _reembed(settings, wait=not no_wait)))


async def _reembed(settings: Settings, *, wait: bool) -> str:
    from graphmem.cli.running import show_progress
    from graphmem.runtime import database

    with show_progress() as progress:
        # The database stays open, so that a private one is not started twice.
        async with AsyncExitStack() as opened:
            async with _embedder(settings, progress) as embedder:
                graph = await opened.enter_async_context(database(settings, progress))
                stored = await _ask(embedder, settings, graph)
            if stored.change is None:
                return f"the memories are embedded with {stored.embedding_model} already"
            if not wait:
                return f"{stored.change.wanted.name} is asked for: `graphmem doctor` says how far it is"
            await _work(stored.change.wanted, settings, progress)
    return f"the memories are embedded with {stored.change.wanted.name}"


async def _cancel(settings: Settings) -> str:
    from graphmem.cli.running import show_progress
    from graphmem.context import random_id
    from graphmem.graph.installation import installation
    from graphmem.model.times import present
    from graphmem.reembedding import give_up
    from graphmem.runtime import database

    with show_progress(transient=True) as progress:
        async with database(settings, progress) as graph:
            given_up = await give_up(id=random_id(), now=present(), graph=graph)
            stored = await installation(graph)
    if given_up:
        return "the change is given up"
    told = "no change is under way that could be given up"
    return f"{told}: the memories are embedded with {stored.embedding_model}" if stored else told


@asynccontextmanager
async def _embedder(settings: Settings, progress: Progress) -> "AsyncIterator[Embedder]":
    """Load the model of the settings for the length of the block, before a database is started for it.

    Raises `SettingError`, `FetchFailed`.
    """
    from graphmem.embedding import Embedder, load_model

    progress("loading the embedding model")
    embedder = Embedder(await asyncio.to_thread(load_model, settings, progress))
    progress("loading the embedding model", 1, 1)
    try:
        yield embedder
    finally:
        await embedder.close()


async def _ask(embedder: "Embedder", settings: Settings, graph: "Graph") -> "Installation":
    """Ask for the model of the settings; a new one is measured first."""
    from graphmem.context import random_id
    from graphmem.model.times import present
    from graphmem.reembedding import ask
    from graphmem.retrieval.relevance import measure
    from graphmem.serving import described

    return await ask(
        described(embedder.model, settings),
        lambda: measure(embedder),
        id=random_id(),
        now=present(),
        graph=graph,
    )


async def _work(wanted: "EmbeddingModel", settings: Settings, progress: Progress) -> None:
    """Work on the change, beside other processes, and show its progress until it ends."""
    from graphmem.background import WORK, Background
    from graphmem.graph.installation import installation
    from graphmem.places import at_home
    from graphmem.reembedding import REEMBED
    from graphmem.runtime import running

    async with running(at_home(settings), progress) as runtime:
        background = Background(runtime, {REEMBED: WORK[REEMBED]})
        background.start()
        stages = ChangeStages(progress)
        try:
            while (stored := await installation(runtime.graph)) and stored.change:
                stages.show(stored.change)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            await background.end()
        stages.end()
    if stored is None or not stored.model.is_like(wanted):
        raise ModelMismatch("the change was given up while it was waited for")


class ChangeStages:
    """Shows the states of a change as stages of progress, one after the other."""

    def __init__(self, progress: Progress) -> None:
        """Begin with no stage."""
        self._progress = progress
        self._stage = ""

    def show(self, change: "Change") -> None:
        """Show the progress of a change; a new state ends the stage before."""
        stage = STAGES[change.state]
        if self._stage != stage:
            self.end()
            self._stage = stage
        self._progress(stage, min(change.done, change.total - 1), change.total)

    def end(self) -> None:
        """End the current stage, if any."""
        if self._stage:
            self._progress(self._stage, 1, 1)
        self._stage = ""


MIGRATE_EPILOG = """\b
Every start does this too. The command prepares a database before an upgrade is rolled out.

\b
Examples:
  graphmem migrate
  graphmem migrate --neo4j-uri bolt://db.internal:7687 --json
"""


@click.command(cls=Command, epilog=MIGRATE_EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print both as JSON.")
@settings_options(*RUNNING)
def migrate(as_json: bool, settings: Settings) -> None:
    """Bring the database's schema up to date; print the applied files, and the indexes that were missing."""
    from graphmem.cli.running import run

    done = run(_migrate(settings))
    applied = [file.name for file in done.applied]
    if as_json:
        say_json({"applied": applied, "created": done.created, "missing": done.missing})
    else:
        for what, names in (("applied", applied), ("created what was missing:", done.created)):
            if names:
                click.echo(f"{what} {', '.join(names)}")
        if not (applied or done.created or done.missing):
            click.echo("the schema is up to date")
    if done.missing:
        # The log has named what.
        click.get_current_context().exit(1)


async def _migrate(settings: Settings) -> "Migrated":
    from graphmem.cli.running import show_progress
    from graphmem.runtime import database
    from graphmem.serving import described, open_graph

    with show_progress(transient=True) as progress:
        # The vector index has the model's dimensions.
        async with (
            _embedder(settings, progress) as embedder,
            database(settings, progress) as graph,
        ):
            found = await open_graph(graph, described(embedder.model, settings), progress)
    return found.schema
