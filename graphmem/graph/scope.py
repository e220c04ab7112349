"""Scope words: tokens that restrict a words query to a client, a kind, a conversation ….

Each is a lower-case alphanumeric hash that no analyzer changes, and holds the client's id too, so
that two clients share none. A memory has its tokens in `scope_words`.
"""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Literal

Property = Literal[
    "client",
    "kind",
    "active",
    "conversation_id",
    "session_id",
    "source_type",
    "source_id",
    "category",
    "scope",
    "tag",
]

SCOPED: tuple[Property, ...] = (
    "kind",
    "conversation_id",
    "session_id",
    "source_type",
    "source_id",
    "category",
    "scope",
)
"""The text properties of a memory that have a token each."""

NOTHING = "sn0"
"""A token that no memory has."""

ANY_TAG = "st0"
"""The token of memories of any client whose tags have no tokens of their own: those of an older version."""


def scope_word(client_id: str, name: Property, value: str = "") -> str:
    """Return the token of one property's value for one client."""
    digest = blake2b("\0".join((client_id, name, value)).encode(), digest_size=10).hexdigest()
    # It begins with a letter and ends with a digit: the stemmer of `english` leaves it alone.
    return f"s{digest}0"


def scope_words(client_id: str, properties: Mapping[str, Any]) -> str:
    """Return the tokens of a memory with these properties."""
    words = [scope_word(client_id, "client")]
    if properties["active"]:
        words.append(scope_word(client_id, "active"))
    words += [
        scope_word(client_id, name, str(properties[name])) for name in SCOPED if properties[name]
    ]
    words += category_words(client_id, properties.get("other_categories") or ())
    words += tag_words(client_id, properties.get("tags") or ())
    return " ".join(words)


def category_words(client_id: str, categories: Iterable[str]) -> list[str]:
    """Return the tokens of categories; a fact may have several."""
    return [scope_word(client_id, "category", one) for one in categories]


def tag_words(client_id: str, tags: Iterable[str]) -> list[str]:
    """Return the tokens of tags."""
    return [scope_word(client_id, "tag", one) for one in tags]
