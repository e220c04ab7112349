"""The OpenAPI document against others' programs: a generator of clients, and a tester of whole APIs."""

import asyncio
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import httpx
import msgspec
import openapi_spec_validator
import pytest
from graphmem_api.facts import ONE
from litestar import Litestar

from graphmem import config
from graphmem.client import Graphmem
from graphmem.runtime import Runtime
from tests.api.test_serve import have_running, served

FACT: Any = ONE.value
TOOLS = Path(sys.executable).parent
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,"
    "response_headers_conformance,response_schema_conformance"
)
SECONDS = 60
"""How long one answer may take on a busy machine before it counts as none."""


async def run(*command: str | Path, cwd: Path) -> str:
    """Run a program that must succeed; return what it printed."""
    environment = os.environ | {"PATH": f"{TOOLS}:{os.environ['PATH']}", "NO_COLOR": "1"}
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed = (await process.communicate())[0].decode()
    assert process.returncode == 0, printed[-6000:]
    return printed


@pytest.fixture(scope="module")
def document(offline_app: Litestar) -> dict[str, Any]:
    return json.loads(msgspec.json.encode(offline_app.openapi_schema.to_schema()))


def test_the_document_is_valid(document: dict[str, Any], built_files: None) -> None:
    openapi_spec_validator.validate(document)


def test_answers_have_all_their_fields_and_requests_those_without_a_default(
    document: dict[str, Any],
) -> None:
    schemas = document["components"]["schemas"]
    assert set(schemas["Recalled"]["required"]) == set(schemas["Recalled"]["properties"])
    assert schemas["Question"]["required"] == ["query"]
    # These are sent without what has its default, and this field only where it has a value.
    assert "metadata" not in schemas["ListedMemory"]["required"]
    assert "field" not in schemas["Problem"]["required"]
    assert "remains" not in schemas["Receipt"]["required"]
    # This one is asked for and answered.
    assert schemas["SpanPointer"]["required"] == ["span_id"]


def test_a_field_has_the_meaning_that_its_code_gives_it(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    # A docstring below it, one of a base, one below a field that is sent under another name.
    assert "head" in schemas["Version"]["properties"]["superseded_at"]["description"]
    own, inherited = (schemas[one]["properties"]["idx"] for one in ("Memory", "ListedMemory"))
    assert own["description"] == inherited["description"]
    assert schemas["HopPath"]["properties"]["from"]["description"]
    # Generators look for the description of a field, not of one of its types.
    limit = schemas["Question"]["properties"]["limit"]
    assert "greatest number" in limit["description"]
    assert not [one for one in limit["anyOf"] if "description" in one]
    # Each of two forms has its own.
    forms = schemas["NewMessage"]["properties"]["occurred_at"]["anyOf"]
    assert len([one for one in forms if "description" in one]) == 2


async def test_a_generated_client_has_every_operation_and_every_answer_type(
    document: dict[str, Any], built_files: None, tmp_path: Path
) -> None:
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    command = (
        "openapi-python-client generate --fail-on-warning --path openapi.json --output-path out"
    )
    await run(TOOLS / command.split(maxsplit=1)[0], *command.split()[1:], cwd=tmp_path)
    package = tmp_path / "out" / "graphmem_client"
    modules = {path.stem: path.read_text() for path in package.glob("api/*/[a-z]*.py")}
    operations = {
        operation["operationId"]: operation
        for item in document["paths"].values()
        for operation in item.values()
    }
    assert modules.keys() == operations.keys()
    for name, operation in operations.items():
        for status in operation["responses"]:
            assert f"response_{status}" in modules[name], (name, status)
    shapes = {path.stem.replace("_", "") for path in (package / "models").glob("*.py")}
    assert {name.lower() for name in document["components"]["schemas"]} <= shapes


async def remembered(http: httpx.AsyncClient) -> dict[str, str]:
    """Remember one thing of each kind; return the parameters of paths that name them."""

    async def post(path: str, body: dict[str, Any]) -> Any:
        answer = await http.post(f"/api/v0{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()

    talk = (await post("/conversations", {}))["id"]
    message = {"session_id": "s", "role": "user", "content": "The harbour opens at nine."}
    said = await post(f"/conversations/{talk}/messages", {"messages": [message]})
    memory = said["ids"][0]
    session = (await http.get(f"/api/v0/memories/{memory}")).json()["session_id"]
    card = await post(
        "/references", {"type": "offer", "target_id": "o", "label": "Summer", "description": "July"}
    )
    thread = {"type": "thread", "target_id": "t", "platform": "mail", "participant_count": 1}
    thread |= {"message_count": 1, "key_points": [], "sentiment": "neutral"}
    summary = await post("/summaries", thread | {"last_activity_at": "2026-03-02T09:30:00Z"})
    return {
        "conversation_id": talk,
        "memory_id": memory,
        "node_id": memory,
        "session_id": session,
        "reference_id": card["id"],
        "summary_id": summary["id"],
        "fact_id": (await post("/facts", FACT | {"conversation_id": talk}))["id"],
        "context_id": (await post("/contexts", {"max_tokens": 900}))["id"],
        "name": "recurring_themes",
    }


def configuration(known: dict[str, str], run_id: str) -> str:
    """Return a configuration file that names memories that are there."""
    named = "".join(f'"path.{name}" = "{id}"\n' for name, id in known.items())
    return (
        f"[parameters]\n{named}\n[[operations]]\n"
        f'include-path-regex = "/rlm/sessions/"\nparameters = {{ "path.session_id" = "{run_id}" }}\n'
    )


async def test_any_request_gets_an_answer_that_the_document_describes(
    runtime: Runtime,
    memory: Graphmem,
    whole_program: None,
    tmp_path: Path,
    monkeypatch: Any,
) -> None:
    digest = hashlib.sha256(b"operator").hexdigest()
    keys = tmp_path / "keys"
    keys.write_text(f"{memory.client_id} operator {digest}\n")
    have_running(runtime, monkeypatch)
    settings = config.load({}, port=0, jobs="off", keys_file=keys)
    bearer = {"Authorization": "Bearer operator"}
    async with served(settings) as (url, _):
        async with httpx.AsyncClient(base_url=url, headers=bearer, timeout=SECONDS) as http:
            known = await remembered(http)
            started = {"agent_type": "tester", "episode_id": "e"}
            begun = (await http.post("/api/v0/rlm/sessions", json=started)).json()
        (tmp_path / "schemathesis.toml").write_text(configuration(known, begun["id"]))
        printed = await run(
            TOOLS / "schemathesis",
            *("run", f"{url}/schema/openapi.json"),
            *("-H", "Authorization: Bearer operator"),
            *("--phases", "examples,fuzzing", "--mode", "all", "--max-examples", "4"),
            *("--seed", "7", "--checks", CHECKS),
            *("--request-timeout", str(SECONDS)),
            cwd=tmp_path,
        )
    assert "Tested: " in printed
