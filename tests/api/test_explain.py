"""Why and why not, over HTTP."""

from typing import Any

import httpx

from graphmem.client import Graphmem


async def test_the_same_question_with_a_memory_is_explained(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    fact = await memory.remember_fact("The harbour light is red.")
    body: dict[str, Any] = {"query": "Which colour is the harbour light?", "memory_id": fact.id}

    taken = (await http.post("/api/v0/explain", json=body)).json()
    assert (taken["stage"], taken["rank"], taken["memory_id"]) == ("taken", 1, fact.id)
    asked = await http.post("/api/v0/explain", json=body | {"kinds": ["message"]})
    assert (asked.json()["stage"], asked.json()["filters"]) == ("filtered", ["kinds"])


async def test_an_unknown_memory_and_a_foreign_one_get_the_same_404(
    http: httpx.AsyncClient, rival: Graphmem
) -> None:
    fact = await rival.remember_fact("The harbour light is red.")
    problems = []
    for id in (fact.id, "unknown"):
        answer = await http.post("/api/v0/explain", json={"query": "light", "memory_id": id})
        assert answer.status_code == 404
        problems.append(
            {k: v for k, v in answer.json().items() if k not in ("detail", "memory_id")}
        )
    assert problems[0] | {"request_id": ""} == problems[1] | {"request_id": ""}


async def test_recall_abstains_over_http(http: httpx.AsyncClient, memory: Graphmem) -> None:
    await memory.remember_fact("The harbour light is red.")
    body = {"query": "Which of Zebulon's frogs won in Ontario?"}

    plain = (await http.post("/api/v0/recall", json=body)).json()
    assert (len(plain["items"]), plain["abstained"]) == (1, False)
    assert 0.0 <= plain["items"][0]["relevance"] <= 1.0
    for option in ({"abstain": True}, {"min_relevance": 0.9}):
        answer = (await http.post("/api/v0/recall", json=body | option)).json()
        assert (answer["items"], answer["context"], answer["abstained"]) == ([], "", True)
    refused = await http.post("/api/v0/recall", json=body | {"min_relevance": 1.5})
    assert refused.status_code == 400
    assert "min_relevance" in refused.json()["detail"]
