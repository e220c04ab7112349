"""OpenAI Agents SDK: a session, the history that an agent's runs share."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from graphmem.adapters.memory import AnyMemory, History, Spoken
from graphmem.errors import ExtraMissing
from graphmem.model.vocabulary import GivenRole

try:
    from agents import SessionSettings, TResponseInputItem
except ImportError as problem:
    raise ExtraMissing("openai-agents", "the OpenAI Agents SDK") from problem

FRAMEWORK = "openai_agents"


class GraphmemSession:
    """A session as a conversation: `Runner.run(agent, text, session=GraphmemSession(memory, "chat"))`.

    Its items come back word for word; what was said in it is also found by `recall`.
    """

    def __init__(
        self,
        memory: AnyMemory,
        session_id: str,
        *,
        session_settings: SessionSettings | None = None,
    ) -> None:
        """Keep a session in a conversation, which opens with its first item.

        Args:
            memory: what `graphmem.open` gives, or a client of a service, with or without `await`.
            session_id: the conversation's id: 1–128 letters, digits and `. _ : -`.
            session_settings: the SDK's settings; `limit` is how many items a run gets, None for all.

        Raises:
            InvalidInput: `memory` is none, or the id is not one.
        """
        self._history = History(memory, session_id, FRAMEWORK)
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the latest `limit` items, or all, in their order.

        Raises `InvalidInput` for a limit below 0, `Unavailable`.
        """
        settings = self.session_settings
        if limit is None and settings is not None:
            limit = settings.limit
        history = self._history
        found = await history.access.ask(lambda memory: history.items(memory, limit=limit))
        return list(map(_item, found))

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items. Raises `InvalidInput`, `TooLarge`, `Unavailable`."""
        new = [_spoken(cast("Mapping[str, Any]", item)) for item in items]
        await self._history.access.ask(lambda memory: self._history.add(new, memory))

    async def pop_item(self) -> TResponseInputItem | None:
        """Delete the latest item, and return it; None if there is none. Raises `LegalHold`, `Unavailable`."""
        popped = await self._history.access.ask(self._history.pop)
        return None if popped is None else _item(popped)

    async def clear_session(self) -> None:
        """Delete the conversation, with all that is in it. Raises `LegalHold`, `Unavailable`."""
        await self._history.access.ask(self._history.clear)


ROLES: Mapping[str, GivenRole] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
}


def _spoken(item: Mapping[str, Any]) -> Spoken:
    kind = str(item.get("type", "message"))
    if "role" in item:
        role, text = ROLES.get(str(item["role"]), "user"), _text(item.get("content"))
    elif kind.endswith("_output"):
        role, text = "tool", _text(item.get("output"))
    elif "arguments" in item:
        role, text = "assistant", f"{item.get('name', kind)}({item['arguments']})"
    else:
        role, text = "assistant", _text(item.get("summary"))
    return Spoken(role=role, text=text, value=dict(item))


def _text(content: Any) -> str:
    """Return the text of a content: a text, or the texts of its parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    parts = (part for part in content if isinstance(part, Mapping))
    texts = (part.get("text") or part.get("refusal") or f"[{part.get('type')}]" for part in parts)
    return "\n".join(map(str, texts))


def _item(spoken: Spoken) -> TResponseInputItem:
    """Return an item as it was added; a message that was not added here as a plain one."""
    role = spoken.role if spoken.role in {"assistant", "system"} else "user"
    value = spoken.value or {"role": role, "content": spoken.text}
    return cast("TResponseInputItem", value)
