"""`graphmem cypher` on a real Neo4j: once, piped in, and as a shell."""

import csv
import io
import json
import stat
import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from graphmem.cli import cypher_shell
from graphmem.cli.main import commands
from graphmem.cli.typed_statements import Terminal, show_csv, show_grid
from graphmem.exploring.types import PlanSummary, Table
from graphmem.graph.inspection import KnownNames
from graphmem.retrieval.expansion import HOP
from graphmem.runtime import Runtime


def test_a_statement_is_answered_as_a_table(invoke):
    result = invoke("cypher", "UNWIND ['a', null] AS name RETURN name, size(name) AS long")
    assert result.exit_code == 0, result.output
    assert "name" in result.stdout
    assert "null" in result.stdout
    assert "2 rows · " in result.stdout.splitlines()[-1]


def test_programs_get_json_or_csv(invoke):
    query = "RETURN $x AS x, ['a', 1] AS list, 'q\"uote, comma' AS text, null AS nothing"
    told = json.loads(invoke("cypher", query, "--json", "--param", 'x={"k": 1}').stdout)
    assert told["columns"] == ["x", "list", "text", "nothing"]
    assert told["rows"][0]["x"] == {"k": 1}
    assert told["truncated"] is False
    written = invoke("cypher", query, "--csv", "--param", "x=3").stdout
    rows = list(csv.reader(io.StringIO(written)))
    assert rows == [told["columns"], ["3", '["a",1]', 'q"uote, comma', ""]]


def test_rows_beyond_the_most_are_cut_and_it_is_said(invoke):
    result = invoke("cypher", "UNWIND range(1, 9) AS n RETURN n", "--max-rows", "3")
    assert "3 rows, and there is more" in result.stdout
    result = invoke("cypher", "UNWIND range(1, 9) AS n RETURN n", "--max-rows", "3", "--csv")
    assert result.stdout.splitlines() == ["n", "1", "2", "3"]
    assert "there is more" in result.stderr


@pytest.mark.parametrize(
    ("statement", "sentence", "place", "below"),
    [
        ("MATCH (n)\nRETURN m", "not defined", "(line 2, column 8)", "  RETURN m\n         ^"),
        ("RETRUN 1", "RETRUN", "(line 1, column 1)", "  RETRUN 1\n  ^"),
        ("MATCH (n)\nDELETE n", "", "(line 2, column 1)", "  DELETE n\n  ^"),
    ],
)
def test_what_is_wrong_or_refused_is_a_sentence_with_its_place(
    invoke, statement, sentence, place, below
):
    result = invoke("cypher", statement)
    assert (result.exit_code, result.stdout) == (2, "")
    first, *rest = result.stderr.rstrip("\n").splitlines()
    assert first.startswith("Error: ")
    assert sentence in first
    assert first.endswith(place)
    assert first.count("line ") == 1
    assert "\n".join(rest) == below


def test_one_of_graphmem_s_own_queries_is_shown_as_it_is_run(invoke):
    shown = invoke("cypher", "--show", "retrieval/hop")

    assert (shown.exit_code, shown.stderr) == (0, "")
    assert shown.stdout == HOP.text
    assert "// include" not in shown.stdout
    assert "$ending" in shown.stdout


def test_a_pattern_that_borrows_its_query_is_shown_with_it(invoke):
    shown = invoke("cypher", "--show", "patterns/themes_rising_and_fading").stdout
    lender = invoke("cypher", "--show", "patterns/recurring_themes").stdout

    assert shown.startswith("CYPHER 25\n// The themes that occur more often than before")
    assert shown.endswith(lender.removeprefix("CYPHER 25\n"))
    assert shown.count("CYPHER 25") == 1


def test_without_a_name_all_queries_are_listed(invoke):
    listed = invoke("cypher", "--show").stdout.splitlines()

    assert listed == sorted(listed)
    assert "retrieval/hop" in listed
    assert not [name for name in listed if name.startswith("fragments/")]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("retrieval/hopp", "perhaps retrieval/hop"),
        ("hop", "perhaps retrieval/hop"),
        ("../../pyproject", "`graphmem cypher --show` lists all names"),
    ],
)
def test_another_name_is_refused_with_those_that_are_near(invoke, name, hint):
    result = invoke("cypher", "--show", name)

    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: there is no query {name!r}: {hint}")


def test_a_query_is_shown_or_a_statement_is_run(invoke):
    result = invoke("cypher", "--show", "retrieval/hop", "RETURN 1")

    assert result.exit_code == 2
    assert "leave out the statement" in result.stderr


def test_nothing_is_written(invoke):
    name = f"Never{uuid.uuid4().hex}"
    assert invoke("cypher", f"CREATE (:{name})").exit_code == 2
    told = invoke("cypher", f"MATCH (n:{name}) RETURN count(n) AS n", "--json")
    assert json.loads(told.stdout)["rows"] == [{"n": 0}]


