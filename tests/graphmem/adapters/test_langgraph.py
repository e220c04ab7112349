"""The store passes what LangGraph's own stores are tested for, and the nodes recall and remember."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from graphmem.adapters import langgraph
from graphmem.adapters.langgraph import GraphmemStore, passes, recall_node, remember_node
from graphmem.adapters.memory import AnyMemory
from graphmem.client import Graphmem
from graphmem.errors import InvalidInput, TooLarge
from tests.graphmem.adapters.conftest import awaited

PLACES = [
    ("a", "b", "c"),
    ("a", "b", "d", "e"),
    ("a", "b", "d", "i"),
    ("a", "b", "f"),
    ("a", "c", "f"),
    ("users", "123"),
    ("users", "456", "settings"),
]


@pytest.fixture
def store(memory: Graphmem) -> GraphmemStore:
    return GraphmemStore(memory)


async def keys(store: GraphmemStore, prefix: tuple[str, ...], **asked: Any) -> list[str]:
    return [item.key for item in await store.asearch(prefix, **asked)]


async def test_all_operations_work_with_every_form_of_memory_awaited_or_not(
    given: AnyMemory,
) -> None:
    store = GraphmemStore(given)
    space = ("users", "ada")

    def use() -> None:
        store.put(space, "food", {"likes": "herring with onions", "rank": 2})
        store.put(space, "sport", {"likes": "rowing across the bay", "rank": 1})
        item = store.get(space, "food")
        assert item is not None
        assert item.value == {"likes": "herring with onions", "rank": 2}
        assert (item.namespace, item.key) == (space, "food")
        found = store.search(("users",), query="Which fish does she like to eat?")
        assert [one.key for one in found] == ["food", "sport"]
        assert 0 <= (found[1].score or 0) < (found[0].score or 0) <= 1
        assert [one.key for one in store.search(space, filter={"rank": {"$lt": 2}})] == ["sport"]
        assert store.list_namespaces() == [space]
        store.delete(space, "food")
        assert store.get(space, "food") is None

    await asyncio.to_thread(use)

    async def use_awaited() -> None:
        assert await keys(store, space) == ["sport"]
        await store.aput(space, "sport", {"likes": "sailing"})
        await store.adelete(space, "unknown")
        item = await store.aget(space, "sport")
        assert item is not None
        assert item.value == {"likes": "sailing"}
        assert await store.alist_namespaces(max_depth=1) == [("users",)]

    await awaited(use_awaited, given)


async def test_a_put_replaces_the_value_and_keeps_the_time_of_creation(
    store: GraphmemStore, memory: Graphmem
) -> None:
    await store.aput(("a",), "k", {"n": 1})
    first = await store.aget(("a",), "k")
    await store.aput(("a",), "k", {"n": 2})
    second = await store.aget(("a",), "k")

    assert first is not None
    assert second is not None
    assert second.value == {"n": 2}
    assert second.created_at == first.created_at == first.updated_at
    assert second.updated_at > first.updated_at
    assert (await memory.memories()).total == 1


async def test_of_two_writers_at_once_the_last_one_is_read_and_the_next_put_tidies_up(
    store: GraphmemStore, memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def crash(*_: object) -> None:
        return

    with monkeypatch.context() as patch:
        patch.setattr(langgraph, "_delete_old", crash)
        await store.aput(("a",), "k", {"n": 1})
        await store.aput(("a",), "k", {"n": 2})
    assert (await memory.memories()).total == 2

    read = await store.aget(("a",), "k")
    assert read is not None
    assert read.value == {"n": 2}
    assert [item.value for item in await store.asearch(("a",))] == [{"n": 2}]

    await store.aput(("a",), "k", {"n": 3})
    assert (await memory.memories()).total == 1
    await store.adelete(("a",), "k")
    assert (await memory.memories()).total == 0


async def test_a_batch_answers_in_its_order_and_reads_before_it_writes(
    store: GraphmemStore,
) -> None:
    await store.aput(("test", "foo"), "key1", {"data": "value1"})
    results: list[Any] = await store.abatch(
        [
            PutOp(("test", "bar"), "key2", {"data": "first"}),
            GetOp(("test", "foo"), "key1"),
            PutOp(("test", "bar"), "key2", {"data": "last"}),
            SearchOp(("test",), filter={"data": "value1"}),
            ListNamespacesOp(),
            GetOp(("test", "bar"), "key2"),
            PutOp(("test", "foo"), "key1", None),
        ]
    )

    assert results[0] is results[2] is results[6] is None
    assert isinstance(results[1], Item)
    assert results[1].value == {"data": "value1"}
    assert [item.key for item in results[3]] == ["key1"]
    assert results[4] == [("test", "foo")]
    assert results[5] is None
    [left] = await store.asearch(())
    assert (left.key, left.value) == ("key2", {"data": "last"})


async def test_a_search_filters_and_pages_under_its_prefix_only(store: GraphmemStore) -> None:
    puts = [
        PutOp(("test", "docs"), "doc1", {"author": "Alice", "tags": ["important"], "n": {"m": 1}}),
        PutOp(("test", "docs"), "doc2", {"author": "Bob", "tags": ["draft"], "n": {"m": 2}}),
        PutOp(("test", "images"), "img1", {"author": "Alice", "tags": ["final"]}),
        PutOp(("testing",), "other", {"author": "Alice"}),
    ]
    for put in puts:
        await store.abatch([put])

    assert await keys(store, ("test",)) == ["img1", "doc2", "doc1"]
    assert await keys(store, ("test", "docs")) == ["doc2", "doc1"]
    assert await keys(store, ("docs",)) == []
    assert await keys(store, (), filter={"author": "Alice"}) == ["other", "img1", "doc1"]
    assert await keys(store, ("test",), filter={"tags": ["draft"]}) == ["doc2"]
    assert await keys(store, ("test",), filter={"n": {"m": 1}}) == ["doc1"]
    assert await keys(store, ("test",), filter={"author": {"$ne": "Alice"}}) == ["doc2"]
    assert await keys(store, ("test",), limit=2) == ["img1", "doc2"]
    assert await keys(store, ("test",), limit=2, offset=2) == ["doc1"]
    assert await keys(store, ("test",), limit=0) == []
    asked = {"query": "who wrote the draft?", "filter": {"author": "Alice"}}
    assert set(await keys(store, ("test",), **asked)) == {"img1", "doc1"}
    assert len(await keys(store, ("test",), query="draft", limit=1, offset=1)) == 1


async def test_only_the_indexed_fields_are_ranked_and_the_rest_follow_without_a_score(
    memory: Graphmem,
) -> None:
    store = GraphmemStore(memory, fields=["title"])
    await store.aput(("d",), "default", {"title": "A bridge over the river", "body": "penguins"})
    await store.aput(("d",), "chosen", {"title": "x", "body": {"parts": ["penguins", "ice"]}},
                     index=["body.parts[*]"])  # fmt: skip
    await store.aput(("d",), "penguins", {"title": "penguins penguins"}, index=False)

    found = await store.asearch(("d",), query="penguins")

    assert {item.key: item.score is None for item in found} == {
        "chosen": False,
        "penguins": True,
        "default": True,
    }
    assert found[0].key == "chosen"
    texts = {one.source_id: one.text for one in (await memory.memories()).memories}
    assert texts["langgraph:d..default"] == "A bridge over the river"
    assert texts["langgraph:d..chosen"] == "penguins\nice"


async def test_a_page_of_a_ranked_search_goes_on_where_the_page_before_ended(
    store: GraphmemStore,
) -> None:
    told = ["Penguins eat fish.", "Penguins on the ice", "Two penguins", "The ferry is late."]
    await store.abatch([PutOp(("d",), str(n), {"text": text}) for n, text in enumerate(told)])

    whole = await store.asearch(("d",), query="What do penguins eat?", limit=3)
    page = await store.asearch(("d",), query="What do penguins eat?", limit=1, offset=1)

    assert {item.key for item in whole} == {"0", "1", "2"}
    assert whole[0].key == "0"
    scores = [item.score or 0.0 for item in whole]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0
    assert page == [whole[1]]
    assert page[0].score == whole[1].score


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"prefix": ("a", "b")}, PLACES[:4]),
        ({"suffix": ("f",)}, [("a", "b", "f"), ("a", "c", "f")]),
        ({"prefix": ("a",), "suffix": ("f",)}, [("a", "b", "f"), ("a", "c", "f")]),
        (
            {"prefix": ("a", "b"), "max_depth": 3},
            [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")],
        ),
        ({"prefix": ("a", "b"), "limit": 2}, PLACES[:2]),
        ({"prefix": ("a", "b"), "offset": 2}, PLACES[2:4]),
        ({"prefix": ("a", "*", "f")}, [("a", "b", "f"), ("a", "c", "f")]),
        ({"prefix": ("*", "456")}, [("users", "456", "settings")]),
        ({"suffix": ("*", "settings")}, [("users", "456", "settings")]),
        ({"prefix": ("nonexistent",)}, []),
        ({}, PLACES),
    ],
)
async def test_namespaces_are_listed_by_prefix_suffix_wildcard_and_depth(
    places: GraphmemStore, asked: dict[str, Any], expected: list[tuple[str, ...]]
) -> None:
    assert await places.alist_namespaces(**asked) == expected


@pytest.fixture
async def places(store: GraphmemStore) -> GraphmemStore:
    await store.abatch([PutOp(place, f"id_{i}", {"n": i}) for i, place in enumerate(PLACES)])
    return store


async def test_a_namespace_is_gone_with_its_last_item(store: GraphmemStore) -> None:
    await store.aput(("a", "b"), "k", {})
    await store.adelete(("a", "b"), "k")
    assert await store.alist_namespaces() == []


async def test_names_that_look_alike_are_kept_apart(store: GraphmemStore) -> None:
    longest = "k" * 500
    items = [
        (("a", "b"), "c"),
        (("a",), "b..c"),
        (("a,b",), "c"),
        (("a b", " "), "c\nd"),
        (("#", "ä" * 200), longest),
        (("a",), ".b"),
        (tuple(str(depth) for depth in range(31)), "deep"),
    ]
    await store.abatch([PutOp(place, key, {"n": n}) for n, (place, key) in enumerate(items)])

    for n, (place, key) in enumerate(items):
        item = await store.aget(place, key)
        assert item is not None
        assert (item.value, item.namespace, item.key) == ({"n": n}, place, key)
        assert [one.value["n"] for one in await store.asearch(place[:1], filter={"n": n})] == [n]
    assert len(await store.asearch(("a",))) == 3


@pytest.mark.parametrize("place", [(), ("the", "thing.about"), ("some", ""), ("langgraph", "foo")])
async def test_a_namespace_that_langgraph_forbids_is_refused(
    store: GraphmemStore, place: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidNamespaceError):
        await store.aput(place, "k", {})


async def test_operations_that_go_past_put_are_checked_too(store: GraphmemStore) -> None:
    with pytest.raises(InvalidNamespaceError):
        await store.abatch([GetOp(("foo.bar",), "k")])
    with pytest.raises(InvalidNamespaceError):
        await store.abatch([ListNamespacesOp((MatchCondition("prefix", ("a.b",)),))])
    await store.abatch([PutOp(("langgraph", "foo"), "bar", {"foo": "bar"})])
    assert await keys(store, ("langgraph", "foo")) == ["bar"]


async def test_an_item_expires_after_its_time_to_live(store: GraphmemStore) -> None:
    await store.aput(("t",), "short", {"n": 1}, ttl=0.05)
    await store.aput(("t",), "long", {"n": 2}, ttl=10)
    assert await keys(store, ("t",), refresh_ttl=False) == ["long", "short"]
    await asyncio.sleep(3.2)
    assert await keys(store, ("t",), refresh_ttl=False) == ["long"]
    assert await store.aget(("t",), "short") is None
    assert await store.asearch(("t",), query="n: 1", filter={"n": 1}) == []


async def test_reading_renews_the_time_to_live_unless_it_must_not(memory: Graphmem) -> None:
    store = GraphmemStore(memory, ttl={"default_ttl": 60.0, "refresh_on_read": False})

    async def expiry() -> datetime:
        [one] = (await memory.memories()).memories
        assert one.expires_at is not None
        return one.expires_at

    await store.aput(("t",), "k", {"n": 1})
    first = await expiry()
    assert timedelta(minutes=59) < first - datetime.now(UTC) <= timedelta(minutes=60)
    await store.aget(("t",), "k")
    await store.asearch(("t",))
    assert await expiry() == first
    await store.aget(("t",), "k", refresh_ttl=True)
    second = await expiry()
    assert second > first
    await store.asearch(("t",), query="n", refresh_ttl=True)
    assert await expiry() > second
    await store.aput(("t",), "k", {"n": 1}, ttl=None)
    [one] = (await memory.memories()).memories
    assert one.expires_at is None


async def test_what_a_store_cannot_take_is_named_with_its_limit(store: GraphmemStore) -> None:
    with pytest.raises(TooLarge, match=r"value: of 'k' is 100,\d+ bytes of JSON; at most 100,000"):
        await store.aput(("a",), "k", {"text": "x" * 100_000})
    with pytest.raises(InvalidInput, match=r"value: of 'k' is not JSON: value\.text: is of"):
        await store.aput(("a",), "k", {"text": object()})
    with pytest.raises(InvalidInput, match=r"ttl: 0.01 minutes; at least 0.05"):
        await store.aput(("a",), "k", {}, ttl=0.01)
    with pytest.raises(InvalidInput, match=r"ttl: 1e\+12 minutes end after the year 9999"):
        await store.aput(("a",), "k", {}, ttl=1e12)
    with pytest.raises(InvalidInput, match=r"value: of 'k' is not JSON: value\.text: character 2"):
        await store.aput(("a",), "k", {"text": "ab\ud83d"})
    with pytest.raises(TooLarge, match="namespace: 32 labels; at most 31"):
        await store.aput(("a",) * 32, "k", {})
    await store.aput(("a",), "k", {"n": 1})
    with pytest.raises(InvalidInput, match=r"filter: \$in is no operator; it is one of \$eq"):
        await store.asearch(("a",), filter={"n": {"$in": [1]}})
    for field in ("limit", "offset", "max_depth"):
        wrong: dict[str, Any] = {field: -1}
        with pytest.raises(InvalidInput, match=f"{field}: expected a whole number >= 0"):
            await store.alist_namespaces(**wrong)
        if field != "max_depth":
            with pytest.raises(InvalidInput, match=f"{field}: expected a whole number >= 0"):
                await store.asearch(("a",), **wrong)
    with pytest.raises(InvalidInput, match=r"memory: cannot be waited for in its own event loop"):
        store.get(("a",), "k")
    with pytest.raises(InvalidInput, match="memory: is str; give what"):
        GraphmemStore("http://127.0.0.1:8000")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "condition", "expected"),
    [
        (9, {"$gte": 10}, False),
        (10, {"$gte": 10}, True),
        (9.5, {"$gt": 9}, True),
        (2, {"$lt": 10, "$gt": 1}, True),
        ("banana", {"$gt": "apple"}, True),
        ("9", {"$lte": 10}, False),
        (None, {"$lt": 10}, False),
        (None, {"$ne": 10}, True),
        (3, {"$eq": 3}, True),
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ([1, 2], (1, 2), True),
        ([1, 2], [1], False),
        (None, None, True),
    ],
)
def test_a_filter_compares_numbers_as_numbers_and_texts_as_texts(
    value: object, condition: object, *, expected: bool
) -> None:
    assert passes({"field": value}, {"field": condition}) is expected


async def test_what_is_put_is_recalled_and_stays_with_its_client(
    store: GraphmemStore, memory: Graphmem, rival: Graphmem
) -> None:
    await store.aput(("users", "ada"), "food", {"likes": "herring with onions"})
    recalled = await memory.recall("What does she like to eat?", tags=["langgraph:users.ada"])
    assert "likes: herring with onions" in recalled.context
    assert await GraphmemStore(rival).asearch(()) == []


class Recalling(MessagesState):
    recalled: str


async def test_nodes_remember_a_thread_and_recall_it_in_the_next(given: AnyMemory) -> None:
    def answer(state: Recalling) -> dict[str, Any]:
        return {"messages": [AIMessage(f"I know: {state['recalled']}")]}

    graph = StateGraph(Recalling)
    graph.add_node("recall", recall_node(given))
    graph.add_node("answer", answer)
    graph.add_node("remember", remember_node(given))
    graph.add_edge(START, "recall")
    graph.add_edge("recall", "answer")
    graph.add_edge("answer", "remember")
    app = graph.compile()

    def ask(text: str, thread: str) -> str:
        asked: Any = {"messages": [("user", text)]}
        config: Any = {"configurable": {"thread_id": thread}}
        return str(app.invoke(asked, config)["messages"][-1].content)

    assert await asyncio.to_thread(ask, "Our ferry is called Kestrel.", "one") == "I know: "
    assert "Kestrel" in await asyncio.to_thread(ask, "What is the name of our ferry?", "two")

    async def ask_awaited() -> None:
        asked: Any = {"messages": [("user", "The name of the ferry again, please?")]}
        told = await app.ainvoke(asked, {"configurable": {"thread_id": "three"}})
        assert "Kestrel" in told["messages"][-1].content

    await awaited(ask_awaited, given)


async def test_a_graph_gives_its_store_to_nodes_of_both_forms(given: AnyMemory) -> None:
    def write(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
        store.put(("notes",), "ferry", {"text": str(state["messages"][-1].content)})
        return {}

    async def read(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
        item = await store.aget(("notes",), "ferry")
        assert item is not None
        return {"messages": [AIMessage(item.value["text"])]}

    graph = StateGraph(MessagesState).add_sequence([("write", write), ("read", read)])
    app = graph.add_edge(START, "write").compile(store=GraphmemStore(given))

    async def ask() -> None:
        told: Any = {"messages": [("user", "The ferry is called Kestrel.")]}
        assert (await app.ainvoke(told))["messages"][-1].content == told["messages"][0][1]

    await awaited(ask, given)


async def test_a_remembered_message_is_kept_once_with_its_tool_calls(memory: Graphmem) -> None:
    node = remember_node(memory, conversation_id="talk", session_id="morning")
    called = AIMessage(
        "", id="2", tool_calls=[{"name": "tide", "args": {"at": "Brest"}, "id": "c"}]
    )
    messages = [
        HumanMessage([{"type": "text", "text": "When is high tide?"}], id="1"),
        called,
        ToolMessage("06:12", tool_call_id="c", id="3"),
        AIMessage("", id="4"),
    ]
    await node.ainvoke({"messages": messages})
    await node.ainvoke({"messages": [*messages, HumanMessage("Thanks.", id="5")]})

    page = await memory.messages("talk", session_id="morning")
    assert [(one.role, one.text) for one in page.messages] == [
        ("user", "When is high tide?"),
        ("assistant", 'tide({"at": "Brest"})'),
        ("tool", "06:12"),
        ("user", "Thanks."),
    ]


async def test_messages_are_remembered_once_whatever_their_ids(memory: Graphmem) -> None:
    node = remember_node(memory, conversation_id="talk")
    ids = ["i" * 256, "i" * 257, "i" * 257 + "j", "", None]
    messages = [HumanMessage(f"It is {number}.", id=id) for number, id in enumerate(ids)]
    await node.ainvoke({"messages": messages})
    await node.ainvoke({"messages": messages[:3]})

    page = await memory.messages("talk")
    assert [one.text for one in page.messages] == [message.content for message in messages]


async def test_a_node_says_what_it_lacks(memory: Graphmem) -> None:
    with pytest.raises(InvalidInput, match="conversation_id: is missing: give it to remember_node"):
        await remember_node(memory).ainvoke({"messages": [HumanMessage("Hello.")]})
    with pytest.raises(InvalidInput, match="state: has no `messages`: use a MessagesState"):
        await recall_node(memory).ainvoke({"question": "Hello?"})
    assert await recall_node(memory).ainvoke({"messages": []}) == {"recalled": ""}


async def test_a_message_that_is_too_long_for_a_question_is_one_by_its_ends(
    memory: Graphmem, store: GraphmemStore
) -> None:
    await memory.remember("c", [{"role": "user", "content": "The ferry is Kestrel."}], create=True)
    await store.aput(("a",), "k", {"ferry": "Kestrel"})
    pasted = f"{'a line of a log ' * 3_000} What is the ferry called?"
    recalled = await recall_node(memory).ainvoke({"messages": [HumanMessage(pasted)]})
    assert "Kestrel" in recalled["recalled"]
    [item] = await store.asearch(("a",), query=pasted)
    assert item.value == {"ferry": "Kestrel"}


async def test_a_thread_may_have_any_id(memory: Graphmem) -> None:
    said = {"messages": [HumanMessage("The ferry is Kestrel.")]}
    await remember_node(memory).ainvoke(said, {"configurable": {"thread_id": "ada@example.com/1"}})
    [one] = (await memory.conversations()).conversations
    assert one.id.startswith("ada-example.com-1:")
    with pytest.raises(InvalidInput, match="conversation_id: is missing"):
        await remember_node(memory).ainvoke(said, {"configurable": {"thread_id": ""}})
