"""Reading the messages of a file of another program, in the form of an import."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import is_zipfile

import msgspec
from msgspec import Struct, field

from graphmem.cli.foreign import agents, chats, lists
from graphmem.cli.foreign.records import (
    MAGIC,
    Begins,
    Event,
    ForeignMessage,
    NoMessage,
    opened,
    records,
)
from graphmem.cli.lines import BEGINNING, DIGITS, FileChanged, FilePosition, Line, Message, grouped
from graphmem.conversations.forms import plain
from graphmem.conversations.types import NewMessage
from graphmem.errors import InvalidInput
from graphmem.model.times import MILLISECONDS, present
from graphmem.model.validation import invalid
from graphmem.model.vocabulary import ROLE_OF

LOOKED_AT = 50
"""Records that are looked at to recognise a form: a transcript may begin with other lines."""

MOST_ID, MOST_LABEL, MOST_TITLE = 128, 256, 1024

UNKNOWN_TIME = "time in an unknown form: its message has the time before it, or that of the import"


class Form(Struct, frozen=True):
    """A form of file: how to know it, the keys that are typical of it, and its reader."""

    name: str
    looks: Callable[[Any], bool]
    keys: tuple[str, ...]
    read: Callable[[Iterable[Any], str], Iterator[Event]]


def _has(*keys: str) -> Callable[[Any], bool]:
    return lambda record: isinstance(record, dict) and set(keys) <= record.keys()


def _holds(key: str, looks: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def holds(record: Any) -> bool:
        listed = record.get(key) if isinstance(record, dict) else None
        return (isinstance(listed, list) and any(map(looks, listed[:LOOKED_AT]))) or looks(record)

    return holds


FORMS = (
    Form(
        "an export of ChatGPT",
        _has("mapping"),
        ("mapping", "current_node", "title", "create_time", "update_time"),
        chats.chatgpt,
    ),
    Form(
        "an export of Claude",
        _has("chat_messages"),
        ("chat_messages", "uuid", "name", "account", "created_at", "updated_at"),
        chats.claude,
    ),
    Form(
        "a transcript of Claude Code",
        agents.is_claude_code,
        ("sessionId", "uuid", "parentUuid", "isSidechain", "message"),
        agents.claude_code,
    ),
    Form("a transcript of Codex", agents.is_codex, ("payload", "type", "timestamp"), agents.codex),
    Form(
        "an agent file of Letta",
        agents.is_letta,
        ("agent_type", "core_memory", "agents", "blocks", "in_context_message_indices"),
        agents.letta,
    ),
    Form(
        "checkpoints of LangGraph",
        lists.is_checkpoint,
        ("values", "channel_values", "checkpoint", "config", "metadata", "next"),
        lists.langgraph,
    ),
    Form(
        "memories of mem0",
        _holds("results", agents.is_mem0),
        ("results", "memory", "user_id", "hash"),
        agents.mem0,
    ),
    Form(
        "episodes of Graphiti or Zep",
        _holds("episodes", agents.is_episode),
        ("episodes", "source_description", "valid_at", "group_id", "content"),
        agents.graphiti,
    ),
    Form(
        "messages of LangChain",
        lambda one: lists.is_langchain_message(one) or lists.is_langchain_list(one),
        ("lc", "kwargs", "data", "additional_kwargs", "type"),
        lists.langchain,
    ),
    Form(
        "messages of OpenAI or Anthropic",
        lambda one: lists.is_message(one) or lists.is_message_list(one),
        ("messages", "role", "content", "tool_calls"),
        lists.messages,
    ),
)


class ForeignContents(Struct, kw_only=True):
    """What was read of a file so far."""

    form: str
    conversations: set[str] = field(default_factory=set)
    messages: int = 0
    roles: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None

    def take(self, conversation_id: str, message: NewMessage, at: datetime | None) -> None:
        """Count a message."""
        self.conversations.add(conversation_id)
        self.messages += 1
        self.roles[ROLE_OF[message.role]] += 1
        if at:
            self.first = min(self.first or at, at)
            self.last = max(self.last or at, at)


class ForeignFile:
    """A file of another program, and what was read of it; `recognised` finds its form."""

    def __init__(self, path: Path, form: Form, conversation_id: str | None) -> None:
        """Begin with nothing read; with a conversation its own ones become sessions of that."""
        self.name, self.seen = path.name, ForeignContents(form=form.name)
        self._path, self._form, self._conversation_id = path, form, conversation_id

    def opened(self) -> AbstractContextManager[list[BinaryIO]]:
        """Open the file, or those in an archive."""
        return opened(self._path)

    def windows(
        self, files: list[BinaryIO], after: FilePosition = BEGINNING
    ) -> Iterator[list[Line]]:
        """Yield the messages after a position, one window at a time. Raises `InvalidInput`."""
        return grouped(self._lines(files, after), after)

    def _lines(self, files: list[BinaryIO], after: FilePosition) -> Iterator[Line]:
        events = self._form.read(records(files), self._path.stem)
        number, sha256 = 0, ""
        for place, message in self._messages(events):
            number += 1
            sha256 = _digest(sha256, place.conversation_id, message.external_id)
            if number == after.lines and sha256 != after.sha256:
                break
            if number > after.lines:
                # A reader of JSON reads ahead: the progress is that of the file.
                end = sum(file.tell() for file in files if not file.closed)
                yield Line(number, end, sha256, place.conversation_id, message, place.title)
        if number <= after.lines and sha256 != after.sha256:
            raise FileChanged(self._path.name, after.lines, "message")
        self._raise_if_unread()

    def _messages(
        self, events: Iterable[Event]
    ) -> Iterator[tuple["ForeignConversation", NewMessage]]:
        place = ForeignConversation(self._conversation_id, Begins(self._path.stem))
        for event in events:
            if isinstance(event, Begins):
                place = ForeignConversation(self._conversation_id, event, place)
                continue
            found = place.message(event) if isinstance(event, ForeignMessage) else event
            if isinstance(found, NoMessage):
                self.seen.left_out[found.reason] += 1
            elif found is not None:
                assert isinstance(event, ForeignMessage)
                if event.at not in (None, "") and _moment(event.at) is None:
                    self.seen.left_out[UNKNOWN_TIME] += 1
                self.seen.take(place.conversation_id, found, place.at)
                yield place, found

    def _raise_if_unread(self) -> None:
        unread = [one for one in self.seen.left_out if "cannot be read" in one]
        if unread and not self.seen.messages:
            raise InvalidInput(self._path.name, f"resembles {self._form.name}, but {unread[0]}")


class ForeignConversation:
    """A conversation of a file, as its messages are read."""

    def __init__(
        self,
        conversation_id: str | None,
        begins: Begins,
        before: "ForeignConversation | None" = None,
    ) -> None:
        """Begin a conversation; one that goes on knows the messages that it had."""
        own = _plain_id(begins.conversation, MOST_ID)
        self.conversation_id = conversation_id or own
        self.title = begins.title[:MOST_TITLE] if begins.title and not conversation_id else None
        session = begins.session or (begins.conversation if conversation_id else None)
        self._session = session and session[:MOST_LABEL]
        self._own, self._chain = own, _digest(own, begins.session)
        self._known: set[str] = before._known if before and before._own == own else set()
        self.at = _moment(begins.at)

    def message(self, said: ForeignMessage) -> NewMessage | NoMessage | None:
        """Return a message to remember, the reason why it is none, or None if it was read before."""
        try:
            self._chain = _digest(self._chain, said.role, said.content, said.tool_calls)
        except RecursionError:
            return NoMessage("message that is nested too deeply to be read")
        id = (said.id and _plain_label(str(said.id))) or f"import:{self._chain[:DIGITS]}"
        if id in self._known:
            return None
        self.at = _moment(said.at) or self.at
        try:
            message = msgspec.convert(self._fields(said, id), NewMessage)
            plain(message, present())
        except msgspec.ValidationError as problem:
            return NoMessage(f"message that cannot be remembered: {invalid(problem, NewMessage)}")
        except InvalidInput as problem:
            return NoMessage(f"message that cannot be remembered: {problem}")
        self._known.add(id)
        return message

    def _fields(self, said: ForeignMessage, id: str) -> dict[str, Any]:
        name = said.name and str(said.name)[:MOST_LABEL]
        given = {
            "role": said.role,
            "content": said.content,
            "tool_calls": said.tool_calls,
            "name": name or None,
            "session_id": self._session,
            "occurred_at": self.at,
            "external_id": id,
        }
        return {key: value for key, value in given.items() if value is not None}


def recognised(path: Path, conversation_id: str | None = None) -> ForeignFile | None:
    """Return a file of another program, None if it holds messages in graphmem's own form.

    Raises `InvalidInput`, naming the form that a file resembles.
    """
    looked: list[Any] = []
    never_ours = _is_never_ours(path)
    with opened(path) as files:
        try:
            for record in islice(records(files), LOOKED_AT):
                looked.append(record)  # noqa: PERF402, those before an error are kept
        except InvalidInput:
            # Our own reader tells a mistake with its line; what stands before one may be recognised.
            if not looked and never_ours:
                raise
    if not looked and never_ours:
        raise InvalidInput(path.name, "holds nothing that could be imported")
    if not looked:
        return None
    form = next((one for one in FORMS if any(map(one.looks, looked))), None)
    # A key too many in one line does not make all lines those of another program.
    misspelt = form is not None and form.read is lists.messages and any(map(_names_place, looked))
    if misspelt or all(map(_is_own, looked)):
        if not never_ours:
            return None
        with opened(path) as files:
            _require_chat(records(files), path)
    if form:
        return ForeignFile(path, form, conversation_id)
    raise InvalidInput(path.name, _resemblance(looked[0]))


def _is_never_ours(path: Path) -> bool:
    """Return whether a file is an archive, an array or a file of SQLite, which our own form never is."""
    with path.open("rb") as file:
        head = file.read(64)
    begins_array = head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    return begins_array or head.startswith(MAGIC) or is_zipfile(path)


OWN = frozenset(Message.__struct_fields__)

CHAT = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
"""The keys of our own form that OpenAI's messages have too."""

