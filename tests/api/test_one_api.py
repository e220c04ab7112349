"""One API in four forms: embedded, a client of a service, and both without `await`.

The same calls have the same answers and raise the same errors. The service listens on a real port: a client
without `await` has an event loop of its own.
"""

import asyncio
import inspect
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
import pytest_asyncio
import uvicorn
from anyio.from_thread import BlockingPortal
from litestar import Litestar

import graphmem
from graphmem.blocking.event_loop import Blocking
from graphmem.blocking.generated import BlockingGraphmem
from graphmem.client import Graphmem
from graphmem.model.vocabulary import CATEGORIES

TALK = "5b3f9c62-1f0c-4d6e-9a53-0d3c3d1b7a11"
FORMS = ["embedded", "service", "blocking", "blocking service"]


class Awaited:
    """A blocking object as the tests call it: its methods wait in another thread."""

    def __init__(self, blocking: Blocking[Any]) -> None:
        self._blocking = blocking

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._blocking, name)
        if not callable(method):
            return method

        async def wait(*args: Any, **kwargs: Any) -> Any:
            return _shown(await asyncio.to_thread(method, *args, **kwargs))

        waits = inspect.iscoroutinefunction(getattr(self._blocking._source, name, None))
        return wait if waits else lambda *args, **kwargs: _shown(method(*args, **kwargs))

    async def __aenter__(self) -> Any:
        return _shown(await asyncio.to_thread(self._blocking.__enter__))  # type: ignore[attr-defined]

    async def __aexit__(self, *problem: object) -> None:
        await asyncio.to_thread(self._blocking.__exit__, *problem)  # type: ignore[attr-defined]


def _shown(answer: Any) -> Any:
    return Awaited(answer) if isinstance(answer, Blocking) else answer


@pytest_asyncio.fixture(scope="session")
async def address(app: Litestar) -> AsyncIterator[str]:
    """The address of the service on a port of its own."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None))
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    await serving


@asynccontextmanager
async def portal_here() -> AsyncIterator[BlockingPortal]:
    """Provide a way into this event loop; a task holds it, since a fixture ends in another one."""
    started: asyncio.Future[BlockingPortal] = asyncio.Future()

    async def hold() -> None:
        async with BlockingPortal() as portal:
            started.set_result(portal)
            await portal.sleep_until_stopped()

    holding = asyncio.create_task(hold())
    portal = await started
    yield portal
    await portal.stop()
    await holding


@asynccontextmanager
async def opened(form: str, memory: Graphmem, address: str) -> AsyncIterator[Any]:
    """Provide a client's memory in one of the forms."""
    if form == "embedded":
        yield memory
    elif form == "service":
        async with graphmem.AsyncClient(address, client_id=memory.client_id) as client:
            yield client
    elif form == "blocking":
        async with portal_here() as portal:
            yield Awaited(BlockingGraphmem(memory, portal))
    else:
        blocking = graphmem.Client(address, client_id=memory.client_id)
        yield Awaited(blocking)
        await asyncio.to_thread(blocking.close)


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    """The name of one form."""
    name: str = request.param
    return name


@pytest_asyncio.fixture
async def same(form: str, memory: Graphmem, address: str) -> AsyncIterator[Any]:
    """The memory of the test's client in one form."""
    async with opened(form, memory, address) as found:
        yield found


async def told(memory: Any) -> dict[str, str]:
    """Remember a little of everything; return the ids."""
    spoken = [
        {"session_id": "monday", "role": "user", "content": "Ada sails to Brest."},
        {"session_id": "monday", "role": "assistant", "content": "In May, with Bob?"},
    ]
    kept = await memory.remember(TALK, spoken, create=True)
    fact = await memory.remember_fact("Ada owns a boat", tags=["sea"], metadata={"n": 1})
    newer = await memory.supersede_fact(fact.id, "Ada owns two boats", reason="she told")
    reference = await memory.add_reference(
        type="knowledge_base", target_id="harbours", label="Harbours"
    )
    await memory.put_content(reference.id, "Brest has a harbour. So has Cork.")
    head = (await memory.references()).references[0]
    span = await memory.register_span(
        source_type="knowledge_base", source_id="book", start_byte=0, end_byte=4, content="Cork"
    )
    await memory.link(newer.id, kept.ids[0], "derived_from")
    sessions = await memory.sessions(TALK)
    summary = await memory.add_summary(type="session", target_id="s1", text="Boats, in short")
    return {
        "message": kept.ids[0],
        "answer": kept.ids[1],
        "old": fact.id,
        "fact": newer.id,
        "reference": head.id,
        "span": span.id,
        "summary": summary.id,
        "session": sessions.sessions[0].id,
    }


