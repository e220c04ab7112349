"""Validation of input against a struct; errors name the field."""

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from hashlib import sha256
from math import isfinite
from typing import Any, TypeVar
from uuid import UUID

import msgspec
from msgspec import inspect

from graphmem.errors import InvalidInput, TooLarge
from graphmem.model.vocabulary import Id

Checked = TypeVar("Checked")

WHOLE = "body"
"""The name in errors of what is no argument, but a whole request."""

NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are no JSON, or no JSON of the wanted type."""

NAME_IN_ID = 80
"""The most characters of a name in an id."""

WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "datetime": "a time",
    # In Python the tag of a union is told by the name of its class.
    "list": "a list",
    "dict": "an object",
    "NoneType": "null",
}
"""The types of JSON as a person names them."""

_PLACE = re.compile(r"^(?P<problem>.*?)(?: - at `\$\.?(?P<field>.*)`)?$", re.DOTALL)
_NAMED = re.compile(r"Object (?:contains unknown|missing required) field `(?P<name>.*)`", re.DOTALL)
_EXPECTED = re.compile(r"Expected `(?P<wanted>[^`]*)`(?:, got `(?P<got>[^`]*)`)?")
_LENGTH = re.compile(
    r"(?P<wanted>a text|a list|an object)(?P<more>.*?) of length (?P<bound>[<>]=) (?P<number>\d+)"
)
_FORM = re.compile(r"Expected `str` matching regex .*", re.DOTALL)
_CHOICES = "; it is one of "
LARGE = 1_000_000
"""From here on a bound tells a reader nothing."""

_STEP = re.compile(r"[^.\[\]]+")


def validated(value: Any, wanted: type[Checked], name: str = WHOLE) -> Checked:
    """Return the value as a struct; raise an `InvalidInput` that names the field, or the value itself."""
    value = settled(value)
    if isinstance(value, dict):
        value = {field: settled(one) for field, one in value.items()}
    try:
        return msgspec.convert(as_json(value, name), wanted)
    except msgspec.ValidationError as problem:
        raise invalid(problem, wanted, name) from problem


def settled(value: Any) -> Any:
    """Return an argument in the form of JSON: an iterable as a list, a mapping as a dict.

    A text stays one, so that it is not taken for the list of its letters.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable) and not isinstance(value, _NOT_LISTS):
        return list(value)
    return value


def text_id(value: Any, name: str) -> str:
    """Return an id that is no field of a request as a text; raise an `InvalidInput` with its name."""
    return validated(value, str if isinstance(value, str | UUID) else Id, name)


def digested_id(name: str, whole: str, digits: int) -> str:
    """Return an id that can be read: the letters of a name, and digits of the digest of the whole."""
    letters = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:NAME_IN_ID]
    return f"{letters}:{sha256(whole.encode('utf-8', 'replace')).hexdigest()[:digits]}"


def listed(value: Any, name: str) -> list[Any]:
    """Return an iterable as a list; raise an `InvalidInput` with its name for anything else."""
    return validated(value, list[Any], name)


MOST_NESTED = 200
"""The levels of lists and objects within one another in a value: Python stops at a thousand calls."""

_ATOMS = frozenset({int, bool, type(None)})
_BYTES = (bytes, bytearray, memoryview)


class _NotJson(Exception):
    """A part of a value that JSON does not have; its steps are collected on the way to it, the last first."""

    def __init__(self, problem: str, *, deep: bool = False) -> None:
        super().__init__(problem)
        self.deep = deep
        self.steps: list[str | int] = []

    def place(self, name: str) -> str:
        """Return the field; of a value that is too deep only its beginning."""
        steps = self.steps[::-1]
        if self.deep:
            steps = steps[: 3 if isinstance(steps[1], int) else 1]
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
        return f"{'' if name == WHOLE else name}{path}".removeprefix(".") or name


def as_json(value: Any, name: str = WHOLE) -> Any:
    """Return a value made of JSON's types; raise an `InvalidInput` that names the part that is none."""
    try:
        return _as_json(value, MOST_NESTED)
    except _NotJson as problem:
        raise InvalidInput(problem.place(name), str(problem)) from problem


