import json
import re
import signal
import socket
import time

import httpx
import pytest
from click.testing import CliRunner

from graphmem.cli.main import commands
from graphmem.cli.serve import say_where, with_free_port
from graphmem.config import Settings
from graphmem.observing.logs import show_log


def ready(process) -> str:
    """Return where a program says that it listens."""
    for line in process.stdout:
        said = re.search(r"(http://127\.0\.0\.1:\d+) ", line)
        if said:
            return said[1]
    raise AssertionError("it ended before it listened")


def test_it_serves_until_it_is_told_to_end(started):
    process = started("serve", "--port", "0")
    url = ready(process)
    assert process.stdout.readline() == f"a page to ask, look and curate: {url}/\n"
    assert process.stdout.readline().endswith(f"{url}/schema\n")
    assert httpx.get(f"{url}/health/live", timeout=300).status_code == 200
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) in (0, 130)
    assert time.monotonic() - began < 20
    assert "Traceback" not in process.stdout.read()


def test_an_address_for_everybody_needs_keys(graphmem):
    result = graphmem("serve", "--host", "0.0.0.0", "--port", "0")
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("Error: ")


def test_its_log_can_be_json_in_every_line(started):
    process = started(
        *("serve", "--port", "0", "--log-format", "json", "--jobs", "off", "--warm-seconds", "60")
    )
    begun = [json.loads(process.stdout.readline())]
    while "url" not in begun[-1]:
        begun.append(json.loads(process.stdout.readline()))
    assert begun[-1]["message"] == f"graphmem listens on {begun[-1]['url']} (Ctrl-C ends it)"
    assert "preparing the first answers …" in [one["message"] for one in begun]
    assert httpx.get(
        f"{begun[-1]['url']}/api/v0/memories/x",
        headers={"X-Request-Id": "a:1", "X-Client-Id": "atlas"},
    ).is_client_error
    process.send_signal(signal.SIGTERM)
    ended = [json.loads(line) for line in process.stdout]
    [shown] = [one for one in ended if one["logger"] == "graphmem_api.access"]
    ms = shown.pop("ms")
    assert isinstance(ms, float)
    del shown["time"]
    assert shown == {
        "level": "info",
        "logger": "graphmem_api.access",
        "message": "method=GET route=/api/v0/memories/{memory_id} status=404 "
        f"ms={ms} code=memory_not_found",
        "request_id": "a:1",
        "client": "atlas",
        "method": "GET",
        "route": "/api/v0/memories/{memory_id}",
        "status": 404,
        "code": "memory_not_found",
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--port", "x"), "--port: expected a whole number"),
        (("--host", "0.0.0.0"), "GRAPHMEM_HOST: "),
        (("--host", "0.0.0.0", "--debug"), "GRAPHMEM_HOST: "),
    ],
)
def test_an_error_of_the_start_is_json_too(arguments, told, monkeypatch):
    monkeypatch.setenv("GRAPHMEM_LOG_FORMAT", "json")
    result = CliRunner().invoke(commands, ["serve", *arguments])
    assert result.exit_code == 2
    [shown] = [json.loads(line) for line in result.output.splitlines()]
    assert shown["level"] == "error"
    assert shown["message"].startswith(told)


@pytest.mark.parametrize("level", ["debug", "info", "error"])
def test_a_log_in_json_has_the_url_at_every_level(level, capsys):
    show_log(level, "json")
    say_where("http://127.0.0.1:7")
    shown = json.loads(capsys.readouterr().err)
    assert (shown["level"], shown["url"]) == ("info", "http://127.0.0.1:7")


def test_a_port_that_is_taken_is_a_line_of_the_log(capsys):
    show_log("info", "json")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert with_free_port(Settings(port=port)).port == 0
    assert json.loads(capsys.readouterr().err)["message"].startswith(f"port {port} is taken")
