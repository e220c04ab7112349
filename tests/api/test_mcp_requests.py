"""Requests of users with the tool that each wants: the descriptions of the tools are written for them."""

from collections import Counter
from pathlib import Path

from graphmem_api.mcp.memory_tools import TOOLS

FILE = Path(__file__).parent.parent / "mcp_requests.tsv"


def test_forty_requests_want_each_tool_at_least_twice() -> None:
    lines = [line.split("\t") for line in FILE.read_text("utf-8").splitlines()]
    assert len({request for request, _ in lines}) == len(lines) == 40
    wanted = Counter(tool for _, tool in lines)
    assert set(wanted) == {tool.name for tool in TOOLS}
    assert min(wanted.values()) >= 2


def test_each_description_says_when_to_use_the_tool_and_when_another() -> None:
    names = {tool.name for tool in TOOLS}
    for tool in TOOLS:
        assert "Use it" in tool.description or "The first tool to try" in tool.description, (
            tool.name
        )
        assert any(name in tool.description for name in names - {tool.name}), tool.name
