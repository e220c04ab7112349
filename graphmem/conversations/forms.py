"""The forms in which agent frameworks write a message, and the one in which it is stored."""

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

from msgspec import to_builtins

from graphmem.conversations.types import MessagePart, NewMessage, ToolCall
from graphmem.errors import InvalidInput
from graphmem.model.times import happened, moment
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import MESSAGE_BYTES, ROLE_OF, Role

REASONING = frozenset({"thinking", "redacted_thinking", "reasoning"})
"""Types of parts that a model wrote for itself."""

LABEL_BYTES = 1024

MOST_LEVELS = 50
"""The levels of parts within parts of a content."""


class PlainMessage(NewMessage, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message as it is stored: with a session and a time, our role, and its content as one text."""

    session_id: str
    role: Role
    content: str
    occurred_at: datetime


def plain(message: NewMessage, now: datetime, *, place: str = "") -> PlainMessage:
    """Return a message as it is stored. Raises `InvalidInput` and `TooLarge`, naming the field after `place`.

    Without a session it belongs to that of its day, in UTC: so a repeated or late message gets the same one.
    """
    for name in ("session_id", "name", "external_id"):
        if getattr(message, name) is not None:
            checked_text(getattr(message, name), f"{place}{name}", most_bytes=LABEL_BYTES)
    field = f"{place}occurred_at"
    given = message.occurred_at
    occurred_at = now if given is None else happened(moment(given, field), field, now)
    others = {name: getattr(message, name) for name in NewMessage.__struct_fields__}
    changed: dict[str, Any] = {
        "session_id": message.session_id or occurred_at.date().isoformat(),
        "role": ROLE_OF[message.role],
        "content": _checked_content(message, f"{place}content"),
        "occurred_at": occurred_at,
        "tool_calls": None,
        "tool_call_id": None,
    }
    return PlainMessage(**others | changed)


def _checked_content(message: NewMessage, field: str) -> str:
    if message.content is None and not message.tool_calls:
        raise InvalidInput(field, "is missing: only a message with `tool_calls` needs none")
    if _is_deep(message.content):
        raise InvalidInput(
            field, f"is nested too deeply; send at most {MOST_LEVELS} levels of parts"
        )
    text = text_of(message.content, message.tool_calls or ())
    return checked_text(text, field, most_bytes=MESSAGE_BYTES)


def _is_deep(content: str | Sequence[str | MessagePart] | None) -> bool:
    """Tell whether a content has parts within parts beyond `MOST_LEVELS`."""
    level = [content]
    for _ in range(MOST_LEVELS):
        level = [
            part.content
            for one in level
            if one is not None and not isinstance(one, str)
            for part in one
            if not isinstance(part, str)
        ]
    return any(one is not None and not isinstance(one, str) for one in level)


def text_of(
    content: str | Sequence[str | MessagePart] | None, calls: Iterable[ToolCall] = ()
) -> str:
    """Return a content and the calls of tools as one text."""
    if isinstance(content, str):
        parts = [content] if content else []
    else:
        parts = [text for part in content or () for text in _text_of_part(part)]
    return "\n".join([*parts, *map(_text_of_call, calls)])


def _text_of_part(part: str | MessagePart) -> Iterator[str]:
    """Yield the text of a part, if it has one for a reader."""
    if isinstance(part, str):
        yield part
    elif part.type in REASONING:
        return
    elif part.text is not None or part.refusal is not None:
        yield part.text or part.refusal or ""
    elif part.name is not None:
        yield _call(part.name, part.input)
    elif part.content is not None:
        yield text_of(part.content)
    else:
        yield f"[{part.type}]"


def _text_of_call(call: ToolCall) -> str:
    if call.function is not None:
        return _call(call.function.name, call.function.arguments)
    return _call(call.name or "tool", call.args)


def _call(name: str, given: Any) -> str:
    """Return the call of a tool as a line of code would show it."""
    if isinstance(given, str):
        shown = given.strip()
    else:
        shown = json.dumps(to_builtins(given), ensure_ascii=False) if given else ""
    return f"{name}({shown})"
