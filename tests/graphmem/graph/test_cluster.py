"""A cluster: which member is asked, what is tried again, and that no process reads an older state."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest
import pytest_asyncio
from graphmem_api.app import create_app

from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.errors import InvalidInput, Unavailable
from graphmem.graph.bookmarks import (
    BOOKMARK_HEADER,
    Bookmarks,
    Causes,
    decoded,
    encoded,
    following,
)
from graphmem.graph.driver import Graph, connect
from graphmem.graph.query import Query
from graphmem.runtime import Runtime
from tests.cluster import Cluster, cluster

RETRIED = [
    "Neo.ClientError.Cluster.NotALeader",
    "Neo.ClientError.Cluster.Routing",
    "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase",
    "Neo.ClientError.Routing.DbmsInPanic",
    "Neo.ClientError.Routing.RoutingFailed",
    "Neo.TransientError.Cluster.ReplicationFailure",
    "Neo.TransientError.General.DatabaseUnavailable",
    "Neo.TransientError.Transaction.BookmarkTimeout",
    "Neo.TransientError.Transaction.LeaseExpired",
    "Neo.TransientError.Transaction.LockClientStopped",
]


async def joined(uri: str, settings: Settings) -> Graph:
    """Connect as a process of the service does."""
    return await connect(uri, settings.neo4j_user, settings.neo4j_password, settings.neo4j_database)


def told(text: str = "the harbour froze") -> list[dict[str, Any]]:
    """Return one message."""
    return [{"role": "user", "content": text}]


@pytest_asyncio.fixture
async def members(neo4j_settings: Settings, runtime: Runtime) -> AsyncIterator[Cluster]:
    """Three members in front of the tests' Neo4j."""
    async with cluster(neo4j_settings.neo4j_uri or "") as made:
        yield made


@pytest_asyncio.fixture
async def here(members: Cluster, neo4j_settings: Settings) -> AsyncIterator[Graph]:
    """The connection of one process to the cluster."""
    graph = await joined(members.uri, neo4j_settings)
    yield graph
    await graph.close()


@pytest_asyncio.fixture
async def there(members: Cluster, neo4j_settings: Settings) -> AsyncIterator[Graph]:
    """The connection of another process."""
    graph = await joined(members.uri, neo4j_settings)
    yield graph
    await graph.close()


def seen_by(graph: Graph, runtime: Runtime, client_id: str) -> Graphmem:
    """Return a running graphmem whose graph is this one."""
    return Graphmem(msgspec.structs.replace(runtime, graph=graph, recorder=None), client_id)


@pytest.fixture
def client_id() -> str:
    """A client of this test's own."""
    return f"test-{uuid.uuid4().hex}"


async def test_a_community_server_speaks_the_routing_protocol_too(
    neo4j_settings: Settings, runtime: Runtime, client_id: str
) -> None:
    uri = (neo4j_settings.neo4j_uri or "").replace("bolt://", "neo4j://")
    graph = await joined(uri, neo4j_settings)
    try:
        memory = seen_by(graph, runtime, client_id)
        await memory.remember("c", told(), create=True)
        found = await memory.recall("What happened to the harbour?")
    finally:
        await graph.close()
    assert "the harbour froze" in found.context


async def test_questions_are_put_to_followers_and_all_else_to_the_leader(
    members: Cluster, here: Graph, runtime: Runtime, client_id: str
) -> None:
    memory = seen_by(here, runtime, client_id)
    await memory.remember("c", told(), create=True)
    deciding = members.said(" known")
    await memory.recall("What happened to the harbour?")
    searches = members.said("SEARCH memory IN")
    assert searches
    assert members.leader not in {one.member for one in searches}
    assert deciding
    assert {one.member for one in deciding} == {members.leader}
    assert {one.member for one in members.asked if one.writes} == {members.leader}


def test_every_query_whose_rows_may_decide_a_write_asks_the_leader() -> None:
    deciding = [
        "graph/applied_migrations",
        "jobs/claim",
        "runs/run",
        "conversations/known_messages",
    ]
    answering = ["retrieval/found_in_client", "recall/texts", "memories/cards"]
    assert not any(Query(name, Causes).anywhere for name in deciding)
    assert all(Query(name, Causes).anywhere for name in answering)


async def test_nothing_acknowledged_is_lost_while_the_leader_changes(
    members: Cluster, here: Graph, runtime: Runtime, client_id: str
) -> None:
    memory = seen_by(here, runtime, client_id)
    await memory.open_conversation("c")
    commits = 0

    def unseat() -> None:
        # The leader is another one at the moment of the commit, for every seventh of them.
        nonlocal commits
        commits += 1
        if commits % 7 == 0:
            members.elect((members.leader + 1) % 3)

    async def write(place: int) -> str:
        remembered = await memory.remember("c", told(f"fact number {place}"))
        return remembered.ids[0]

    members.on_commit = unseat
    ids = await asyncio.gather(*(write(place) for place in range(20)))
    page = await memory.memories(limit=200)
    assert commits > 20
    assert sorted(one.id for one in page.memories) == sorted(ids)


