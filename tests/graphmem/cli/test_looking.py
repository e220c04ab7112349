"""`graphmem patterns` and `graphmem runs`."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner, Result

from graphmem.cli.looking import drawn_pattern, drawn_tree
from graphmem.cli.main import commands
from graphmem.cli.showing import cells
from graphmem.client import Graphmem
from graphmem.patterns.running import catalogue
from graphmem.patterns.types import PatternAnswer
from graphmem.runs.types import TreeRun
from tests import patterned

AT = datetime(2026, 3, 1, tzinfo=UTC)


def _run(agent: str, *children: TreeRun, spent: int = 20, given: int = 0) -> TreeRun:
    return TreeRun(
        id=agent,
        parent_session_id=None,
        agent_type=agent,
        depth=0,
        status="active",
        outcome=None,
        max_tokens=100,
        spent=spent,
        held=10,
        given=given,
        remaining=70 - given,
        returned=0,
        retries_used=0,
        started_at=AT,
        ended_at=None,
        operations={"start": 1, "retrieve": 2},
        children=list(children),
    )


def test_the_catalogue_is_listed_without_a_database() -> None:
    nowhere = {"GRAPHMEM_NEO4J_URI": "bolt://127.0.0.1:1"}
    told = CliRunner().invoke(commands, ["patterns"], env=nowhere)
    assert told.exit_code == 0, told.output
    for name in catalogue():
        assert name in told.stdout
    assert "timeline --param 'name=\"Project Beacon\"'" in told.stdout
    listed = CliRunner().invoke(commands, ["patterns", "--json"], env=nowhere)
    assert {one["name"] for one in json.loads(listed.stdout)["patterns"]} == set(catalogue())


def test_a_tree_of_runs_has_a_bar_for_each_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    lines = drawn_tree(_run("writer", _run("critic"), _run("checker"), given=40))
    assert lines[1] == (
        "│  ████████▓▓▓▓▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░  20 spent, 10 held, 40 given, 30 left of 100"
    )
    assert lines[2] == "│  retrieve 2, start 1"
    assert lines[3].startswith("├─ ")
    assert lines[6].startswith("└─ ")


@pytest.mark.parametrize("columns", [24, 40, 80])
def test_every_line_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    rows = [
        {
            "theme": "日本語 " * 40 + "\u202e\x1b[2J",
            "sessions": 1_000_000,
            "every_days": 3.5,
            "rhythm": "weekly",
            "occasions": [{"at": f"2026-03-{day:02}T00:00:00Z"} for day in (1, 9, 30)],
            "memory_ids": ["m"],
        }
    ]
    pattern = catalogue()["recurring_themes"].pattern
    lines = drawn_pattern(pattern, PatternAnswer(columns=list(rows[0]), rows=rows))
    lines += drawn_tree(_run("w" * 60, _run("critic", _run("deeper"))))[:-1]
    for line in lines:
        shown = line.replace("\x1b[1m", "").replace("\x1b[36m", "").replace("\x1b[0m", "")
        assert cells(shown) <= columns, shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown
    assert sum("●" in line for line in lines) == 1


async def test_each_pattern_is_drawn(memory: Graphmem) -> None:
    await patterned.live(memory)
    for name, parameters in patterned.ASKED.items():
        answer = await memory.pattern(name, parameters)
        lines = drawn_pattern(catalogue()[name].pattern, answer)
        assert f"{len(answer.rows):,} row" in lines[0]
        first = next(one for one in lines[1:] if one)
        assert first.startswith("\x1b[36m")
        assert len(first) > len("\x1b[36m\x1b[0m")
        assert any(set("█●└") & set(line) for line in lines), name


def test_runs_are_listed_and_drawn_as_a_tree(
    invoke: Callable[..., Result], client_id: str, environment: dict[str, str]
) -> None:
    nothing = invoke("runs", "--client", client_id)
    assert nothing.stdout == "No agent of this client has begun such a run.\n"
    missing = invoke("runs", "nothing", "--client", client_id)
    assert missing.exit_code == 2
    assert "nothing" in missing.stderr


async def test_a_run_that_was_started_is_listed(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from graphmem.cli import looking

    run = await memory.run(agent_type="writer", episode_id="launch", budget={"max_tokens": 1000})
    await run.subcall(agent_type="critic", budget_fraction=0.4)
    listed = await memory.runs().list_runs(limit=5)
    told = [line for one in listed.runs for line in looking.drawn_run(one)]
    assert any(line.endswith("0 of 400 tokens") for line in told)
    drawn = drawn_tree(await memory.runs().tree(run.id))
    assert any("400 given, 600 left of 1,000" in line for line in drawn)
    assert any(line.startswith("└─ ") and "critic" in line for line in drawn)


def test_colours_are_left_out_where_the_user_asks_for_that() -> None:
    def told(**environment: str) -> str:
        asked = CliRunner(env={"NO_COLOR": None, **environment})
        return asked.invoke(commands, ["patterns"], color=True).stdout

    assert "\x1b[1m" in told()
    assert "\x1b" not in told(NO_COLOR="1")
