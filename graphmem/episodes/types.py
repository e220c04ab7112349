"""Episodes: coherent runs of messages; the results of segmenting and consolidating a conversation."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from graphmem.conversations.types import NewMessage
from graphmem.model.annotations import Annotations
from graphmem.model.times import Past
from graphmem.model.vocabulary import Id, Label
from graphmem.reviews.types import ReviewsRun

EPISODE_MESSAGES = 200
"""The maximum number of messages of an episode."""

SUMMARY_BYTES = 20_000
"""The longest summary that a caller may send, in bytes of UTF-8."""


class MessageRange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The messages of one session in a range of `idx`, both ends included."""

    session_id: Annotated[Label, Meta(description="the session's id, or the caller's name for it")]
    from_idx: Annotated[int, Meta(ge=0, le=2**53)]
    to_idx: Annotated[int, Meta(ge=0, le=2**53)]


class NewEpisode(Annotations, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run of messages to remember, given by exactly one of `messages`, `message_ids` and `range`.

    Omitted fields are computed: title and summary from the messages' own sentences, the surprise from the
    distance to the conversation's earlier episodes, the times from those of the messages.
    """

    conversation_id: Id
    messages: (
        Annotated[
            list[NewMessage],
            Meta(
                min_length=1,
                max_length=EPISODE_MESSAGES,
                description="new messages, which are remembered first",
            ),
        ]
        | None
    ) = None
    message_ids: (
        Annotated[
            list[Annotated[str, Meta(min_length=1, max_length=128)]],
            Meta(min_length=1, max_length=EPISODE_MESSAGES, description="ids of stored messages"),
        ]
        | None
    ) = None
    range: MessageRange | None = None
    title: Annotated[str, Meta(min_length=1, max_length=256)] | None = None
    summary: (
        Annotated[str, Meta(min_length=1, description="at most 20,000 bytes of UTF-8")] | None
    ) = None
    surprise: Annotated[float, Meta(ge=0.0, le=1.0)] | None = None
    start_at: Past | None = None
    end_at: Past | None = None


class KeptEpisode(Struct, frozen=True, kw_only=True):
    """An episode as it is stored."""

    id: str
    conversation_id: str
    title: str
    summary: str
    surprise: float
    """Its distance from the conversation's earlier episodes, 0–1; from .7 on a key moment."""
    start_at: datetime
    end_at: datetime
    message_ids: list[str]
    action: Literal["new", "repeated"] = "new"
    """`repeated` if an episode with these messages and all given fields exists."""
    embedding_truncated: bool = False
    """Whether its vector stands for the beginning alone: the text exceeds the embedding model's input."""


class Segmented(Struct, frozen=True, kw_only=True):
    """The result of segmenting a conversation."""

    episodes: list[str]
    """The ids of the new episodes, in the order of their messages."""
    messages: int
    """The number of their messages."""
    left: int
    """The number of messages left for later, because their topic may go on."""
    reviews: ReviewsRun | None = None
    """The result of rating the conversation's pending reviews."""
    by_model: int = 0
    """The number of episodes that the language model described; the others are described by extraction."""


class Consolidated(Struct, frozen=True, kw_only=True):
    """The result of consolidating a conversation's episodes; if nothing was done, `reason` says why."""

    consolidated: bool
    reason: Literal["no_llm", "nothing_new"] | None = None
    episodes: list[str] = []
    """The ids of the episodes that were read; the lists below have ids of facts."""
    new: list[str] = []
    reinforced: list[str] = []
    updated: list[str] = []
    """The new versions."""
    invalidated: list[str] = []
    """Facts that are no longer true, without a newer version."""
    ignored: int = 0
    """The number of actions that would change a fact newer than their episodes, or that stated no fact and
    named one that the model had not received."""
