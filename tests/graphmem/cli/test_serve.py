import json
import re
import signal
import time

import httpx


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


def test_its_log_can_be_json(started):
    process = started("serve", "--port", "0", "--log-format", "json", "--jobs", "off")
    url = ready(process)
    assert httpx.get(
        f"{url}/api/v0/memories/x", headers={"X-Request-Id": "a:1", "X-Client-Id": "atlas"}
    ).is_client_error
    line = next(line for line in process.stdout if line.startswith("{"))
    shown = json.loads(line)
    assert shown.keys() == {"time", "level", "logger", "message", "request_id", "client"}
    assert (shown["logger"], shown["request_id"], shown["client"]) == (
        "graphmem_api.access",
        "a:1",
        "atlas",
    )
