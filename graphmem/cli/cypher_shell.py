"""The shell of `graphmem cypher`: it completes, marks mistakes, and keeps a history of what was typed."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import platformdirs
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from graphmem.cli.showing import harmless
from graphmem.cli.typed_statements import Terminal, parameter, statements
from graphmem.errors import GraphmemError
from graphmem.exploring.words import words
from graphmem.graph.inspection import KNOWN_NAMES, SHOWN_INDEXES, KnownNames
from graphmem.model.vocabulary import EDGE_TYPES
from graphmem.neighbourhood.types import LABELS

PROMPT = "cypher> "
GOES_ON = "   ...> "

LEAVING = {":quit", ":exit", ":q"}


class Names(Completer):
    """Completes labels, types of edges, property keys, keywords and commands."""

    def __init__(self, names: KnownNames) -> None:
        self._names = names

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """Yield the completions at the cursor."""
        before = document.text_before_cursor
        begun = 0
        while begun < len(before) and (before[-1 - begun].isalnum() or before[-1 - begun] == "_"):
            begun += 1
        length = len(before) if before.startswith(":") and " " not in before else begun
        for name in completions(before, self._names):
            yield Completion(name, start_position=-length)


async def converse(terminal: Terminal, shape: str) -> None:
    """Read statements and show their answers, until the user leaves."""
    names = await _names(terminal)
    session: PromptSession[str] = PromptSession(
        PROMPT,
        prompt_continuation=GOES_ON,
        multiline=True,
        key_bindings=_bindings(),
        history=history(platformdirs.user_state_path("graphmem")),
        completer=Names(names),
        complete_while_typing=False,
    )
    click.echo("Cypher that only reads, over every client; `:help` says more, `:quit` leaves.")
    while True:
        try:
            typed = await session.prompt_async()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if typed.strip() in LEAVING:
            return
        await answer(typed, terminal, names, shape)


async def _names(terminal: Terminal) -> KnownNames:
    """Return the names that the database and graphmem know: a new database has none yet."""
    [stored] = await terminal.graph.rows(KNOWN_NAMES)
    return KnownNames(
        labels=sorted({*stored.labels, *LABELS}),
        edge_types=sorted({*stored.edge_types, *EDGE_TYPES}),
        keys=stored.keys,
    )


async def answer(typed: str, terminal: Terminal, names: KnownNames, shape: str) -> None:
    """Show the answer to the input; a mistake is printed, and the shell goes on."""
    try:
        if typed.lstrip().startswith(":"):
            await _command(typed.strip().removesuffix(";").strip(), terminal, names)
            return
        await terminal.show(statements(typed), typed, shape)
    except click.ClickException as problem:
        problem.show()
    except GraphmemError as problem:
        click.echo(f"Error: {problem}", err=True)


def history(folder: Path) -> History:
    """Return the history of earlier shells in a private file, else one in memory."""
    path = folder / "cypher_history"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.read_bytes()
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        click.echo(f"the history is not kept: {path} cannot be used ({reason})", err=True)
        return InMemoryHistory()
    return FileHistory(str(path))


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @Condition
    def ended() -> bool:
        from prompt_toolkit.application import get_app

        buffer = get_app().current_buffer
        return buffer.document.is_cursor_at_the_end and is_complete(buffer.text)

    @bindings.add("enter", filter=ended)
    def accept(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return bindings


async def _command(typed: str, terminal: Terminal, names: KnownNames) -> None:
    word, _, rest = typed.partition(" ")
    if word == ":help":
        _help()
    elif word == ":schema":
        await _schema(terminal, names)
    elif word == ":param":
        _param(rest.strip(), terminal)
    else:
        raise click.ClickException(f"there is no {harmless(word)}; there are {', '.join(COMMANDS)}")


def _help() -> None:
    for command, meaning in COMMANDS.items():
        click.echo(f"{command:10} {meaning}")
    click.echo("A statement may go over several lines and ends with `;`. Tab completes; ↑ and ↓ go")
    click.echo(
        "through what was typed before. Only what reads is run, and each is kept in the audit."
    )


async def _schema(terminal: Terminal, names: KnownNames) -> None:
    click.echo(f"labels      {', '.join(names.labels)}")
    click.echo(f"edges       {', '.join(names.edge_types)}")
    click.echo(f"properties  {', '.join(names.keys)}")
    for index in await terminal.graph.rows(SHOWN_INDEXES):
        on = f"{'|'.join(index.labels)}({', '.join(index.properties)})"
        click.echo(f"index       {index.name}  {index.type.lower()}  {on}  {index.state.lower()}")


def _param(given: str, terminal: Terminal) -> None:
    if given:
        name, value = parameter(given)
        terminal.parameters[name] = value
    for name, value in terminal.parameters.items():
        click.echo(f"${name} = {harmless(str(value))}")


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

_LAST_WORD = re.compile(r"\w*$")


def is_complete(typed: str) -> bool:
    """Tell whether Enter ends the input: it is empty, a command, or statements ended by `;`."""
    if not typed.strip() or typed.lstrip().startswith(":"):
        return True
    found = statements(typed)
    return bool(found) and found[-1].is_ended


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
