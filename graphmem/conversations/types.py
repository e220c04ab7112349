"""Conversations and their messages."""

from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from graphmem.memories.types import ListedMemory
from graphmem.model.annotations import Annotations, Metadata, Tags, WantedTags
from graphmem.model.pages import GivenCursor, PageSize, TextPageSize
from graphmem.model.times import Past, Time, UnixSeconds
from graphmem.model.vocabulary import BATCH_MESSAGES, GivenRole, Id, Importance, Label

Title = Annotated[str, Meta(max_length=1024)]


class NewConversation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A conversation to open; without an id a new one is made. Omitted fields of a known one stay."""

    id: Id | None = None
    title: Title | None = None
    metadata: Metadata | None = None
    tags: Tags = []


class ChangedConversation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes of a conversation: omitted fields stay, null or an empty list removes a value."""

    title: Title | UnsetType | None = UNSET
    metadata: Metadata | UnsetType | None = UNSET
    tags: Tags | UnsetType = UNSET


class Conversation(Struct, frozen=True, kw_only=True):
    """A durable memory space between an agent and a user."""

    id: str
    title: str | None = None
    metadata: dict[str, Any] | None = None
    tags: list[str] = []
    created: bool = False
    """Whether it is new: false if it existed already."""


class MessagePart(Struct, frozen=True, kw_only=True):
    """A part of a message, as model providers write it: of a text the text is remembered, of a call its name
    and input, of a result its content, of reasoning nothing, of all else its type in brackets.
    """

    type: str
    text: str | None = None
    refusal: str | None = None
    name: str | None = None
    input: Any = None
    content: "str | list[str | MessagePart] | None" = None


class CalledFunction(Struct, frozen=True, kw_only=True):
    """The function of a tool call; `arguments` are JSON as text."""

    name: str
    arguments: str = ""


class ToolCall(Struct, frozen=True, kw_only=True):
    """A call of a tool: OpenAI gives the `function`, LangChain `name` and `args`."""

    function: CalledFunction | None = None
    name: str | None = None
    args: dict[str, Any] = {}


class NewMessage(Annotations, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One message to remember; `occurred_at` defaults to the time of its arrival.

    The forms of agent frameworks are taken too: their roles (`human` is stored as user, `ai` as assistant,
    `function` as tool, `developer` as system), a content in parts, a call of tools without content, and Unix
    seconds.
    """

    session_id: (
        Annotated[
            Label,
            Meta(description="the caller's name for the session; without one, the message's day"),
        ]
        | None
    ) = None
    role: GivenRole
    content: (
        Annotated[str, Meta(description="at most 1,000,000 bytes of UTF-8")]
        | Annotated[list[str | MessagePart], Meta(max_length=1000)]
        | None
    ) = None
    tool_calls: (
        Annotated[
            list[ToolCall],
            Meta(max_length=128, description="remembered as text: name(arguments), a line each"),
        ]
        | None
    ) = None
    tool_call_id: Annotated[str, Meta(description="taken, and not stored")] | None = None
    name: Label | None = None
    occurred_at: Past | UnixSeconds | None = None
    external_id: (
        Annotated[Label, Meta(description="the caller's id; a repeated one changes nothing")] | None
    ) = None
    importance: Importance = 0.5


class Batch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages that are remembered together or not at all, in their order."""

    messages: Annotated[list[NewMessage], Meta(min_length=1, max_length=BATCH_MESSAGES)]
    create: Annotated[
        bool, Meta(description="whether to open the conversation if there is none with this id")
    ] = False


class Remembered(Struct, frozen=True, kw_only=True):
    """The ids of a batch's messages, in the batch's order."""

    ids: list[str]
    embedding_truncated: list[str] = []
    """The ids of memories whose text is longer than the model's input; only words find the rest."""


class Deleted(Struct, frozen=True, kw_only=True):
    """The numbers of deleted nodes."""

    conversations: int = 0
    sessions: int = 0
    memories: int = 0


class StoredSession(Struct, frozen=True, kw_only=True):
    """A stored session to which messages are appended."""

    external_id: str
    id: str
    next_idx: int
    last_message_id: str | None = None
    summarized_idx: int = 0
    """The `idx` of the first message since its last summary."""


class ConversationsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filter and the page of a list of conversations."""

    tags: WantedTags | None = None
    limit: PageSize = 50
    cursor: GivenCursor | None = None


class ListedConversation(Struct, frozen=True, kw_only=True):
    """A conversation with the numbers of its sessions and messages."""

    id: str
    title: str | None
    metadata: dict[str, Any] | None = None
    tags: list[str]
    created_at: datetime
    last_active_at: datetime | None
    """The time of the last message that was remembered in it."""
    sessions: int
    messages: int


class Conversations(Struct, frozen=True, kw_only=True):
    """A page of conversations, the latest first, the number of all, and the cursor of the next page."""

    conversations: list[ListedConversation]
    total: int
    cursor: str | None


class SessionsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The page of a list of a conversation's sessions."""

    limit: PageSize = 50
    cursor: GivenCursor | None = None


class ListedSession(Struct, frozen=True, kw_only=True):
    """A session with the number of its messages; `external_id` is the caller's name for it."""

    id: str
    """The id that graphmem gave to it."""
    external_id: str
    started_at: datetime
    """The time when its first message was said."""
    last_active_at: datetime
    """The time when its last message was remembered, by the service's clock."""
    messages: int


class Sessions(Struct, frozen=True, kw_only=True):
    """A page of sessions, the latest first, the number of all, and the cursor of the next page."""

    sessions: list[ListedSession]
    total: int
    cursor: str | None


class MessagesAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filters, the order and the page of a list of a conversation's messages."""

    session_id: (
        Annotated[
            Annotated[str, Meta(min_length=1, max_length=256)],
            Meta(
                description="only messages of this session: the caller's name for it, or its own id"
            ),
        ]
        | None
    ) = None
    since: Annotated[Time, Meta(description="only messages of this time or later")] | None = None
    until: (
        Annotated[Time, Meta(description="only messages before this time, which is after `since`")]
        | None
    ) = None
    tags: WantedTags | None = None
    order: Annotated[
        Literal["newest", "oldest"],
        Meta(description="which comes first, the message added last or the one added first"),
    ] = "oldest"
    limit: TextPageSize = 50
    cursor: GivenCursor | None = None


class Messages(Struct, frozen=True, kw_only=True):
    """A page of messages in the order in which they were added, or in the reverse one.

    `total` is the number of all, `cursor` that of the next page.
    """

    messages: list[ListedMemory]
    total: int
    cursor: str | None
