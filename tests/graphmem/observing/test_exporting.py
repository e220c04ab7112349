"""Where spans go: to what the standard variables name, and nowhere unless somebody asks."""

import asyncio
import os
import subprocess
import sys

import pytest
from opentelemetry import trace

from graphmem.observing.spans import exporting

PROGRAM = """
import asyncio, logging, sys
from graphmem.observing.spans import exporting
from graphmem.observing.spans import begun, span
logging.basicConfig(format="%(message)s")

async def main():
    async with exporting():
        with span("job digest", parent=begun()):
            with span("jobs/settle"):
                pass

asyncio.run(main())
"""


def told(repository, prelude: str = "", **environ: str) -> tuple[str, str]:
    """Return what a program writes that makes two spans."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-c", prelude + PROGRAM],
        env=clean | {"PYTHONPATH": str(repository)} | environ,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return done.stdout, done.stderr


def test_spans_go_where_the_environment_says(repository) -> None:
    out, _ = told(repository, OTEL_TRACES_EXPORTER="console")
    assert '"name": "job digest"' in out
    assert '"name": "jobs/settle"' in out
    assert '"service.name": "graphmem"' in out


def test_the_environment_names_the_service(repository) -> None:
    out, _ = told(repository, OTEL_TRACES_EXPORTER="console", OTEL_SERVICE_NAME="memory-7")
    assert '"service.name": "memory-7"' in out


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"OTEL_TRACES_EXPORTER": "none"},
        {"OTEL_TRACES_EXPORTER": "console", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_TRACES_EXPORTER": "console", "OTEL_TRACES_SAMPLER": "always_off"},
    ],
)
def test_they_go_nowhere_where_nobody_asks(repository, environ: dict[str, str]) -> None:
    assert told(repository, **environ) == ("", "")


def test_an_exporter_that_is_not_there_is_told(repository) -> None:
    out, err = told(repository, OTEL_TRACES_EXPORTER="carrier_pigeon")
    assert out == ""
    assert err == "spans are not sent to carrier_pigeon: no such exporter is installed\n"


def test_an_sdk_that_is_not_there_is_told(repository) -> None:
    hidden = "import sys; sys.modules['opentelemetry.sdk.trace'] = None\n"
    out, err = told(repository, hidden, OTEL_TRACES_EXPORTER="console")
    assert out == ""
    assert "pip install 'graphmem[otel]'" in err


def test_a_receiver_that_hangs_does_not_keep_the_process(repository) -> None:
    hanging = """
import time
from opentelemetry.sdk.trace.export import ConsoleSpanExporter
ConsoleSpanExporter.export = lambda *_: time.sleep(50)
"""
    _, err = told(repository, hanging, OTEL_TRACES_EXPORTER="console")
    assert "the last spans could not be sent" in err


async def test_a_provider_that_is_there_already_is_left_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Theirs:
        """What somebody set up who embeds graphmem."""

    monkeypatch.setattr(trace, "get_tracer_provider", Theirs)
    monkeypatch.setattr(trace, "set_tracer_provider", lambda _: pytest.fail("it was replaced"))
    async with exporting({"OTEL_TRACES_EXPORTER": "console"}):
        await asyncio.sleep(0)
