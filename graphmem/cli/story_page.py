"""The demo on stdout: for people a page of text, for programs lines of JSON."""

import json
import shutil
import textwrap
from collections.abc import Iterator
from datetime import datetime

import click

from graphmem.cli.showing import cost, counted, harmless, left_out, say_json
from graphmem.cli.story import CLIENT, Answered, Remembered, Told
from graphmem.cli.story_change import TURN_TOKENS, Changed
from graphmem.cli.story_sessions import PROMPT_TOKENS, Recollected
from graphmem.cli.story_walk import CHUNK_TOKENS, Walked
from graphmem.runs.types import TreeRun

WIDEST = 100
SHOWN_OMITTED = 3
LABEL_WIDTH = 34
ASK_TOO = "Is session affinity still set in deploy/ingress.yaml?"


class Machine:
    """The demo for a program: a line of JSON for what was told, and one for where it listens."""

    def show(self, told: Told) -> None:
        """Print what was told."""
        say_json(told)

    def say_taken(self, port: int) -> None:
        """Tell a person that another port is taken."""
        click.echo(f"port {port} is taken: taking a free one", err=True)

    def show_where(self, url: str, *, keys: bool) -> None:
        """Print where the API listens."""
        say_json({"url": url, "client_id": CLIENT, "keys": keys})


class Page:
    """The demo for a person."""

    def show(self, told: Told) -> None:
        """Print what was told."""
        click.echo()
        click.secho("graphmem: the memory that agents deserve", bold=True)
        click.echo(
            f"{told.title}: {counted(told.messages, 'message')} in Neo4j, "
            f"and {told.memories - told.messages:,} memories made of them."
        )
        for answer in told.answers:
            _show_answer(answer)
        _show_walk(told.walked)
        _show_remembered(told.remembered)
        _show_recollected(told.recollected)
        _show_changed(told.changed)
        _show_run(told.run)

    def say_taken(self, port: int) -> None:
        """Say that another port is taken."""
        click.echo(f"\nPort {port} is taken by another program: taking a free one.")

    def show_where(self, url: str, *, keys: bool) -> None:
        """Say where the API listens, and what to try."""
        click.secho(f"\nServing on {url} until Ctrl-C", bold=True)
        click.echo(
            f"  the API, to read and to try: {url}/schema\n  ask it from another terminal:\n"
        )
        click.echo(f"{_curl(url, keys=keys)}\n")


def _show_answer(answer: Answered) -> None:
    asked, recalled = answer.asked, answer.recalled
    _show_question(asked.query, f"the best context within {counted(asked.max_tokens, 'token')}:")
    _show_text(recalled.context)
    spent = cost(recalled, asked.max_tokens, answer.milliseconds)
    click.secho(f"  {spent} (again: {answer.milliseconds_again:.0f} ms)", fg="green")
    for omitted in recalled.omitted[:SHOWN_OMITTED]:
        click.secho(f"  left out: {left_out(omitted)}", dim=True)
    more = recalled.omitted_total - SHOWN_OMITTED
    if more > 0:
        click.secho(f"  … and {more:,} more", dim=True)


def _show_walk(walked: Walked) -> None:
    query = walked.found.query
    _show_question(query.query, f"search, and {counted(query.max_hops, 'hop')} along the links:")
    for item in walked.found.items:
        came = f"after {counted(item.hop, 'hop')}" if item.hop else ""
        click.echo(
            f"  {item.rank}  {item.combined_score:.2f}  {item.source_type:<12}"
            f"{_label(item.label)}  {came}".rstrip()
        )
    click.echo()
    for line in _way(walked):
        click.secho(f"  {line}", bold=True)
    click.echo("\n  peek, which costs nothing:\n")
    for peeked in walked.peeked:
        click.echo(
            f"  {peeked.source_type:<12}{_label(peeked.label)}  "
            f"{counted(peeked.token_estimate, 'token'):>10}  {len(peeked.related_ids)} related"
        )
    click.echo(f"\n  chunk, beginning and end within {counted(CHUNK_TOKENS, 'token')}:\n")
    _show_text(walked.chunk.content)
    click.echo(f"  compose, within {counted(walked.composed.max_tokens, 'token')}:\n")
    _show_text(walked.composed.text)
    click.secho(
        f"  {walked.composed.memories} of {len(walked.peeked)} memories in the context · "
        f"{counted(walked.composed.remaining_tokens, 'token')} left · "
        f"{walked.milliseconds:.0f} ms in all",
        fg="green",
    )


def _way(walked: Walked) -> Iterator[str]:
    """Yield how the search got from a memory to what it is linked with, a line for each step."""
    labels = {peeked.id: peeked.label for peeked in walked.peeked}
    if not walked.path:
        return
    yield labels[walked.path[0].from_id]
    for depth, step in enumerate(walked.path):
        yield f"{'   ' * depth}└─ {step.link_type} ─ {labels[step.to_id]}"


def _show_remembered(remembered: Remembered) -> None:
    _show_question(remembered.query, "retrieve_memory, facts and episodes of the conversation:")
    _show_text(remembered.retrieved.markdown)
    click.secho(f"  {remembered.milliseconds:.0f} ms", fg="green")


