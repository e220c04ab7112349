"""The event loop in a thread, and what waits for it."""

import multiprocessing
import subprocess
import sys

import httpx
import pytest

import graphmem

FORGETFUL = """
import httpx, graphmem
transport = httpx.MockTransport(lambda request: httpx.Response(200, json={"categories": ["goal"]}))
client = graphmem.Client(transport=transport)
print(client.categories().categories)
"""


def answer(request: httpx.Request) -> httpx.Response:
    """Answer as a service with one category."""
    return httpx.Response(200, json={"categories": ["goal"]})


def test_a_program_that_closes_nothing_ends(whole_program: None) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FORGETFUL], capture_output=True, text=True, timeout=120, check=True
    )
    assert ended.stdout == "['goal']\n"


def test_a_closed_client_answers_no_more() -> None:
    with graphmem.Client(transport=httpx.MockTransport(answer)) as client:
        assert client.categories().categories == ["goal"]
    with pytest.raises(RuntimeError, match="the memory is closed: use it in its block"):
        client.categories()


async def test_a_plain_block_is_refused_inside_of_an_event_loop() -> None:
    with pytest.raises(TypeError, match="async with"), graphmem.open():
        pass


def use_and_close(client: graphmem.Client) -> None:
    """End with 7 if the client says that it belongs to another process."""
    with client, pytest.raises(RuntimeError, match="opened before a fork: open another one"):
        client.categories()
    sys.exit(7)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_is_told_to_open_its_own() -> None:
    with graphmem.Client(transport=httpx.MockTransport(answer)) as client:
        child = multiprocessing.get_context("fork").Process(target=use_and_close, args=[client])
        child.start()
        child.join(30)
        child.kill()
        assert child.exitcode == 7
        assert client.categories().categories == ["goal"]


INTERRUPTED = """
import asyncio, os, signal, threading
import graphmem, httpx

ended = threading.Event()

async def wait(request):
    threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]).start()
    try:
        await asyncio.sleep(60)
    finally:
        ended.set()

signal.signal(signal.SIGINT, signal.default_int_handler)
with graphmem.Client(transport=httpx.MockTransport(wait)) as client:
    try:
        client.categories()
    except KeyboardInterrupt:
        print(ended.wait(30))
"""
"""A program that its user interrupts; it is one of its own, since a test need not run in the main thread."""


def test_what_the_user_interrupts_is_cancelled() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")