@pytest.mark.parametrize(
    ("statement", "outcome"),
    [("RETURN $name AS one", "answered"), ("RETRUN $name", "mistaken"), ("CREATE (n)", "refused")],
)
def test_it_is_left_only_when_the_end_of_its_statement_is_in_the_audit(
    invoke, monkeypatch, statement, outcome
):
    monkeypatch.setattr("graphmem.exploring.running.PATIENCE_SECONDS", 0.0)
    name = f"n{uuid.uuid4().hex}"
    shown = invoke("cypher", f"{statement} // {name}", "--param", 'name="x"').stderr
    assert "not done after an answer" not in shown
    audited = (
        "MATCH (a:Audit) WHERE a.query CONTAINS $name AND a.query <> $this RETURN a.outcome AS o"
    )
    told = invoke(
        "cypher",
        f"{audited}",
        "--json",
        "--param",
        f'name="{name}"',
        "--param",
        f"this={json.dumps(audited)}",
    )
    assert json.loads(told.stdout)["rows"] == [{"o": outcome}]


def test_what_takes_too_long_is_cut_off(invoke):
    long = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN sum(a * b) AS s"
    result = invoke("cypher", long, "--timeout", "0.5")
    assert result.exit_code == 2
    assert "0.5 seconds" in result.stderr


def test_what_is_piped_in_is_run_statement_by_statement(environment):
    piped = "// first\nRETURN 1 AS one;\nRETURN ';' AS two;\nRETURN x;\nRETURN 4 AS four;"
    result = CliRunner().invoke(commands, ["cypher", "--csv"], input=piped, env=environment)
    assert result.exit_code == 2, result.output
    assert result.stdout.splitlines() == ["one", "1", "two", ";"]
    assert "(line 4, column 8)\n  RETURN x;\n         ^" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("RETURN 1", "--json", "--csv"), "--json and --csv exclude each other"),
        (("RETURN 1", "--param", "x"), "param: expected name=JSON"),
        (("RETURN 1", "--max-rows", "0"), "'--max-rows'"),
        (("RETURN 1", "--timeout", "61"), "'--timeout'"),
        ((" // nothing",), "no statement"),
        ((), "no statement"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_starts(arguments, sentence):
    nowhere = {"GRAPHMEM_NEO4J_URI": "bolt://127.0.0.1:1"}
    result = CliRunner().invoke(commands, ["cypher", *arguments], env=nowhere, input="")
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr


@pytest.mark.parametrize("show", [show_grid, show_csv])
def test_a_terminal_is_not_steered_by_what_is_stored(show, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    table = Table(
        columns=["text"],
        rows=[{"text": "\x1b[31mred[bold]"}],
        truncated=False,
        plan_summary=PlanSummary(language="25", runtime="slotted", operators=[]),
        milliseconds=1.0,
    )
    show(table)
    shown = capsys.readouterr().out
    assert "\x1b[31m" not in shown
    assert "red[bold]" in shown


@pytest.fixture
def typing(runtime: Runtime, monkeypatch, tmp_path: Path):
    """Type into a shell, and leave it."""
    monkeypatch.setattr("platformdirs.user_state_path", lambda name: tmp_path / "state" / name)

    async def typed(text: str, shape: str = "csv") -> None:
        terminal = Terminal(runtime.graph, runtime.afterwards, {}, {}, runtime.statements)
        with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
            pipe.send_text(text)
            await cypher_shell.converse(terminal, shape)

    return typed


async def test_a_statement_may_go_over_lines_and_ends_with_a_semicolon(typing, capsys):
    await typing("RETURN 1 AS one,\r2 AS two\r;\r:quit\r")
    assert "one,two\n1,2\n" in capsys.readouterr().out


async def test_the_shell_goes_on_after_a_mistake(typing, capsys):
    await typing(
        "RETURN x;\rMATCH (n) DELETE n;\r:never\r:param a\r:param a=7\rRETURN $a AS a;\r\x04"
    )
    shown = capsys.readouterr()
    assert "(line 1, column 8)\n  RETURN x;\n         ^" in shown.err
    assert "(line 1, column 11)" in shown.err
    assert "there is no :never; there are :help, :schema" in shown.err
    assert "param: expected name=JSON" in shown.err
    assert "a\n7\n" in shown.out


async def test_help_and_schema_are_shown(typing, capsys):
    await typing(":help\r:schema\r:quit\r")
    shown = capsys.readouterr().out
    assert "ends with `;`" in shown
    assert "PART_OF" in shown
    assert "memory_embedding  vector  Memory(" in shown


def test_a_completion_replaces_the_word_that_was_begun():
    names = cypher_shell.Names(KnownNames(labels=["Fact"], edge_types=["NEXT"], keys=[]))
    for before, expected in (
        ("MATCH (f:fa", ("Fact", -2)),
        ("MATCH ()-[:N", ("NEXT", -1)),
        (":he", (":help", -3)),
        ("UNWIND [1] AS n\nRET", ("RETURN", -3)),
    ):
        [one] = names.get_completions(Document(before), CompleteEvent())
        assert (one.text, one.start_position) == expected


async def test_the_history_is_kept_for_its_user_alone(typing, tmp_path: Path):
    await typing("RETURN 1 AS one;\r:quit\r")
    kept = tmp_path / "state" / "graphmem" / "cypher_history"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "RETURN 1 AS one;" in list(FileHistory(str(kept)).load_history_strings())


def test_without_a_place_for_it_the_history_is_that_of_one_shell(tmp_path: Path, capsys):
    (tmp_path / "file").write_text("no folder")
    assert not isinstance(cypher_shell.history(tmp_path / "file"), FileHistory)
    assert "the history is not kept" in capsys.readouterr().err
