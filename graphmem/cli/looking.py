"""`graphmem patterns` and `graphmem runs`: what the explorer's page shows, drawn in the terminal."""

import json
import textwrap
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec

from graphmem.cli.options import RUNNING, Command, client_option, settings_options
from graphmem.cli.showing import (
    LONGEST_BAR,
    bar,
    branches,
    cut,
    drawable,
    lane,
    say_json,
    stacked,
    width,
)
from graphmem.config import Settings
from graphmem.model.pages import MOST_ENTRIES
from graphmem.model.validation import counted
from graphmem.runs.types import RUN_STATUSES, Run, RunStatus, TreeRun

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from graphmem.client import Graphmem
    from graphmem.patterns.types import Pattern, PatternAnswer

MOMENTS = {"occasions": "at", "steps": "valid_at"}
"""The columns with a list of times, and the name of the time in each."""

TIMES = "all times"
"""The key of all times of a row, which is the name of no column."""

LEGEND = "█ spent  ▓ held  ▒ given to children  ░ remaining"

PATTERNS_EPILOG = """\b
Examples:
  graphmem patterns                                      the catalogue
  graphmem patterns recurring_themes --client demo
  graphmem patterns timeline --param 'name="Mara"' --json
"""
RUNS_EPILOG = """\b
Examples:
  graphmem runs --client demo                            the latest runs, with their budgets
  graphmem runs 3f0c9a52-5d0e-4c63-8f5e-1c2b7a0f6d11     the tree below one of them
"""


@click.command(cls=Command, epilog=PATTERNS_EPILOG)
@click.argument("name", required=False)
@click.option("--param", multiple=True, metavar="NAME=JSON", help="A parameter; repeatable.")
@client_option
@click.option("--json", "as_json", is_flag=True, help="Print what the API answers.")
@settings_options(*RUNNING)
def patterns(
    *, name: str | None, param: tuple[str, ...], client_id: str, as_json: bool, settings: Settings
) -> None:
    """List the patterns, or draw what the pattern NAME finds across sessions."""
    from graphmem.cli.running import run
    from graphmem.cli.typed_statements import parameter
    from graphmem.patterns.running import catalogue, find, patterns as every

    if name is None:
        if as_json:
            say_json(every())
        else:
            _say(_listed(one.pattern) for one in catalogue().values())
        return
    pattern = find(name).pattern
    given = dict(parameter(one) for one in param)
    answer = run(_with_memory(settings, client_id, lambda memory: memory.pattern(name, given)))
    if as_json:
        say_json(answer)
    else:
        _say([drawn_pattern(pattern, answer)])


@click.command(cls=Command, epilog=RUNS_EPILOG)
@click.argument("run_id", required=False)
@click.option("--status", type=click.Choice(RUN_STATUSES), help="Only runs of this status.")
@click.option("--limit", type=click.IntRange(1, MOST_ENTRIES), default=20, show_default=True)
@client_option
@click.option("--json", "as_json", is_flag=True, help="Print what the API answers.")
@settings_options(*RUNNING)
def runs(
    *,
    run_id: str | None,
    status: RunStatus | None,
    limit: int,
    client_id: str,
    as_json: bool,
    settings: Settings,
) -> None:
    """List the budgeted runs of agents, or draw the tree of budgets below RUN_ID."""
    from graphmem.cli.running import run

    async def ask(memory: "Graphmem") -> Any:
        if run_id is not None:
            return await memory.runs().tree(run_id)
        return await memory.runs().list_runs(status=status, limit=limit)

    answer = run(_with_memory(settings, client_id, ask))
    if as_json:
        say_json(answer)
    elif isinstance(answer, TreeRun):
        _say([drawn_tree(answer)])
    elif not answer.runs:
        click.echo("No agent of this client has begun such a run.")
    else:
        _say([*(drawn_run(one) for one in answer.runs), [LEGEND]])


async def _with_memory(
    settings: Settings, client_id: str, ask: "Callable[[Graphmem], Awaitable[Any]]"
) -> Any:
    from graphmem.cli.running import show_progress
    from graphmem.client import Graphmem
    from graphmem.runtime import running

    with show_progress(transient=True) as progress:
        async with running(settings, progress) as runtime:
            return await ask(Graphmem(runtime, client_id))


def _say(parts: Any) -> None:
    """Print parts of lines with an empty line between them."""
    click.echo(drawable("\n\n".join("\n".join(lines) for lines in parts)))


def _listed(pattern: "Pattern") -> list[str]:
    needs = [one.name for one in pattern.parameters if one.required]
    example = " ".join(f"--param '{name}={json.dumps(pattern.example[name])}'" for name in needs)
    return [
        click.style(f"{pattern.name} {example}".strip(), bold=True),
        *textwrap.wrap(pattern.description, width(), initial_indent="  ", subsequent_indent="  "),
    ]