def _show_recollected(recollected: Recollected) -> None:
    found = recollected.found
    _show_question(
        recollected.query,
        f"sessions by their summaries, then what was said in them, within "
        f"{counted(PROMPT_TOKENS, 'token')}:",
    )
    _show_text(found.prompt)
    for context in found.contexts:
        _show_session("found  ", context.started_at, context.session_external_id)
    reasons: dict[tuple[datetime, str], list[str]] = {}
    for link in found.cross_links:
        key = (link.started_at, link.session_external_id)
        reasons.setdefault(key, []).append(f"{link.basis} {link.score:.2f}")
    for (at, name), bases in reasons.items():
        _show_session("related", at, f"{name:<25} {', '.join(bases)}")
    _show_question("Tell me more", "the same session, what is nearest to what was shown first:")
    for direction, more in (("earlier", recollected.earlier), ("later", recollected.later)):
        for turn in more.messages:
            _show_short(f"{direction:<7}  [{turn.role}]: {turn.content}", WIDEST - 4)
    _show_theme(recollected)
    click.secho(f"\n  {recollected.milliseconds:.0f} ms for the three", fg="green")


def _show_theme(recollected: Recollected) -> None:
    theme = recollected.theme
    _show_question(
        recollected.theme_query,
        f"{counted(theme['sessions'], 'session')} from {theme['first_at']:%Y-%m-%d} to "
        f"{theme['last_at']:%Y-%m-%d}, {theme['rhythm']}, summarized in their own words:",
    )
    for session in theme["occasions"]:
        _show_session("", session["at"], session["session_external_id"])
        for one in theme["summary"]:
            if one["session_id"] == session["session_id"]:
                _show_short(f"    {one['text']}", WIDEST - 10)


def _show_session(what: str, at: datetime, told: str) -> None:
    click.secho(f"  {what}{'  ' if what else ''}{at:%Y-%m-%d}  {told}", bold=what != "related")


def _show_short(text: str, most: int) -> None:
    margin = text[: len(text) - len(text.lstrip())]
    click.echo(f"  {margin}{textwrap.shorten(harmless(text), most, placeholder='…')}")


def _show_changed(changed: Changed) -> None:
    _show_question(changed.query, "a fact and what it said before, oldest first:")
    for one in changed.versions:
        _show_line(f"v{one.version}  {one.valid_at:%Y-%m-%d}  {one.text}")
        if one.reason:
            click.secho(
                f"      because: {textwrap.shorten(one.reason, 80, placeholder='…')}", dim=True
            )
    click.echo("\n  as of two days:\n")
    for then in changed.then:
        _show_line(f"{then.as_of:%Y-%m-%d}  {then.text}")
    click.echo(f"\n  what a turn is told, within {counted(TURN_TOKENS, 'token')}:\n")
    _show_text(changed.turn.injection)


def _show_line(text: str) -> None:
    for line in _wrapped(harmless(text)):
        click.echo(f"  {line}")


def _show_run(run: TreeRun) -> None:
    _show_question(
        f"A run of {counted(run.max_tokens, 'token')} and those it called",
        "what each may use, has spent and has left; what a child leaves goes back:",
    )
    for line in _tree(run):
        click.echo(f"  {line}")


def _tree(run: TreeRun) -> Iterator[str]:
    """Yield a run and all below it, a line each; spent, held, given and left make up its budget."""
    name = f"{'   ' * (run.depth - 1)}{'└─ ' if run.depth else ''}{run.agent_type}"
    done = ", ".join(f"{times} {operation}" for operation, times in run.operations.items())
    yield (
        f"{name:<22}{run.max_tokens:>6,} = {run.spent:,} spent + {run.held:,} held + "
        f"{run.given:,} given + {run.remaining:,} left  {run.outcome or run.status}"
    )
    yield f"{'':<22}{done}"
    for child in run.children:
        yield from _tree(child)


def _show_question(query: str, what: str) -> None:
    click.echo()
    click.secho(f"? {query}", fg="cyan", bold=True)
    click.echo(f"  {what}\n")


def _show_text(text: str) -> None:
    for line in _wrapped(harmless(text)):
        click.echo(click.style("  │ ", dim=True) + click.style(line, bold=line.startswith("##")))
    click.echo()


def _label(label: str) -> str:
    return textwrap.shorten(label, LABEL_WIDTH, placeholder="…").ljust(LABEL_WIDTH)


def _wrapped(context: str) -> Iterator[str]:
    width = min(shutil.get_terminal_size((WIDEST, 24)).columns, WIDEST) - 4
    for line in context.rstrip("\n").split("\n"):
        yield from textwrap.wrap(line, width, subsequent_indent="  ") or [""]


def _curl(url: str, *, keys: bool) -> str:
    header = "Authorization: Bearer YOUR-KEY" if keys else f"X-Client-Id: {CLIENT}"
    body = json.dumps({"query": ASK_TOO, "max_tokens": 300})
    return (
        f"curl -s {url}/api/v0/recall -H '{header}' \\\n"
        f"  -H 'Content-Type: application/json' -d '{body}'"
    )
