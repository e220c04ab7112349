"""Search → peek → chunk → compose, all of it over HTTP, as the specification has an agent do it."""

from typing import Any

import httpx

from graphmem.client import Graphmem

THREAD = {
    "type": "thread",
    "target_id": "thread-1",
    "platform": "instagram",
    "participant_count": 2,
    "message_count": 10,
    "key_points": ["User asked about pricing", "Interested in premium plan"],
    "sentiment": "positive",
    "last_activity_at": "2026-03-02T09:30:00Z",
}
PLAN = {
    "type": "plan",
    "target_id": "plan-1",
    "plan_type": "content_calendar",
    "total_nodes": 10,
    "completed_nodes": 5,
    "pending_nodes": 5,
    "failed_nodes": 0,
    "key_milestones": ["Week 1 complete"],
    "current_phase": "execution",
}
REFERENCE = {
    "type": "knowledge_base",
    "target_id": "kb-1",
    "label": "Product FAQ",
    "description": "Frequently asked questions about pricing and features",
    "importance": 0.9,
}
BETTER = REFERENCE | {"label": "Pricing", "description": "pricing", "importance": 1.0}
PROMPT = "You are a helpful assistant."
CONTENT = "".join(f"Question {n}: what does plan {n} cost? It costs {n} €. " for n in range(200))


async def posted(http: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await http.post(f"/api/v0{path}", json=body)
    assert answer.is_success, answer.text
    return answer.json()


async def test_what_is_found_is_looked_at_taken_and_composed(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem
) -> None:
    # S1.63 S1.68 S1.69
    await posted(http, "/summaries", THREAD)
    await posted(http, "/summaries", PLAN)
    card = await posted(http, "/references", REFERENCE)
    await http.put(f"/api/v0/references/{card['id']}/content", json={"content": CONTENT})
    await posted(rival_http, "/references", BETTER)

    found = await posted(http, "/search", {"query": "pricing", "max_results": 5})
    items = {item["source_type"]: item for item in found["items"] if item["kind"] != "span"}
    assert {"thread_summary", "knowledge_base"} <= items.keys()
    assert "Pricing" not in {item["label"] for item in found["items"]}

    for item in items.values():
        peeked = (await http.get(f"/api/v0/memories/{item['id']}/peek")).json()
        for name in ("id", "kind", "source_type", "source_id", "label", "token_estimate"):
            assert peeked[name] == item[name]
    content = items["knowledge_base"]["id"]
    whole = await posted(http, f"/memories/{content}/chunk", {"max_tokens": 200_000})
    assert (whole["content"], whole["truncated"]) == (CONTENT, False)
    assert whole["token_count"] == items["knowledge_base"]["token_estimate"]
    part = await posted(http, f"/memories/{content}/chunk", {"max_tokens": 200})
    assert 197 <= part["token_count"] <= 200

    context = await posted(http, "/contexts", {"max_tokens": 2000, "system_prompt": PROMPT})
    for item in found["items"]:
        answer = await posted(http, f"/contexts/{context['id']}/memories", {"id": item["id"]})
        assert answer["added"] is True
    composed = (await http.get(f"/api/v0/contexts/{context['id']}/composed")).text
    assert composed.startswith(f"{PROMPT}\n\n[")
    assert "[thread_summary: Thread: instagram (10 messages)]\n" in composed
    assert "[knowledge_base: Product FAQ]\nQuestion 0: what does plan 0 cost?" in composed
    now = (await http.get(f"/api/v0/contexts/{context['id']}")).json()
    assert now["remaining_tokens"] == 1500 - memory.runtime.tokens.count(composed)
    assert now["retrieved_ids"] == [item["id"] for item in found["items"]]


async def test_what_the_workflow_reads_is_not_logged(
    http: httpx.AsyncClient, log_lines: list[str]
) -> None:
    # S1.65
    secret = {"label": "sesame-1", "description": "sesame-2 opens", "metadata": {"a": "sesame-3"}}
    card = await posted(http, "/references", REFERENCE | secret)
    body = {"content": "sesame-4 opens the lighthouse"}
    await http.put(f"/api/v0/references/{card['id']}/content", json=body)
    found = await posted(http, "/search", {"query": "sesame-2 lighthouse", "max_hops": 1})
    context = await posted(http, "/contexts", {"max_tokens": 900, "system_prompt": "sesame-5"})
    for item in found["items"]:
        await http.get(f"/api/v0/memories/{item['id']}/peek")
        await posted(http, f"/memories/{item['id']}/chunk", {"max_tokens": 9})
        await posted(http, f"/contexts/{context['id']}/memories", {"id": item["id"]})
    assert "sesame-4" in (await http.get(f"/api/v0/contexts/{context['id']}/composed")).text

    assert len([line for line in log_lines if " graphmem_api.access: " in line]) >= 8
    assert not [line for line in log_lines if "sesame" in line]
