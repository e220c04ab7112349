"""Checking the parameters that a caller sets for a pattern."""

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from graphmem.errors import InvalidInput
from graphmem.model.text import checked_text
from graphmem.model.times import BEGINNING, END, utc
from graphmem.patterns.types import Pattern, PatternParameter

Values = dict[str, Any]

KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "int": (int,),
    "float": (int, float),
    "boolean": (bool,),
}
"""The Python types of each type but a time, as JSON decodes them."""


def values(pattern: Pattern, given: Mapping[str, Any], *, now: datetime) -> Values:
    """Return a value for every parameter of a pattern: the given one, else its default.

    Raises `InvalidInput` that lists the legal parameters.
    """
    legal = {one.name: one for one in pattern.parameters}
    for name in given:
        if name not in legal:
            raise InvalidInput(f"parameters.{name}", f"there is no such parameter; {_all(pattern)}")
    found = defaults(pattern, now=now)
    for name, one in legal.items():
        if name in given:
            found[name] = _value(one, given[name])
        elif one.required:
            raise InvalidInput(f"parameters.{name}", f"is missing; {legend(one)}")
    return found


def defaults(pattern: Pattern, *, now: datetime) -> Values:
    """Return the defaults of a pattern's optional parameters."""
    named = moments(now)
    return {
        one.name: named[one.default] if one.type == "datetime" else one.default
        for one in pattern.parameters
        if not one.required
    }


def checked_pattern(pattern: Pattern, *, now: datetime) -> None:
    """Raise `InvalidInput` unless the pattern's own defaults, and its example, are legal."""
    for one in pattern.parameters:
        if one.type == "datetime" and not one.required:
            if one.default not in moments(now):
                raise InvalidInput(one.name, f"the default is one of {', '.join(moments(now))}")
        elif not one.required:
            _value(one, one.default)
    values(pattern, pattern.example, now=now)


def moments(now: datetime) -> dict[str, datetime]:
    """Return the times that a default may name."""
    return {"beginning": BEGINNING, "now": now, "end": END}


def bounds(one: PatternParameter) -> tuple[float, float]:
    """Return the bounds of a number, or of a text's length."""
    least = -math.inf if one.least is None else one.least
    return least, math.inf if one.most is None else one.most


def legend(one: PatternParameter) -> str:
    """Return the legal values of a parameter, as a sentence."""
    if one.choices:
        legal = f"one of {', '.join(one.choices)}"
    elif one.type == "string":
        legal = f"a text of {one.least:,.0f} to {one.most:,.0f} characters"
    elif one.type == "int":
        legal = f"a whole number from {one.least:,.0f} to {one.most:,.0f}"
    elif one.type == "float":
        legal = f"a number from {one.least:g} to {one.most:g}"
    else:
        legal = {"boolean": "true or false", "datetime": "an RFC 3339 time with its zone"}[one.type]
    return f"`{one.name}` is {legal}: {one.meaning}"


def _all(pattern: Pattern) -> str:
    return "legal are: " + "; ".join(legend(one) for one in pattern.parameters)


def _value(one: PatternParameter, value: Any) -> Any:
    field = f"parameters.{one.name}"
    wrong = InvalidInput(field, f"cannot be used; {legend(one)}")
    if one.type == "datetime":
        return _time(value, field, wrong)
    # By the type itself: True is an int in Python, but not a number for the caller.
    if type(value) not in KINDS[one.type]:
        raise wrong
    if one.choices is not None:
        if value not in one.choices:
            raise wrong
        return value
    if one.type == "boolean":
        return value
    measured = len(value) if isinstance(value, str) else value
    least, most = bounds(one)
    # Written so that NaN is refused too.
    if not least <= measured <= most:
        raise wrong
    if isinstance(value, str):
        return checked_text(value, field, most_bytes=4 * len(value)) if value else value
    return float(value) if one.type == "float" else value


def _time(value: Any, field: str, wrong: InvalidInput) -> datetime:
    try:
        moment = value if isinstance(value, datetime) else msgspec.convert(value, datetime)
    except msgspec.ValidationError:
        raise wrong from None
    return utc(moment, field)
