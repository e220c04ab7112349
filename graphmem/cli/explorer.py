"""Running statements for a terminal: answers are printed, and mistakes with their position."""

import re
from typing import TYPE_CHECKING, Any

import click

from graphmem.errors import CypherMistake, CypherRefused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphmem.cli.cypher_shell import TypedStatement
    from graphmem.exploring.types import Table
    from graphmem.graph.driver import Graph
    from graphmem.graph.statements import Statements
    from graphmem.jobs.afterwards import Afterwards

_SAID_TWICE = re.compile(r" \(line \d+, column \d+ \(offset: \d+\)\)$")
"""Neo4j's position is relative to the statement; ours is relative to the whole input."""


class Wrong(click.ClickException):
    """A statement was refused or is wrong; the sentence names the position."""

    exit_code = 2


class Explorer:
    """Runs statements on one database, within limits, with the parameters that are set."""

    def __init__(
        self,
        graph: "Graph",
        afterwards: "Afterwards",
        limits: "Mapping[str, int]",
        parameters: dict[str, Any],
        statements: "Statements",
    ) -> None:
        self.graph = graph
        self._afterwards = afterwards
        self._statements = statements
        self._limits = limits
        self.parameters = parameters

    async def show(self, found: "Sequence[TypedStatement]", typed: str, shape: str) -> None:
        """Print the answers of the statements of the input, in order. Raises the errors of `run`."""
        from graphmem.cli.tables import SHOWING

        for one in found:
            SHOWING[shape](await self.run(one.text, within=typed, start=one.start))

    async def run(self, text: str, *, within: str, start: int) -> "Table":
        """Return a statement's answer; a mistake is shown in the text, where the statement begins at `start`.

        Raises `Wrong`, `InvalidInput`, `TookTooLong`, `TookTooMuch`, `TooManyStatements`, `Unavailable`.
        """
        from graphmem.cli.cypher_shell import marked
        from graphmem.client import DEFAULT_CLIENT
        from graphmem.context import random_id
        from graphmem.exploring.running import run_statement
        from graphmem.exploring.types import CypherAsked, Sender
        from graphmem.model.times import present
        from graphmem.model.validation import validated

        sender = Sender(id=random_id(), client_id=DEFAULT_CLIENT, at=present(), via="shell")
        try:
            fields = {"query": text, "parameters": self.parameters, **self._limits}
            sent = validated(fields, CypherAsked)
            return await run_statement(
                sent,
                sender,
                graph=self.graph,
                afterwards=self._afterwards,
                statements=self._statements,
            )
        except (CypherMistake, CypherRefused) as problem:
            sentence = _SAID_TWICE.sub("", str(problem).removeprefix("query: ").partition("\n")[0])
            offset = None if problem.offset is None else start + problem.offset
            raise Wrong(marked(sentence, within, offset)) from problem