def _as_json(value: Any, levels: int) -> Any:
    if type(value) in _ATOMS:
        return value
    if isinstance(value, str) and not isinstance(value, Enum):
        return _unicode(str(value))
    if type(value) is float:
        return _finite(value)
    if not levels:
        raise _NotJson(f"is nested too deeply; send at most {MOST_NESTED} levels", deep=True)
    if isinstance(value, dict):
        return {_key(key): _part(key, one, levels) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_part(place, one, levels) for place, one in enumerate(value)]
    return _as_json(_builtin(value, levels), levels)


def _unicode(text: str) -> str:
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError as problem:
        raise _NotJson(_half_a_pair(problem)) from problem
    return text


def _half_a_pair(problem: UnicodeEncodeError) -> str:
    return f"character {problem.start} is half of a surrogate pair, not a character; send whole characters"


def _finite(number: float) -> float:
    if not isfinite(number):
        raise _NotJson(f"is {number}, which JSON does not have; send a finite number")
    return number


def _builtin(value: Any, levels: int) -> Any:
    """Return a value of another type as msgspec has it in JSON, except bytes, which it writes as Base64."""
    kind = type(value).__name__
    if isinstance(value, _BYTES):
        raise _NotJson(f"is of the type {kind}; send a text: decode it")
    try:
        return msgspec.to_builtins(value, builtin_types=_BYTES)
    except (TypeError, RecursionError) as problem:
        if isinstance(value, msgspec.Struct):
            for field in value.__struct_fields__:
                if (one := getattr(value, field)) is not msgspec.UNSET:
                    _part(field, one, levels)
        raise _NotJson(
            f"is of the type {kind}; send texts, numbers, lists and objects"
        ) from problem


def _key(key: Any) -> str:
    """Return the name of a field as msgspec has it in JSON, where a number or a day is a text too."""
    if type(key) is str:
        return _unicode(key)
    try:
        [name] = msgspec.to_builtins({key: None}, str_keys=True, builtin_types=_BYTES)
    except TypeError as problem:
        raise _NotJson(
            f"has a key of the type {type(key).__name__}; send texts as keys"
        ) from problem
    return _unicode(str(name))


def _part(step: Any, value: Any, levels: int) -> Any:
    """Return a part of a list or an object as JSON."""
    if type(value) in _ATOMS:
        return value
    try:
        return _as_json(value, levels - 1)
    except _NotJson as problem:
        problem.steps.append(step if isinstance(step, int) else str(step))
        raise


_NOT_LISTS = (str, *_BYTES, msgspec.Struct)


def invalid(
    problem: msgspec.ValidationError, wanted: Any = None, name: str = WHOLE
) -> InvalidInput:
    """Return msgspec's error as ours: the field or the whole, the problem, and the allowed values."""
    match = _PLACE.match(str(problem))
    assert match is not None, "the pattern matches any text"
    field, sentence = match["field"] or "", match["problem"]
    named = _NAMED.match(sentence)
    if named:
        field = f"{field}.{named['name']}" if field else named["name"]
    path = _STEP.findall(field)
    if named is None:
        hint = _hint(inspect.type_info(wanted), path)
    else:
        known = _fields(inspect.type_info(wanted), path[:-1]) if "unknown" in named[0] else []
        hint = f"; it may have {', '.join(known)}" if known else ""
    place = f"{name}{field}" if name != WHOLE and field.startswith("[") else field
    return InvalidInput(place or name, told(sentence) + hint)


def told(sentence: str) -> str:
    """Return what msgspec says of a value in the words of a person who gives it."""
    if sentence == "Invalid RFC3339 encoded datetime":
        return "is not a time as RFC 3339 writes it, such as 2026-03-02T09:30:00Z"
    sentence = _FORM.sub("does not have the form that it must have", sentence)
    sentence = sentence.replace("with a timezone component", "with its zone, such as Z or +01:00")
    sentence = _LENGTH.sub(_sized, _EXPECTED.sub(_expected, sentence))
    return sentence[:1].lower() + sentence[1:]


