"""Options of several commands: the client, and the settings that `graphmem.config` reads."""

import functools
import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
import msgspec

from graphmem import config
from graphmem.config import Settings
from graphmem.errors import SettingError
from graphmem.model.vocabulary import ID_PATTERN
from graphmem.observing.logs import show_log
from graphmem.places import at_place

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

# No option for passwords: every user of the machine can read the command lines of processes.
NEO4J = (
    "data_dir",
    "cache_dir",
    "neo4j_uri",
    "neo4j_user",
    "neo4j_database",
    "places_file",
    "place",
    "neo4j_heap",
    "neo4j_page_cache",
    "neo4j_start_seconds",
    "disk_margin_mb",
    "maven_repository",
)
RUNNING = (*NEO4J, "embedding_model", "embedding_threads", "reranker")
MODEL = ("llm_url", "llm_model")
KEEPING = ("record", "keep_accesses_days", "keep_runs_days")
LIMITS = (
    "request_seconds",
    "slow_ms",
    "requests_at_once",
    "requests_waiting",
    "client_requests",
    "client_memories",
    "client_bytes",
    "client_tokens_a_day",
    "limits_file",
    "connections",
    "drain_seconds",
    "warm_seconds",
)
LISTENING = (
    "host",
    "port",
    "keys_file",
    *LIMITS,
    "reads",
    "jobs",
    *KEEPING,
    "cypher",
    "cypher_at_once",
    "max_concurrent_sessions",
    "turn_cache_mb",
    *MODEL,
)
LOGGING = ("log_level", "log_format")


class SettingOption(click.Option):
    """An option for a setting, which can also come from the environment."""


class Command(click.Command):
    """A command whose help lists its own options first, then the settings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options in two lists."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        for title, wanted in (("Options", False), ("Settings", True)):
            listed = [one for one in options if isinstance(one, SettingOption) == wanted]
            with formatter.section(title):
                formatter.write_dl([row for one in listed if (row := one.get_help_record(ctx))])


def checked_id(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return a valid id, or None; refuse another value before anything is started."""
    if value is not None and not re.match(ID_PATTERN, value):
        raise click.BadParameter("an id is 1–128 of letters, digits and `. _ : -`")
    return value


def client_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option `--client` to a command."""
    return click.option(
        "--client",
        "client_id",
        metavar="ID",
        default="default",
        show_default=True,
        callback=checked_id,
        help="Whose memory.",
    )(command)


def settings_options(*names: str) -> Callable[[Decorated], Decorated]:
    """Add an option for each of these settings to a command, which gets all of them as `settings`."""
    names = (*names, *LOGGING)

    def decorate(function: Decorated) -> Decorated:
        @functools.wraps(function)
        def with_settings(*arguments: Any, debug: bool, **options: Any) -> Any:
            given = {name: options.pop(name) or None for name in names}
            if debug:
                given["log_level"] = "debug"
            # An error of the settings is told in the form of the log, too.
            form = given["log_format"] or os.environ.get(config.variable("log_format"))
            show_log("info", "json" if form == "json" else "text")
            settings = _load(given)
            show_log(settings.log_level, settings.log_format)
            return function(*arguments, settings=settings, **options)

        command: Any = click.option(
            "--debug", is_flag=True, help="The same as --log-level debug.", cls=SettingOption
        )(with_settings)
        for name in reversed(names):
            command = _option(name)(command)
        return command  # type: ignore[no-any-return]

    return decorate


def shows_debug() -> bool:
    """Tell whether the traceback of an unexpected error is shown."""
    return logging.getLogger("graphmem").isEnabledFor(logging.DEBUG)


def flag(name: str) -> str:
    """Return the option of a setting."""
    return "--" + name.replace("_", "-")


def _load(given: dict[str, Any]) -> Settings:
    try:
        return at_place(config.load(**given))
    except SettingError as problem:
        for name, value in given.items():
            if value is not None and config.variable(name) == problem.name:
                sentence = str(problem).removeprefix(f"{problem.name}: ")
                raise SettingError(flag(name), sentence) from problem
        raise


def _option(name: str) -> Callable[[Decorated], Decorated]:
    field = _field(name)
    kinds = _kinds(field)
    metavar = "PATH" if Path in kinds else "NUMBER" if int in kinds else "TEXT"
    return click.option(
        flag(name),
        name,
        metavar=metavar,
        help=f"{_described(field)}  [{config.variable(name)}{_default(field)}]",
        cls=SettingOption,
    )


def is_path(name: str) -> bool:
    """Tell whether a setting is a path."""
    return Path in _kinds(_field(name))


def _field(name: str) -> msgspec.structs.FieldInfo:
    return next(field for field in msgspec.structs.fields(Settings) if field.name == name)


def _kinds(field: msgspec.structs.FieldInfo) -> tuple[Any, ...]:
    return get_args(get_args(field.type)[0]) or (get_args(field.type)[0],)


def _described(field: msgspec.structs.FieldInfo) -> str:
    description = str(get_args(field.type)[1].description)
    return f"{description[:1].upper()}{description[1:]}."


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        value = str(field.default_factory()).replace(str(Path.home()), "~", 1)
    return f"; default: {value}" if value not in (None, "", ()) else ""