async def counted(memory: Any) -> Any:
    """Return what would be forgotten, without the time of the receipt."""
    return (await memory.forget(tags=["sea"], dry_run=True)).memories


READS: dict[str, Callable[[Any, dict[str, str]], Any]] = {
    "conversations": lambda memory, ids: memory.conversations(),
    "sessions": lambda memory, ids: memory.sessions(TALK),
    "messages": lambda memory, ids: memory.messages(
        TALK, order="newest", since="2020-01-01T00:00:00Z"
    ),
    "categories": lambda memory, ids: memory.categories(),
    "memory": lambda memory, ids: memory.memory(ids["fact"]),
    "memories": lambda memory, ids: memory.memories(kinds=["fact", "message"], tags=["sea"]),
    "memories of the past": lambda memory, ids: memory.memories(
        known_as_of=datetime.now(UTC), include_superseded=True
    ),
    "versions": lambda memory, ids: memory.versions(ids["fact"]),
    "links": lambda memory, ids: memory.links(ids["fact"], type="derived_from"),
    "search": lambda memory, ids: memory.search("boats", max_results=3),
    "hops": lambda memory, ids: memory.search_with_hops("boats", max_results=3),
    "spans": lambda memory, ids: memory.search_spans("Cork", limit=2),
    "peek": lambda memory, ids: memory.peek(ids["reference"]),
    "chunk": lambda memory, ids: memory.chunk(ids["fact"], max_tokens=3),
    "recall": lambda memory, ids: memory.recall("Who owns boats?", kinds=["fact"]),
    "expand": lambda memory, ids: memory.expand_context(memory_id=ids["message"]),
    "contextual": lambda memory, ids: memory.search_contextual("sailing"),
    "facts": lambda memory, ids: memory.context_pre_retrieve("boats", TALK),
    "references": lambda memory, ids: memory.references(limit=1),
    "reference": lambda memory, ids: memory.reference(ids["reference"]),
    "span": lambda memory, ids: memory.span(ids["span"]),
    "content": lambda memory, ids: memory.span_content(ids["span"]),
    "summaries": lambda memory, ids: memory.summaries(type="session"),
    "summary": lambda memory, ids: memory.summary(ids["summary"]),
    "related": lambda memory, ids: memory.related_sessions(ids["session"]),
    "entities": lambda memory, ids: memory.entities(name="Ada"),
    "reviews": lambda memory, ids: memory.reviews(state="pending"),
    "pattern": lambda memory, ids: memory.pattern("recurring_themes"),
    "neighbourhood": lambda memory, ids: memory.neighbourhood(
        f"conversation:{TALK}", types=["part_of"]
    ),
    "forget": lambda memory, ids: counted(memory),
    "verify": lambda memory, ids: memory.verify_forgotten(text="Brest"),
}

