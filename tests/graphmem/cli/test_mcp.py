"""`graphmem mcp`, started by the SDK's own client: what an agent's program sees of it."""

import asyncio
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from graphmem_api.mcp.stdio import refusal
from mcp import Client, ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from pydantic import ValidationError

from graphmem import config
from graphmem.cli.mcp import BackgroundOpening, _open
from graphmem.errors import SetupError
from tests.agents_program import (
    MEMORY_TOOLS,
    READING,
    RUN_TOOLS,
    check_descriptions,
    make_mistakes,
    text_of,
    told,
    use_memory_tools,
    use_run_tools,
)
from tests.graphmem.cli.conftest import program
from tests.told_sessions import BUG, tell

QUESTION = "What was that auth bug?"
SEARCH = "search_contextual"


@pytest.fixture
def environment(environment: dict[str, str], whole_program: None) -> dict[str, str]:
    """The environment of the program that an agent starts."""
    return environment


@asynccontextmanager
async def connected(
    environment: dict[str, str], errors: Path, *arguments: str
) -> AsyncIterator[ClientSession]:
    """Start the command as an agent's program does, and shake hands with it."""
    command, *rest = program("mcp", *arguments)
    parameters = StdioServerParameters(command=command, args=rest, env=environment)
    with errors.open("w") as log:
        async with (
            stdio_client(parameters, errlog=log) as (incoming, outgoing),
            ClientSession(incoming, outgoing) as session,
        ):
            await session.initialize()
            yield session


async def test_an_agent_searches_its_earlier_sessions(
    environment, memory, rival, tmp_path
) -> None:  # S5.15
    mine = await tell(memory)
    await tell(rival)
    errors = tmp_path / "stderr"
    async with connected(
        environment, errors, "--client", memory.client_id, "--structured", "--tools", SEARCH
    ) as session:
        [tool] = (await session.list_tools()).tools
        assert tool.name == SEARCH
        fields = tool.input_schema["properties"]
        assert {"query", "top_sessions", "top_k", "neighbours", "conversation_id", "as_of"} <= set(
            fields
        )
        assert (fields["top_sessions"]["maximum"], fields["max_tokens"]["default"]) == (20, 4096)

        answer = await session.call_tool(
            SEARCH, {"query": QUESTION, "top_sessions": 1, "top_k": 1, "max_tokens": 200}
        )
        assert not answer.is_error
        said = text_of(answer)
        found = answer.structured_content
        assert said == found["prompt"]
        assert BUG[3][1] in said
        [context] = found["contexts"]
        assert context["session_id"] == mine["bug"]
        assert [turn["idx"] for turn in context["messages"] if turn["hit"]] == [3]
        assert memory.runtime.tokens.count(said) == found["tokens_used"] <= 200

        then = {"query": QUESTION, "as_of": "2026-03-03T09:02:00Z", "neighbours": 9}
        early = (await session.call_tool(SEARCH, then)).structured_content
        assert {turn["idx"] for one in early["contexts"] for turn in one["messages"]} <= {0, 1, 2}

        nothing = await session.call_tool(SEARCH, {"query": QUESTION, "conversation_id": "none"})
        assert text_of(nothing) == "Nothing was found."
        assert nothing.structured_content["fallback"] == "global"
    assert quiet(errors)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_an_agent_uses_every_tool_and_makes_every_mistake(
    environment, client_id, tmp_path, mode
) -> None:
    command, *rest = program("mcp", "--client", client_id, "--tools", "all")
    parameters = StdioServerParameters(command=command, args=rest, env=environment)
    errors = tmp_path / "stderr"
    with errors.open("w") as log:
        async with Client(stdio_client(parameters, errlog=log), mode=mode) as agent:
            assert "long-term memory" in str(agent.instructions)
            await check_descriptions(agent, [*MEMORY_TOOLS, *RUN_TOOLS])
            await use_memory_tools(agent)
            await use_run_tools(agent)
            await make_mistakes(agent)
            said = [{"content": f"Buoy {number} is green."} for number in range(50)]
            calls = [told(agent, "remember", messages=[one]) for one in said]
            assert len(await asyncio.gather(*calls)) == 50
            await told(agent, "what_do_you_know", kinds=["message"], max_tokens=4000)
    assert quiet(errors)


