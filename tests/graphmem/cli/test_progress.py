import io
import json
import time

from rich.console import Console

from graphmem.cli.running import ProgressLines, show_bars, show_progress
from graphmem.observing.logs import show_log


class Clock:
    def __init__(self, monkeypatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)


def test_elsewhere_than_on_a_terminal_a_stage_is_a_line_on_stderr(capsys):
    with show_progress() as heard:
        heard("starting Neo4j")
        heard("starting Neo4j", 1, 1)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "starting Neo4j …\n")


def test_where_the_log_is_json_a_stage_is_an_object(capsys):
    show_log("info", "json")
    with show_progress() as heard:
        heard("starting Neo4j")
        heard("starting Neo4j", 1, 1)
    [line] = capsys.readouterr().err.splitlines()
    assert json.loads(line)["message"] == "starting Neo4j …"


def test_a_long_stage_says_how_far_it_is_and_how_long_it_took(capsys, monkeypatch):
    clock, heard = Clock(monkeypatch), ProgressLines()
    heard("fetching", 0, 200)
    for done in range(1, 200):
        clock.now += 0.125
        heard("fetching", done, 200)
    heard("fetching", 200, 200)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "fetching …",
        "fetching: 20 %",
        "fetching: 40 %",
        "fetching: 60 %",
        "fetching: 80 %",
        "fetching: 24.9 s",
    ]


def test_a_stage_that_ended_may_begin_again(capsys):
    heard = ProgressLines()
    for _ in range(2):
        heard("starting Neo4j")
        heard("starting Neo4j", 1, 1)
    assert capsys.readouterr().err == "starting Neo4j …\n" * 2


def test_a_terminal_shows_bars():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100)
    with show_bars(console, transient=False) as heard:
        heard("fetching [Neo4j]", 1, 2)
        heard("fetching [Neo4j]", 2, 2)
        heard("waiting for another process")
    last = file.getvalue().rpartition("fetching [Neo4j]")[2]
    assert "100%" in last
    assert "waiting" not in last