REFUSED: dict[str, Callable[[Any, dict[str, str]], Any]] = {
    "memory": lambda memory, ids: memory.memory("unknown"),
    "dots": lambda memory, ids: memory.memory(".."),
    "slash": lambda memory, ids: memory.annotate("a?b#c", tags=["x"]),
    "conversation": lambda memory, ids: memory.remember(
        "nowhere", [{"role": "user", "content": "x"}]
    ),
    "no id": lambda memory, ids: memory.remember(
        None, [{"role": "user", "content": "x"}], create=True
    ),
    "id with a slash": lambda memory, ids: memory.remember(
        "a/b", [{"role": "user", "content": "x"}], create=True
    ),
    "field": lambda memory, ids: memory.recall("x", max_tokens=-1),
    "not finite": lambda memory, ids: memory.recall("x", min_relevance=float("nan")),
    "bytes": lambda memory, ids: memory.remember(TALK, [{"role": "user", "content": b"x"}]),
    "no JSON": lambda memory, ids: memory.remember_facts(
        [{"fact": "x", "metadata": {"a": object()}}]
    ),
    "page": lambda memory, ids: memory.memories(limit=0),
    "kinds": lambda memory, ids: memory.memories(kinds=["thought"]),
    "cursor": lambda memory, ids: memory.messages(TALK, cursor="foreign"),
    "head": lambda memory, ids: memory.supersede_fact(ids["old"], "Ada owns no boat"),
    "link": lambda memory, ids: memory.unlink(ids["old"], ids["fact"], "refines"),
    "item": lambda memory, ids: memory.chunk("unknown", max_tokens=5),
    "span": lambda memory, ids: memory.span("unknown"),
    "context": lambda memory, ids: memory.compose_context("unknown"),
    "pattern": lambda memory, ids: memory.pattern("unknown"),
    "alias": lambda memory, ids: memory.add_alias("Nobody", "Ada"),
    "time": lambda memory, ids: memory.memories(since="2026-01-01"),
    "run": lambda memory, ids: memory.runs().show("unknown"),
}

PERIODS: dict[str, Callable[..., Any]] = {
    "recall": lambda memory, **period: memory.recall("x", **period),
    "explain": lambda memory, **period: memory.explain("x", "unknown", **period),
    "search": lambda memory, **period: memory.search("*", **period),
    "memories": lambda memory, **period: memory.memories(**period),
    "messages": lambda memory, **period: memory.messages(TALK, **period),
    "forget": lambda memory, **period: memory.forget(**period),
    "pattern": lambda memory, **period: memory.pattern("timeline", {"name": "Ada", **period}),
}

NO_LISTS: dict[str, Callable[[Any, Any], Any]] = {
    "categories": lambda memory, given: memory.set_categories(given),
    "messages": lambda memory, given: memory.remember(TALK, given),
    "messages of an episode": lambda memory, given: memory.remember_episode(TALK, messages=given),
    "new facts": lambda memory, given: memory.remember_facts(given),
    "new links": lambda memory, given: memory.link_all(given),
    "new references": lambda memory, given: memory.add_references(given),
    "new spans": lambda memory, given: memory.register_spans(given),
    "tags": lambda memory, given: memory.memories(tags=given),
    "types of edges": lambda memory, given: memory.neighbourhood("x", types=given),
}
GOT = {
    "goal": "a text",
    5: "a whole number",
    None: "null",
    frozenset({("fact", "x")}): "an object",
}
"""What a caller gives in place of a list; a frozenset stands for a mapping."""


@pytest.mark.parametrize("given", GOT, ids=GOT.values())
async def test_what_is_no_list_is_refused_by_name_in_every_form(
    given: Any, same: Any, memory: Graphmem
) -> None:
    argument = dict(given) if isinstance(given, frozenset) else given
    for name, ask in NO_LISTS.items():
        if (name, given) in {("types of edges", "goal")} or (
            given is None and name in {"tags", "types of edges", "messages of an episode"}
        ):
            continue
        with pytest.raises(graphmem.InvalidInput) as refused:
            await ask(same, argument)
        field = name.split(" ")[0]
        assert re.match(
            rf"{field}: expected a list( or null)?, got {GOT[given]}", str(refused.value)
        )
        assert refused.value.field == field
    assert (await memory.categories()).categories == list(CATEGORIES)


@pytest.mark.parametrize("until", ["2026-02-01T00:00:00Z", "2026-03-01T01:00:00+01:00"])
async def test_a_period_without_a_time_is_refused_in_every_form(until: str, same: Any) -> None:
    for name, ask in PERIODS.items():
        field = "parameters.until" if name == "pattern" else "until"
        with pytest.raises(graphmem.InvalidInput, match="expected a time after `since`") as refused:
            await ask(same, since="2026-03-01T00:00:00Z", until=until)
        assert refused.value.field == field, name


