"""The recorded answer of each route: `make answers` plays a story and writes them."""

import hashlib
import json
import os
import re
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import graphmem_api
import httpx
import msgspec
import pytest
import pytest_asyncio
from graphmem_api import (
    contextual,
    conversations,
    episodes,
    facts,
    forgetting,
    references,
    summaries,
)
from graphmem_api.app import create_app
from graphmem_api.document import RECORDED, recorded_answers
from litestar import Litestar
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.runtime import Runtime

WRITING = os.environ.get("GRAPHMEM_ANSWERS") == "write"
FILE = Path(str(graphmem_api.__file__)).with_name(RECORDED)

MOST_ENTRIES = 2
MOST_CHARACTERS = 600

NEW: Any = conversations.NEW.value
FACT: Any = facts.ONE.value
NAMED = {
    "messages": [
        {"session_id": "evening", "role": "user", "content": content}
        for content in ("Anna Schmidt moved Ledger to PostgreSQL.", "PostgreSQL has it, says Anna.")
    ]
}

Answers = dict[str, dict[str, Any]]


class Story:
    """A client that keeps the first answer with each status of each operation."""

    def __init__(self, http: httpx.AsyncClient, document: dict[str, Any]) -> None:
        self._http = http
        self._operations = [
            (method.upper(), re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "$"), operation)
            for path, item in sorted(document["paths"].items(), key=lambda one: "{" in one[0])
            for method, operation in item.items()
        ]
        self.answers: Answers = {}
        self.silent: set[str] = set()

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, keep its answer, and return it."""
        path = path if path.startswith(("/health", "/metrics")) else f"/api/v0{path}"
        answer = await self._http.request(method, path, json=body)
        assert answer.status_code < HTTPStatus.BAD_REQUEST, (path, answer.text)
        if answer.status_code == HTTPStatus.NO_CONTENT:
            self.silent.add(self._operation_id(method, path))
            return None
        read = re.search(r"[/+]json\b", answer.headers["content-type"])
        value = answer.json() if read else answer.text
        kept = self.answers.setdefault(self._operation_id(method, path), {})
        kept.setdefault(str(answer.status_code), shortened(value))
        return value

    def _operation_id(self, method: str, path: str) -> str:
        plain = path.partition("?")[0]
        return next(
            operation["operationId"]
            for verb, pattern, operation in self._operations
            if verb == method and pattern.match(plain)
        )


def shortened(value: Any) -> Any:
    """Return a value with the first entries of its lists and the beginnings of its texts."""
    if isinstance(value, dict):
        return {name: shortened(one) for name, one in value.items()}
    if isinstance(value, list):
        return [shortened(one) for one in value[:MOST_ENTRIES]]
    if isinstance(value, str) and len(value) > MOST_CHARACTERS:
        return value[:MOST_CHARACTERS].rpartition("\n")[0] or value[:MOST_CHARACTERS]
    return value


@pytest.fixture(scope="module")
def document(offline_app: Litestar) -> dict[str, Any]:
    return json.loads(msgspec.json.encode(offline_app.openapi_schema.to_schema()))


async def play(story: Story) -> None:
    """Send each request of the API at least once."""
    await play_conversation(story)
    await play_catalogue(story)
    await play_facts(story)
    await play_run(story)
    await play_operations(story)


async def play_conversation(story: Story) -> None:
    ask = story.ask
    talk = NEW["id"]
    await ask("POST", "/conversations", NEW)
    await ask("POST", "/conversations", NEW)
    said = await ask("POST", f"/conversations/{talk}/messages", conversations.BATCH.value)
    await ask("POST", f"/conversations/{talk}/messages", NAMED)
    message = await ask("GET", f"/memories/{said['ids'][0]}")
    await ask("GET", "/memories?kinds=message&limit=1")
    await ask("GET", "/conversations?limit=1")
    await ask("PATCH", f"/conversations/{talk}", conversations.CHANGED.value)
    await ask("PATCH", f"/memories/{said['ids'][0]}", {"tags": ["login"]})
    await ask("GET", f"/conversations/{talk}/sessions?limit=1")
    await ask("GET", f"/conversations/{talk}/messages?limit=1")
    session = message["session_id"]
    question = {"query": "why did the login fail?", "max_tokens": 200}
    await ask("POST", "/recall", question)
    await ask("POST", "/explain", question | {"memory_id": said["ids"][0]})
    episode = await ask("POST", "/episodes", episodes.INLINE.value)
    await ask("POST", f"/conversations/{talk}/segment")
    await ask("POST", f"/conversations/{talk}/consolidate")
    await ask("POST", f"/sessions/{session}/summarize")
    await ask("GET", f"/sessions/{session}/related")
    await ask("POST", "/contextual/search", contextual.QUERY.value)
    await ask("POST", "/contextual/expand", {"session_id": session, "direction": "later"})
    asked = {"query": "what did the user say about Rust", "conversation_id": talk}
    await ask("POST", "/retrieve_memory", asked)
    await ask("POST", "/retrieve_memory/raw", asked)
    await ask("GET", "/reviews?limit=1")
    await ask("POST", "/reviews/run", {"conversation_id": talk})
    await ask("POST", f"/memories/{episode['id']}/review", {"rating": "good"})
    await ask("GET", "/entities?limit=2")
    alias = {"alias": "Ledger", "canonical": "PostgreSQL"}
    await ask("POST", "/entities/aliases", alias)
    await ask("POST", "/entities/aliases", alias)
    await ask("POST", "/entities/aliases/run")
    await ask("POST", "/entities/aliases/undo", {"alias": "Ledger"})
    turn = {"conversation_id": talk, "turn_id": "turn-1", "window": ["user: which login fails?"]}
    await ask("POST", "/hyde/retrieve", turn)


async def play_catalogue(story: Story) -> None:
    ask = story.ask
    card = await ask("POST", "/references", references.REFERENCE.value)
    await ask("PUT", f"/references/{card['id']}/content", references.CONTENT.value)
    await ask("GET", "/references?limit=1")
    await ask("GET", f"/references/{card['id']}")
    summary = await ask("POST", "/summaries", summaries.THREAD.value)
    await ask("GET", "/summaries?limit=1")
    await ask("GET", f"/summaries/{summary['id']}")
    span = {"id": "faq:0", "source_type": "knowledge_base", "source_id": "faq", "start_byte": 0}
    text = "Text messages are billed apart."
    await ask("POST", "/spans", span | {"end_byte": len(text), "content": text})
    await ask("GET", "/spans/faq:0")
    await ask("GET", "/spans/faq:0/content")
    link = {"from": summary["id"], "to": card["id"], "type": "references"}
    await ask("POST", "/links", link)
    await ask("POST", "/links", link)
    await ask("GET", f"/memories/{card['id']}/links?limit=1")
    await ask("POST", "/search", {"query": "pricing", "max_results": 2, "max_hops": 1})
    await ask("POST", "/spans/search", {"query": "text messages", "limit": 1})
    await ask("GET", f"/memories/{card['id']}/peek")
    await ask("POST", f"/memories/{card['id']}/chunk", {"max_tokens": 20})
    context = await ask("POST", "/contexts", {"max_tokens": 900, "reserved_for_response": 300})
    await ask("POST", f"/contexts/{context['id']}/memories", {"id": card["id"]})
    await ask("GET", f"/contexts/{context['id']}")
    await ask("GET", f"/contexts/{context['id']}/composed")
    await ask("DELETE", f"/contexts/{context['id']}")
    await ask("GET", f"/graph/{card['id']}?limit=3")
    await ask("DELETE", f"/links?from={summary['id']}&to={card['id']}&type=references")


async def play_facts(story: Story) -> None:
    ask = story.ask
    fact = await ask("POST", "/facts", FACT)
    await ask("POST", "/facts", FACT)
    newer = await ask(
        "POST", f"/facts/{fact['id']}/supersede", {"fact": "The user likes light mode"}
    )
    await ask("GET", f"/memories/{newer['id']}/versions")
    talk = FACT["conversation_id"]
    await ask("POST", "/context_pre_retrieve", {"query": "colours", "conversation_id": talk})
    await ask("GET", "/categories")
    await ask("PUT", "/categories", {"categories": ["preference", "guideline"]})
    await ask("DELETE", f"/memories/{newer['id']}")
    await ask("POST", "/forget", {"name": "PostgreSQL", "dry_run": True})
    await ask("POST", "/forget/verify", {"text": "PostgreSQL has it"})


async def play_run(story: Story) -> None:
    ask = story.ask
    run = await ask("POST", "/rlm/sessions", {"agent_type": "copy-agent", "episode_id": "launch"})
    path = f"/rlm/sessions/{run['id']}"
    await ask("GET", "/rlm/sessions?limit=1")
    await ask("GET", path)
    await ask("POST", f"{path}/retrieve", {"query": "pricing", "max_tokens": 60})
    await ask("POST", f"{path}/peek", {"span_id": "faq:0"})
    note = {
        "type": "summary",
        "content": "Text messages cost extra.",
        "metadata": {"topic": "price"},
    }
    await ask("POST", f"{path}/write", note)
    await ask("POST", f"{path}/subcall", {"agent_type": "qa-agent", "budget_fraction": 0.2})
    await ask("GET", f"{path}/tree")
    await ask("GET", f"{path}/accesses?limit=2")
    await ask("POST", f"{path}/end", {"outcome": "success"})


async def play_operations(story: Story) -> None:
    ask = story.ask
    await ask("GET", "/jobs?limit=1")
    await ask("GET", "/usage")
    await ask("GET", "/clients?limit=1")
    await ask("PUT", "/clients/nobody/hold", forgetting.REASON.value)
    await ask("DELETE", "/clients/nobody/hold")
    await ask("DELETE", "/clients/nobody?dry_run=true")
    await ask("GET", "/patterns")
    await ask("POST", "/patterns/recurring_themes", {"parameters": {}})
    await ask("GET", "/graph/schema")
    count = "MATCH (m:Memory) RETURN m.kind AS kind, count(*) AS memories ORDER BY kind LIMIT 2"
    await ask("POST", "/cypher", {"query": count})
    await ask("GET", "/cypher/audit?limit=1")
    await ask("GET", "/health/live")
    await ask("GET", "/health/ready")
    await ask("GET", "/metrics")
    await ask("GET", "/export?vectors=false")
    await ask("DELETE", f"/conversations/{NEW['id']}")


def answered(document: dict[str, Any]) -> set[tuple[str, str]]:
    """Return the operations and the statuses of their successes."""
    return {
        (operation["operationId"], status)
        for item in document["paths"].values()
        for operation in item.values()
        for status in operation["responses"]
        if status < "300"
    }


def kinds(value: Any) -> Any:
    """Return the names of a value's fields; the entries of lists and free objects do not count."""
    return sorted(value) if isinstance(value, dict) else type(value).__name__


@pytest_asyncio.fixture
async def operator(
    runtime: Runtime, memory: Graphmem, tmp_path: Path, asking: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """HTTP as an operator, who may send every request."""
    keys = tmp_path / "keys"
    digest = hashlib.sha256(b"operator").hexdigest()
    keys.write_text(f"{memory.client_id} operator {digest}\n")
    app = create_app(replace(runtime, settings=replace(runtime.settings, keys_file=keys)))
    async with asking(app, authorization="Bearer operator") as http:
        yield http


@pytest.mark.usefixtures("every_query")
async def test_each_answer_of_the_document_is_one_that_graphmem_gives(
    operator: httpx.AsyncClient, document: dict[str, Any]
) -> None:
    story = Story(operator, document)
    await play(story)
    if WRITING:
        FILE.write_text(
            json.dumps(story.answers, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        )
    recorded = recorded_answers()
    shown = {(name, status) for name in recorded for status in recorded[name]}
    assert shown | {(name, "204") for name in story.silent} == answered(document)
    for name, given in story.answers.items():
        for status, value in given.items():
            assert kinds(recorded[name][status]) == kinds(value), f"{name}: run `make answers`"
