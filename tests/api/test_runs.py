"""Budgeted runs over HTTP: the specification's story, refusals with numbers, strict input, isolation."""

import asyncio
from typing import Any

import httpx
import msgspec
import pytest
from graphmem_api.app import create_app
from graphmem_api.bodies import decoded
from graphmem_api.runs import END, PEEK, RETRIEVE, START, SUBCALL, WRITE
from litestar import Litestar
from litestar.openapi.spec import Example
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.runs.types import NewEnd, NewRun, NewWrite, PeekAsked, RunQuestion, SubcallAsked
from graphmem.runtime import Runtime
from tests.budgeted import fill

RUNS = "/api/v0/rlm/sessions"
AGENT = {"agent_type": "copy-agent", "episode_id": "ep-123"}
BUDGET = {"max_tokens": 1_000, "max_time_ms": 600_000, "max_retries": 3}


async def started(http: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    answer = await http.post(RUNS, json=AGENT | more)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def asked(http: httpx.AsyncClient, run: dict[str, Any] | str, what: str, **body: Any):
    id = run if isinstance(run, str) else run["id"]
    return await http.post(f"{RUNS}/{id}/{what}", json=body)


# S3.2 S3.9 S3.10
async def test_a_run_starts_active_with_the_default_budget(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    run = await started(http)
    assert run["id"].startswith("session-")
    assert (run["status"], run["outcome"], run["parent_session_id"]) == ("active", None, None)
    assert (run["client_id"], run["agent_type"]) == (memory.client_id, "copy-agent")
    assert run["episode_id"] == "ep-123"
    assert run["limits"] == {"max_tokens": 10_000, "max_time_ms": 60_000, "max_retries": 3}
    budget = run["budget"]
    assert (budget["remaining_tokens"], budget["tokens_used"]) == (10_000, 0)
    assert (budget["remaining_retries"], budget["retries_used"]) == (3, 0)
    # S3.4
    assert all(isinstance(value, int) and value >= 0 for value in budget.values())
    assert budget.keys() == {
        *("remaining_tokens", "tokens_used", "remaining_time_ms", "elapsed_time_ms"),
        *("remaining_retries", "retries_used"),
    }
    await asyncio.sleep(0.05)
    later = (await http.get(f"{RUNS}/{run['id']}")).json()["budget"]
    assert later["elapsed_time_ms"] >= budget["elapsed_time_ms"] + 50
    assert later["remaining_time_ms"] + later["elapsed_time_ms"] in {59_999, 60_000}


# S3.40
async def test_no_two_ids_are_alike_and_none_can_be_guessed(http: httpx.AsyncClient) -> None:
    ids = {(await started(http))["id"] for _ in range(5)}
    assert len(ids) == 5
    assert all(len(id) >= len("session-") + 21 for id in ids)


# S3.20 S3.21 S3.22 S3.23
async def test_retrieve_delivers_spans_and_charges_exactly_their_tokens(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    text = "Information about product pricing and features."
    await memory.register_span(
        id="span-1",
        source_type="knowledge_base",
        source_id="kb-123",
        start_byte=0,
        end_byte=len(text),
        content=text,
    )
    run = await started(http)
    answer = await asked(http, run, "retrieve", query="pricing", max_tokens=500)
    assert answer.status_code == 200
    result = answer.json()
    [span] = result["spans"]
    assert span["content"] == text
    # S3.6
    assert (span["span_id"], span["source_type"], span["source_id"]) == (
        *("span-1", "knowledge_base"),
        "kb-123",
    )
    assert span["token_count"] == memory.runtime.tokens.count(text) == result["tokens_used"]
    assert 0.0 < span["relevance_score"] <= 1.0
    assert (result["has_more"], result["cursor"], result["omitted"]) == (False, None, [])
    after = (await http.get(f"{RUNS}/{run['id']}")).json()["budget"]
    assert after["tokens_used"] == result["tokens_used"]
    assert after["remaining_tokens"] == 10_000 - result["tokens_used"]
    assert result["budget"]["remaining_tokens"] == after["remaining_tokens"]


# S3.24
async def test_more_than_remains_is_refused_with_the_numbers_and_the_run_goes_on(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    await fill(memory, 2)
    run = await started(http, budget=BUDGET | {"max_tokens": 100})
    answer = await asked(http, run, "retrieve", query="test", max_tokens=500)
    assert answer.status_code == 409
    problem = answer.json()
    assert problem["code"] == "budget_exhausted"
    assert problem["detail"] == "Budget exhausted: requested 500, remaining 100"
    assert (problem["requested"], problem["remaining"]) == (500, 100)
    assert (await http.get(f"{RUNS}/{run['id']}")).json()["status"] == "active"
    assert (await asked(http, run, "retrieve", query="pricing", max_tokens=100)).status_code == 200


# S3.29 S3.32
async def test_a_child_has_a_share_and_gives_back_what_it_leaves(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    await fill(memory)
    run = await started(http, budget=BUDGET | {"max_tokens": 10_000})
    answer = await asked(http, run, "subcall", agent_type="qa-agent", budget_fraction=0.2)
    assert answer.status_code == 201
    child = answer.json()
    assert child["budget"]["remaining_tokens"] == 2_000
    assert child["parent_session_id"] == run["id"]
    assert (child["episode_id"], child["depth"]) == ("ep-123", 1)
    parent = (await http.get(f"{RUNS}/{run['id']}")).json()["budget"]
    assert (parent["remaining_tokens"], parent["tokens_used"]) == (8_000, 0)
    used = (await asked(http, child, "retrieve", query="pricing", max_tokens=50)).json()
    parent = (await http.get(f"{RUNS}/{run['id']}")).json()["budget"]
    assert (parent["remaining_tokens"], parent["tokens_used"]) == (8_000, used["tokens_used"])
    ended = await asked(http, child, "end", outcome="success")
    # S3.12
    assert ended.json() == {
        "id": child["id"],
        "status": "completed",
        "outcome": "success",
        "total_tokens_used": used["tokens_used"],
        "total_time_ms": ended.json()["total_time_ms"],
        "retrieval_count": 1,
        "write_count": 0,
    }
    parent = (await http.get(f"{RUNS}/{run['id']}")).json()["budget"]
    assert parent["remaining_tokens"] == 10_000 - used["tokens_used"]


@pytest.mark.parametrize(
    ("fixed", "tokens", "retries"),
    [
        ({"max_tokens": 300}, 300, 1),
        ({"max_tokens": 5_000, "max_retries": 9}, 1_000, 3),
        ({"max_retries": 0}, 500, 0),
    ],
)
async def test_a_fixed_budget_overrides_the_fraction_field_by_field(
    fixed: dict[str, int], tokens: int, retries: int, http: httpx.AsyncClient
) -> None:
    run = await started(http, budget=BUDGET)
    answer = await asked(
        http, run, "subcall", agent_type="qa", budget_fraction=0.5, fixed_budget=fixed
    )
    limits = answer.json()["limits"]
    assert (limits["max_tokens"], limits["max_retries"]) == (tokens, retries)
    assert limits["max_time_ms"] <= 300_000


async def test_a_child_without_tokens_or_too_deep_is_refused(http: httpx.AsyncClient) -> None:
    run = await started(http, budget=BUDGET)
    answer = await asked(http, run, "subcall", agent_type="qa", budget_fraction=0)
    assert (answer.status_code, answer.json()["code"]) == (409, "childless_budget")
    assert answer.json()["remaining"] == 1_000
    assert "share of the 1,000 tokens that remain" in answer.json()["detail"]
    only_tokens = {"budget_fraction": 0, "fixed_budget": {"max_tokens": 10}}
    answer = await asked(http, run, "subcall", agent_type="qa", **only_tokens)
    assert answer.json()["code"] == "childless_budget"
    assert "share of the time that remains is nothing" in answer.json()["detail"]
    assert "max_time_ms in fixed_budget" in answer.json()["detail"]
    for depth in range(1, 5):
        answer = await asked(http, run, "subcall", agent_type="qa", budget_fraction=1.0)
        assert answer.status_code == 201
        run = answer.json()
        assert (run["depth"], run["budget"]["remaining_tokens"]) == (depth, 1_000)
    answer = await asked(http, run, "subcall", agent_type="qa", budget_fraction=1.0)
    assert (answer.status_code, answer.json()["code"], answer.json()["limit"]) == (409, "depth", 4)


async def test_a_run_without_tokens_has_no_child_however_it_is_started(
    http: httpx.AsyncClient,
) -> None:
    run = await started(http, budget=BUDGET)
    await asked(http, run, "subcall", agent_type="qa", budget_fraction=1.0)
    under = await http.post(RUNS, json=AGENT | {"parent_session_id": run["id"]})
    below = await asked(http, run, "subcall", agent_type="qa", budget_fraction=0.5)
    for answer in (under, below):
        assert (answer.status_code, answer.json()["code"]) == (409, "childless_budget")
        assert answer.json()["remaining"] == 0
    assert under.json()["requested"] == 10_000
    assert "no tokens left to give; 10,000 were asked for" in under.json()["detail"]


async def test_a_run_started_under_a_parent_takes_its_budget_from_there(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    run = await started(http, budget=BUDGET)
    child = await started(http, budget=BUDGET | {"max_tokens": 400}, parent_session_id=run["id"])
    assert (child["parent_session_id"], child["budget"]["remaining_tokens"]) == (run["id"], 400)
    child = await started(http, parent_session_id=run["id"])
    assert child["budget"]["remaining_tokens"] == 600
    for other, parent in ((rival_http, run["id"]), (http, "session-unknown")):
        answer = await other.post(RUNS, json=AGENT | {"parent_session_id": parent})
        assert (answer.status_code, answer.json()["code"]) == (404, "run_not_found")


# S3.13
async def test_nothing_works_on_a_run_that_has_ended_but_ending_it(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    await fill(memory, 1)
    run = await started(http)
    child = (await asked(http, run, "subcall", agent_type="qa", budget_fraction=0.5)).json()
    first = await asked(http, run, "end", outcome="failure")
    # S3.12
    assert (first.json()["status"], first.json()["outcome"]) == ("failed", "failure")
    again = await asked(http, run, "end", outcome="success")
    assert (again.status_code, again.json()) == (200, first.json())
    for ended in (run, child):
        shown = (await http.get(f"{RUNS}/{ended['id']}")).json()
        assert (shown["status"], shown["outcome"]) == ("failed", "failure")
        for what, body in (
            ("retrieve", {"query": "pricing", "max_tokens": 1}),
            ("peek", {"span_id": "span-0"}),
            ("peek", {"span_id": "unknown"}),
            ("write", {"type": "log", "content": "late"}),
            ("subcall", {"agent_type": "qa", "budget_fraction": 0.5}),
        ):
            answer = await asked(http, ended, what, **body)
            assert (answer.status_code, answer.json()["code"]) == (409, "run_ended")
    assert (await memory.search("late", source_types=["span"])).items == []


# S3.25
async def test_a_run_whose_time_is_over_has_timed_out(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    await fill(memory, 1)
    run = await started(http, budget=BUDGET | {"max_time_ms": 50})
    await asyncio.sleep(0.06)
    answer = await asked(http, run, "retrieve", query="pricing", max_tokens=10)
    assert (answer.status_code, answer.json()["code"]) == (409, "run_timeout")
    assert answer.json()["detail"] == "Session timeout: time budget exhausted"
    shown = (await http.get(f"{RUNS}/{run['id']}")).json()
    assert (shown["status"], shown["outcome"]) == ("timeout", "timeout")
    assert (shown["budget"]["remaining_time_ms"], shown["budget"]["elapsed_time_ms"]) == (0, 50)
    for what, body in (
        ("peek", {"span_id": "span-0"}),
        ("write", {"type": "log", "content": "late"}),
        ("subcall", {"agent_type": "qa", "budget_fraction": 0.5}),
    ):
        answer = await asked(http, run, what, **body)
        assert (answer.status_code, answer.json()["code"]) == (409, "run_timeout")
    ended = await asked(http, run, "end", outcome="success")
    assert (ended.status_code, ended.json()["status"], ended.json()["total_time_ms"]) == (
        *(200, "timeout"),
        50,
    )


async def test_asking_is_enough_to_see_that_a_run_has_timed_out(http: httpx.AsyncClient) -> None:
    run = await started(http, budget=BUDGET | {"max_time_ms": 30})
    await asyncio.sleep(0.04)
    tree = (await http.get(f"{RUNS}/{run['id']}/tree")).json()
    assert (tree["status"], tree["outcome"]) == ("timeout", "timeout")
    assert (await http.get(f"{RUNS}/{run['id']}")).json()["status"] == "timeout"


# S3.28
async def test_peek_is_free_and_shows_a_preview_only(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    text = "One two three four five six seven. " * 40
    await memory.register_span(
        id="long",
        source_type="offer",
        source_id="o",
        start_byte=0,
        end_byte=len(text),
        content=text,
        metadata={"importance": 0.9, "tags": ["t"]},
    )
    run = await started(http, budget=BUDGET | {"max_tokens": 1})
    bare = (await asked(http, run, "peek", span_id="long")).json()
    assert bare["content"] is None
    # S3.5 S3.41
    assert bare["span"]["hash"] == (await memory.span("long")).hash
    assert (bare["span"]["start_byte"], bare["span"]["end_byte"]) == (0, len(text))
    assert bare["span"]["metadata"]["importance"] == 0.9
    shown = (await asked(http, run, "peek", span_id="long", include_content=True)).json()
    assert shown["truncated"]
    assert memory.runtime.tokens.count(shown["content"]) <= 100
    assert text.startswith(shown["content"].removesuffix("...").rstrip())
    assert shown["budget"]["remaining_tokens"] == 1
    answer = await asked(http, run, "peek", span_id="unknown")
    assert (answer.status_code, answer.json()["code"]) == (404, "span_not_found")
    assert answer.json()["detail"] == "Span not found: unknown"


# S3.33 S3.35 S3.48
async def test_what_a_run_writes_another_agent_finds_at_once(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    run = await started(http)
    answer = await asked(
        http,
        run,
        "write",
        type="summary",
        content="The premium plan costs 49 a month.",
        metadata={"topic": "tariffs", "importance": 0.8},
    )
    assert answer.status_code == 201
    written = answer.json()
    assert written["id"].startswith("write-")
    [span] = written["spans"]
    assert (span["source_type"], span["source_id"]) == ("thread_summary", written["id"])
    other = await started(http)
    # S3.49: found by its text, and by the words of its metadata.
    for query in ("What does the premium plan cost?", "tariffs"):
        found = (await asked(http, other, "retrieve", query=query, max_tokens=100)).json()
        assert [one["span_id"] for one in found["spans"]] == [span["id"]]
        assert found["spans"][0]["content"] == "The premium plan costs 49 a month."
    ended = (await asked(http, run, "end", outcome="success")).json()
    assert ended["write_count"] == 1
    theirs = await started(rival_http)
    found = (await asked(rival_http, theirs, "retrieve", query="premium", max_tokens=100)).json()
    assert found["spans"] == []


async def test_at_nothing_left_peek_write_and_end_still_work(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    await fill(memory, 1)
    cost = (await memory.span("span-0")).token_count
    run = await started(http, budget=BUDGET | {"max_tokens": cost})
    spent = await asked(http, run, "retrieve", query="pricing", max_tokens=cost)
    assert spent.json()["budget"]["remaining_tokens"] == 0
    for what, code, body in (
        ("retrieve", "budget_exhausted", {"query": "pricing", "max_tokens": 1}),
        ("subcall", "childless_budget", {"agent_type": "qa", "budget_fraction": 0.5}),
    ):
        answer = await asked(http, run, what, **body)
        assert (answer.status_code, answer.json()["code"]) == (409, code)
        assert answer.json()["remaining"] == 0
    assert (await asked(http, run, "peek", span_id="span-0")).status_code == 200
    assert (await asked(http, run, "write", type="log", content="done")).status_code == 201
    ended = await asked(http, run, "end", outcome="budget_exhausted")
    assert (ended.json()["status"], ended.json()["outcome"]) == ("failed", "budget_exhausted")


# S3.14
async def test_there_are_at_most_so_many_active_runs_of_a_client(
    runtime: Runtime, memory: Graphmem, asking, http: httpx.AsyncClient
) -> None:
    settings = replace(runtime.settings, max_concurrent_sessions=3)
    app: Litestar = create_app(replace(runtime, settings=settings))
    async with asking(app, x_client_id=memory.client_id) as few:
        answers = await asyncio.gather(*(few.post(RUNS, json=AGENT) for _ in range(8)))
        assert sorted(one.status_code for one in answers) == [201] * 3 + [429] * 5
        refused = next(one for one in answers if one.status_code == 429)
        assert (refused.json()["code"], refused.json()["limit"]) == ("too_many_runs", 3)
        assert refused.headers["retry-after"]
        run = next(one.json() for one in answers if one.status_code == 201)
        answer = await asked(few, run, "subcall", agent_type="qa", budget_fraction=0.5)
        assert answer.status_code == 429
        budget = (await few.get(f"{RUNS}/{run['id']}")).json()["budget"]
        assert budget["remaining_tokens"] == 10_000
        await asked(few, run, "end", outcome="success")
        assert (await few.post(RUNS, json=AGENT)).status_code == 201


# S3.36 S3.37
async def test_every_operation_is_listed_once_and_never_a_text(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    secret = "sesamequince"
    text = f"The word is {secret}."
    await memory.register_span(
        id="s", source_type="offer", source_id="o", start_byte=0, end_byte=len(text), content=text
    )
    run = await started(http)
    found = (await asked(http, run, "retrieve", query=secret, max_tokens=50)).json()
    await asked(http, run, "peek", span_id="s", include_content=True)
    wrote = await asked(
        http, run, "write", type="log", content=f"{secret}!", metadata={secret: secret}
    )
    child = (await asked(http, run, "subcall", agent_type="qa", budget_fraction=0.5)).json()
    await asked(http, run, "retrieve", query=secret, max_tokens=50_000)
    await asked(http, run, "end", outcome="success")
    page = (await http.get(f"{RUNS}/{run['id']}/accesses")).json()
    assert secret not in str(page)
    listed = [(one["operation"], one["tokens_consumed"], one["error"]) for one in page["accesses"]]
    assert listed == [
        ("end", 0, None),
        ("retrieve", 0, "Budget exhausted: requested 50000, remaining "
         f"{(10_000 - found['tokens_used']) - (10_000 - found['tokens_used']) // 2}"),
        ("subcall", 0, None),
        ("write", 0, None),
        ("peek", 0, None),
        ("retrieve", found["tokens_used"], None),
        ("start", 0, None),
    ]  # fmt: skip
    retrieved = page["accesses"][5]
    assert retrieved["returned"] == [
        {
            "memory_id": "s",
            "rank": 1,
            "score": found["spans"][0]["relevance_score"],
            "tokens": found["tokens_used"],
        }
    ]
    assert retrieved["params"]["query_length"] == len(secret)
    assert page["accesses"][2]["params"] == {
        "agent_type": "qa",
        "budget_fraction": 0.5,
        "child_session_id": child["id"],
    }
    assert page["accesses"][3]["wrote"] == [wrote.json()["id"]]
    times = [one["timestamp"] for one in page["accesses"]]  # S3.36
    assert times == sorted(times, reverse=True)
    assert all(one["duration_ms"] >= 0 for one in page["accesses"])
    nodes = await memory.runtime.graph.execute(
        "CYPHER 25 MATCH (n {client_id: $c}) WHERE n:Access OR n:Run OR n:Hold "
        "RETURN [key IN keys(n) | toString(n[key])] AS all",
        c=memory.client_id,
    )
    assert len(nodes) >= 9
    assert not [row for row in nodes if secret in str(row)]


async def test_accesses_come_page_by_page(http: httpx.AsyncClient) -> None:
    run = await started(http)
    for place in range(4):
        await asked(http, run, "write", type="log", content=f"note {place}")
    whole = (await http.get(f"{RUNS}/{run['id']}/accesses")).json()
    assert [one["operation"] for one in whole["accesses"]] == ["write"] * 4 + ["start"]
    assert whole["cursor"] is None
    seen, cursor = [], None
    while True:
        query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await http.get(f"{RUNS}/{run['id']}/accesses", params=query)).json()
        seen += page["accesses"]
        cursor = page["cursor"]
        if cursor is None:
            break
    assert seen == whole["accesses"]


async def test_a_tree_says_where_a_budget_went(http: httpx.AsyncClient, memory: Graphmem) -> None:
    await fill(memory)
    run = await started(http, budget=BUDGET)
    one = (await asked(http, run, "subcall", agent_type="a", budget_fraction=0.5)).json()
    two = (await asked(http, one, "subcall", agent_type="b", budget_fraction=0.5)).json()
    used = [
        (await asked(http, each, "retrieve", query="pricing", max_tokens=60)).json()["tokens_used"]
        for each in (run, one, two)
    ]
    await asked(http, two, "end", outcome="success")
    tree = (await http.get(f"{RUNS}/{run['id']}/tree")).json()
    [first] = tree["children"]
    [second] = first["children"]
    assert (second["returned"], second["outcome"]) == (250 - used[2], "success")
    assert second["operations"] == {"start": 1, "retrieve": 1, "end": 1}
    assert (first["given"], first["spent"]) == (used[2], used[1])
    assert (tree["given"], tree["spent"], tree["held"]) == (500, used[0], 0)
    assert tree["operations"] == {"start": 1, "subcall": 1, "retrieve": 1}
    for each in (tree, first, second):
        parts = each["spent"] + each["held"] + each["given"] + each["remaining"]
        assert parts == each["max_tokens"]
    part = (await http.get(f"{RUNS}/{one['id']}/tree")).json()
    assert part == first


# S3.11 S3.38
async def test_another_client_s_run_looks_like_none(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem, rival: Graphmem
) -> None:
    await fill(memory, 2)
    run = await started(http)
    for client, id in ((rival_http, run["id"]), (http, "session-unknown")):
        for what, body in (
            ("retrieve", {"query": "pricing", "max_tokens": 10}),
            ("peek", {"span_id": "span-0"}),
            ("write", {"type": "log", "content": "mine"}),
            ("subcall", {"agent_type": "qa", "budget_fraction": 0.5}),
            ("end", {"outcome": "success"}),
        ):
            answer = await asked(client, id, what, **body)
            assert (answer.status_code, answer.json()["code"]) == (404, "run_not_found")
            assert answer.json()["detail"] == f"no run {id!r}"
        for path in ("", "/accesses", "/tree"):
            answer = await client.get(f"{RUNS}/{id}{path}")
            assert (answer.status_code, answer.json()["code"]) == (404, "run_not_found")
    assert (await http.get(f"{RUNS}/{run['id']}")).json()["status"] == "active"
    page = (await http.get(f"{RUNS}/{run['id']}/accesses")).json()
    assert [one["operation"] for one in page["accesses"]] == ["start"]
    theirs = await started(rival_http)
    found = await asked(rival_http, theirs, "retrieve", query="pricing", max_tokens=100)
    assert found.json()["spans"] == []
    answer = await asked(rival_http, theirs, "peek", span_id="span-0")
    assert answer.json()["code"] == "span_not_found"


VECTOR = [0.1] * 384


@pytest.mark.parametrize(
    ("what", "body", "field"),
    [
        ("", {"episode_id": "e"}, "agent_type"),
        ("", AGENT | {"agent_type": ""}, "agent_type"),
        ("", AGENT | {"agent_type": "  "}, "agent_type"),
        ("", AGENT | {"agent_type": "a" * 257}, "agent_type"),
        ("", AGENT | {"episode_id": None}, "episode_id"),
        ("", AGENT | {"budget": {"max_tokens": 0}}, "budget.max_tokens"),
        ("", AGENT | {"budget": {"max_tokens": 1.5}}, "budget.max_tokens"),
        ("", AGENT | {"budget": {"max_tokens": 2**63}}, "budget.max_tokens"),
        ("", AGENT | {"budget": {"max_time_ms": 0}}, "budget.max_time_ms"),
        ("", AGENT | {"budget": {"max_retries": -1}}, "budget.max_retries"),
        ("", AGENT | {"budget": {"max_token": 5}}, "budget.max_token"),
        ("", AGENT | {"colour": "red"}, "colour"),
        ("retrieve", {"query": "a"}, "max_tokens"),
        ("retrieve", {"query": "a", "max_tokens": 0}, "max_tokens"),
        ("retrieve", {"query": "a", "max_tokens": -5}, "max_tokens"),
        ("retrieve", {"query": "", "max_tokens": 5}, "query"),
        ("retrieve", {"query": "  ", "max_tokens": 5}, "query"),
        ("retrieve", {"query": "a" * 32_769, "max_tokens": 5}, "query"),
        ("retrieve", {"query": [], "max_tokens": 5}, "query"),
        ("retrieve", {"query": [0.1] * 383, "max_tokens": 5}, "query"),
        ("retrieve", {"query": [0.0] * 384, "max_tokens": 5}, "query"),
        ("retrieve", {"query": ["a"], "max_tokens": 5}, "query[0]"),
        ("retrieve", {"query": "a", "max_tokens": 5, "source_types": ["x"]}, "source_types[0]"),
        ("retrieve", {"query": "a", "max_tokens": 5, "source_types": []}, "source_types"),
        ("retrieve", {"query": "a", "max_tokens": 5, "source_ids": ["a"] * 65}, "source_ids"),
        ("retrieve", {"query": "a", "max_tokens": 5, "min_relevance": 1.1}, "min_relevance"),
        ("retrieve", {"query": "a", "max_tokens": 5, "sort_by": "size"}, "sort_by"),
        ("retrieve", {"query": "a", "max_tokens": 5, "operation_id": ""}, "operation_id"),
        ("retrieve", {"query": "a", "max_tokens": 5, "operation_id": "x" * 129}, "operation_id"),
        ("peek", {}, "span_id"),
        ("peek", {"span_id": "s", "include_content": "yes"}, "include_content"),
        ("write", {"type": "note", "content": "a"}, "type"),
        ("write", {"type": "log", "content": ""}, "content"),
        ("write", {"type": "log", "content": " \n "}, "content"),
        ("write", {"type": "log", "content": "a", "metadata": []}, "metadata"),
        ("write", {"type": "log", "content": "a", "metadata": {"a": "b" * 100_001}}, "metadata"),
        ("subcall", {"agent_type": "a"}, "budget_fraction"),
        ("subcall", {"agent_type": "a", "budget_fraction": 1.1}, "budget_fraction"),
        ("subcall", {"agent_type": "a", "budget_fraction": -0.1}, "budget_fraction"),
        (
            "subcall",
            {"agent_type": "a", "budget_fraction": 0.5, "fixed_budget": {"max_tokens": 0}},
            "fixed_budget.max_tokens",
        ),
        ("end", {}, "outcome"),
        ("end", {"outcome": "done"}, "outcome"),
    ],
)
async def test_what_cannot_be_asked_is_named(
    what: str, body: dict[str, Any], field: str, refusing: httpx.AsyncClient
) -> None:
    path = f"{RUNS}/session-unknown/{what}" if what else RUNS
    answer = await refusing.post(path, json=body)
    assert answer.status_code in {400, 413}, answer.text
    assert answer.json()["field"] == field
    assert answer.headers["content-type"] == "application/problem+json"


async def test_what_cannot_be_asked_changes_no_run(http: httpx.AsyncClient) -> None:
    run = await started(http)
    long = {"type": "log", "content": "a", "metadata": {"a": "b" * 100_001}}
    for what, body, status, field in (
        ("", AGENT | {"budget": {"max_tokens": 0}}, 400, "budget.max_tokens"),
        ("retrieve", {"query": "a", "max_tokens": 0}, 400, "max_tokens"),
        ("retrieve", {"query": "a", "max_tokens": 5, "cursor": "nonsense"}, 400, "cursor"),
        ("retrieve", {"query": "a", "max_tokens": 5, "cursor": "%%%%"}, 400, "cursor"),
        ("peek", {}, 400, "span_id"),
        ("write", {"type": "log", "content": " \n "}, 400, "content"),
        ("write", long, 413, "metadata"),
        ("subcall", {"agent_type": "a", "budget_fraction": 1.1}, 400, "budget_fraction"),
        ("end", {"outcome": "done"}, 400, "outcome"),
    ):
        answer = await http.post(f"{RUNS}/{run['id']}/{what}" if what else RUNS, json=body)
        assert answer.headers["content-type"] == "application/problem+json"
        code = "too_large" if status == 413 else "invalid_input"
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert answer.json()["field"] == field
    shown = (await http.get(f"{RUNS}/{run['id']}")).json()
    assert shown["status"] == "active"
    assert shown["budget"]["remaining_tokens"] == 10_000


async def test_a_content_beyond_the_limit_is_too_large(refusing: httpx.AsyncClient) -> None:
    answer = await asked(refusing, "session-unknown", "write", type="log", content="a" * 1_000_001)
    assert (answer.status_code, answer.json()["field"]) == (413, "content")


# S3.3
@pytest.mark.parametrize(
    ("query", "field"),
    [("limit=0", "limit"), ("limit=201", "limit"), ("cursor=x", "cursor"), ("page=2", "page")],
)
async def test_a_list_of_accesses_is_asked_for_strictly(
    query: str, field: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.get(f"{RUNS}/session-unknown/accesses?{query}")
    assert (answer.status_code, answer.json()["field"]) == (400, field)


async def test_beside_a_database_it_is_asked_for_strictly_too(http: httpx.AsyncClient) -> None:
    run = await started(http)
    answer = await http.get(f"{RUNS}/{run['id']}/accesses?limit=0")
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert answer.json()["field"] == "limit"


# S3.45
async def test_an_operation_shows_as_a_span_with_what_its_record_holds(
    http: httpx.AsyncClient, memory: Graphmem, spans
) -> None:
    await fill(memory, 1)
    run = await started(http)
    spans.clear()
    found = (await asked(http, run, "retrieve", query="pricing", max_tokens=50)).json()
    [shown] = [one for one in spans.get_finished_spans() if one.name == "run retrieve"]
    assert shown.attributes["graphmem.run"] == run["id"]
    assert shown.attributes["graphmem.operation"] == "retrieve"
    assert shown.attributes["graphmem.tokens"] == found["tokens_used"] > 0
    assert shown.attributes["graphmem.retries"] == 0
    assert shown.attributes["graphmem.params.max_tokens"] == 50
    assert shown.attributes["graphmem.duration_ms"] > 0
    assert "pricing" not in str([one.attributes for one in spans.get_finished_spans()])


@pytest.mark.parametrize(
    ("example", "wanted"),
    [
        (START, NewRun),
        (RETRIEVE, RunQuestion),
        (PEEK, PeekAsked),
        (SUBCALL, SubcallAsked),
        (WRITE, NewWrite),
        (END, NewEnd),
    ],
)
def test_every_example_can_be_sent(example: Example, wanted: type) -> None:
    assert decoded(msgspec.json.encode(example.value), wanted)


# S3.46
def test_the_shapes_are_described(offline_app: Litestar) -> None:
    shapes = offline_app.openapi_schema.to_schema()["components"]["schemas"]
    assert shapes.keys() >= {"Span", "RetrievalBudget", "BudgetState", "RetrievedSpan", "Run"}
    assert shapes["RetrievalBudget"]["properties"]["max_tokens"]["minimum"] == 1


async def test_runs_are_listed_so_that_those_whose_ids_were_lost_can_be_ended(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem
) -> None:
    await started(rival_http)
    made = [(await started(http))["id"] for _ in range(4)]
    child = (
        await asked(http, {"id": made[0]}, "subcall", agent_type="qa", budget_fraction=0.5)
    ).json()
    await asked(http, {"id": made[1]}, "end", outcome="success")
    await memory.runtime.graph.execute(
        "MATCH (run:Run {client_id: $c, id: $id}) SET run.deadline = datetime() - duration('PT1S')",
        c=memory.client_id,
        id=made[2],
    )

    whole = (await http.get(RUNS)).json()
    assert [one["id"] for one in whole["runs"]] == [child["id"], *reversed(made)]
    statuses = [one["status"] for one in whole["runs"]]
    assert statuses == ["active", "active", "timeout", "completed", "active"]
    shown = (await http.get(f"{RUNS}/{child['id']}")).json()
    for name in ("parent_session_id", "limits", "agent_type", "depth", "deadline"):
        assert whole["runs"][0][name] == shown[name]
    assert whole["runs"][-1]["budget"]["remaining_tokens"] == 5_000

    seen, cursor = [], None
    while True:
        query: dict[str, Any] = {"status": "active", "limit": 2}
        query |= {"cursor": cursor} if cursor else {}
        page = (await http.get(RUNS, params=query)).json()
        seen += [one["id"] for one in page["runs"]]
        if (cursor := page["cursor"]) is None:
            break
    assert seen == [child["id"], made[3], made[0]]
    for id in seen:
        assert (await asked(http, {"id": id}, "end", outcome="failure")).status_code == 200
    assert (await http.get(RUNS, params={"status": "active"})).json()["runs"] == []
    assert [one.id for one in (await memory.runs().list_runs(status="timeout")).runs] == [made[2]]
    refused = await http.get(RUNS, params={"status": "lost"})
    assert (refused.status_code, refused.json()["field"]) == (400, "status")
