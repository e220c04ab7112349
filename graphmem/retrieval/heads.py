"""Heads: a memory that is superseded after it was found is replaced by the head of its chain.

The indexes and the statements of one search read at different times, so that during a write they may find two
versions of a memory, or only an ended one. So the statement that loads the results also returns the head of
each memory that is superseded by then, and `at_heads` replaces the results of the search.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.retrieval.finding import Candidate


class Head(Candidate, frozen=True, kw_only=True):
    """A memory that replaces one that was found, with all properties that filters test."""

    source_type: str
    source_id: str
    category: str
    scope: str
    other_categories: list[str]
    chain: list[str]
    """The ids of the versions from the one that was found to this one."""


class Loaded(Protocol):
    """A row of a statement that includes the fragments `heads` and `head`."""

    @property
    def id(self) -> str:
        """Its id, or that of the head that replaces it."""
        ...

    @property
    def head(self) -> Head | None:
        """The head that replaces it; None if it is a head itself, or heads are not requested."""
        ...


class Standing(Struct, frozen=True):
    """A memory that was found, or the head that takes its place."""

    id: str
    head: Head | None = None


class Identified(Protocol):
    """A result of a search."""

    @property
    def id(self) -> str:
        """The memory's id."""
        ...


Found = TypeVar("Found", bound=Identified)
Row = TypeVar("Row", bound=Loaded)

HEADS = Query("retrieval/heads", Standing)


async def fetch_heads(ids: Collection[str], *, client_id: str, graph: Graph) -> list[Standing]:
    """Return memories that were found, or their heads, without texts; none for a memory that is gone by now.

    Raises `Unavailable`.
    """
    if not ids:
        return []
    return await graph.rows(HEADS, client_id=client_id, ids=list(ids), now_only=True)


def by_found_id(rows: Iterable[Row]) -> dict[str, Row]:
    """Return rows by their requested ids."""
    return {row.head.chain[0] if row.head else row.id: row for row in rows}


def heads_of(rows: Iterable[Loaded]) -> dict[str, Head]:
    """Return the heads by the ids of the memories that they replace; usually none."""
    return {row.head.chain[0]: row.head for row in rows if row.head}


def at_heads(
    found: Sequence[Found],
    heads: Mapping[str, Head],
    admits: Callable[[Head], bool],
    moved: Callable[[Found, Head], Found],
) -> list[Found]:
    """Return the results in their order, superseded memories replaced by their heads, each chain once.

    A head that the filters do not admit is omitted; `moved` gives a head the scores of the result.
    """
    if not heads:
        return list(found)
    shown: set[str] = set()
    kept = []
    for one in found:
        head = heads.get(one.id)
        chain = head.chain if head else [one.id]
        if shown.isdisjoint(chain) and (head is None or admits(head)):
            kept.append(moved(one, head) if head else one)
        shown.update(chain)
    return kept
