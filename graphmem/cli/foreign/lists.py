"""Messages as programs send them to a model: OpenAI's, Anthropic's, LangChain's; LangGraph's checkpoints."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from graphmem.cli.foreign.chats import NO_TEXT, REASONED
from graphmem.cli.foreign.records import (
    Begins,
    Event,
    ForeignMessage,
    NoMessage,
    as_list,
    as_object,
)

TIMES = ("created_at", "timestamp", "createdAt", "create_time", "ts")
IDS = ("thread_id", "conversation_id", "session_id", "id")

LANGCHAIN_ROLES = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}


def is_message(record: Any) -> bool:
    """Return whether a record is one message of OpenAI or Anthropic."""
    if not isinstance(record, dict):
        return False
    has_text = bool({"content", "tool_calls", "function_call", "refusal"} & record.keys())
    return (isinstance(record.get("role"), str) and has_text) or str(record.get("type")) in CALLS


def is_message_list(record: Any) -> bool:
    """Return whether a record holds a list of messages of OpenAI or Anthropic."""
    return _has(_messages_of(record), is_message)


def messages(records: Iterable[Any], name: str) -> Iterator[Event]:
    """Yield messages of OpenAI or Anthropic: each record is one, or a conversation of several."""
    for event, record in _listed(records, name, _message):
        yield event
        if isinstance(event, Begins) and isinstance(record, dict) and record.get("system"):
            yield ForeignMessage(role="system", content=record["system"])


def _listed(
    records: Iterable[Any], name: str, message: Callable[[Any], Event]
) -> Iterator[tuple[Event, Any]]:
    """Yield the messages of records, each a message or a conversation of several, with their record."""
    inside = False
    for number, record in enumerate(records, start=1):
        listed = _messages_of(record)
        if listed is None and not inside:
            yield Begins(name), None
        inside = listed is None
        if listed is None:
            yield message(record), record
            continue
        begins = Begins(_id_of(record) or _numbered(name, number), _title(record), at=_time(record))
        yield begins, record
        for one in listed:
            yield message(one), record


def _message(item: Any) -> Event:
    if not isinstance(item, dict):
        return NoMessage("item that is no message")
    if call := CALLS.get(str(item.get("type"))):
        return call(item)
    if not isinstance(item.get("role"), str):
        return NoMessage(f"item of type {item.get('type', 'unknown')!s:.40}")
    content, calls = _content(item.get("content")), item.get("tool_calls")
    content = content or item.get("refusal") or ""
    if item.get("function_call"):
        calls = [{"function": item["function_call"]}]
    if not content and not calls:
        return NoMessage(NO_TEXT)
    # In Zep, role is the speaker's name.
    kind, name = item.get("role_type"), item.get("name")
    role = kind or ("tool" if _only_results(content) else item["role"])
    return ForeignMessage(
        role=role,
        content=content,
        tool_calls=calls or None,
        name=name or (item["role"] if kind and kind != item["role"] else None),
        id=item.get("id") or item.get("uuid"),
        at=_time(item),
    )


def _called(item: dict[str, Any]) -> Event:
    function = {"name": item.get("name", "tool"), "arguments": item.get("arguments") or ""}
    calls = [{"function": function}]
    return ForeignMessage(role="assistant", content="", tool_calls=calls, id=item.get("id"))


def _answered(item: dict[str, Any]) -> Event:
    output = _content(item.get("output"))
    return (
        ForeignMessage(role="tool", content=output, id=item.get("id"))
        if output
        else NoMessage(NO_TEXT)
    )


CALLS: dict[str, Callable[[dict[str, Any]], Event]] = {
    "function_call": _called,
    "function_call_output": _answered,
    "reasoning": lambda item: NoMessage(REASONED),
}
"""The items of OpenAI's Responses that are no messages."""


def _content(content: Any) -> Any:
    """Return a content as a text or as parts that have their texts where we look for them."""
    if not isinstance(content, list):
        return content
    parts = [_with_text(part) if isinstance(part, dict) else part for part in content]
    return [
        part
        for part in parts
        if part not in ("", None) and not (isinstance(part, dict) and part.get("text") == "")
    ]