def _expected(match: re.Match[str]) -> str:
    wanted, got = _in_words(match["wanted"]), match["got"]
    return f"expected {wanted}, got {_in_words(got)}" if got else f"expected {wanted}"


def _sized(match: re.Match[str]) -> str:
    least = match["bound"] == ">="
    unit = "character" if match["wanted"] == "a text" else "entry"
    bound = f"at {'least' if least else 'most'} {counted(int(match['number']), unit)}"
    return f"{match['wanted']}{match['more']} of {bound}"


def _in_words(types: str) -> str:
    return " or ".join(WORDS.get(one, one) for one in types.split(" | "))


def _hint(declared: inspect.Type, path: list[str]) -> str:
    """Return the allowed values of a field, if its declaration says more than msgspec's error."""
    if isinstance(declared, inspect.Metadata):
        return _described(declared, path)
    if isinstance(declared, inspect.UnionType):
        hints = (_hint(choice, path) for choice in declared.types)
        return _tags(declared, path) or next(filter(None, hints), "")
    if not path:
        legal = declared.values if isinstance(declared, inspect.LiteralType) else ()
        return f"{_CHOICES}{', '.join(map(str, legal))}" if legal else _range(declared)
    step, *rest = path
    if isinstance(declared, inspect.ListType):
        return _hint(declared.item_type, rest)
    if isinstance(declared, inspect.StructType):
        found = (field.type for field in declared.fields if field.encode_name == step)
        return next((_hint(field, rest) for field in found), "")
    return ""


def _fields(declared: inspect.Type, path: list[str]) -> list[str]:
    """Return the names of the fields of the object at a path; none if several kinds of it are legal."""
    if isinstance(declared, inspect.Metadata):
        return _fields(declared.type, path)
    if isinstance(declared, inspect.UnionType):
        some = list(filter(None, (_fields(choice, path) for choice in declared.types)))
        return some[0] if len(some) == 1 else []
    if isinstance(declared, inspect.ListType) and path:
        return _fields(declared.item_type, path[1:])
    if not isinstance(declared, inspect.StructType):
        return []
    if not path:
        return [field.encode_name for field in declared.fields]
    below = (field.type for field in declared.fields if field.encode_name == path[0])
    return next((_fields(field, path[1:]) for field in below), [])


def _described(declared: inspect.Metadata, path: list[str]) -> str:
    """Return what a described field may be: its range or its choices, and its description."""
    about = (declared.extra_json_schema or {}).get("description", "")
    hint = _hint(declared.type, path)
    if path or not about or hint.startswith(_CHOICES):
        return hint
    return f"; {about}" if hint.removeprefix("; ") in about else f"{hint}; {about}"


def _range(declared: inspect.Type) -> str:
    """Return the least and the most of a number, where it has both."""
    if isinstance(declared, inspect.IntType | inspect.FloatType):
        least, most = declared.ge, declared.le
        if least is not None and most is not None:
            return f"; {least:,g}–{most:,g}" if most < LARGE else ""
    return ""


def _tags(declared: inspect.UnionType, path: list[str]) -> str:
    """Return the allowed values of the tag field of a union of structs, if the path leads to it."""
    structs = [choice for choice in declared.types if isinstance(choice, inspect.StructType)]
    tags = [str(struct.tag) for struct in structs if path == [struct.tag_field]]
    return f"{_CHOICES}{', '.join(tags)}" if tags else ""


def checked_text(text: str, field: str, *, most_bytes: int) -> str:
    """Return the text; raise `InvalidInput` if it is blank or not Unicode, `TooLarge` beyond the limit."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as problem:
        raise InvalidInput(field, _half_a_pair(problem)) from problem
    if size > most_bytes:
        raise TooLarge(field, f"{size:,} bytes of UTF-8; at most {most_bytes:,} are taken")
    if not text.strip():
        raise InvalidInput(field, "is blank; send at least one character")
    return text


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 memory, 2 memories, 1,000 keys."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        noun = f"{noun[:-1]}ie"
    return f"{number:,} {noun}s"
