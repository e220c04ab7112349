"""Typed Cypher: splitting it into statements, completing it, running it, and marking mistakes."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from graphmem.errors import CypherMistake, CypherRefused, InvalidInput
from graphmem.exploring.words import place_of, words
from graphmem.graph.inspection import KnownNames

KEYWORDS = (
    "ALL", "AND", "ANY", "AS", "ASC", "BY", "CALL", "CASE", "COLLECT", "CONTAINS", "COUNT", "DESC",
    "DISTINCT", "ELSE", "END", "ENDS WITH", "EXISTS", "FALSE", "FILTER", "FINISH", "IN", "IS",
    "IS NOT NULL", "LET", "LIMIT", "MATCH", "NEXT", "NOT", "NULL", "OFFSET", "OPTIONAL MATCH", "OR",
    "ORDER BY", "RETURN", "SEARCH", "SHORTEST", "SKIP", "STARTS WITH", "THEN", "TRUE", "UNION",
    "UNION ALL", "UNWIND", "WHEN", "WHERE", "WITH", "XOR", "YIELD",
)  # fmt: skip
"""The keywords of statements that read."""

COMMANDS = {
    ":help": "what can be typed here",
    ":schema": "the labels, types of edges, property keys and indexes of the database",
    ":param": ":param name=JSON sets a parameter; alone it lists them",
    ":quit": "leave; Ctrl-D does too",
}

CONTEXT_CHARACTERS = 60
"""The number of characters of a long line that are shown on either side of the mark."""

_LAST_WORD = re.compile(r"\w*$")


class TypedStatement(Struct, frozen=True):
    """One statement, its position in the input, and whether a `;` ends it."""

    text: str
    start: int
    is_ended: bool


def statements(typed: str) -> list[TypedStatement]:
    """Return the statements of a text; a `;` in a string, a comment or a quoted name ends none."""
    ends = [word.start for word in words(typed) if (word.kind, word.text) == ("sign", ";")]
    found = []
    for start, end in zip([0, *(end + 1 for end in ends)], [*ends, len(typed)], strict=True):
        piece = typed[start:end]
        if words(piece):
            blank = len(piece) - len(piece.lstrip())
            found.append(TypedStatement(piece.strip(), start + blank, is_ended=end < len(typed)))
    return found


def is_complete(typed: str) -> bool:
    """Tell whether Enter ends the input: it is empty, a command, or statements ended by `;`."""
    if not typed.strip() or typed.lstrip().startswith(":"):
        return True
    found = statements(typed)
    return bool(found) and found[-1].is_ended


def parameter(given: str) -> tuple[str, Any]:
    """Return the name and the value of `name=JSON`. Raises `InvalidInput`."""
    name, sign, value = given.partition("=")
    name = name.strip()
    if not sign or not re.fullmatch(r"\w+", name):
        raise InvalidInput("param", "expected name=JSON, for example 'limit=10' or 'name=\"Mara\"'")
    try:
        return name, msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeEncodeError) as problem:
        raise InvalidInput(
            f"param {name}", f"{value[:40]!r} is not JSON; a text needs double quotes"
        ) from problem


def marked(problem: str, typed: str, offset: int | None) -> str:
    """Return a sentence with the line and column of a mistake, and a caret below it."""
    if offset is None:
        return problem
    place = place_of(typed, min(offset, len(typed)))
    line = typed.split("\n")[place.line - 1].rstrip("\r")
    at = place.column - 1
    begin, end = max(at - CONTEXT_CHARACTERS, 0), at + CONTEXT_CHARACTERS
    shown = "".join(char if char.isprintable() else " " for char in line[begin:end])
    return (
        f"{problem} (line {place.line}, column {place.column})\n  {shown}\n  {' ' * (at - begin)}^"
    )


def completions(before: str, names: KnownNames) -> list[str]:
    """Return the completions at the cursor, for the word that has been begun there."""
    if before.startswith(":") and " " not in before:
        return [command for command in COMMANDS if command.startswith(before)]
    [begun] = _LAST_WORD.findall(before)[:1]
    return [
        name
        for name in _expected(before[: len(before) - len(begun)], names)
        if name.lower().startswith(begun.lower()) and name != begun
    ]


def _expected(before: str, names: KnownNames) -> Sequence[str]:
    """Return the words that may follow a text."""
    read = words(before)
    if read and read[-1].kind in ("string", "quoted") and not before[-1].isspace():
        return ()
    last = read[-1].text if read else ""
    bracket = _open_bracket([word.text for word in read if word.kind == "sign"])
    if last in (":", "|", "&", "!") and bracket in ("(", "["):
        return names.labels if bracket == "(" else names.edge_types
    if last == "." or (bracket == "{" and last in ("{", ",")):
        return names.keys
    return KEYWORDS


def _open_bracket(signs: Sequence[str]) -> str:
    """Return the innermost open bracket, "" if there is none."""
    opened: list[str] = []
    for sign in signs:
        if sign in "([{":
            opened.append(sign)
        elif sign in ")]}" and opened:
            opened.pop()
    return opened[-1] if opened else ""


if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphmem.cli.statements import TypedStatement
    from graphmem.exploring.types import Limits, Table
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
        limits: "Limits",
        parameters: dict[str, Any],
        statements: "Statements",
    ) -> None:
        self.graph = graph
        self._afterwards = afterwards
        self._statements = statements
        self.limits = limits
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
        from graphmem.cli.statements import marked
        from graphmem.client import DEFAULT_CLIENT
        from graphmem.context import random_id
        from graphmem.exploring.running import checked_statement, run_statement
        from graphmem.exploring.types import Sender
        from graphmem.model.times import present

        sender = Sender(id=random_id(), client_id=DEFAULT_CLIENT, at=present(), via="shell")
        try:
            sent = checked_statement(text, self.parameters, self.limits)
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
