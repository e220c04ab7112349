"""The window of a conversation that a question is made from: what was said since the last summary."""

from collections.abc import Mapping, Sequence
from typing import Any

SPEAKERS = ("user", "assistant")


def window(messages: Sequence[Mapping[str, Any]], summarised_until: int = 0) -> list[str]:
    """Return `role: text` for what user and assistant said from an index on; tools are left out.

    The index is that of the first message after the summary; 0 is the whole history. A content may be
    a text or a list of parts, of which the texts count.
    """
    said = (
        (str(message["role"]), _text(message.get("content")))
        for message in messages[max(summarised_until, 0) :]
        if message.get("role") in SPEAKERS
    )
    return [f"{role}: {text}" for role, text in said if text.strip()]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        part["text"]
        for part in content
        if isinstance(part, dict)
        and part.get("type") == "text"
        and isinstance(part.get("text"), str)
    )
