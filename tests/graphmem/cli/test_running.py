import asyncio
import signal
import subprocess
import sys
import time

import pytest

from graphmem.cli.running import Interrupted, run

WORK = """
import asyncio, sys
from graphmem.cli.running import Interrupted, run

async def work():
    try:
        print("ready", flush=True)
        await asyncio.sleep(60)
    finally:
        await asyncio.sleep(float(sys.argv[1]))
        print("closed", flush=True)

try:
    run(work())
except Interrupted as ended:
    sys.exit(ended.exit_code)
"""


def working(closing_seconds: float) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, str(closing_seconds)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_the_result_is_returned():
    async def work() -> int:
        return 7

    assert run(work()) == 7


def test_signals_are_put_back():
    before = signal.getsignal(signal.SIGTERM)
    run(asyncio.sleep(0))
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_cancellation_that_is_no_signal_stays_one():
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run(work())


def test_work_that_a_signal_met_at_its_end_is_interrupted():
    async def work() -> None:
        signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Interrupted) as ended:
        run(work())
    assert ended.value.exit_code == 143


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_lets_the_work_close_what_it_opened(number):
    process = working(0.1)
    process.send_signal(number)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (128 + number, "closed\n")
    assert err == "\nstopping (once more leaves at once)\n"


def test_a_second_signal_leaves_at_once():
    process = working(60)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert process.stderr.readline() == "\n"
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    assert (process.returncode, out) == (130, "")
    assert time.monotonic() - began < 10


def test_what_is_ignored_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:

        async def work() -> object:
            return signal.getsignal(signal.SIGHUP)

        assert run(work()) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
