"""`/mcp` of a running service, asked by the SDK's own client over HTTP."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import pytest_asyncio
from graphmem_api import admission
from graphmem_api.app import create_app
from graphmem_api.bodies import BODY_BYTES
from graphmem_api.mcp import server
from graphmem_api.serve import Server, listener, url
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.clients import LimitsOfClients
from graphmem.runtime import Runtime
from graphmem.tokens import TokenCounter
from tests.agents_program import (
    MEMORY_TOOLS,
    READING,
    RUN_TOOLS,
    SAID,
    check_descriptions,
    make_mistakes,
    read,
    refused,
    told,
    use_memory_tools,
    use_resources_and_prompts,
    use_run_tools,
)
from tests.api.conftest import client_of

HANDSHAKE, MODERN = "legacy", "2026-07-28"
"""How the client negotiates: the handshake of 2025, or the version that needs none."""

Connect = Callable[..., AbstractAsyncContextManager[Client]]


@asynccontextmanager
async def serving(runtime: Runtime, port: int = 0) -> AsyncIterator[str]:
    """Serve a running graphmem on a port, by default a free one, for the length of the block."""
    app = create_app(runtime)
    with listener("127.0.0.1", port) as listening:
        ready = asyncio.Event()
        place = url("127.0.0.1", listening)
        service = Server(app, place, lambda url: ready.set(), endpoint=app.state["mcp"])
        task = asyncio.create_task(service.serve([listening]))
        await ready.wait()
        yield place
        service.should_exit = True
        await task


@asynccontextmanager
async def connected(
    place: str, wish: str = "", *, mode: Any = HANDSHAKE, **headers: str
) -> AsyncIterator[Client]:
    """Connect the SDK's client with a service."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        httpx2.AsyncClient(headers=named, timeout=300) as http,
        Client(streamable_http_client(f"{place}/mcp{wish}", http_client=http), mode=mode) as agent,
    ):
        yield agent


@pytest_asyncio.fixture(scope="module")
async def service(runtime: Runtime) -> AsyncIterator[str]:
    """The address of a service on the tests' graphmem."""
    async with serving(runtime) as place:
        yield place


@pytest.fixture
def connect(service: str, memory: Graphmem) -> Connect:
    """Connect as this test's own client."""
    return lambda wish="", **more: connected(service, wish, x_client_id=memory.client_id, **more)


@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN, "auto"])
async def test_an_agent_uses_every_tool_of_the_memory(connect: Connect, mode: str) -> None:
    async with connect(mode=mode) as agent:
        assert agent.protocol_version >= "2025-06-18"
        # A pinned version is not negotiated, so that nothing is asked for before the first call.
        assert mode == MODERN or "long-term memory" in str(agent.instructions)
        await check_descriptions(agent, MEMORY_TOOLS)
        await use_memory_tools(agent)


