"""The scripted graph and the real one: the same queries get the same answers and the same refusals."""

import copy
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from msgspec import Struct
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.context import Context
from graphmem.forgetting.expiry import DUE_CLIENTS
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query
from graphmem.recall.ask import recall
from graphmem.recall.types import Question
from graphmem.retrieval.understanding import Vocabulary
from graphmem.search.ask import search
from graphmem.search.types import SearchQuery
from tests.scripted import ScriptedGraph, inline

Row = TypeVar("Row")
Result = TypeVar("Result")

SAID = (
    "The ferry to Holm leaves at seven from the north pier.",
    "Mara painted the boathouse green last week.",
    "Tickets for the ferry cost twelve euros.",
)


class RecordedGraph(Graph):
    """The real graph, which records the rows of each query."""

    answered: list[tuple[str, dict[str, Any], list[Any]]]

    @classmethod
    def of(cls, graph: Graph) -> "RecordedGraph":
        """Return a recording graph on the same connection."""
        recorded = cls.__new__(cls)
        recorded.__dict__ = copy.copy(graph).__dict__
        recorded.answered = []
        return recorded

    @property
    def is_idle(self) -> bool:
        """Whether no other call is being answered: what others ask meanwhile changes nothing here."""
        return True

    async def rows(self, query: Query[Row], **parameters: Any) -> list[Row]:
        rows = await super().rows(query, **parameters)
        # The graph itself looks for expiries, once in some seconds; no use case asks for them.
        if query.name != DUE_CLIENTS.name:
            self.answered.append((query.name, parameters, rows))
        return rows

    def scripted(self) -> ScriptedGraph:
        """Return a scripted graph with the recorded answers."""

        def answer(name: str) -> Callable[..., list[Any]]:
            def rows(**parameters: Any) -> list[Any]:
                [found] = [
                    rows
                    for known, asked, rows in self.answered
                    if (known, asked) == (name, parameters)
                ]
                return found

            return rows

        return ScriptedGraph({name: answer(name) for name, *_ in self.answered})


def context_of(memory: Graphmem, graph: Graph) -> Context:
    """Return a client's context around another graph."""
    context = memory.runtime.context(memory.client_id)
    return replace(context, graph=graph, vocabulary=Vocabulary(graph), recorder=None)


async def both(
    memory: Graphmem, ask: Callable[[Graph], Awaitable[Result]]
) -> tuple[Result, Result, RecordedGraph, ScriptedGraph]:
    """Query the real graph, then one that is scripted with the rows of the first answer."""
    conversation = await memory.open_conversation("ferry")
    await memory.remember(
        conversation.id,
        [{"session_id": "s", "role": "user", "content": content} for content in SAID],
    )
    recorded = RecordedGraph.of(memory.runtime.graph)
    real = await ask(recorded)
    scripted = recorded.scripted()
    return real, await ask(scripted), recorded, scripted


async def test_recall_answers_from_scripted_rows_as_from_the_graph(memory: Graphmem) -> None:
    async def ask(graph: Graph) -> Any:
        question = Question(query="When does the ferry leave?")
        return await recall(question, context_of(memory, graph))

    real, answer, recorded, scripted = await both(memory, ask)
    assert real.items[0].text == SAID[0]
    assert answer == real
    # Several queries run side by side.
    assert sorted(scripted.names) == sorted(name for name, *_ in recorded.answered)


async def test_search_answers_from_scripted_rows_as_from_the_graph(memory: Graphmem) -> None:
    async def ask(graph: Graph) -> Any:
        query = SearchQuery(query="ferry tickets", source_types=["message"])
        return await search(query, context_of(memory, graph))

    real, answer, recorded, scripted = await both(memory, ask)
    assert len(real.items) >= 2
    assert answer == real
    # Several queries run side by side.
    assert sorted(scripted.names) == sorted(name for name, *_ in recorded.answered)


class Text(Struct, frozen=True):
    text: str


ECHO = inline("CYPHER 25 RETURN $text AS text", Text)


@pytest.mark.parametrize("scripted", [False, True], ids=["real", "scripted"])
@pytest.mark.parametrize("given", [{}, {"text": "a", "more": 1}], ids=["too few", "too many"])
async def test_both_refuse_parameters_that_are_not_the_header_s(
    scripted: bool, given: dict[str, Any], memory: Graphmem
) -> None:
    graph: Graph = ScriptedGraph({"inline": [Text("a")]}) if scripted else memory.runtime.graph

    async def work(transaction: Transaction) -> list[Text]:
        return await transaction.rows(ECHO, **given)

    for refused in (graph.rows(ECHO, **given), graph.write(work)):
        with pytest.raises(Exception, match=r"(?i)parameter"):
            await refused
    assert await graph.rows(ECHO, text="a") == [Text("a")]


async def test_a_scripted_row_is_of_the_query_s_shape() -> None:
    graph = ScriptedGraph({"inline": [{"text": "a"}]})
    with pytest.raises(AssertionError, match="a row of inline is a Text"):
        await graph.rows(ECHO, text="a")
