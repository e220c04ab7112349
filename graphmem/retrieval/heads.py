"""Heads: a memory that is superseded between its finding and the answer gives its place to its chain's head.

The indexes and the statements of one search read at different moments, so that beside a write they may find
two versions of a memory, or only one that is over. The statement that loads what is shown therefore brings,
for each memory that is superseded by then, its head, and what a search has found passes through `at_heads`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from graphmem.retrieval.finding import Candidate


class Head(Candidate, frozen=True, kw_only=True):
    """A memory that takes the place of one that was found, with everything that filters test."""

    source_type: str
    source_id: str
    category: str
    scope: str
    other_categories: list[str]
    chain: list[str]
    """The ids of the versions from the one that was found to this one."""


class Loaded(Protocol):
    """A memory as a statement brings it that includes the fragments `heads` and `head`."""

    @property
    def id(self) -> str:
        """Its id; that of the head where that takes its place."""
        ...

    @property
    def head(self) -> Head | None:
        """The head that takes its place; None where it is one itself, or versions are not asked for."""
        ...


class Identified(Protocol):
    """What a search has found."""

    @property
    def id(self) -> str:
        """The memory's id."""
        ...


Found = TypeVar("Found", bound=Identified)
Row = TypeVar("Row", bound=Loaded)


def by_found_id(rows: Iterable[Row]) -> dict[str, Row]:
    """Return rows by the ids for which they were asked."""
    return {row.head.chain[0] if row.head else row.id: row for row in rows}


def heads_of(rows: Iterable[Loaded]) -> dict[str, Head]:
    """Return the heads by the ids of the memories whose places they take; mostly none."""
    return {row.head.chain[0]: row.head for row in rows if row.head}


def at_heads(
    found: Sequence[Found],
    heads: Mapping[str, Head],
    admits: Callable[[Head], bool],
    moved: Callable[[Found, Head], Found],
) -> list[Found]:
    """Return what was found in its order, superseded memories as their heads, each chain once.

    A head that the filters do not admit is left out; `moved` gives a head the scores of what was found.
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