async def test_a_program_may_be_given_less(environment, client_id, tmp_path) -> None:
    options = ("--client", client_id, "--read-only")
    async with connected(environment, tmp_path / "stderr", *options) as session:
        tools = (await session.list_tools()).tools
        assert [tool.name for tool in tools] == READING


def test_an_unknown_tool_is_refused_before_anything_starts(environment) -> None:
    result = subprocess.run(
        program("mcp", "--tools", "recall,sing"),
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 2
    assert "there is no 'sing'; there are all, forget" in result.stderr
    assert result.stdout == ""


async def test_a_rival_s_story_is_not_told(environment, memory, rival, tmp_path) -> None:
    await tell(rival)
    await memory.remember_fact("The auth bug had nothing to do with the weather.")
    options = ("--client", memory.client_id, "--structured")
    async with connected(environment, tmp_path / "stderr", *options) as session:
        answer = await session.call_tool(SEARCH, {"query": QUESTION, "conversation_id": "c"})
        assert answer.structured_content["items"] == []
        answer = await session.call_tool(SEARCH, {"query": QUESTION})
        assert answer.structured_content["contexts"] == []
        assert len(answer.structured_content["items"]) == 1
        assert "a search over everything" in text_of(answer)


def quiet(errors: Path) -> bool:
    """Tell whether nothing went wrong, and nothing was said of what was asked."""
    said = errors.read_text()
    return not any(word in said for word in (" WARNING ", " ERROR ", "Traceback", QUESTION))


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def started(environment: dict[str, str], *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        program("mcp", *arguments),
        env=environment,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def greeted(process: "subprocess.Popen[str]") -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(HELLO) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize("end", ["stdin", signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_stdin_and_with_a_signal(environment, end) -> None:
    process = started(environment)
    assert greeted(process)["result"]["serverInfo"]["name"] == "graphmem"
    began = time.monotonic()
    try:
        if end != "stdin":
            process.send_signal(end)
            assert process.wait(timeout=300) == 128 + end
        out, errors = process.communicate(timeout=300)
    finally:
        process.kill()
        process.communicate()
    assert time.monotonic() - began < 20
    if end == "stdin":
        assert process.returncode == 0
    assert out == ""
    assert "Traceback" not in errors


def test_a_file_is_answered_too(environment, tmp_path) -> None:
    path = tmp_path / "said.jsonl"
    path.write_text(json.dumps(HELLO), "utf-8")
    with path.open() as file:
        result = subprocess.run(
            program("mcp"),
            env=environment,
            stdin=file,
            capture_output=True,
            timeout=300,
            check=False,
        )
    assert json.loads(result.stdout)["id"] == 1
    assert result.returncode == 0, result.stderr


SURROGATE = r'{"jsonrpc": "2.0", "id": 50, "method": "ping", "params": {"a": "cut emoji \ud83d"}}'
NESTED = '{"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {"a": %s}}'


def nested(levels: int) -> str:
    """Return a request with so many lists inside each other."""
    return NESTED % ("[" * levels + "]" * levels)


@pytest.mark.parametrize(
    ("line", "id", "code", "message"),
    [
        ("{oops", None, types.PARSE_ERROR, "the line is no JSON: Expecting property name"),
        (SURROGATE, 50, types.PARSE_ERROR, "half of a surrogate pair .*: send Unicode characters"),
        (
            SURROGATE.replace("50", r'"\ud83d"'),
            None,
            types.PARSE_ERROR,
            "half of a surrogate pair",
        ),
        (nested(250), "a", types.PARSE_ERROR, "nested too deep: at most 200 levels"),
        (nested(30_000), None, types.PARSE_ERROR, "nested too deep: at most 200 levels"),
        ('{"id": 7, "method": "ping"}', 7, types.INVALID_REQUEST, 'with "jsonrpc": "2.0", an id'),
        (
            '{"jsonrpc": "2.0", "id": true, "method": 5}',
            None,
            types.INVALID_REQUEST,
            "is no message of JSON-RPC",
        ),
        ("[{}]", None, types.INVALID_REQUEST, "send each one on a line of its own"),
    ],
)
def test_a_line_that_is_no_message_has_an_answer_with_its_id(line, id, code, message) -> None:
    with pytest.raises(ValidationError) as found:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    answer = refusal(found.value)
    assert answer is not None
    assert (answer.id, answer.error.code) == (id, code)
    assert re.search(message, answer.error.message)
    answer.model_dump_json()


@pytest.mark.parametrize(
    "line", ["", " \r", '{"jsonrpc": "2.0", "id": 7, "result": 3}', r'{"id": 7, "error": "\ud83d"}']
)
def test_a_blank_line_and_a_broken_answer_have_no_answer(line) -> None:
    with pytest.raises(ValidationError) as found:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    assert refusal(found.value) is None


def test_lines_that_are_no_messages_are_answered_and_the_next_ones_too(environment) -> None:
    lines = ["{oops", json.dumps(HELLO), SURROGATE, "", nested(250), "[]"]
    result = subprocess.run(
        program("mcp"),
        env=environment,
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    told = {one["id"] or one["error"]["code"] for one in answers}
    assert told == {types.PARSE_ERROR, 1, 50, "a", types.INVALID_REQUEST}
    assert len(answers) == len(told)
    assert result.returncode == 0, result.stderr


async def test_a_database_that_is_not_there_is_told_and_asked_again(environment, tmp_path) -> None:
    nowhere = environment | {"GRAPHMEM_NEO4J_URI": "bolt://127.0.0.1:1"}
    errors = tmp_path / "stderr"
    async with connected(nowhere, errors) as session:
        for _ in range(2):
            answer = await session.call_tool(SEARCH, {"query": QUESTION})
            assert answer.is_error
            assert "127.0.0.1:1" in text_of(answer)
    said = errors.read_text()
    # Once when it was started; the first call may have waited for that.
    assert said.count("graphmem cannot be opened") in {2, 3}
    assert "Traceback" not in said
    assert QUESTION not in said


async def test_what_failed_to_open_is_opened_by_the_next_who_asks() -> None:
    opened: list[str] = []
    given: Any = object()

    @asynccontextmanager
    async def memory() -> AsyncIterator[Any]:
        opened.append("begun")
        await asyncio.sleep(0)
        if len(opened) == 1:
            raise SetupError("not yet")
        yield given
        opened.append("closed")

    async with BackgroundOpening(memory) as opening:
        with pytest.raises(SetupError, match="not yet"):
            await opening.memory()
        both = await asyncio.gather(opening.memory(), opening.memory())
        assert list(both) == [given, given]
    assert opened == ["begun", "begun"]


async def test_the_queries_of_turns_are_planned_while_the_first_calls_are_answered(
    monkeypatch: pytest.MonkeyPatch, runtime: Any
) -> None:
    told: list[str] = []

    @asynccontextmanager
    async def given(*_: object) -> AsyncIterator[Any]:
        yield runtime

    async def prepare(context: Any) -> None:
        told.append(f"begun for {context.client_id!r}")
        try:
            await asyncio.Event().wait()
        finally:
            told.append("ended")

    monkeypatch.setattr("graphmem.runtime.running", given)
    monkeypatch.setattr("graphmem.background.working", given)
    monkeypatch.setattr("graphmem.hypotheses.ask.prepare_turns", prepare)
    async with _open(config.load({}), "c") as memory:
        await asyncio.sleep(0.05)
        assert (memory.client_id, told) == ("c", ["begun for ''"])
    assert told[1:] == ["ended"]


def test_without_the_sdk_it_says_what_to_install(environment, tmp_path) -> None:
    blocked = tmp_path / "sitecustomize.py"
    blocked.write_text(
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'mcp' else find(name, *more)\n"
    )
    path = os.pathsep.join(filter(None, (str(tmp_path), environment.get("PYTHONPATH"))))
    result = subprocess.run(
        program("mcp"),
        env=environment | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 2
    assert "pip install 'graphmem[mcp]'" in result.stderr
