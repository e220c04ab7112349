"""`graphmem hook`: a session begins with what is known of its project, and is remembered at its end."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from click.testing import CliRunner, Result

from graphmem import config
from graphmem.cli.hook import project, said
from graphmem.cli.main import commands
from graphmem.model.vocabulary import ID_PATTERN
from graphmem.places import at_place

UUID = "0000000{}-0000-4000-8000-000000000000"


def entry(number: int, type: str, content: Any, **more: Any) -> dict[str, Any]:
    """Return a line of a transcript."""
    return {
        "type": type,
        "uuid": UUID.format(number),
        "sessionId": "s1",
        "timestamp": f"2026-03-02T09:0{number}:00.000Z",
        "isSidechain": False,
        "message": {"role": type, "content": content},
    } | more


TRANSCRIPT = [
    {"type": "summary", "summary": "Ferries", "leafUuid": "x"},
    {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
    entry(1, "user", "Paint the gate mauve."),
    entry(2, "user", "Caveat: generated", isMeta=True),
    entry(3, "user", "<command-name>/clear</command-name>"),
    entry(
        4,
        "assistant",
        [
            {"type": "thinking", "thinking": "hm", "signature": "x"},
            {"type": "text", "text": "It is mauve now."},
            {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": "paint"}},
        ],
    ),
    entry(5, "user", [{"type": "tool_result", "tool_use_id": "1", "content": "ok"}]),
    entry(6, "assistant", "From a helper.", isSidechain=True),
    entry(7, "assistant", [{"type": "text", "text": "Done."}], sessionId=None),
]


@pytest.fixture
def event(tmp_path: Path) -> dict[str, str]:
    """The event of a session with a transcript; its last line was not written whole."""
    path = tmp_path / "s1.jsonl"
    lines = [json.dumps(one) for one in TRANSCRIPT]
    path.write_text("\n".join([*lines, '{"type": "user", "mess']))
    cwd = f"/work/{tmp_path.name}/harbour"
    return {"session_id": "s1", "transcript_path": str(path), "cwd": cwd}


def test_only_what_was_said_is_taken() -> None:
    found = list(said(map(json.dumps, TRANSCRIPT), "fallback"))
    assert [(one["role"], one["content"]) for one in found] == [
        ("user", "Paint the gate mauve."),
        ("assistant", "It is mauve now."),
        ("assistant", "Done."),
    ]
    assert [one["session_id"] for one in found] == ["s1", "s1", "fallback"]
    assert found[0]["external_id"] == UUID.format(1)
    assert found[0]["occurred_at"] == "2026-03-02T09:01:00.000Z"


def test_half_of_an_emoji_is_a_question_mark_and_costs_no_session() -> None:
    cut = [
        entry(1, "user", "A \U0001f6a2, a \ud83d"),
        entry(2, "user", [{"type": "text", "text": "\ude00"}]),
    ]
    found = list(said(map(json.dumps, cut), "s1"))
    assert [one["content"] for one in found] == ["A \U0001f6a2, a ?", "?"]


@pytest.mark.parametrize(
    ("changed", "field", "sent"),
    [
        ({"timestamp": "yesterday"}, "occurred_at", None),
        ({"timestamp": 1_763_632_800_000}, "occurred_at", None),
        ({"timestamp": "2999-01-01T00:00:00Z"}, "occurred_at", None),
        ({"timestamp": "2026-03-02T09:00:00"}, "occurred_at", None),
        ({"uuid": 17}, "external_id", None),
        ({"uuid": ""}, "external_id", None),
        ({"uuid": "x" * 300}, "external_id", None),
        ({"sessionId": "  "}, "session_id", "s1"),
        ({"sessionId": "a\ud83d"}, "session_id", "a?"),
    ],
)
def test_what_no_request_may_have_costs_no_session(
    changed: dict[str, Any], field: str, sent: str | None
) -> None:
    [found] = said([json.dumps(entry(1, "user", "Paint the gate mauve.") | changed)], "s1")
    assert found["content"] == "Paint the gate mauve."
    assert found[field] == sent


def test_a_line_that_is_nested_too_deep_is_left_out() -> None:
    found = said(["[" * 100_000, json.dumps(entry(1, "user", "Paint the gate."))], "s1")
    assert [one["content"] for one in found] == ["Paint the gate."]


def test_a_folder_has_a_conversation_of_its_own() -> None:
    import re

    ids = [
        project(cwd)
        for cwd in ("/a/harbour", "/b/harbour", "/", "/a/Hafen Nord ü", "/a/" + "x" * 300)
    ]
    assert len(set(ids)) == len(ids)
    assert all(re.match(ID_PATTERN, one) for one in ids)
    assert ids[0].startswith("harbour:")


KNOWN = {
    "context": "The gate is mauve.",
    "items": [],
    "tokens_used": 6,
    "omitted": [],
    "omitted_total": 0,
    "abstained": False,
    "degraded": [],
}
"""The answer of a service that knows one thing."""

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """Run the command in this process."""
    return lambda *arguments, said: CliRunner().invoke(commands, ["hook", *arguments], input=said)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, str], Any]]:
    """The requests to a service that knows one thing."""
    requests: list[tuple[str, dict[str, str], Any]] = []
    plain = httpx.AsyncClient

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        requests.append((str(request.url), dict(request.headers), body))
        if "refuse" in str(request.url):
            return httpx.Response(401, json={"code": "unauthorized", "detail": "no such key"})
        if "busy" in str(request.url):
            return httpx.Response(503, json={"code": "overloaded", "detail": "busy"})
        if "messages" in body:
            return httpx.Response(201, json={"ids": [], "embedding_truncated": []})
        return httpx.Response(200, json=KNOWN)

    def client(**options: Any) -> httpx.AsyncClient:
        return plain(**options | {"transport": httpx.MockTransport(answer)})

    monkeypatch.setattr("httpx.AsyncClient", client)
    return requests


def test_a_session_begins_with_what_the_service_knows(
    run: Run, asked: list[Any], event: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", "secret")
    options = ("--url", "http://localhost:1", "--key-variable", "THE_KEY", "--budget", "300")
    result = run("session-start", *options, said=json.dumps(event))
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("From earlier sessions (what was said then")
    assert "The gate is mauve." in result.stdout
    [(url, headers, body)] = asked
    assert url == "http://localhost:1/api/v0/recall"
    assert headers["authorization"] == "Bearer secret"
    assert "x-client-id" not in headers
    assert body["max_tokens"] == 300
    assert "harbour" in body["query"]


def test_a_session_is_remembered_by_the_service(
    run: Run, asked: list[Any], event: dict[str, str]
) -> None:
    options = ("--url", "http://localhost:1", "--client", "work", "--wait")
    result = run("session-end", *options, said=json.dumps(event))
    assert result.exit_code == 0, result.output
    [(url, headers, body)] = asked
    assert unquote(url).endswith(f"/conversations/{project(event['cwd'])}/messages")
    assert headers["x-client-id"] == "work"
    assert body["create"] is True
    assert len(body["messages"]) == 3


@pytest.mark.parametrize(
    ("options", "requests"), [(("session-start",), 1), (("session-end", "--wait"), 4)]
)
def test_only_the_end_of_a_session_waits_for_a_service(
    run: Run,
    asked: list[Any],
    event: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    requests: int,
) -> None:
    async def no_pause(seconds: float) -> None:
        pass

    monkeypatch.setattr("graphmem.remote.connection.sleep", no_pause)
    result = run(*options, "--url", "http://busy:1", said=json.dumps(event))
    assert result.exit_code == 1
    assert len(asked) == requests


@pytest.mark.parametrize(
    ("options", "said", "words"),
    [
        (("session-start", "--url", "http://refuse:1"), '{"cwd": "/x"}', "no such key"),
        (("session-end", "--wait"), '{"cwd": "/x"}', "transcript_path: is missing"),
        (("session-end", "--wait"), '{"cwd": "/x", "transcript_path": "/no/file"}', "/no/file"),
        (("session-start",), "", "stdin: is no event"),
        (("session-start",), "{}", "cwd: object missing required field"),
        (("session-start", "--client", "a b"), "{}", "an id is"),
        (("session-start", "--neo4j-heap", "much"), "{}", "--neo4j-heap"),
        (
            ("session-start", "--url", "http://localhost:1", "--key-variable", "NO_KEY"),
            '{"cwd": "/x"}',
            "--key-variable: NO_KEY is not set",
        ),
    ],
)
def test_a_failure_is_told_and_does_not_stop_a_session(
    run: Run, asked: list[Any], options: tuple[str, ...], said: str, words: str
) -> None:
    result = run(*options, said=said)
    assert result.exit_code == 1
    assert words in result.stderr
    assert result.stdout == ""


@pytest.fixture
def begun(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> list[tuple[list[str], dict[str, Any]]]:
    """The processes that were started, each with its options; what they are told is in a file."""
    started: list[tuple[list[str], dict[str, Any]]] = []

    class Started:
        def __init__(self, command: list[str], **options: Any) -> None:
            started.append((command, options))
            self.stdin = (tmp_path / "stdin").open("w")

    monkeypatch.setattr(subprocess, "Popen", Started)
    return started


def test_the_end_of_a_session_is_remembered_in_a_process_of_its_own(
    run: Run,
    event: dict[str, str],
    begun: list[tuple[list[str], dict[str, Any]]],
    tmp_path: Path,
) -> None:
    options = ("--client", "work", "--url", "http://localhost:1", "--key-variable", "THE_KEY")
    elsewhere = ("--data-dir", str(tmp_path / "elsewhere"))
    assert run("session-end", *options, *elsewhere, said=json.dumps(event)).exit_code == 0
    [(command, given)] = begun
    assert given["env"]["GRAPHMEM_DATA_DIR"] == elsewhere[1]
    assert command[3:] == ["hook", "session-end", "--wait", *options]
    assert given["start_new_session"] is True
    assert json.loads((tmp_path / "stdin").read_text()) == event


def test_that_process_works_with_the_place_that_was_chosen(
    run: Run,
    event: dict[str, str],
    begun: list[tuple[list[str], dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    places = tmp_path / "places.toml"
    places.write_text('[places.archive]\nuri = "bolt://db2:7687"\npassword_env = "ARCHIVE"\n')
    monkeypatch.setenv("ARCHIVE", "secret")
    chosen = ("--places-file", str(places), "--place", "archive")
    assert run("session-end", *chosen, said=json.dumps(event)).exit_code == 0
    # As by variables of the environment, which the process has too.
    monkeypatch.setenv("GRAPHMEM_PLACES_FILE", str(places))
    monkeypatch.setenv("GRAPHMEM_PLACE", "archive")
    assert run("session-end", said=json.dumps(event)).exit_code == 0
    for _, given in begun:
        monkeypatch.setattr(os, "environ", given["env"])
        settings = at_place(config.load())
        assert (settings.neo4j_uri, settings.neo4j_password) == ("bolt://db2:7687", "secret")
        assert settings.places_file is None
    assert len(begun) == 2


async def test_a_session_is_remembered_once_and_known_in_the_next(
    environment: dict[str, str], whole_program: None, memory: Any, event: dict[str, str]
) -> None:
    from tests.graphmem.cli.conftest import program

    def done(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            program("hook", *arguments, "--client", memory.client_id),
            env=environment,
            input=json.dumps(event),
            text=True,
            capture_output=True,
            timeout=300,
            check=False,
        )

    for _ in range(2):
        kept = done("session-end", "--wait")
        assert kept.returncode == 0, kept.stderr
    assert (await memory.messages(project(event["cwd"]))).total == 3
    known = done("session-start")
    assert known.returncode == 0, known.stderr
    assert "Paint the gate mauve." in known.stdout
