"""`graphmem demo`: a story to ask, in one command."""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import click

from graphmem.cli.options import LISTENING, RUNNING, Command, settings_options
from graphmem.cli.recall import ask, show_answer
from graphmem.cli.serve import say_next, say_where, with_free_port
from graphmem.cli.showing import chain, path, path_to_deepest, say_json, show_quoted
from graphmem.config import Settings, records
from graphmem.model.progress import Progress
from graphmem.model.validation import validated
from graphmem.recall.types import Question

if TYPE_CHECKING:
    from graphmem.client import Graphmem

CLIENT = "demo"
EPILOG = "\b\nExamples:\n  graphmem demo\n  graphmem demo --once --full\n"
Told = dict[str, Any]


@click.command(cls=Command, epilog=EPILOG)
@click.option("--once", is_flag=True, help="End after the tour, without serving the API.")
@click.option("--full", is_flag=True, help="Show every step, and each answer whole.")
@click.option("--json", "as_json", is_flag=True, help="Print each part as a line of JSON.")
@settings_options(*LISTENING, *RUNNING)
def demo(once: bool, full: bool, as_json: bool, settings: Settings) -> None:
    """Load a story into Neo4j, ask it, then serve the API."""
    from graphmem.cli.running import run

    run(_demonstrate(settings, once=once, full=full, as_json=as_json))


async def _demonstrate(settings: Settings, *, once: bool, full: bool, as_json: bool) -> None:
    from graphmem.cli.running import show_progress
    from graphmem.runtime import database

    async with AsyncExitStack() as stack:
        with show_progress() as progress:
            # Open until the end, so that the private server is not started twice.
            await stack.enter_async_context(database(settings, progress))
            told = await _ask_story(settings, progress, full=full)
        say_json(told) if as_json else _show(told, full=full)
        if not once:
            await _serve(settings, as_json=as_json)
        elif not as_json:
            say_next(settings, CLIENT)


async def _ask_story(settings: Settings, progress: Progress, *, full: bool) -> Told:
    from graphmem.cli.story import StoryLoader
    from graphmem.client import Graphmem
    from graphmem.runtime import running

    async with running(settings, progress) as runtime:
        memory = Graphmem(runtime, CLIENT, reads=())
        story = StoryLoader(memory)
        memories = len(await story.load(progress))
        messages = sum(key.startswith("message:") for key in story.ids)
        wanted = [step for step in records("steps.jsonl") if full or not step.get("full")]
        steps = [step | await _take(step, memory, story.ids) for step in wanted]
    return {"title": story.title, "messages": messages, "memories": memories, "steps": steps}


async def _take(step: Told, memory: "Graphmem", ids: dict[str, str]) -> Told:
    """Ask what a step asks; return the answers under the names of the questions."""
    if "versions" in step:
        return {"drawn": list(chain((await memory.versions(ids[step["versions"]])).versions))}
    if "hops" in step:
        found = await memory.search_with_hops(**step["hops"])
        cards = [await memory.peek(one.to_id) for one in path_to_deepest(found)]
        return {"drawn": list(path(found, {card.id: card.label for card in cards}))}
    asked = [validated(one, Question) for one in step["asks"]]
    return {"asks": [await ask(one, memory, warm=True) for one in asked]}


def _show(told: Told, *, full: bool) -> None:
    counts = f"{told['messages']:,} messages, {told['memories']:,} memories in all"
    click.secho(f"\n{told['title']}: {counts} in Neo4j.", bold=True)
    for number, step in enumerate(told["steps"], 1):
        click.secho(f"\n{number}. {step['title']}", bold=True)
        click.secho(f"   {step['why']}\n", dim=True)
        most = None if full else step["lines"]
        for answer in step.get("asks", ()):
            show_answer(answer, most)
        show_quoted("\n".join(step.get("drawn", ())), most)


async def _serve(settings: Settings, *, as_json: bool) -> None:
    import graphmem_api.serve

    settings = with_free_port(settings)

    def show_where(url: str) -> None:
        if as_json:
            say_json({"url": url, "client_id": CLIENT, "keys": bool(settings.keys_file)})
        else:
            say_where(url)
            say_next(settings, CLIENT, url)

    await graphmem_api.serve.serve(settings, on_ready=show_where)
