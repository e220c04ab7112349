"""Background work over HTTP: listed page by page, filtered strictly, one's own only."""

import uuid
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from functools import partial

import httpx
import pytest
from litestar import Litestar

from graphmem.client import Graphmem
from graphmem.jobs.outbox import enqueue


async def queued(memory: Graphmem, kind: str, *keys: str) -> None:
    """Queue a job for each key, of a kind that no worker knows."""
    for key in keys:
        await memory.runtime.graph.write(
            partial(
                enqueue,
                client_id=memory.client_id,
                id=str(uuid.uuid4()),
                kind=kind,
                key=key,
                payload={},
                now=datetime.now(UTC),
            )
        )


async def test_jobs_are_listed_newest_first_and_page_by_page(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem
) -> None:
    await queued(memory, "digest", "a", "b", "c")
    first = (await http.get("/api/v0/jobs", params={"limit": 2})).json()
    assert [job["key"] for job in first["jobs"]] == ["c", "b"]
    assert first["jobs"][0].keys() == {
        *("id", "kind", "key", "state", "attempts"),
        *("run_at", "created_at", "finished_at", "error"),
    }
    rest = await http.get("/api/v0/jobs", params={"limit": 2, "cursor": first["cursor"]})
    assert [job["key"] for job in rest.json()["jobs"]] == ["a"]
    assert rest.json()["cursor"] is None
    assert (await rival_http.get("/api/v0/jobs")).json() == {"jobs": [], "cursor": None}


async def test_state_and_kind_narrow_the_list(http: httpx.AsyncClient, memory: Graphmem) -> None:
    await queued(memory, "digest", "a")
    await queued(memory, "segment", "b")
    for asked, keys in (
        ({"kind": "digest"}, ["a"]),
        ({"state": "queued"}, ["b", "a"]),
        ({"state": "dead"}, []),
        ({"state": "queued", "kind": "segment"}, ["b"]),
        ({"kind": "unheard-of"}, []),
    ):
        answer = await http.get("/api/v0/jobs", params=asked)
        assert [job["key"] for job in answer.json()["jobs"]] == keys


def cursor(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("query", "field", "said"),
    [
        ("state=lost", "state", "one of dead, done, queued, running"),
        ("state=", "state", "one of dead"),
        ("state=dead&state=done", "state", "twice"),
        ("kind=", "kind", "at least 1 character"),
        (f"kind={'k' * 129}", "kind", "at most 128"),
        ("limit=0", "limit", ">= 1"),
        ("limit=201", "limit", "<= 200"),
        ("limit=many", "limit", "a whole number"),
        ("limit=1.5", "limit", "a whole number"),
        ("cursor=nonsense", "cursor", "not one that this list has given"),
        ("cursor=%FF", "cursor", "not one"),
        (f"cursor={cursor('2026-01-01T00:00:00 x')}", "cursor", "not one"),
        (f"cursor={cursor('0001-01-01T00:00:00+14:00 x')}", "cursor", "not one"),
        (f"cursor={cursor('2026-01-01T00:00:00+23:59 x')}", "cursor", "not one"),
        ("stat=dead", "stat", "unknown field"),
    ],
)
async def test_what_cannot_be_asked_is_named(
    query: str, field: str, said: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.get(f"/api/v0/jobs?{query}")
    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert said in answer.json()["detail"]


async def test_beside_a_database_it_is_named_as_well(http: httpx.AsyncClient) -> None:
    answer = await http.get("/api/v0/jobs?limit=0")
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", "limit")


def test_the_description_says_what_may_be_asked(offline_app: Litestar) -> None:
    operation = offline_app.openapi_schema.to_schema()["paths"]["/api/v0/jobs"]["get"]
    parameters = {one["name"]: one["schema"] for one in operation["parameters"]}
    assert parameters.keys() == {"state", "kind", "limit", "cursor"}
    assert (parameters["limit"]["minimum"], parameters["limit"]["maximum"]) == (1, 200)
    assert "dead" in str(parameters["state"])
