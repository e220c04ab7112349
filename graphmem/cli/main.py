"""The command `graphmem`: its commands, and the report of errors."""

import errno
import logging
import os
import sys
import traceback
from typing import IO, Any

import click

from graphmem.cli.backup import backup, restore
from graphmem.cli.cypher import cypher
from graphmem.cli.demo import demo
from graphmem.cli.doctor import doctor
from graphmem.cli.export import export_file
from graphmem.cli.hook import hook
from graphmem.cli.import_file import import_file
from graphmem.cli.install import install, uninstall
from graphmem.cli.keys import keys
from graphmem.cli.looking import patterns, runs
from graphmem.cli.mcp import mcp
from graphmem.cli.options import shows_debug
from graphmem.cli.recall import recall
from graphmem.cli.reembed import migrate, reembed
from graphmem.cli.running import Interrupted
from graphmem.cli.serve import fetch, serve, stop
from graphmem.errors import GraphmemError
from graphmem.observing.logs import shows_json, traced

log = logging.getLogger(__name__)

EPILOG = """\b
Begin with:
  graphmem demo                          a story to ask, in one command
  graphmem import talk.jsonl             remember your own conversations
  graphmem recall "what did we decide?"  the best context within a budget
  graphmem cypher                        a shell that reads the graph itself
  graphmem serve                         the same over HTTP

Every setting is also an environment variable; `graphmem COMMAND --help` names them. Without
GRAPHMEM_NEO4J_URI the commands start, or join, a private Neo4j of their own; with it, and
GRAPHMEM_NEO4J_PASSWORD, they use the server that it names.
"""


FULL = (errno.ENOSPC, errno.EDQUOT)
"""The errors of a full disk, which may come without a path."""

UNUSABLE = {
    errno.ENOENT: "is not there, or cannot be made there",
    errno.ENOTDIR: "has a file where a folder must be",
    errno.EISDIR: "is a folder, not a file",
    errno.EEXIST: "is there already",
    errno.ENOTEMPTY: "is not empty",
    errno.EACCES: "may not be read or written by this user",
    errno.EPERM: "may not be read or written by this user",
    errno.EROFS: "is on a disk that can only be read",
    errno.ENAMETOOLONG: "is too long for the disk",
    errno.ELOOP: "is a link that leads to itself",
} | dict.fromkeys(FULL, "is on a disk that is full")
"""The reasons for which a path cannot be used. Whether the caller named the path is not known."""


class EndedCommand(click.ClickException):
    """An error that ends a command with one sentence, as a line of the log where every line is JSON."""

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the sentence."""
        if shows_json():
            log.error("%s", self.format_message())
        else:
            super().show(file)


class Refused(EndedCommand):
    """An error that graphmem raised on purpose, or a path that cannot be used."""

    exit_code = 2


class Failed(EndedCommand):
    """An unexpected error."""

    exit_code = 1


class Commands(click.Group):
    """The commands in the order in which users learn them, with one report of errors."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which they were added."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; turn its error into a sentence and an exit code."""
        if os.environ.get("NO_COLOR"):  # as https://no-color.org asks; click does not look at it
            ctx.color = False
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Interrupted as ended:
            raise click.exceptions.Exit(ended.exit_code) from None
        except KeyboardInterrupt:
            raise click.exceptions.Exit(130) from None
        except Exception as problem:
            raise _failed(_first(problem)) from problem


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="graphmem")
def commands() -> None:
    """A memory for agents, on a real graph database."""


COMMANDS = (
    demo,
    serve,
    mcp,
    install,
    uninstall,
    hook,
    import_file,
    export_file,
    recall,
    patterns,
    runs,
    cypher,
    keys,
    backup,
    restore,
    migrate,
    reembed,
    doctor,
    fetch,
    stop,
)

for command in COMMANDS:
    commands.add_command(command)


def main() -> None:
    """Run the command line."""
    # A terminal that cannot show a character shows a replacement, instead of an error.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    commands(prog_name="graphmem")


def _first(problem: BaseException) -> BaseException:
    """Return the first of several errors that happened together."""
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return problem


def _failed(problem: BaseException) -> Exception:
    if isinstance(problem, OSError) and problem.errno == errno.EPIPE:
        # The reader is gone: click exits quietly.
        return problem
    if isinstance(problem, GraphmemError):
        return Refused("; ".join([str(problem), *getattr(problem, "__notes__", ())]))
    if shows_debug():
        _show_place(problem)
    hint = "" if shows_debug() else "; --debug or GRAPHMEM_LOG_LEVEL=debug shows where"
    if isinstance(problem, OSError) and (unusable := _unusable(problem)):
        return Refused(f"{unusable}{hint}")
    told = str(problem).strip().partition("\n")[0]
    name = type(problem).__name__
    return Failed(f"something unexpected went wrong: {name}{told and f': {told}'}{hint}")


def _show_place(problem: BaseException) -> None:
    if shows_json():
        log.debug("%s", traced(problem))
    else:
        traceback.print_exception(problem)


def _unusable(problem: OSError) -> str | None:
    """Return the sentence about a path that cannot be used; None if the error is about no path."""
    path = problem.filename if problem.filename2 is None else problem.filename2
    if isinstance(path, str | bytes):
        reason = UNUSABLE.get(problem.errno or 0, f"cannot be used ({problem.strerror})")
        return f"{os.fsdecode(path)}: {reason}; if you named this path, name another one"
    return "a disk is full: free some space" if problem.errno in FULL else None
