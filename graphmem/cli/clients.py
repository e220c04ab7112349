"""Saying whose memory a command is about."""

import re
from collections.abc import Callable
from typing import Any

import click

from graphmem.model.vocabulary import ID_PATTERN


def checked_id(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Return an id that may be one; refuse another before anything is started for it."""
    if value is not None and not re.match(ID_PATTERN, value):
        raise click.BadParameter("an id is 1–128 of letters, digits and `. _ : -`")
    return value


def client_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option `--client`."""
    return click.option(
        "--client",
        "client_id",
        metavar="ID",
        default="default",
        show_default=True,
        callback=checked_id,
        help="Whose memory.",
    )(command)