async def test_a_member_that_goes_is_left_out_and_a_new_leader_is_found(
    members: Cluster, here: Graph, runtime: Runtime, client_id: str
) -> None:
    memory = seen_by(here, runtime, client_id)
    await memory.remember("c", told(), create=True)
    await members.members[0].stop()
    members.elect(1)
    await memory.remember("c", told("the bridge opened"))
    await members.members[2].stop()
    found = await memory.recall("What happened to the bridge?")
    assert "the bridge opened" in found.context


@pytest.mark.parametrize("code", RETRIED)
async def test_a_refusal_in_passing_is_tried_again(
    members: Cluster, here: Graph, runtime: Runtime, client_id: str, code: str
) -> None:
    memory = seen_by(here, runtime, client_id)
    members.refusals = [code]
    await memory.open_conversation("c")
    members.refusals = [code]
    assert [one.id for one in (await memory.conversations()).conversations] == ["c"]
    assert members.refusals == []


async def test_a_cluster_without_a_leader_is_unavailable(
    members: Cluster, here: Graph, runtime: Runtime, client_id: str
) -> None:
    members.elect(-1)
    with pytest.raises(Unavailable):
        await seen_by(here.impatient(), runtime, client_id).open_conversation("c")


async def test_another_process_waits_for_the_write_that_a_request_names(
    members: Cluster, here: Graph, there: Graph, runtime: Runtime, client_id: str
) -> None:
    with following(None) as written:
        await seen_by(here, runtime, client_id).remember("c", told(), create=True)
    text = written.text()
    assert text is not None
    members.asked.clear()
    with following(text):
        await seen_by(there, runtime, client_id).recall("What happened to the harbour?")
    waited_for = decoded(text).bookmarks
    searches = members.said("SEARCH memory IN")
    assert searches
    assert all(set(waited_for) <= set(one.bookmarks) for one in searches)


async def test_over_http_an_answer_has_a_bookmark_and_a_request_is_read_after_it(
    members: Cluster, here: Graph, there: Graph, runtime: Runtime, client_id: str
) -> None:
    apps = [create_app(seen_by(graph, runtime, client_id).runtime) for graph in (here, there)]
    named = {"x-client-id": client_id}
    transports = [httpx.ASGITransport(app=app) for app in apps]  # type: ignore[arg-type]
    one, other = (
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=named)
        for transport in transports
    )
    async with one, other:
        written = await one.post("/api/v0/conversations", json={"id": "c"})
        mark = {BOOKMARK_HEADER: written.headers[BOOKMARK_HEADER]}
        members.asked.clear()
        read = await other.get("/api/v0/conversations", headers=mark)
        garbage = await other.get("/api/v0/conversations", headers={BOOKMARK_HEADER: "x" * 5_000})
    assert [one["id"] for one in read.json()["conversations"]] == ["c"]
    wanted = set(decoded(mark[BOOKMARK_HEADER]).bookmarks)
    assert all(wanted <= set(one.bookmarks) for one in members.said("Conversation"))
    assert garbage.status_code == 400
    assert garbage.json()["field"] == BOOKMARK_HEADER


async def test_bookmarks_of_another_place_are_ignored(
    members: Cluster, here: Graph, runtime: Runtime, client_id: str
) -> None:
    with following(encoded(Causes("elsewhere", ["FB:of another database"]))):
        await seen_by(here, runtime, client_id).open_conversation("c")
    assert not any("FB:of another database" in one.bookmarks for one in members.asked)


async def test_a_bookmark_that_the_database_does_not_know_is_a_mistake_of_the_request(
    here: Graph, runtime: Runtime, client_id: str
) -> None:
    with (
        following(encoded(Causes(f"/{here.database}", ["FB:xx"]))),
        pytest.raises(InvalidInput) as raised,
    ):
        await seen_by(here, runtime, client_id).open_conversation("c")
    assert raised.value.field == BOOKMARK_HEADER


async def test_a_process_forgets_its_own_bookmarks_of_a_database_that_was_restored(
    here: Graph, runtime: Runtime, client_id: str
) -> None:
    await here._bookmarks.update_bookmarks([], ["FB:xx"])
    await seen_by(here, runtime, client_id).open_conversation("c")
    assert "FB:xx" not in await here._bookmarks.get_bookmarks()


async def test_the_bookmarks_of_a_single_server_do_not_travel(
    memory: Graphmem,
) -> None:
    with following(encoded(Causes("", ["FB:xx"]))) as request:
        await memory.open_conversation("c")
    assert request.text() is None


@pytest.mark.parametrize("text", ["", "?", "e30", encoded(Causes("p", ["b"] * 17)), "a" * 5_000])
def test_a_text_that_no_answer_had_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        following(text)
    assert raised.value.field == BOOKMARK_HEADER


async def test_a_request_keeps_the_latest_states_of_one_place() -> None:
    one, other = Bookmarks("one"), Bookmarks("other")
    with following(None) as request:
        await other.update_bookmarks([], ["o"])
        await one.update_bookmarks([], ["a", "b"])
        await one.update_bookmarks(["a"], ["c"])
        text = request.text()
    assert text is not None
    assert decoded(text) == Causes("one", ["b", "c"])
