"""`graphmem recall`: the best context for a question within a budget."""

import time
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

import click
from msgspec import Struct

from graphmem.cli.options import RUNNING, Command, client_option, settings_options
from graphmem.cli.showing import cost, explained, harmless, left_out, say_json, show_quoted
from graphmem.config import Settings
from graphmem.errors import InvalidInput
from graphmem.model.times import period, zone_of
from graphmem.model.validation import validated
from graphmem.model.vocabulary import KINDS, Ranking
from graphmem.recall.types import Question, Recalled

if TYPE_CHECKING:
    from graphmem.client import Graphmem
    from graphmem.context import Context

# The options by the names of the API's fields.
OPTIONS = {
    "max_tokens": "--budget",
    "conversation_id": "--conversation",
    "kinds": "--kind",
    "limit": "--limit",
    "since": "--since",
    "until": "--until",
    "as_of": "--as-of",
    "known_as_of": "--known-as-of",
    "min_relevance": "--min-relevance",
    "time_zone": "--time-zone",
    "query": "QUESTION",
}

EPILOG = """\b
Examples:
  graphmem recall "what did we decide about the queue?" --budget 1000
  graphmem recall "auth errors" --since 2026-04-01 --kind message --explain
  graphmem recall "what does the Harbour plan cost?" --as-of 2026-04-01
  graphmem recall "who approves deploys?" --client demo --json | jq -r .context
"""


class Answer(Struct, frozen=True):
    """A question, its answer, and the time it took in milliseconds."""

    asked: Question
    recalled: Recalled
    milliseconds: float


@click.command(cls=Command, epilog=EPILOG)
@click.argument("question")
@click.option("--budget", type=int, default=2048, show_default=True, help="Tokens it may take.")
@click.option("--limit", type=int, help="Memories it may hold; without one the budget decides.")
@click.option("--conversation", metavar="ID", help="Only what belongs to this conversation.")
@click.option("--kind", multiple=True, type=click.Choice(KINDS), help="Only this; repeatable.")
@click.option("--since", metavar="TIME", help="Only from this time on: 2026-04-01[T09:30:00Z].")
@click.option("--until", metavar="TIME", help="Only before this time.")
@click.option("--as-of", metavar="TIME", help="What was true at this time.")
@click.option("--known-as-of", metavar="TIME", help="What was known at this time.")
@click.option(
    "--time-zone",
    metavar="NAME",
    help="Whose times to show and `yesterday` to read: Europe/Berlin.",
)
@click.option(
    "--ranking", type=click.Choice(get_args(Ranking)), default="default", help="How to rank."
)
@click.option("--abstain", is_flag=True, help="Answer with nothing if nothing is relevant enough.")
@click.option(
    "--min-relevance", type=float, metavar="0-1", help="Only memories of at least this relevance."
)
@click.option("--explain", is_flag=True, help="Say why each memory is in or left out.")
@client_option
@click.option("--json", "as_json", is_flag=True, help="Print what the API answers.")
@settings_options("reads", *RUNNING)
def recall(
    *,
    question: str,
    budget: int,
    limit: int | None,
    conversation: str | None,
    kind: tuple[str, ...],
    since: str | None,
    until: str | None,
    as_of: str | None,
    known_as_of: str | None,
    time_zone: str | None,
    ranking: Ranking,
    abstain: bool,
    min_relevance: float | None,
    explain: bool,
    client_id: str,
    as_json: bool,
    settings: Settings,
) -> None:
    """Print the best context for a QUESTION that fits a budget of tokens."""
    from graphmem.cli.running import run

    asked = _question(
        {
            "query": question,
            "max_tokens": budget,
            "limit": limit,
            "conversation_id": conversation,
            "kinds": list(kind) or None,
            "since": _zoned(since),
            "until": _zoned(until),
            "as_of": _zoned(as_of),
            "known_as_of": _zoned(known_as_of),
            "time_zone": time_zone,
            "ranking": ranking,
            "abstain": abstain,
            "min_relevance": min_relevance,
            "explain": explain,
        }
    )
    answer = run(_open_and_ask(asked, client_id, settings))
    if as_json:
        say_json(answer.recalled)
    else:
        _show(answer)


async def ask(question: Question, memory: "Graphmem", *, warm: bool = False) -> Answer:
    """Ask a question and measure the time, with `warm` that of a repetition.

    The first time the database makes plans and reads its pages; `graphmem serve` does so before it is ready.
    """
    from graphmem.recall.ask import recall as find

    def context() -> "Context":
        return memory.runtime.context(memory.client_id, memory.reads)

    if warm:
        await find(question, context())
    began = time.perf_counter()
    recalled = await find(question, context())
    return Answer(question, recalled, round(1000 * (time.perf_counter() - began), 1))


async def _open_and_ask(question: Question, client_id: str, settings: Settings) -> Answer:
    from graphmem.cli.running import show_progress
    from graphmem.client import Graphmem
    from graphmem.runtime import running

    with show_progress(transient=True) as progress:
        async with running(settings, progress) as runtime:
            return await ask(question, Graphmem(runtime, client_id))


def _show(answer: Answer) -> None:
    recalled, question = answer.recalled, answer.asked
    if recalled.context:
        click.echo(harmless(recalled.context).rstrip("\n") + "\n")
    elif recalled.abstained:
        click.echo("Nothing relevant enough was found.\n")
    else:
        click.echo("Nothing was found.\n" if not recalled.omitted_total else "Nothing fits.\n")
    if question.explain:
        click.echo("\n".join(explained(recalled, question.max_tokens)) + "\n")
    click.echo(click.style(cost(recalled, question.max_tokens, answer.milliseconds), bold=True))


def show_answer(answer: Answer, most: int | None = None) -> None:
    """Print a question of the demo and the beginning of its answer: at most `most` lines of the context."""
    recalled, asked = answer.recalled, answer.asked
    day = f"  (as of {asked.as_of:%Y-%m-%d})" if asked.as_of else ""
    click.secho(f"  ? {asked.query}{day}", fg="cyan", bold=True)
    show_quoted(recalled.context or "(nothing is relevant enough)", most)
    click.secho(f"  {cost(recalled, asked.max_tokens, answer.milliseconds)}", fg="green")
    for omitted in [] if most or asked.explain else recalled.omitted[:3]:
        click.secho(f"  left out: {left_out(omitted)}", dim=True)
    if asked.explain:
        click.echo("\n".join(f"  {line}" for line in explained(recalled, asked.max_tokens)))


def _question(given: dict[str, Any]) -> Question:
    """Return the question. Raises `InvalidInput` that names the option, before anything is started."""
    try:
        asked = validated(given, Question)
        period(asked.since, asked.until)
        zone_of(asked.time_zone)
        return asked
    except InvalidInput as problem:
        sentence = str(problem).removeprefix(f"{problem.field}: ")
        raise InvalidInput(OPTIONS.get(problem.field, problem.field), sentence) from problem


def _zoned(time: str | None) -> str | None:
    """Return a time as the API accepts it: a date means its midnight, a time without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(time or "")
    except ValueError:
        return time
    return moment.isoformat() + ("" if moment.tzinfo else "Z")
