"""The log: one line a record, whose request it is, and never what an exception quotes."""

import asyncio
import errno
import json
import logging
import sys

import pytest

from graphmem.observing.logs import (
    JsonFormatter,
    LostErrors,
    TextFormatter,
    about,
    name_client,
    show_log,
    traced,
)


def record(message: str, *arguments: object, exc_info=None) -> logging.LogRecord:
    made = logging.LogRecord("graphmem.x", logging.INFO, "x.py", 1, message, arguments, exc_info)
    made.created = 1772442600.1234
    return made


def failure() -> BaseException:
    try:
        try:
            raise KeyError("sesame")
        except KeyError as problem:
            raise RuntimeError("sesame") from problem
    except RuntimeError as problem:
        return problem


def test_a_text_line_says_when_how_grave_where_and_what() -> None:
    assert (
        TextFormatter().format(record("wrote %d", 3))
        == "2026-03-02T09:10:00.123Z INFO graphmem.x: wrote 3"
    )


def test_a_json_line_says_the_same_in_fields() -> None:
    with about("r:1"):
        name_client("atlas")
        line = JsonFormatter().format(record("wrote %d", 3))
    assert json.loads(line) == {
        "time": "2026-03-02T09:10:00.123Z",
        "level": "info",
        "logger": "graphmem.x",
        "message": "wrote 3",
        "request_id": "r:1",
        "client": "atlas",
    }


def test_the_values_of_a_message_are_fields_of_a_json_line_only() -> None:
    made = record("status=%d", 503)
    made.fields = {"status": 503, "slow": True}
    shown = json.loads(JsonFormatter().format(made))
    assert (shown["message"], shown["status"], shown["slow"]) == ("status=503", 503, True)
    assert TextFormatter().format(made).endswith(" graphmem.x: status=503")


def test_a_line_names_its_request_and_client_and_the_next_does_not() -> None:
    with about("r:1"):
        assert TextFormatter().format(record("a")).endswith(": a request_id=r:1")
        name_client("atlas")
        assert TextFormatter().format(record("a")).endswith(": a request_id=r:1 client=atlas")
    assert TextFormatter().format(record("a")).endswith(": a")


@pytest.mark.parametrize(
    "text", ["a\nb", "a\r\nb", "a\x1b[31mb", "a\u2028b", "a\x00b", "a\x85b", "a\ud800b", "a\x9bb"]
)
@pytest.mark.parametrize("form", [TextFormatter, JsonFormatter])
def test_a_record_is_one_line_whatever_it_says(form, text: str) -> None:
    line = form().format(record("%s", text))
    assert len(line.splitlines()) == 1 or form is JsonFormatter
    assert "\n" not in line
    assert "\x1b" not in line
    line.encode()


@pytest.mark.parametrize("form", [TextFormatter, JsonFormatter])
def test_an_exception_shows_its_classes_and_places_and_no_message(form) -> None:
    problem = failure()
    line = form().format(
        record("it fell", exc_info=(type(problem), problem, problem.__traceback__))
    )
    assert "it fell: RuntimeError from KeyError at observing/test_logs.py:" in line
    assert "in failure" in line
    assert "sesame" not in line


def test_causes_that_go_in_a_circle_end() -> None:
    problem = RuntimeError()
    problem.__context__ = problem
    assert traced(problem) == " from ".join(["RuntimeError"] * 5)


async def test_what_nobody_waited_for_is_told_without_its_message(
    caplog: pytest.LogCaptureFixture,
) -> None:
    context = {"message": "never retrieved\nsesame", "exception": failure()}
    LostErrors().log(asyncio.get_running_loop(), context)
    assert "never retrieved: RuntimeError from KeyError" in caplog.text
    assert "sesame" not in caplog.text


async def test_that_no_file_can_be_opened_is_told_once_within_some_seconds(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asyncio tells it for each connection that it tries to accept."""
    loop, lost = asyncio.get_running_loop(), LostErrors()
    context = {"message": "accept", "exception": OSError(errno.EMFILE, "Too many open files")}
    for _ in range(500):
        lost.log(loop, context)
    lost.log(loop, {"message": "another", "exception": OSError(errno.EPIPE, "Broken pipe")})
    told = "no connection is accepted: too many files are open; raise `ulimit -n`"
    assert [one.getMessage() for one in caplog.records] == [told, "another: BrokenPipeError"]
    monkeypatch.setattr("graphmem.observing.logs.REPEATED_SECONDS", 0.0)
    lost.log(loop, context)
    assert caplog.messages.count(told) == 2


def test_of_the_broken_connections_of_an_outage_one_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    show_log("info")
    for number in range(60):
        logging.getLogger("neo4j.io").error("[#%d] defunct connection", number)
    logging.getLogger("neo4j.pool").error("another")
    monkeypatch.setattr("graphmem.observing.logs.REPEATED_SECONDS", 0.0)
    logging.getLogger("neo4j.io").error("[#60] later")
    shown = [line.split(": ", 1)[1] for line in capsys.readouterr().err.splitlines()]
    assert shown == ["[#0] defunct connection", "another", "[#60] later"]


def test_only_ours_follow_the_level(capsys: pytest.CaptureFixture[str]) -> None:
    show_log("debug")
    for name in ("graphmem.x", "graphmem_api.x", "neo4j.io", "fastembed", "httpx", "other"):
        logging.getLogger(name).debug("from %s", name)
        logging.getLogger(name).info("from %s", name)
    shown = [line.split()[2] for line in capsys.readouterr().err.splitlines()]
    assert shown == ["graphmem.x:", "graphmem.x:", "graphmem_api.x:", "graphmem_api.x:"]


def test_talkative_ones_stay_quiet_even_when_the_root_is_opened(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_log("debug")
    logging.getLogger().setLevel(logging.DEBUG)
    for name in (
        "neo4j",
        "neo4j.io",
        "neo4j.pool",
        "neomodel.x",
        "fastembed",
        "httpx",
        "httpcore.a",
    ):
        logging.getLogger(name).info("sesame")
    logging.getLogger("other").info("heard")
    assert [line.split()[-1] for line in capsys.readouterr().err.splitlines()] == ["heard"]


def test_setting_it_up_twice_writes_each_line_once_in_the_later_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_log("info")
    show_log("info", "json")
    logging.getLogger("graphmem").info("once")
    [line] = capsys.readouterr().err.splitlines()
    assert json.loads(line)["message"] == "once"


def test_a_reader_that_is_gone_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def write(self, _: str) -> None:
            raise BrokenPipeError

    show_log("info")
    monkeypatch.setattr(sys, "stderr", Gone())
    logging.getLogger("graphmem").info("into the void")