PLACE = frozenset({"conversation_id", "session_id", "occurred_at", "external_id"})
"""The keys of our own form that say where a message belongs, which no reader of OpenAI's messages keeps."""


def _is_own(record: Any) -> bool:
    return isinstance(record, dict) and "role" in record and record.keys() <= OWN


def _names_place(record: Any) -> bool:
    return isinstance(record, dict) and "role" in record and bool(record.keys() & PLACE)


def _require_chat(read: Iterable[Any], path: Path) -> None:
    """Raise `InvalidInput` for an array of messages with keys of our own, which would get lost."""
    found = {key for record in read if isinstance(record, dict) for key in record}
    lost = sorted(found & (OWN - CHAT))
    if lost:
        raise InvalidInput(
            path.name,
            f"is one array of messages in graphmem's own form ({', '.join(lost)}): write one message on a "
            "line, without the brackets and commas around them",
        )


def _resemblance(record: Any) -> str:
    """Return what an unknown record resembles, and what it lacks."""
    keys = set(record) if isinstance(record, dict) else set()
    nearest = max(FORMS, key=lambda form: len(keys & set(form.keys)))
    shared = sorted(keys & set(nearest.keys))
    known = "; ".join(form.name for form in FORMS)
    if not shared:
        return f"is in no form that can be imported: graphmem's JSON Lines or export; {known}"
    lacking = ", ".join(sorted(set(nearest.keys) - keys))
    return f"cannot be read: it resembles {nearest.name} ({', '.join(shared)}), but lacks {lacking}"


def _digest(*parts: Any) -> str:
    text = msgspec.json.encode([str(part) for part in parts])
    return hashlib.sha256(text).hexdigest()


def _plain_id(given: str, most: int) -> str:
    """Return an id that is allowed; one that had to be changed has a digest, so that it stays unique."""
    plain = re.sub(r"[^A-Za-z0-9._:-]+", "-", given)
    if plain == given and 0 < len(given) <= most:
        return given
    return f"{plain[: most - 9]}-{hashlib.sha256(given.encode()).hexdigest()[:8]}"


def _plain_label(given: str) -> str:
    return given if len(given) <= MOST_LABEL else _digest(given)


def _moment(given: Any) -> datetime | None:
    """Return a time of another program: Unix, down to nanoseconds, or ISO 8601, without a zone in UTC."""
    try:
        if isinstance(given, str) and not re.fullmatch(r"-?\d+(\.\d+)?", given):
            read = datetime.fromisoformat(given)
            return read if read.tzinfo else read.replace(tzinfo=UTC)
        seconds = float(given)
        for _ in range(3):
            seconds = seconds / 1000 if seconds >= MILLISECONDS else seconds
        return datetime.fromtimestamp(seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
