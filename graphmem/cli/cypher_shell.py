"""The shell of `graphmem cypher`: statements over several lines, a history, completion, commands."""

from collections.abc import Iterable
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
from graphmem.cli.statements import (
    COMMANDS,
    Explorer,
    completions,
    is_complete,
    parameter,
    statements,
)
from graphmem.errors import GraphmemError
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


async def converse(explorer: Explorer, shape: str) -> None:
    """Read statements and show their answers, until the user leaves."""
    names = await _names(explorer)
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
        await answer(typed, explorer, names, shape)


async def _names(explorer: Explorer) -> KnownNames:
    """Return the names that the database and graphmem know: a new database has none yet."""
    [stored] = await explorer.graph.rows(KNOWN_NAMES)
    return KnownNames(
        labels=sorted({*stored.labels, *LABELS}),
        edge_types=sorted({*stored.edge_types, *EDGE_TYPES}),
        keys=stored.keys,
    )


async def answer(typed: str, explorer: Explorer, names: KnownNames, shape: str) -> None:
    """Show the answer to the input; a mistake is printed, and the shell goes on."""
    try:
        if typed.lstrip().startswith(":"):
            await _command(typed.strip().removesuffix(";").strip(), explorer, names)
            return
        await explorer.show(statements(typed), typed, shape)
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


async def _command(typed: str, explorer: Explorer, names: KnownNames) -> None:
    word, _, rest = typed.partition(" ")
    if word == ":help":
        _help()
    elif word == ":schema":
        await _schema(explorer, names)
    elif word == ":param":
        _param(rest.strip(), explorer)
    else:
        raise click.ClickException(f"there is no {harmless(word)}; there are {', '.join(COMMANDS)}")


def _help() -> None:
    for command, meaning in COMMANDS.items():
        click.echo(f"{command:10} {meaning}")
    click.echo("A statement may go over several lines and ends with `;`. Tab completes; ↑ and ↓ go")
    click.echo(
        "through what was typed before. Only what reads is run, and each is kept in the audit."
    )


async def _schema(explorer: Explorer, names: KnownNames) -> None:
    click.echo(f"labels      {', '.join(names.labels)}")
    click.echo(f"edges       {', '.join(names.edge_types)}")
    click.echo(f"properties  {', '.join(names.keys)}")
    for index in await explorer.graph.rows(SHOWN_INDEXES):
        on = f"{'|'.join(index.labels)}({', '.join(index.properties)})"
        click.echo(f"index       {index.name}  {index.type.lower()}  {on}  {index.state.lower()}")


def _param(given: str, explorer: Explorer) -> None:
    if given:
        name, value = parameter(given)
        explorer.parameters[name] = value
    for name, value in explorer.parameters.items():
        click.echo(f"${name} = {harmless(str(value))}")