async def test_a_tuple_and_a_generator_are_lists_in_every_form(same: Any) -> None:
    message = {"role": "user", "content": "x", "metadata": {"n": 1}}

    def one(item: Any) -> Iterator[Any]:
        yield item

    assert len((await same.remember("new", one(message), create=True)).ids) == 1
    assert len((await same.remember("new", (message, message))).ids) == 2
    assert (await same.set_categories(one("goal"))).categories == ["goal"]
    assert len(await same.remember_facts(one({"fact": "x", "category": "goal"}))) == 1
    assert (await same.memories(tags=one("blue"))).total == 0
    assert (await same.recall("x", tags=one("blue"))).items == []


async def test_every_read_has_the_same_answer(memory: Graphmem, address: str) -> None:
    ids = await told(memory)
    for form in FORMS[1:]:
        async with opened(form, memory, address) as other:
            for name, read in READS.items():
                expected, answer = await read(memory, ids), await read(other, ids)
                assert answer == expected, f"{name}, {form}"


async def test_every_refusal_is_the_same_error(memory: Graphmem, address: str) -> None:
    ids = await told(memory)
    for form in FORMS[1:]:
        async with opened(form, memory, address) as other:
            for name, ask in REFUSED.items():
                errors = []
                for one in (memory, other):
                    with pytest.raises(graphmem.GraphmemError) as caught:
                        await ask(one, ids)
                    errors.append(caught.value)
                assert type(errors[0]) is type(errors[1]), f"{name}, {form}"
                assert str(errors[0]) == str(errors[1]), f"{name}, {form}"
                assert vars(errors[0]) == vars(errors[1]), f"{name}, {form}"


async def test_what_was_told_in_one_form_is_changed_and_forgotten_in_it(same: Any) -> None:
    ids = await told(same)
    assert not (await same.annotate(ids["fact"], tags=[], expires_at=None)).tags
    assert (await same.annotate(ids["fact"], tags=["sea"])).metadata == {"n": 1}
    assert (await same.annotate(ids["fact"], metadata=None)).metadata is None
    assert (await same.change_conversation(TALK, title="Boats")).title == "Boats"
    assert (await same.change_conversation(TALK, title=None)).title is None
    assert (await same.set_categories(["user_fact", "goal"])).categories == ["user_fact", "goal"]
    several = await same.remember_facts([{"fact": "Bob rows"}, graphmem.NewFact(fact="Bob swims")])
    assert [one.action for one in several] == ["new", "new"]
    assert await same.unlink(ids["fact"], ids["message"], "derived_from") is None
    assert [one.id for one in (await same.memory(ids["old"]), await same.summary(ids["summary"]))]
    raw = await same.retrieve_memory("Ada", TALK, raw=True)
    assert raw.found.episodic == []
    await same.segment(TALK, leave_growing=False)
    asked = await same.retrieve_memory("Where does Ada sail?", TALK)
    assert asked.markdown.count("Ada sails to Brest.") == 1
    assert [one.id for one in asked.found.episodic]
    found = await same.retrieve_memory("Where does Ada sail?", TALK, raw=True)
    assert found.found.episodic
    assert found.found.episodic[0].messages[0].content == "Ada sails to Brest."
    assert (await same.delete_memory(ids["answer"])).memories == 1
    assert (await same.forget(tags=["sea"])).dry_run is False
    assert (await same.delete_conversation(TALK)).conversations == 1
    assert (await same.conversations()).total == 0


async def test_a_context_is_filled_in_each_form(same: Any) -> None:
    ids = await told(same)
    context = await same.create_context(max_tokens=600, system_prompt="Be brief.")
    assert (await same.add_to_context(context.id, ids["fact"])).added
    assert "two boats" in await same.compose_context(context.id)
    await same.delete_context(context.id)
    with pytest.raises(graphmem.ContextNotFound) as gone:
        await same.context(context.id)
    assert gone.value.context_id == context.id


async def test_a_retriever_works_in_each_form(same: Any) -> None:
    ids = await told(same)
    retriever = same.retriever(default_max_results=2)
    assert len((await retriever.search("boats")).items) == 2
    assert (await retriever.chunk(ids["fact"], max_tokens=50)).content == "Ada owns two boats"
    assert await retriever.peek("unknown") is None
    assert retriever.config.default_max_results == 2
    assert retriever.config.client_id == same.client_id