def _with_text(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part with its text as a string: in OpenAI's threads it is an object with a `value`."""
    text = part.get("text")
    return part | {"text": text.get("value", "")} if isinstance(text, dict) else part


def _only_results(content: Any) -> bool:
    """Return whether a message of Anthropic's user only brings the results of tools."""
    return isinstance(content, list) and all(
        isinstance(part, dict) and part.get("type") == "tool_result" for part in content
    )


def _messages_of(record: Any) -> list[Any] | None:
    if isinstance(record, dict):
        record = record.get("messages")
    return record if isinstance(record, list) else None


def _has(listed: Any, looks: Any) -> bool:
    return any(map(looks, as_list(listed)[:20]))


def _id_of(record: Any) -> str | None:
    given = (record.get(key) for key in IDS) if isinstance(record, dict) else ()
    return next((str(one) for one in given if one), None)


def _title(record: Any) -> str | None:
    title = record.get("title") if isinstance(record, dict) else None
    return title if isinstance(title, str) else None


def _time(record: Any) -> Any:
    given = (record.get(key) for key in TIMES) if isinstance(record, dict) else ()
    return next((one for one in given if one), None)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


def is_langchain_message(record: Any) -> bool:
    """Return whether a record is one message of LangChain, in any of its three forms."""
    return isinstance(_langchain_message(record), ForeignMessage)


def is_langchain_list(record: Any) -> bool:
    """Return whether a record holds a list of messages of LangChain."""
    return _has(_messages_of(record), is_langchain_message)


def langchain(records: Iterable[Any], name: str) -> Iterator[Event]:
    """Yield messages of LangChain: each record is one, or a conversation of several."""
    for event, _ in _listed(records, name, _langchain_message):
        yield event


def _langchain_message(record: Any) -> Event:
    """Return a message of `messages_to_dict`, of `dumpd`, or of `model_dump`."""
    if not isinstance(record, dict):
        return NoMessage("item that is no message")
    body, kind = record, record.get("type")
    if isinstance(record.get("data"), dict):
        body = record["data"]
    elif "lc" in record and isinstance(record.get("kwargs"), dict):
        # langchain.schema.messages.HumanMessage
        body, kind = record["kwargs"], [None, *as_list(record.get("id"))][-1]
    role = _langchain_role(kind, body)
    if role is None or "content" not in body:
        return NoMessage(f"item of type {kind!s:.40}")
    content = _content(body["content"]) or ""
    calls = body.get("tool_calls") or as_object(body.get("additional_kwargs")).get("tool_calls")
    if not content and not calls:
        return NoMessage(NO_TEXT)
    name, id, at = body.get("name"), body.get("id"), _time(body)
    return ForeignMessage(
        role=role, content=content, tool_calls=calls or None, name=name, id=id, at=at
    )


def _langchain_role(kind: Any, body: dict[str, Any]) -> str | None:
    name = str(kind).removesuffix("Chunk").removesuffix("Message").lower()
    return body.get("role") if name == "chat" else LANGCHAIN_ROLES.get(name)


def is_checkpoint(record: Any) -> bool:
    """Return whether a record is a state or a checkpoint of LangGraph."""
    return _has(
        _state(record).get("messages"), lambda one: is_langchain_message(one) or is_message(one)
    )


def langgraph(records: Iterable[Any], name: str) -> Iterator[Event]:
    """Yield the messages of LangGraph's states, each with the time of the first state that has it.

    A history is read at once, since it begins with the newest state, and each repeats what it had before.
    """
    for record in sorted(records, key=lambda one: str(_checkpoint_time(one) or "")):
        yield Begins(_thread(record) or name, at=_checkpoint_time(record))
        for one in as_list(_state(record).get("messages")):
            yield _langchain_message(one) if is_langchain_message(one) else _message(one)


def _checkpoint(record: Any) -> dict[str, Any]:
    inner = record.get("checkpoint") if isinstance(record, dict) else None
    return inner if isinstance(inner, dict) else {}


def _state(record: Any) -> dict[str, Any]:
    if not isinstance(record, dict):
        return {}
    found = (
        record.get("values")
        or record.get("channel_values")
        or _checkpoint(record).get("channel_values")
    )
    return found if isinstance(found, dict) else {}


def _checkpoint_time(record: Any) -> Any:
    return _time(record) or _time(_checkpoint(record))


def _thread(record: Any) -> str | None:
    if not isinstance(record, dict):
        return None
    configurable = as_object(as_object(record.get("config")).get("configurable"))
    places = (record, configurable, as_object(record.get("metadata")), _checkpoint(record))
    return next((str(one["thread_id"]) for one in places if one.get("thread_id")), None)
