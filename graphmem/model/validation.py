"""Checking what comes from outside against a struct, with a sentence that names the field."""

import re
from typing import Any, TypeVar

import msgspec

from graphmem.errors import InvalidInput

Checked = TypeVar("Checked")

_PLACE = re.compile(r"^(?P<problem>.*?)(?: - at `\$\.?(?P<field>.*)`)?$", re.DOTALL)
_NAMED = re.compile(r"(?:unknown field|missing required field) `(?P<name>[^`]*)`")


def validated(value: Any, wanted: type[Checked]) -> Checked:
    """Return the value as the struct it should be; raise `InvalidInput` that names the field."""
    try:
        return msgspec.convert(msgspec.to_builtins(value), wanted)
    except msgspec.ValidationError as problem:
        raise invalid(problem) from problem


def invalid(problem: msgspec.ValidationError) -> InvalidInput:
    """Return msgspec's complaint as ours: which field, and what is wrong with it."""
    match = _PLACE.match(str(problem))
    assert match is not None, "the pattern matches any text"
    field, sentence = match["field"] or "", match["problem"]
    named = _NAMED.search(sentence)
    if named:
        field = f"{field}.{named['name']}" if field else named["name"]
    return InvalidInput(field or "body", sentence[:1].lower() + sentence[1:])