async def test_a_run_works_in_each_form(same: Any) -> None:
    await told(same)
    budget = {"max_tokens": 500}
    async with same.run(agent_type="writer", episode_id="task", budget=budget) as run:
        found = await run.retrieve("Cork harbour", max_tokens=100, operation_id="first")
        again = await run.retrieve("Cork harbour", max_tokens=100, operation_id="first")
        assert (found.spans, found.tokens_used) == (again.spans, again.tokens_used)
        assert found.spans
        assert run.budget.remaining_tokens == 500 - found.tokens_used
        with pytest.raises(graphmem.BudgetExhausted) as refused:
            await run.retrieve("Cork", max_tokens=501)
        assert (refused.value.requested, refused.value.remaining) == (
            501,
            run.budget.remaining_tokens,
        )
        async with run.subcall(agent_type="checker", budget_fraction=0.5) as child:
            written = await child.write(type="log", content="checked")
            assert child.parent_session_id == run.id
        assert (await same.memory(written.id)).text
        assert (await run.tree()).children
    assert (run.status, run.outcome) == ("completed", "success")
    runs = same.runs(default_budget={"max_tokens": 7})
    begun = await runs.start(agent_type="writer", episode_id="task")
    assert begun.budget.remaining_tokens == 7
    assert (await runs.find(begun.id)).id == begun.id
    assert await runs.find("unknown") is None
    await runs.end(begun.id, outcome="failure")
    assert (await runs.list_runs(status="active")).runs == []


async def test_pages_and_an_export_arrive_whole_in_each_form(
    form: str, memory: Graphmem, address: str
) -> None:
    await memory.remember_facts([{"fact": f"Boat {number} is blue"} for number in range(5)])
    expected = [one.id for one in (await memory.memories()).memories]
    if form == "blocking":
        pages, lines = await _read_in_portal(memory)
    elif form == "blocking service":
        pages, lines = await asyncio.to_thread(_read_service, memory, address)
    else:
        async with opened(form, memory, address) as same:
            pages = [page async for page in same.pages(same.memories, limit=2)]
            lines = b"".join([part async for part in await same.export(vectors=False)])
    assert [len(page.memories) for page in pages] == [2, 2, 1]
    assert [one.id for page in pages for one in page.memories] == expected
    assert sum(b"is blue" in line for line in lines.splitlines()) == 5
    assert b'"end"' in lines.splitlines()[-1]


async def _read_in_portal(memory: Graphmem) -> tuple[list[Any], bytes]:
    async with portal_here() as portal:
        return await asyncio.to_thread(_read, BlockingGraphmem(memory, portal))


def _read_service(memory: Graphmem, address: str) -> tuple[list[Any], bytes]:
    with graphmem.Client(address, client_id=memory.client_id) as client:
        return _read(client)


def _read(memory: BlockingGraphmem) -> tuple[list[Any], bytes]:
    return list(memory.pages(memory.memories, limit=2)), b"".join(memory.export(vectors=False))


async def test_another_client_of_the_same_service_sees_nothing(
    memory: Graphmem, address: str
) -> None:
    ids = await told(memory)
    async with graphmem.AsyncClient(address, client_id=memory.client_id) as client:
        rival = client.for_client(f"{memory.client_id}-rival")
        assert (await rival.conversations()).total == 0
        with pytest.raises(graphmem.MemoryNotFound):
            await rival.memory(ids["fact"])
        assert (await rival.forget_client()).dry_run is False
        assert (await client.memory(ids["fact"])).id == ids["fact"]
        await rival.begin_hold("a lawsuit")
        with pytest.raises(graphmem.LegalHold, match="a lawsuit"):
            await rival.forget_client()
        await rival.end_hold()


async def test_a_plain_block_starts_graphmem_in_a_thread(
    neo4j_settings: Any, memory: Graphmem
) -> None:
    def remember() -> str:
        opening = graphmem.open(
            client_id=memory.client_id,
            neo4j_uri=neo4j_settings.neo4j_uri,
            neo4j_password=neo4j_settings.neo4j_password,
            jobs="off",
        )
        with opening as blocking:
            assert blocking.client_id == memory.client_id
            return blocking.remember_fact("Ada was here").id

    kept = await asyncio.to_thread(remember)
    assert (await memory.memory(kept)).text == "Ada was here"
