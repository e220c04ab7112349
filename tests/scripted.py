"""A substitute for the graph that answers by query name, for use cases without a database."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from graphmem.context import Context
from graphmem.embedding import Embedder
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.installation import Calibration
from graphmem.graph.query import Query
from graphmem.model.vocabulary import FIRST
from graphmem.retrieval.understanding import Vocabulary
from graphmem.tokens import TokenCounter

Row = TypeVar("Row")
Result = TypeVar("Result")
Answer = Sequence[Any] | BaseException | Callable[..., Sequence[Any]]


def inline(text: str, row: type[Row], *, writes: bool = False, name: str = "inline") -> Query[Row]:
    """Return a query without a file; it declares the parameters that its text uses."""
    query = Query(name, row, writes=writes)
    query.__dict__["text"] = text
    query.__dict__["parameters"] = frozenset(re.findall(r"\$(\w+)", text))
    return query


def scripted_context(graph: Graph, **parts: Any) -> Context:
    """Return a context of the client `x` around a graph; it has an embedder only if one is given."""
    plain: dict[str, Any] = {
        "client_id": "x",
        "graph": graph,
        "embedder": cast(Embedder, None),
        "tokens": TokenCounter(),
        "vocabulary": Vocabulary(graph),
        "calibration": Calibration(low=0.5, high=0.8),
    }
    return Context(**(plain | parts))


class ScriptedGraph(Graph):
    """Answers each query with the rows scripted for its name, and records the queries.

    An answer is rows, an error to raise, or a function of the parameters that returns rows. Reads, writes and
    transactions are treated alike; a query without an answer is an error of the test. There is no driver:
    other methods of `Graph` fail. `tests/test_scripted.py` compares it with the real graph.
    """

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.database = "scripted"
        self.side = FIRST
        self.answers = dict(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.begin_when_back: Callable[[], None] | None = None
        """What is called after a restart, which a test begins itself."""

    def when_back(self, begin: Callable[[], None]) -> None:
        """Keep what is called after a restart."""
        self.begin_when_back = begin

    @property
    def is_idle(self) -> bool:
        """Whether no other call is being answered: always, for a test to know what is asked."""
        return True

    @property
    def names(self) -> list[str]:
        """The names of the queries, in their order."""
        return [name for name, _ in self.asked]

    async def rows(self, query: Query[Row], **parameters: Any) -> list[Row]:
        """Return the scripted rows of a query, after checking its parameters and their shape."""
        query.statement(self.side, parameters)
        missing = query.parameters - set(parameters)
        assert not missing, f"{query.name} is asked without the parameters {missing}"
        self.asked.append((query.name, parameters))
        answer = self.answers[query.name]
        if isinstance(answer, BaseException):
            raise answer
        rows = list(answer(**parameters) if callable(answer) else answer)
        for row in rows:
            assert isinstance(row, query.row), f"a row of {query.name} is a {query.row.__name__}"
        return rows

    async def change(self, query: Query[Row], **parameters: Any) -> list[Row]:
        """Return the scripted rows of a query that writes."""
        return await self.rows(query, **parameters)

    async def write(self, work: Callable[[Transaction], Awaitable[Result]]) -> Result:
        """Do the work of a transaction."""
        return await work(ScriptedTransaction(self))

    async def execute(self, statement: str, **parameters: Any) -> list[dict[str, Any]]:
        """Record a statement, and return nothing."""
        self.asked.append((statement, parameters))
        return []


class ScriptedTransaction(Transaction):
    """A transaction that queries its scripted graph."""

    def __init__(self, graph: ScriptedGraph) -> None:
        self.side = graph.side
        self._graph = graph

    async def rows(self, query: Query[Row], **parameters: Any) -> list[Row]:
        """Return the scripted rows of a query."""
        return await self._graph.rows(query, **parameters)
