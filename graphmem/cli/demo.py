"""`graphmem demo`: a story to ask, in one command."""

import errno
import socket
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import click
import msgspec

from graphmem.cli.options import LISTENING, RUNNING, Command, settings_options
from graphmem.config import Settings

if TYPE_CHECKING:
    from graphmem.cli.story_page import Machine, Page

EPILOG = """\b
What it fetches is kept for the next time: from the second time on it starts in seconds. The story
belongs to the client `demo`: graphmem recall "who approves deploys?" --client demo

\b
Examples:
  graphmem demo            ask the story, then serve the API until Ctrl-C
  graphmem demo --once     ask the story and end
"""


@click.command(cls=Command, epilog=EPILOG)
@click.option("--once", is_flag=True, help="End after the questions, without serving the API.")
@click.option("--json", "as_json", is_flag=True, help="Print each part as a line of JSON.")
@settings_options(*LISTENING, *RUNNING)
def demo(once: bool, as_json: bool, settings: Settings) -> None:
    """Load a story into Neo4j, ask it and follow its links, then serve the API."""
    from graphmem.cli.running import run

    run(_demonstrated(settings, once=once, as_json=as_json))


async def _demonstrated(settings: Settings, *, once: bool, as_json: bool) -> None:
    from graphmem.cli import story, story_page
    from graphmem.cli.progress import shown
    from graphmem.runtime import database

    page = story_page.Machine() if as_json else story_page.Page()
    async with AsyncExitStack() as stack:
        with shown() as progress:
            # Held to the end, so that the private server stays between asking and serving.
            await stack.enter_async_context(database(settings, progress))
            told = await story.tell(settings, progress)
        page.show(told)
        if not once:
            await _serve(settings, page)


async def _serve(settings: Settings, page: "Page | Machine") -> None:
    import graphmem_api.serve

    if _taken(settings.host, settings.port):
        page.say_taken(settings.port)
        settings = msgspec.structs.replace(settings, port=0)
    keys = settings.keys_file is not None
    await graphmem_api.serve.serve(settings, on_ready=lambda url: page.show_where(url, keys=keys))
    click.echo("stopping", err=True)


def _taken(host: str, port: int) -> bool:
    """Tell whether another program listens there already."""
    try:
        with socket.create_server((host, port)):
            return False
    except OSError as problem:
        return problem.errno == errno.EADDRINUSE
