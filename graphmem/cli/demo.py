"""`graphmem demo`: a story to ask, in one command."""

from contextlib import AsyncExitStack
from typing import Any

import click

from graphmem.cli.options import LISTENING, RUNNING, Command, settings_options
from graphmem.cli.recall import Answer, ask
from graphmem.cli.serve import say_where, with_free_port
from graphmem.cli.showing import cost, left_out, say_json, show_quoted
from graphmem.config import Settings
from graphmem.model.progress import Progress
from graphmem.model.validation import counted
from graphmem.recall.types import Question

CLIENT = "demo"
QUESTIONS = [
    Question(query=query, max_tokens=400, kinds=["message"])
    for query in (
        "Which queue carries booking events, and why was the first choice dropped?",
        "How did the price of the Harbour plan change, and why?",
    )
]
EXAMPLE = '{"query": "Is session affinity still set in deploy/ingress.yaml?", "max_tokens": 300}'

EPILOG = """\b
The story belongs to the client `demo`. Fetched files are kept: the next start takes seconds.

\b
Examples:
  graphmem demo --once
  graphmem recall "who approves deploys?" --client demo
"""


@click.command(cls=Command, epilog=EPILOG)
@click.option("--once", is_flag=True, help="End after the questions, without serving the API.")
@click.option("--json", "as_json", is_flag=True, help="Print each part as a line of JSON.")
@settings_options(*LISTENING, *RUNNING)
def demo(once: bool, as_json: bool, settings: Settings) -> None:
    """Load a story into Neo4j, ask it, then serve the API."""
    from graphmem.cli.running import run

    run(_demonstrate(settings, once=once, as_json=as_json))


async def _demonstrate(settings: Settings, *, once: bool, as_json: bool) -> None:
    from graphmem.cli.running import show_progress
    from graphmem.runtime import database

    async with AsyncExitStack() as stack:
        with show_progress() as progress:
            # Open until the end, so that the private server is not started twice.
            await stack.enter_async_context(database(settings, progress))
            told = await _ask_story(settings, progress)
        say_json(told) if as_json else _show(**told)
        if not once:
            await _serve(settings, as_json=as_json)


async def _ask_story(settings: Settings, progress: Progress) -> dict[str, Any]:
    from graphmem.cli.story import StoryLoader
    from graphmem.client import Graphmem
    from graphmem.runtime import running

    async with running(settings, progress) as runtime:
        memory = Graphmem(runtime, CLIENT)
        story = StoryLoader(memory)
        memories = len(await story.load(progress))
        messages = sum(key.startswith("message:") for key in story.ids)
        answers = [await ask(question, memory) for question in QUESTIONS]
    return {"title": story.title, "messages": messages, "memories": memories, "answers": answers}


def _show(title: str, messages: int, memories: int, answers: list[Answer]) -> None:
    made = f"{memories - messages:,} memories made of them"
    click.secho(f"\n{title}: {counted(messages, 'message')} in Neo4j, and {made}.", bold=True)
    for answer in answers:
        asked, recalled = answer.asked, answer.recalled
        click.secho(f"\n? {asked.query}", fg="cyan", bold=True)
        click.echo(f"  the best context within {counted(asked.max_tokens, 'token')}:\n")
        show_quoted(recalled.context)
        click.secho(f"\n  {cost(recalled, asked.max_tokens, answer.milliseconds)}", fg="green")
        for omitted in recalled.omitted[:3]:
            click.secho(f"  left out: {left_out(omitted)}", dim=True)


async def _serve(settings: Settings, *, as_json: bool) -> None:
    import graphmem_api.serve

    settings = with_free_port(settings)
    keys = settings.keys_file is not None

    def show_where(url: str) -> None:
        if as_json:
            say_json({"url": url, "client_id": CLIENT, "keys": keys})
            return
        say_where(url)
        header = "Authorization: Bearer YOUR-KEY" if keys else f"X-Client-Id: {CLIENT}"
        click.echo(
            f"ask it from another terminal:\n\ncurl -s {url}/api/v0/recall -H '{header}' \\\n"
            f"  -H 'Content-Type: application/json' -d '{EXAMPLE}'\n"
            f"\nor look at its memories in a browser: {url}/?client={CLIENT}\n"
        )

    await graphmem_api.serve.serve(settings, on_ready=show_where)
