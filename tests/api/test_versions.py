"""A chain of versions over HTTP."""

import httpx

from graphmem.service import Graphmem
from tests.chains import chain


async def test_a_chain_is_listed_as_known_then_and_only_to_its_client(
    memory: Graphmem, http: httpx.AsyncClient, rival_http: httpx.AsyncClient
):
    ids = await chain(memory)
    path = f"/api/v0/memories/{ids[1]}/versions"

    answer = await http.get(path, params={"known_as_of": "2026-05-15T00:00:00Z"})
    assert (answer.status_code, [one["id"] for one in answer.json()["versions"]]) == (200, ids[:1])

    assert (await rival_http.get(path)).status_code == 404
    for wrong in ({"known_as_of": "2026-05-15"}, {"known_as_of": "soon"}, {"as_of": "x"}):
        refused = await http.get(path, params=wrong)
        assert (refused.status_code, refused.json()["field"]) == (400, next(iter(wrong)))
