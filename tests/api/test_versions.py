"""A chain of versions over HTTP."""

import httpx
import pytest

from graphmem.client import Graphmem
from tests.chains import chain


async def test_a_chain_is_listed_as_known_then_and_only_to_its_client(
    memory: Graphmem, http: httpx.AsyncClient, rival_http: httpx.AsyncClient
) -> None:
    ids = await chain(memory)
    path = f"/api/v0/memories/{ids[1]}/versions"

    answer = await http.get(path, params={"known_as_of": "2026-05-15T00:00:00Z"})
    assert (answer.status_code, [one["id"] for one in answer.json()["versions"]]) == (200, ids[:1])

    for as_of, valid in (("2026-05-31T00:00:00Z", ids[:1]), ("2026-06-02T00:00:00Z", ids[:2])):
        answer = await http.get(path, params={"as_of": as_of})
        assert [one["id"] for one in answer.json()["versions"]] == valid, as_of

    assert (await rival_http.get(path)).status_code == 404
    refused = await http.get(path, params={"known_as_of": "soon"})
    assert refused.headers["content-type"] == "application/problem+json"
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")
    assert refused.json()["field"] == "known_as_of"


@pytest.mark.parametrize(
    "wrong", [{"known_as_of": "2026-05-15"}, {"known_as_of": "soon"}, {"as_of": "x"}]
)
async def test_a_time_that_cannot_be_used_is_named(
    wrong: dict[str, str], refusing: httpx.AsyncClient
) -> None:
    refused = await refusing.get("/api/v0/memories/unknown/versions", params=wrong)
    assert (refused.status_code, refused.json()["field"]) == (400, next(iter(wrong)))
