"""Running statements for a terminal: what they answer is printed, what is wrong is told at its place."""

import re
from typing import TYPE_CHECKING, Any

import click

from graphmem.errors import CypherMistake, CypherRefused

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphmem.cli.statements import Statement
    from graphmem.exploring.types import Limits, Table
    from graphmem.graph.driver import Graph
    from graphmem.jobs.afterwards import Afterwards

_SAID_TWICE = re.compile(r" \(line \d+, column \d+ \(offset: \d+\)\)$")
"""Neo4j tells a place in the statement; ours is that in all that was typed."""


class Wrong(click.ClickException):
    """A statement was refused or is wrong; the sentence says where."""

    exit_code = 2


class Explorer:
    """Runs statements on one database, within limits, with the parameters that are set."""

    def __init__(
        self,
        graph: "Graph",
        afterwards: "Afterwards",
        limits: "Limits",
        parameters: dict[str, Any],
    ) -> None:
        self.graph = graph
        self._afterwards = afterwards
        self.limits = limits
        self.parameters = parameters

    async def show(self, found: "Sequence[Statement]", typed: str, shape: str) -> None:
        """Print what the statements found in what was typed answer, one after the other. Raises as `run`."""
        from graphmem.cli.tables import SHOWING

        for one in found:
            SHOWING[shape](await self.run(one.text, within=typed, start=one.start))

    async def run(self, text: str, *, within: str, start: int) -> "Table":
        """Return what a statement answers; what is wrong is shown in the text that it begins at `start` of.

        Raises `Wrong`, `InvalidInput`, `TookTooLong`, `TookTooMuch`, `Unavailable`.
        """
        from graphmem.cli.statements import marked
        from graphmem.exploring import Asked, explore
        from graphmem.service.bound import DEFAULT_CLIENT, new_id, now

        asked = Asked(id=new_id(), client_id=DEFAULT_CLIENT, at=now(), via="shell")
        try:
            return await explore(
                text,
                self.parameters,
                limits=self.limits,
                asked=asked,
                graph=self.graph,
                afterwards=self._afterwards,
            )
        except (CypherMistake, CypherRefused) as problem:
            sentence = _SAID_TWICE.sub("", str(problem).removeprefix("query: ").partition("\n")[0])
            offset = None if problem.offset is None else start + problem.offset
            raise Wrong(marked(sentence, within, offset)) from problem
