"""Searching over HTTP: what is asked, what is answered, what is refused, what the log shows."""

from typing import Any

import httpx
import msgspec
import pytest
from graphmem_api.bodies import decoded
from graphmem_api.search import QUERY, SPANS
from litestar.openapi.spec import Example

from graphmem.client import Graphmem
from graphmem.search.types import SearchQuery, SearchResult, SpanQuery
from tests.graphmem.search.test_ask import card, write_catalogue

PATH = "/api/v0/search"


def without_scores(found: SearchResult) -> SearchResult:
    """BM25 moves while others write: the index counts words over all clients."""
    items = [msgspec.structs.replace(item, scores={}) for item in found.items]
    return msgspec.structs.replace(found, items=items)


async def test_a_search_is_answered_as_in_python(http: httpx.AsyncClient, memory: Graphmem) -> None:
    written = await write_catalogue(memory)
    body: dict[str, Any] = {"query": "pricing", "max_results": 3, "max_tokens": 500, "max_hops": 1}
    answer = await http.post(PATH, json=body)

    assert answer.status_code == 200
    told = msgspec.json.decode(answer.content, type=SearchResult)
    assert without_scores(told) == without_scores(await memory.search(**body))
    first = answer.json()["items"][0]
    assert {
        "id", "source_type", "source_id", "label", "relevance", "importance", "combined_score",
        "token_estimate", "snippet", "metadata",
    } <= first.keys()  # S1.16  # fmt: skip
    assert first["id"] in written.values()
    assert answer.json()["query"] | body == answer.json()["query"]
    assert answer.json()["query"]["sort_by"] == "combined"


async def test_another_client_s_memories_are_not_found(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem, rival: Graphmem
) -> None:
    ours = (await memory.add_references([card("Pricing page", "how pricing works")]))[0]
    theirs = (await rival.add_references([card("Pricing", "pricing pricing", target_id="x")]))[0]

    for client, own in ((http, ours), (rival_http, theirs)):
        for query in ("pricing", "*"):
            for more in ({}, {"max_hops": 3}):
                found = (await client.post(PATH, json={"query": query, **more})).json()
                assert [item["id"] for item in found["items"]] == [own.id]  # S1.64
    foreign = await http.post(PATH, json={"query": "pricing", "source_ids": ["x"]})
    unknown = await http.post(PATH, json={"query": "pricing", "source_ids": ["nowhere"]})
    assert foreign.json()["items"] == unknown.json()["items"] == []


async def test_a_path_is_shown_with_from_and_to(http: httpx.AsyncClient, memory: Graphmem) -> None:
    here, there = await memory.add_references(
        [card("quartz", "a mineral that clocks need"), card("tax return", "due in July")]
    )
    await memory.link(here.id, there.id, "references")

    found = (await http.post(PATH, json={"query": "quartz", "max_hops": 1})).json()
    assert found["hop_paths"] == [
        {"from": here.id, "to": there.id, "link_type": "references"}
    ]  # S1.23
    assert found["hops_used"] == 1


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ({}, "query", "missing"),
        ({"query": ""}, "query", "at least 1 character"),
        ({"query": " "}, "query", "blank"),
        ({"query": "x" * 32_769}, "query", "32,768"),
        ({"query": 5}, "query", "a text"),
        ({"query": "x", "source_types": ["book"]}, "source_types", "knowledge_base"),
        ({"query": "x", "source_ids": ["s"] * 65}, "source_ids", "64"),
        ({"query": "x", "max_results": 0}, "max_results", ">= 1"),
        ({"query": "x", "max_results": 201}, "max_results", "<= 200"),
        ({"query": "x", "max_results": "10"}, "max_results", "a whole number"),
        ({"query": "x", "max_tokens": 0}, "max_tokens", ">= 1"),
        ({"query": "x", "min_relevance": -0.1}, "min_relevance", ">= 0"),
        ({"query": "x", "min_relevance": 2}, "min_relevance", "<= 1"),
        ({"query": "x", "sort_by": "luck"}, "sort_by", "combined"),
        ({"query": "x", "since": "2026-03-01"}, "since", "RFC"),
        ({"query": "x", "since": "2026-03-01T00:00:00"}, "since", "zone"),
        ({"query": "x", "max_hops": 4}, "max_hops", "<= 3"),
        ({"query": "x", "link_types": ["supersedes"]}, "link_types", "derived_from"),
        ({"query": "x", "depth": 2}, "depth", "unknown"),
    ],
)
async def test_what_cannot_be_asked_is_a_problem_that_names_it(
    refusing: httpx.AsyncClient, body: dict[str, Any], field: str, says: str
) -> None:
    answer = await refusing.post(PATH, json=body)

    assert answer.status_code == 400, answer.text
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["code"] == "invalid_input"
    assert problem["field"].startswith(field)
    assert says in problem["detail"]


async def test_beside_a_database_it_is_the_same_problem(http: httpx.AsyncClient) -> None:
    answer = await http.post(PATH, json={"query": "x", "max_hops": 4})

    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", "max_hops")


async def test_spans_are_searched_over_http(http: httpx.AsyncClient, memory: Graphmem) -> None:
    written = await write_catalogue(memory)
    path = "/api/v0/spans/search"

    found = await http.post(path, json={"query": "pricing", "source_types": ["knowledge_base"]})
    assert found.status_code == 200
    [item] = found.json()["items"]
    assert (item["span_id"], item["id"]) == (written["span"], written["span"])  # S3.18 S3.6
    assert (item["source_type"], item["source_id"]) == ("knowledge_base", "kb-1")
    assert item["token_count"] == item["token_estimate"] > 0
    assert 0.0 < item["relevance_score"] == item["relevance"] <= 1.0
    none = await http.post(path, json={"query": "pricing", "source_ids": ["nowhere"]})
    assert none.json()["items"] == []
    refused = await http.post(path, json={"query": "pricing", "limit": 0})
    assert refused.headers["content-type"] == "application/problem+json"
    assert (refused.status_code, refused.json()["field"]) == (400, "limit")


async def test_the_log_holds_nothing_of_query_and_memory(
    http: httpx.AsyncClient, memory: Graphmem, log_lines: list[str]
) -> None:
    await memory.add_reference(**card("Wombat ledger", "marzipan accounts"))
    answer = await http.post(PATH, json={"query": "marzipan wombat", "max_hops": 2})
    assert answer.json()["items"]

    shown = "\n".join(log_lines).lower()
    assert "/api/v0/search" in shown
    assert "marzipan" not in shown
    assert "wombat" not in shown


@pytest.mark.parametrize(("example", "wanted"), [(QUERY, SearchQuery), (SPANS, SpanQuery)])
def test_every_example_can_be_sent(example: Example, wanted: type) -> None:
    assert decoded(msgspec.json.encode(example.value), wanted)
