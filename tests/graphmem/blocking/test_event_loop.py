"""The event loop in a thread, and what waits for it."""

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
    with pytest.raises(RuntimeError, match="not running"):
        client.categories()


async def test_a_plain_block_is_refused_inside_of_an_event_loop() -> None:
    with pytest.raises(TypeError, match="async with"), graphmem.open():
        pass