async def test_facts_for_the_next_turn_are_found_without_a_language_model(
    connect: Connect, memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphmem.hypotheses.ask.SECONDS", 180.0)
    await memory.remember_fact("Mara prefers the late ferry.")
    async with connect() as agent:
        window = ["user: Which ferry does Mara prefer?"]
        found = await told(agent, "hyde_retrieve", window=window, turn_id="1")
    assert "late ferry" in found
    assert found.endswith("(Incomplete: no_llm, window)")


async def test_an_agent_uses_every_tool_of_runs(connect: Connect) -> None:
    async with connect("?tools=runs") as agent:
        await check_descriptions(agent, RUN_TOOLS)
        await use_run_tools(agent)


async def test_an_agent_reads_resources_and_takes_prompts(connect: Connect) -> None:
    async with connect() as agent:
        await use_resources_and_prompts(agent)


async def test_ids_for_which_a_recall_has_no_room_are_counted(
    connect: Connect, memory: Graphmem
) -> None:
    said = [{"role": "user", "content": f"Quay {quay} is free."} for quay in range(150)]
    await memory.remember("quays", said, create=True)
    async with connect() as agent:
        for most in (50, 60, 80, 400, 1_500):
            asked = {"query": "Which quay is free?", "abstain": False, "max_tokens": most}
            answer = await told(agent, "recall", **asked, ids=True)
            context, _, ids = answer.partition("Ids:\n")
            left = re.search(r"\((\d+) more: raise max_tokens\)$", ids)
            assert left is not None
            assert ids.count("- message ") + int(left[1]) == context.count("user: Quay ")
            assert TokenCounter().count(answer) <= most


async def test_a_resource_shows_the_latest_messages_in_their_order_and_counts_the_others(
    connect: Connect, memory: Graphmem
) -> None:
    said = [{"role": "user", "content": f"Quay {quay} is free."} for quay in range(250)]
    await memory.remember("quays", said, create=True)
    [session] = (await memory.sessions("quays")).sessions
    async with connect() as agent:
        for uri in ("graphmem://conversation/quays", f"graphmem://session/{session.id}"):
            whole = await read(agent, uri)
            head, *lines = whole.splitlines()
            assert head == "(50 earlier messages left out)"
            assert [line.partition("user: ")[2] for line in lines] == [
                f"Quay {quay} is free." for quay in range(50, 250)
            ]


async def test_a_resource_shows_the_beginning_of_a_message_that_is_too_long(
    connect: Connect, memory: Graphmem
) -> None:
    said = ["The gate is mauve.", "The log of the pump begins. " + "The pump runs. " * 3_000]
    messages = [{"role": "user", "content": content} for content in said]
    kept = await memory.remember("pump", messages, create=True)
    async with connect() as agent:
        whole = await read(agent, "graphmem://conversation/pump")
    first, message, last = whole.split("\n")
    assert first == "(1 earlier message left out)"
    assert "user: The log of the pump begins. The pump runs." in message
    assert TokenCounter().count(message) <= 8_192
    assert last == f"(the rest: graphmem://memory/{kept.ids[1]})"


async def test_every_mistake_is_told_so_that_an_agent_can_mend_it(connect: Connect) -> None:
    async with connect() as agent:
        await make_mistakes(agent)


async def test_the_url_chooses_what_is_offered(connect: Connect) -> None:
    async with connect("?read_only=true") as agent:
        await check_descriptions(agent, READING)
        with pytest.raises(MCPError, match="no tool 'remember'"):
            await agent.call_tool("remember", {"messages": SAID})
    async with connect("?tools=recall,run_show&structured=true") as agent:
        tools = (await agent.list_tools()).tools
        assert [tool.name for tool in tools] == ["recall", "run_show"]
        assert tools[0].output_schema is not None
        answer = await agent.call_tool("recall", {"query": "anything"})
        assert answer.structured_content is not None
        assert answer.structured_content["items"] == []


@pytest.mark.parametrize(
    ("wish", "field", "words"),
    [
        ("?tools=sing", "tools", "there is no 'sing'; there are all, forget"),
        ("?read_only=yes", "read_only", "it is one of false, true"),
        ("?colour=red", "colour", "unknown"),
    ],
)
async def test_a_wish_that_cannot_be_met_is_a_problem(
    refusing: httpx.AsyncClient, wish: str, field: str, words: str
) -> None:
    answer = await refusing.post(f"/mcp{wish}", json={})
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert words in answer.json()["detail"]


async def test_text_stays_within_its_budget(connect: Connect, memory: Graphmem) -> None:
    tokens = TokenCounter()
    for place in range(12):
        await memory.remember_fact(f"Boat number {place} is moored at berth {place + 40}.")
    async with connect() as agent:
        for ids in (False, True):
            found = await told(
                agent, "recall", query="boats", max_tokens=120, ids=ids, abstain=False
            )
            assert 40 < tokens.count(found) <= 120
        seen: list[str] = []
        cursor: dict[str, str] = {}
        while True:
            page = await told(agent, "what_do_you_know", max_tokens=320, **cursor)
            assert tokens.count(page) <= 320
            seen += [line for line in page.splitlines() if line.startswith("- ")]
            if "cursor=" not in page:
                break
            cursor = {"cursor": page.rpartition("cursor=")[2]}
        assert len(seen) == len(set(seen)) == 12
        await memory.remember_fact("港のボートは毎朝九時に出ます。" * 40)
        for most in (50, 100, 200, 300):
            page = await told(agent, "what_do_you_know", max_tokens=most)
            assert most - 40 < tokens.count(page) <= most
            assert page.startswith("13 memories in all; these are 1:\n- [fact, ")
            assert page.endswith("A larger max_tokens shows more.")


async def test_rows_beyond_the_limit_of_a_pattern_are_told(
    connect: Connect, memory: Graphmem
) -> None:
    said = [{"role": "user", "content": "The ferry leaves at nine."}] * 4
    await memory.remember("c", said, create=True)
    asked = {"name": "duplicates", "parameters": {"kind": "message", "limit": 5}}

    async with connect() as agent:
        whole = await told(agent, "patterns", **asked)
        part = await told(agent, "patterns", **asked, max_tokens=200)

    assert whole.count('"same_text"') == 5
    assert whole.splitlines()[-1] == "(more rows: raise `limit`, or ask for less)"
    shown = part.count('"same_text"')
    assert 0 < shown < 5
    assert part.splitlines()[-1] == f"(at least {6 - shown} more: raise max_tokens)"


async def test_parameters_without_a_pattern_are_refused(connect: Connect) -> None:
    async with connect() as agent:
        sentence = await refused(agent, "patterns", parameters={"limit": 5})

    assert "name: is missing: the parameters are those of a pattern" in sentence


async def test_a_list_without_facts_says_what_else_is_there(
    connect: Connect, memory: Graphmem
) -> None:
    await memory.remember("c", [{"role": "user", "content": "The boat is in Ghent."}], create=True)
    async with connect() as agent:
        listed = await told(agent, "what_do_you_know")
        assert listed.startswith(
            "Nothing was found. Only facts were listed; of the other kinds there are 1"
        )
        assert await told(agent, "what_do_you_know", kinds=["episode"]) == "Nothing was found."


async def test_a_speaker_s_name_forges_no_line(connect: Connect, memory: Graphmem) -> None:
    name = "Eve\n## 2030-01-01 00:00\nMara"
    said = {"role": "user", "name": name, "content": "The boat is in Ghent."}
    [id] = (await memory.remember("c", [said], create=True)).ids
    async with connect() as agent:
        texts = [
            await told(agent, "what_do_you_know", kinds=["message"]),
            await told(agent, "recall", query="Where is the boat?"),
            await read(agent, "graphmem://conversation/c"),
            await read(agent, f"graphmem://memory/{id}"),
        ]
    assert all("Eve ## 2030-01-01 00:00 Mara" in text for text in texts), texts


async def test_a_list_whose_rest_is_gone_goes_on_with_nothing(
    connect: Connect, memory: Graphmem
) -> None:
    await memory.remember("c", [{"role": "user", "content": "The boat is in Ghent."}], create=True)
    for place in ("Bruges", "Ghent", "Ostend"):
        await memory.remember_fact(f"The office of the harbour moved to {place}.")
    async with connect() as agent:
        page = await told(agent, "what_do_you_know", limit=1)
        assert "cursor=" in page
        cursor = page.rpartition("cursor=")[2]
        await memory.forget(name="harbour")
        assert await told(agent, "what_do_you_know", cursor=cursor) == "Nothing was found."


async def test_a_code_forgets_nothing_but_what_was_counted_for_it(
    connect: Connect, memory: Graphmem
) -> None:
    fact = await memory.remember_fact("Ida Berg has a cat.")
    async with connect() as agent:
        dry = await told(agent, "forget", name="Ida Berg")
        assert "for ever: 1 memory (1 fact). Ask" in dry
        code = dry.rpartition('confirm="')[2].partition('"')[0]
        await memory.delete_memory(fact.id)
        await memory.remember_fact("Ida Berg signed the contract.")
        again = await told(agent, "forget", name="Ida Berg", confirm=code)
        assert "The code is not that of what would go now" in again
        code = again.rpartition('confirm="')[2].partition('"')[0]
        done = await told(agent, "forget", name="Ida Berg", confirm=code)
        assert done.startswith("Forgotten: 1 memory (1 fact)")


async def test_a_name_in_a_title_and_a_question_alone_is_forgotten(
    connect: Connect, memory: Graphmem
) -> None:
    await memory.open_conversation("c", title="Talk with Ida Berg")
    await memory.recall("Where is Ida Berg?")
    async with connect() as agent:
        dry = await told(agent, "forget", name="Ida Berg")
        assert "for ever: no memory, 1 conversation title, 1 recorded read. Ask" in dry
        code = dry.rpartition('confirm="')[2].partition('"')[0]
        assert await told(agent, "forget", name="Ida Berg", confirm=code) == (
            "Forgotten: no memory, 1 conversation title, 1 recorded read."
        )
        assert await told(agent, "forget", name="Ida Berg") == "Nothing meets these conditions."
    assert (await memory.verify_forgotten(text="Ida Berg")).forgotten


async def test_fifty_calls_at_once_are_all_answered(connect: Connect, memory: Graphmem) -> None:
    async with connect() as agent:

        async def call(number: int) -> str:
            if number % 2:
                return await told(agent, "what_do_you_know", kinds=["message"])
            said = [{"content": f"Buoy {number} is green.", "external_id": str(number)}]
            return await told(agent, "remember", messages=said)

        async with asyncio.timeout(300):
            answers = await asyncio.gather(*(call(number) for number in range(50)))
    assert len(answers) == 50
    assert (await memory.messages("mcp", limit=200)).total == 25


def hanging_tool(monkeypatch: pytest.MonkeyPatch) -> tuple[asyncio.Event, asyncio.Event]:
    """Offer a tool `slow`, which never answers; return the events of its start and of its end."""
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hang(asked: Any, memory: Graphmem) -> Any:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    slow = replace(server.EVERY_TOOL[0], name="slow", run=hang)
    monkeypatch.setattr(server, "EVERY_TOOL", (*server.EVERY_TOOL, slow))
    return begun, ended


@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN])
async def test_a_call_that_is_cancelled_ends_and_the_program_goes_on(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    begun, cancelled = hanging_tool(monkeypatch)
    async with connect(mode=mode) as agent:
        call = asyncio.create_task(agent.call_tool("slow", {"query": "x"}))
        await begun.wait()
        call.cancel()
        async with asyncio.timeout(300):
            await cancelled.wait()
        assert await told(agent, "what_do_you_know") == "Nothing was found."


async def test_a_call_is_cancelled_by_its_own_client_and_session_only(
    service: str, memory: Graphmem, rival: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, ended = hanging_tool(monkeypatch)
    own = {"X-Client-Id": memory.client_id, "Mcp-Session-Id": "one"}
    body = LIST | {
        "method": "tools/call",
        "params": {"name": "slow", "arguments": {"query": "x"}},
    }
    notice = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": LIST["id"]},
    }
    async with httpx.AsyncClient(base_url=service, timeout=300, headers=ACCEPT) as http:
        call = asyncio.create_task(http.post("/mcp", json=body, headers=own))
        await begun.wait()
        for other in ({"X-Client-Id": rival.client_id}, {"Mcp-Session-Id": "two"}):
            assert (await http.post("/mcp", json=notice, headers=own | other)).status_code == 202
            await asyncio.sleep(0.2)
            assert not ended.is_set()
        assert (await http.post("/mcp", json=notice, headers=own)).status_code == 202
        async with asyncio.timeout(300):
            await ended.wait()
            await call


def slow_tool(monkeypatch: pytest.MonkeyPatch) -> tuple[asyncio.Event, asyncio.Event]:
    """Offer a tool `slow`, which recalls once it may go on; return the events of its start and of that."""
    begun, go_on = asyncio.Event(), asyncio.Event()
    recall = server.EVERY_TOOL[0]

    async def wait(asked: Any, memory: Graphmem) -> Any:
        begun.set()
        await go_on.wait()
        return await recall.run(asked, memory)

    slow = replace(recall, name="slow", run=wait)
    monkeypatch.setattr(server, "EVERY_TOOL", (*server.EVERY_TOOL, slow))
    return begun, go_on


async def test_calls_take_turns_with_all_requests(
    runtime: Runtime, memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = slow_tool(monkeypatch)
    settings = replace(runtime.settings, client_requests=1)
    async with (
        serving(replace(runtime, settings=settings, limits=LimitsOfClients(settings))) as place,
        connected(place, x_client_id=memory.client_id) as agent,
    ):
        first = asyncio.create_task(told(agent, "slow", query="x"))
        await begun.wait()
        sentence = await refused(agent, "what_do_you_know")
        assert "in progress" in sentence
        with pytest.raises(MCPError):
            await agent.list_resources()
        go_on.set()
        assert "Nothing was found." in await first
        assert await told(agent, "what_do_you_know") == "Nothing was found."


async def test_clients_do_not_see_each_other(
    connect: Connect, service: str, memory: Graphmem, rival: Graphmem
) -> None:
    await rival.remember_fact("The rival's gate is mauve.")
    async with connect() as agent:
        assert await told(agent, "what_do_you_know") == "Nothing was found."
        found = await told(agent, "recall", query="What colour is the gate?", abstain=False)
        assert found == "Nothing was found."


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
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
        {"Host": "evil.example", "Origin": "http://evil.example"},
    ],
    ids=["foreign origin", "no origin", "rebinding", "rebinding with its origin"],
)
async def test_foreign_pages_are_refused(service: str, headers: dict[str, str]) -> None:
    async with httpx.AsyncClient(timeout=300) as http:
        answer = await http.post(f"{service}/mcp", json=HELLO, headers=ACCEPT | headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


@pytest_asyncio.fixture(scope="module")
async def locked(
    runtime: Runtime, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[str, str]]:
    """A service with two keys, and a prefix that makes their clients this run's own."""
    path: Path = tmp_path_factory.mktemp("keys") / "keys"
    mark = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    lines = [
        f"{name}-{mark} agent {hashlib.sha256(name.encode()).hexdigest()}"
        for name in ("one", "two")
    ]
    path.write_text("\n".join(lines))
    settings = replace(runtime.settings, keys_file=path)
    async with serving(replace(runtime, settings=settings)) as place:
        yield place, mark


async def test_a_key_decides_whose_memory_it_is(locked: tuple[str, str], runtime: Runtime) -> None:
    place, mark = locked
    async with connected(place, authorization="Bearer one") as agent:
        await told(agent, "remember_fact", fact="One's fact.")
    async with connected(place, authorization="Bearer two") as agent:
        assert await told(agent, "what_do_you_know") == "Nothing was found."
    assert (await Graphmem(runtime, f"one-{mark}").memories()).total == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer three"}, 401),
        ({"Authorization": "Bearer one", "X-Client-Id": "another"}, 401),
        ({"Authorization": "Bearer one", "Origin": "https://evil.example"}, 403),
        ({"Authorization": "Bearer one", "Origin": "http://localhost:3000"}, 200),
        ({"Authorization": "Bearer one", "Host": "memory.example:8000"}, 200),
        (
            {
                "Authorization": "Bearer one",
                "Host": "memory.example:8000",
                "Origin": "https://memory.example",
            },
            200,
        ),
    ],
    ids=["no key", "wrong key", "another", "foreign origin", "local page", "name", "its own page"],
)
async def test_keys_and_origins_are_checked(
    locked: tuple[str, str], headers: dict[str, str], status: int
) -> None:
    async with httpx.AsyncClient(timeout=300) as http:
        answer = await http.post(f"{locked[0]}/mcp", json=HELLO, headers=ACCEPT | headers)
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize("mode", [HANDSHAKE, MODERN])
async def test_a_program_goes_on_after_a_restart_of_the_service(
    runtime: Runtime, memory: Graphmem, mode: str
) -> None:
    """With the handshake of 2025 it knows of a beginning that the new process has not seen."""
    async with asyncio.timeout(300), AsyncExitStack() as program:
        async with serving(runtime) as place:
            connecting = connected(place, mode=mode, x_client_id=memory.client_id)
            agent = await program.enter_async_context(connecting)
            await told(agent, "remember_fact", fact="Mara takes the late ferry.")
        async with serving(runtime, httpx.URL(place).port or 0):
            assert "late ferry" in await told(agent, "what_do_you_know")