def drawn_pattern(pattern: "Pattern", answer: "PatternAnswer") -> list[str]:
    """Return the lines of a pattern's rows: texts, a bar for each number, and times on one common lane."""
    if not answer.rows:
        return ["Nothing in this client's memories has this pattern."]
    lines = [click.style(f"{pattern.title}: {counted(len(answer.rows), 'row')}", bold=True)]
    rows = [_timed(row) for row in answer.rows]
    every = [time for row in rows for time in row[TIMES]]
    most = {
        one.name: max((abs(row.get(one.name) or 0) for row in rows), default=0)
        for one in pattern.columns
        if one.type in {"int", "float"}
    }
    for row in rows:
        lines += ["", *_row(pattern, row, most)]
        if row[TIMES] and min(every) < max(every):
            lines.append("  " + lane(row[TIMES], min(every), max(every), _room(2)))
    if every and min(every) < max(every):
        first, last = (f"{time:%Y-%m-%d}" for time in (min(every), max(every)))
        lines.append("  " + first + last.rjust(_room(2) - len(first)))
    if answer.truncated:
        lines += ["", "There are more rows than are shown."]
    return lines


def _room(taken: int) -> int:
    return width() - taken


def _timed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with all of its times, in `TIMES`."""
    listed = [
        one[time] for column, time in MOMENTS.items() for one in row.get(column) or () if one[time]
    ]
    single = [row[name] for name in ("at", "first_at", "last_at") if row.get(name)]
    return {**row, TIMES: [_moment(one) for one in listed or single]}


def _moment(value: Any) -> datetime:
    return msgspec.convert(value, datetime, strict=False)


def _row(pattern: "Pattern", row: Mapping[str, Any], most: Mapping[str, float]) -> Iterator[str]:
    texts = [
        one.name
        for one in pattern.columns
        if one.type == "string" and row.get(one.name) and not one.name.endswith("_id")
    ]
    yield click.style(cut(str(row[texts[0]]), width()), fg="cyan") if texts else ""
    for name in texts[1:]:
        branch = "└─" if name == texts[-1] else "├─"
        yield f"  {branch} " + cut(f"{name.replace('_', ' ')}: {row[name]}", _room(5))
    named = min(14, width() // 3)
    for name, largest in most.items():
        if row.get(name) is None:
            continue
        value = f"{row[name]:,}" if isinstance(row[name], int) else f"{row[name]:.3f}"
        head = f"  {cut(name.replace('_', ' '), named):<{named}} {value:>7} "
        length = min(LONGEST_BAR, max(1, _room(len(head))))
        yield (head + bar(abs(row[name]), largest, length)).rstrip()


def drawn_run(run: Run) -> list[str]:
    """Return the lines of one run of a list."""
    used, most = run.budget.tokens_used, run.limits.max_tokens
    outcome = f", {run.outcome}" if run.outcome else ""
    head = f"{cut(run.agent_type, 40)}  {run.status}{outcome}  {run.started_at:%Y-%m-%d %H:%M}"
    return [
        click.style(cut(head, _room(0)), bold=True),
        f"  {run.id}",
        *_balance("  ", [(used, "█")], most, f"{used:,} of {counted(most, 'token')}"),
    ]


def drawn_tree(root: TreeRun) -> list[str]:
    """Return the lines of a tree of runs, each with the bar of its budget."""
    lines = []
    for first, further, run in branches(root, lambda one: one.children):
        outcome = f", {run.outcome}" if run.outcome else ""
        head = cut(f"{run.agent_type}  {run.status}{outcome}", max(8, _room(len(first))))
        lines.append(first + click.style(head, bold=True))
        told = (
            f"{run.spent:,} spent, {run.held:,} held, {run.given:,} given, "
            f"{run.remaining:,} left of {run.max_tokens:,}"
        )
        parts = [(run.spent, "█"), (run.held, "▓"), (run.given, "▒")]
        lines += _balance(further, parts, run.max_tokens, told)
        done = ", ".join(f"{name} {count}" for name, count in sorted(run.operations.items()))
        if done:
            lines += textwrap.wrap(done, width(), initial_indent=further, subsequent_indent=further)
    return [*lines, "", LEGEND]


def _balance(before: str, parts: Any, whole: float, told: str) -> Iterator[str]:
    """Yield a bar with its numbers beside it, or below it where the line is too short."""
    length = min(LONGEST_BAR, max(8, _room(len(before))))
    drawn = before + stacked(parts, whole, length)
    if len(drawn) + 2 + len(told) <= width():
        yield f"{drawn}  {told}"
    else:
        yield drawn
        yield from textwrap.wrap(told, width(), initial_indent=before, subsequent_indent=before)
