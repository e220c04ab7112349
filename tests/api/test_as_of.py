"""What was true then, and what was known then, over HTTP, in every way of reading."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import httpx
import pytest
import pytest_asyncio
from graphmem_api.summaries import THREAD
from litestar import Litestar

from tests.api.test_superseding import conversation_of

API = "/api/v0"
POSTGRES, SQLITE = "Orders are kept in Postgres", "Orders are kept in SQLite"
JANUARY, MARCH, MAY = "2026-01-10T00:00:00Z", "2026-03-01T00:00:00Z", "2026-05-04T00:00:00Z"
LATER = "2032-01-01T00:00:00Z"
TICK = timedelta(microseconds=1)
QUERY = "Where are orders kept?"


class Decision(NamedTuple):
    """A decision and what reversed it, with the moments at which they became known."""

    conversation: str
    old: str
    new: str
    old_known: str
    new_known: str

    @property
    def before_new(self) -> str:
        return (datetime.fromisoformat(self.new_known) - TICK).isoformat()

    @property
    def before_old(self) -> str:
        return (datetime.fromisoformat(self.old_known) - TICK).isoformat()


async def decided(http: httpx.AsyncClient, linked_from: str | None = None) -> Decision:
    """Have a fact, true from January, superseded by what is true from May; link to it before that."""
    c = await conversation_of(http)
    fact = {"fact": POSTGRES, "conversation_id": c, "valid_at": JANUARY}
    old = (await http.post(f"{API}/facts", json=fact)).json()["id"]
    known = (await http.get(f"{API}/memories/{old}")).json()["created_at"]
    if linked_from is not None:
        await linked(http, linked_from, old)
    new = (
        await http.post(f"{API}/facts/{old}/supersede", json={"fact": SQLITE, "valid_at": MAY})
    ).json()
    return Decision(c, old, new["id"], known, new["created_at"])


async def linked(http: httpx.AsyncClient, here: str, there: str) -> None:
    link = {"from": here, "to": there, "type": "relates_to"}
    assert (await http.post(f"{API}/links", json=link)).status_code == 201


async def posted(http: httpx.AsyncClient, path: str, **body: Any) -> httpx.Response:
    answer = await http.post(f"{API}{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer


class Read(NamedTuple):
    """A decision that tests only read, and the client whose it is."""

    http: httpx.AsyncClient
    decision: Decision


@pytest_asyncio.fixture(scope="module")
async def ours(app: Litestar, asking: Any) -> AsyncIterator[Read]:
    """A decision of one client."""
    async with asking(app, x_client_id=f"test-{uuid.uuid4().hex}") as http:
        yield Read(http, await decided(http))


@pytest_asyncio.fixture(scope="module")
async def theirs(app: Litestar, asking: Any) -> AsyncIterator[Read]:
    """The same decision of another client."""
    async with asking(app, x_client_id=f"rival-{uuid.uuid4().hex}") as http:
        yield Read(http, await decided(http))


async def recalled(http: httpx.AsyncClient, c: str, **times: Any) -> str:
    return (await posted(http, "/recall", query=QUERY, conversation_id=c, **times)).text


async def by_words(http: httpx.AsyncClient, c: str, **times: Any) -> str:
    asked = {"query": QUERY, "kinds": ["fact"], "ranking": "bm25"}
    return (await posted(http, "/recall", conversation_id=c, **asked, **times)).text


async def searched(http: httpx.AsyncClient, c: str, **times: Any) -> str:
    asked = {"query": QUERY, "source_types": ["fact"], "conversation_id": c}
    return (await posted(http, "/search", **asked, **times)).text


async def listed(http: httpx.AsyncClient, c: str, **times: Any) -> str:
    asked = {"query": "*", "source_types": ["fact"], "conversation_id": c}
    found = await posted(http, "/search", **asked, **times)
    assert found.json()["total_count"] == len(found.json()["items"])
    return found.text


async def by_importance(http: httpx.AsyncClient, c: str, **times: Any) -> str:
    return await listed(http, c, sort_by="importance", **times)


async def retrieved(http: httpx.AsyncClient, c: str, **times: Any) -> str:
    return (await posted(http, "/retrieve_memory", query=QUERY, conversation_id=c, **times)).text


async def retrieved_raw(http: httpx.AsyncClient, c: str, **times: Any) -> str:
    asked = {"query": QUERY, "conversation_id": c, "category": "user_fact"}
    return (await posted(http, "/retrieve_memory/raw", **asked, **times)).text


async def pre_retrieved(http: httpx.AsyncClient, c: str, **times: Any) -> str:
    asked = {"query": QUERY, "conversation_id": c}
    return (await posted(http, "/context_pre_retrieve", **asked, **times)).text


Way = Callable[..., Awaitable[str]]
WAYS: list[Way] = [
    recalled, by_words, searched, listed, by_importance, retrieved, retrieved_raw, pre_retrieved,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_of_reading_sees_what_held_then(
    way: Way, ours: Read, theirs: Read
) -> None:  # B4 S4.28
    it = ours.decision

    async def seen(**times: Any) -> list[str]:
        text = await way(ours.http, it.conversation, **times)
        return [one for one in (POSTGRES, SQLITE) if one in text]

    assert await seen() == [SQLITE]
    assert await seen(include_superseded=True) == [POSTGRES, SQLITE]
    assert await seen(as_of=MARCH) == [POSTGRES]
    assert await seen(as_of=MAY) == [SQLITE]
    assert await seen(as_of="1900-01-01T00:00:00Z") == []
    assert await seen(known_as_of=it.before_new) == [POSTGRES]
    assert await seen(known_as_of=it.new_known) == [SQLITE]
    assert await seen(known_as_of=it.before_old) == []
    # What is true from May was not known yet: then the old version was true for good.
    assert await seen(as_of=LATER, known_as_of=it.before_new) == [POSTGRES]
    assert await seen(as_of=LATER, known_as_of=it.new_known) == [SQLITE]
    assert await seen(as_of=MARCH, known_as_of=it.new_known) == [POSTGRES]
    assert await seen(as_of=MARCH, include_superseded=True) == [POSTGRES]
    assert POSTGRES not in await way(ours.http, theirs.decision.conversation, as_of=MARCH)
    assert POSTGRES in await way(theirs.http, theirs.decision.conversation, as_of=MARCH)


async def test_a_correction_of_the_past_replaces_what_was_said_from_that_date_on(
    http: httpx.AsyncClient,
) -> None:  # B4
    c = await conversation_of(http)
    fact = {"fact": POSTGRES, "conversation_id": c, "valid_at": MARCH}
    old = (await http.post(f"{API}/facts", json=fact)).json()["id"]
    body = {"fact": SQLITE, "valid_at": JANUARY}
    new = (await http.post(f"{API}/facts/{old}/supersede", json=body)).json()

    for moment in (JANUARY, MARCH, LATER):
        assert POSTGRES not in await searched(http, c, as_of=moment)
        assert SQLITE in await searched(http, c, as_of=moment)
    before = (datetime.fromisoformat(new["created_at"]) - TICK).isoformat()
    assert POSTGRES in await searched(http, c, as_of=MARCH, known_as_of=before)
    assert POSTGRES not in await searched(http, c, as_of=JANUARY, known_as_of=before)


async def test_a_fact_of_then_says_until_when_it_was_true_as_far_as_that_was_known(
    ours: Read,
) -> None:
    it = ours.decision

    async def until(**times: Any) -> Any:
        asked = {"query": QUERY, "conversation_id": it.conversation}
        found = await posted(ours.http, "/retrieve_memory/raw", **asked, **times)
        [fact] = found.json()["semantic"]
        return fact["id"], fact["invalid_at"]

    assert await until(as_of=MARCH) == (it.old, MAY)
    assert await until(as_of=MARCH, known_as_of=it.before_new) == (it.old, None)
    assert await until() == (it.new, None)


async def test_hops_enter_only_what_held_then_over_links_that_were_known(
    http: httpx.AsyncClient,
) -> None:  # S4.24 S4.28
    note = {"fact": "Zebras graze", "valid_at": JANUARY}
    here = (await http.post(f"{API}/facts", json=note)).json()["id"]
    it = await decided(http, linked_from=here)

    async def reached(**times: Any) -> set[str]:
        asked = {"query": "Zebras graze", "source_types": ["fact"], "max_hops": 2}
        found = (await posted(http, "/search", **asked, **times)).json()
        assert all(step["link_type"] != "supersedes" for step in found["hop_paths"])
        return {one["id"] for one in found["items"] if one["hop"]}

    assert await reached() == {it.new}
    assert await reached(as_of=MARCH) == {it.old}
    assert await reached(as_of=LATER) == {it.new}
    assert await reached(include_superseded=True) == {it.old, it.new}
    assert await reached(known_as_of=it.before_new) == {it.old}
    assert await reached(as_of=LATER, known_as_of=it.before_new) == {it.old}
    assert await reached(as_of=LATER, known_as_of=it.new_known) == {it.new}
    # The old version was known, the link was not.
    assert await reached(known_as_of=it.old_known) == set()
    assert await reached(known_as_of=it.before_old) == set()


async def test_of_superseded_summaries_and_references_only_the_heads_are_found(
    http: httpx.AsyncClient,
) -> None:  # B4 S4.28
    example: Any = THREAD.value
    first = example | {"target_id": "t", "key_points": ["zqold"]}
    second = first | {"key_points": ["zqnew"], "last_activity_at": LATER}
    for one in (first, second):
        assert (await http.post(f"{API}/summaries", json=one)).status_code == 201
    card = {"type": "knowledge_base", "target_id": "kb", "label": "FAQ"}
    reference = (await http.post(f"{API}/references", json=card)).json()["id"]
    for content in ("zqold prices are 49 euros", "zqnew prices are 59 euros"):
        put = await http.put(f"{API}/references/{reference}/content", json={"content": content})
        reference = put.json()["id"]
    chain = (await http.get(f"{API}/memories/{reference}/versions")).json()["versions"]
    assert len(chain) == 2
    spans = (await posted(http, "/spans/search", query="zqold", include_superseded=True)).json()
    old_span = next(one for one in spans["items"] if "zqold" in one["snippet"])["id"]
    then = (await http.get(f"{API}/memories/{old_span}")).json()["created_at"]

    async def seen(path: str, query: str, **more: Any) -> tuple[bool, bool]:
        found = (await posted(http, path, query=query, **more)).json()
        text = str(found.get("items")) + str(found.get("context"))
        return "zqold" in text, "zqnew" in text

    for query in ("zqold", "zqnew prices"):
        assert await seen("/search", query) == (False, True)
        assert await seen("/spans/search", query) == (False, True)
        assert await seen("/recall", query) == (False, True)
        assert await seen("/search", query, include_superseded=True) == (True, True)
        assert await seen("/spans/search", query, as_of=then) == (True, False)
        assert await seen("/spans/search", query, known_as_of=then) == (True, False)
        only = {"source_types": ["thread_summary"]}
        assert await seen("/search", query, as_of="2031-12-31T00:00:00Z", **only) == (True, False)
        assert await seen("/search", query, as_of=LATER, **only) == (False, True)
    kinds = ["reference"]
    found = (await posted(http, "/recall", query="FAQ", kinds=kinds)).json()["items"]
    assert [one["id"] for one in found] == [reference]


async def test_a_span_without_content_is_never_found(http: httpx.AsyncClient) -> None:
    span = {
        "source_type": "knowledge_base", "source_id": "kb", "start_byte": 0, "end_byte": 9,
        "token_count": 3, "hash": "h",
    }  # fmt: skip
    made = await http.post(f"{API}/spans", json=span)
    assert made.status_code == 201, made.text
    for times in ({"include_superseded": True}, {"as_of": LATER}, {"known_as_of": LATER}):
        for query in ("*", "kb"):
            found = await posted(http, "/search", query=query, source_types=["span"], **times)
            assert found.json()["total_count"] == 0
        assert (await posted(http, "/recall", query="kb", **times)).json()["items"] == []


PATHS = [
    "/recall",
    "/search",
    "/spans/search",
    "/retrieve_memory",
    "/retrieve_memory/raw",
    "/context_pre_retrieve",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "times",
    [
        {"as_of": "2026-05-04T00:00:00"},
        {"known_as_of": "2026-05-04"},
        {"as_of": "0001-01-01T00:00:00Z"},
        {"known_as_of": 7},
        {"include_superseded": "yes"},
    ],
)
async def test_a_time_that_cannot_be_used_is_named(
    path: str, times: dict[str, Any], refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.post(f"{API}{path}", json=question(path) | times)
    assert (answer.status_code, answer.json()["field"]) == (400, next(iter(times))), answer.text


@pytest.mark.parametrize("path", PATHS)
async def test_beside_a_database_it_is_named_as_well(path: str, http: httpx.AsyncClient) -> None:
    answer = await http.post(f"{API}{path}", json=question(path) | {"as_of": "2026-05-04"})
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", "as_of")


def question(path: str) -> dict[str, Any]:
    c = {"conversation_id": "550e8400-e29b-41d4-a716-446655440001"}
    return {"query": "x"} | ({} if path == "/spans/search" else c)