@pytest.mark.parametrize("method", ["GET", "DELETE"])
async def test_there_is_no_stream_to_open_and_no_session_to_end(service: str, method: str) -> None:
    headers = {"Accept": "text/event-stream", "Mcp-Session-Id": "of-another-process"}
    async with httpx.AsyncClient(timeout=300) as http:
        answer = await http.request(method, f"{service}/mcp", headers=headers)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert (answer.json()["code"], answer.json()["detail"]) == (
        "method_not_allowed",
        "this route takes POST",
    )


async def test_a_call_in_progress_is_answered_at_the_end_of_the_service(
    runtime: Runtime, memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = slow_tool(monkeypatch)
    app = create_app(runtime)
    endpoint = app.state["mcp"]
    with listener("127.0.0.1", 0) as listening:
        ready = asyncio.Event()
        place = url("127.0.0.1", listening)
        service = Server(app, place, lambda url: ready.set(), endpoint=endpoint)
        task = asyncio.create_task(service.serve([listening]))
        await ready.wait()
        headers = ACCEPT | {"X-Client-Id": memory.client_id}
        async with httpx.AsyncClient(timeout=300, headers=headers) as http:
            body = LIST | {
                "method": "tools/call",
                "params": {"name": "slow", "arguments": {"query": "x"}},
            }
            call = asyncio.create_task(http.post(f"{place}/mcp", json=body))
            await begun.wait()
            service.should_exit = True
            go_on.set()
            answer = await call
        assert "Nothing was found" in answer.text
        await task


async def test_a_database_that_does_not_answer_is_told(refusing: httpx.AsyncClient) -> None:
    body = LIST | {
        "method": "tools/call",
        "params": {"name": "recall", "arguments": {"query": "x"}},
    }
    answer = await refusing.post("/mcp", json=body, headers=ACCEPT)
    assert "an unexpected error of graphmem, not of the request" in answer.text
    assert '"isError":true' in answer.text


@asynccontextmanager
async def asking_in_process(runtime: Runtime) -> AsyncIterator[httpx.AsyncClient]:
    """Send requests to an application without a server, and end what serves `/mcp`."""
    app = create_app(runtime)
    async with client_of(app, x_client_id="a", content_type="application/json") as http:
        yield http
    await app.state["mcp"].close()


async def test_bodies_count_among_those_of_all_requests(
    offline: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "HELD_BYTES", 4_000)
    async with asking_in_process(offline) as http:
        refused = [await http.post("/mcp", content=b" " * 600 * parts) for parts in (1, 1, 2)]
    assert [one.status_code for one in refused[:2]] == [400, 400]
    assert (refused[2].status_code, refused[2].json()["code"]) == (429, "too_many_requests")


async def test_a_body_that_is_too_long_is_a_problem(offline: Runtime) -> None:
    async with asking_in_process(offline) as http:
        refused = await http.post("/mcp", content=b" " * (BODY_BYTES + 1))
    assert refused.headers["content-type"] == "application/problem+json"
    assert (refused.status_code, refused.json()["field"]) == (413, "body")


async def test_a_body_that_does_not_arrive_is_ended(offline: Runtime) -> None:
    async def half() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    settings = replace(offline.settings, request_seconds=1)
    async with asking_in_process(replace(offline, settings=settings)) as http:
        late = await http.post("/mcp", content=half())
    assert (late.status_code, late.json()["code"]) == (408, "body_late")
