"""LangGraph: a store of items in namespaces, and nodes that recall and remember.

An item is a reference. Its text is found by `recall` like every other memory; its namespace, key and value
are its metadata, and the beginnings of its namespace are its tags.
"""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from graphmem.client import Graphmem
from graphmem.errors import ExtraMissing, InvalidInput, MemoryNotFound, TooLarge
from graphmem.memories.types import ListedMemory
from graphmem.model.annotations import TAG_PATTERN
from graphmem.model.pages import MOST_ENTRIES
from graphmem.model.validation import as_json, validated
from graphmem.model.vocabulary import Kind
from graphmem.references.types import DESCRIPTION_BYTES, METADATA_BYTES

try:
    from langchain_core.messages import AnyMessage, HumanMessage
    from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        tokenize_path,
        validate_op_namespace,
    )
except ImportError as problem:
    raise ExtraMissing("langgraph", "LangGraph") from problem

from graphmem.adapters.langchain import new_messages
from graphmem.adapters.memory import AnyMemory, Count, MemoryAccess, conversation_of, question

Namespace = tuple[str, ...]

MARK = "langgraph"
"""The name of what belongs to a store, in its metadata and its tags."""

KIND: list[Kind] = ["reference"]
MOST_RANKED = 200
DEEPEST = 31
"""The greatest number of labels of a namespace: a memory has at most 32 tags, one for each beginning."""

SHORTEST_TTL = 0.05
"""In minutes: the least time to live. An expiry must be two seconds ahead when it arrives."""

BATCH = 1_000
AT_ONCE = 8


class StoredItem(Struct, frozen=True, kw_only=True):
    """An item as the metadata of its reference has it."""

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime | None = None
    """When it was first put; None if the reference is its first."""
    ttl: float | None = None
    """In minutes."""
    indexed: bool = True


class FoundItem(Struct, frozen=True, kw_only=True):
    """A reference that holds an item."""

    id: str
    item: StoredItem
    updated_at: datetime
    score: float | None = None

    @property
    def place(self) -> tuple[Namespace, str]:
        """The namespace and the key, of which there is one item."""
        return self.item.namespace, self.item.key

    @property
    def created_at(self) -> datetime:
        """When the item was first put."""
        return self.item.created_at or self.updated_at


class GraphmemStore(BaseStore):
    """A LangGraph store in graphmem: `graph.compile(store=GraphmemStore(memory))`.

    A search with a query ranks by meaning and words (`score` is 0–1); without one, the item that was put last
    is the first. Of several writers of a key the last one wins. Items expire after their `ttl`.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: AnyMemory,
        *,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        """Keep the items of a store in a client's memory.

        Args:
            memory: what `graphmem.open` gives, or a client of a service, with or without `await`.
            fields: the paths in a value whose texts are searched, unless `put` says otherwise; None for all.
            ttl: how long items live, in minutes, and whether reading renews that.

        Raises:
            InvalidInput: `memory` is none.
        """
        self._access = MemoryAccess(memory)
        self._fields = None if fields is None else list(fields)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the results of operations; see `abatch`."""
        listed = list(ops)
        return self._access.wait(lambda memory: self._work(listed, memory))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Return the results of operations. The reads see the store before the writes of the batch.

        Raises LangGraph's `InvalidNamespaceError`, `TooLarge` and `InvalidInput` that name the value, the
        namespace, the time to live or a number below 0, `Unavailable`.
        """
        listed = list(ops)
        return await self._access.ask(lambda memory: self._work(listed, memory))

    async def _work(self, ops: Sequence[Op], memory: Graphmem) -> list[Result]:
        for op in ops:
            validate_op_namespace(op)
            for field in ("limit", "offset", "max_depth"):
                if (given := getattr(op, field, None)) is not None:
                    validated(given, Count, field)
        turn = asyncio.Semaphore(AT_ONCE)

        async def read(op: Op) -> Result:
            async with turn:
                return await _read(op, memory)

        results = await asyncio.gather(*map(read, ops))
        # Of several writes of one key the last one counts.
        puts = {(tuple(op.namespace), op.key): op for op in ops if isinstance(op, PutOp)}
        if puts:
            await self._put(list(puts.values()), memory)
        return list(results)

    async def _put(self, puts: Sequence[PutOp], memory: Graphmem) -> None:
        """Write items, each batch all or none, and delete what they replace."""
        found = await _gathered(lambda op: _cards_of(op.namespace, op.key, memory), puts)
        new = [
            self._reference(op, cards[0] if cards else None)
            for op, cards in zip(puts, found, strict=True)
            if op.value is not None
        ]
        for start in range(0, len(new), BATCH):
            await memory.add_references(new[start : start + BATCH])
        changed = [op for op, cards in zip(puts, found, strict=True) if cards]
        await _gathered(lambda op: _delete_old(op, memory), changed)

    def _reference(self, op: PutOp, old: FoundItem | None) -> dict[str, Any]:
        """Return an item as a reference to write. Raises `InvalidInput`, `TooLarge`."""
        namespace, value = tuple(op.namespace), dict(op.value or {})
        if len(namespace) > DEEPEST:
            raise TooLarge("namespace", f"{len(namespace)} labels; at most {DEEPEST} are taken")
        text = "" if op.index is False else _text(value, op.index or self._fields)
        item = StoredItem(
            namespace=namespace,
            key=op.key,
            value=value,
            created_at=old.created_at if old else None,
            ttl=op.ttl,
            indexed=bool(text.strip()),
        )
        # It finds what is no JSON, before the text is cut.
        metadata = {MARK: _encoded(item)}
        return {
            "type": "reference",
            "target_id": _target(namespace, op.key),
            "label": f"{'/'.join(namespace)}: {op.key}"[:1_000],
            "description": text.encode()[:DESCRIPTION_BYTES].decode(errors="ignore") or None,
            "metadata": metadata,
            "tags": [_tag(namespace[:depth]) for depth in range(len(namespace) + 1)],
            "expires_at": _expiry(op.ttl),
        }


async def _read(op: Op, memory: Graphmem) -> Result:
    """Return the result of an operation that only reads; None for the others."""
    if isinstance(op, GetOp):
        return await _get(op, memory)
    if isinstance(op, SearchOp):
        return await _search(op, memory)
    if isinstance(op, ListNamespacesOp):
        return await _list_namespaces(op, memory)
    if isinstance(op, PutOp):
        return None
    raise InvalidInput(
        "ops", f"{type(op).__name__} is none of GetOp, SearchOp, PutOp, ListNamespacesOp"
    )


async def _get(op: GetOp, memory: Graphmem) -> Item | None:
    cards = await _cards_of(op.namespace, op.key, memory)
    if not cards:
        return None
    if op.refresh_ttl:
        await _renew(cards[:1], memory)
    item = cards[0].item
    return Item(
        value=item.value,
        key=item.key,
        namespace=item.namespace,
        created_at=cards[0].created_at,
        updated_at=cards[0].updated_at,
    )


async def _search(op: SearchOp, memory: Graphmem) -> list[SearchItem]:
    end = op.offset + op.limit
    if not op.limit:
        return []
    found: dict[tuple[Namespace, str], FoundItem] = {}
    async for card in _ranked_first(op, end, memory):
        if card.place not in found and passes(card.item.value, op.filter):
            found[card.place] = card
        if len(found) >= end:
            break
    shown = list(found.values())[op.offset : end]
    if op.refresh_ttl:
        await _renew(shown, memory)
    return [
        SearchItem(
            namespace=card.item.namespace,
            key=card.item.key,
            value=card.item.value,
            created_at=card.created_at,
            updated_at=card.updated_at,
            score=card.score,
        )
        for card in shown
    ]


async def _ranked_first(op: SearchOp, end: int, memory: Graphmem) -> AsyncIterator[FoundItem]:
    """Yield the cards under a prefix: those that a query ranks, best first, then all, the newest first."""
    prefix = tuple(op.namespace_prefix)
    if op.query and op.query.strip():
        results = MOST_RANKED if op.filter else min(end, MOST_RANKED)
        answer = await memory.search(
            question(op.query),
            source_types=["reference"],
            tags=[_tag(prefix)],
            max_results=results,
            # A store has the items that it may change.
            reads=[],
        )
        for hit in answer.items:
            item = _decoded(hit.metadata)
            if item is not None and item.indexed:
                yield FoundItem(
                    id=hit.id, item=item, updated_at=hit.occurred_at, score=hit.relevance
                )
    async for card in _cards_under(prefix, memory):
        yield card


async def _list_namespaces(op: ListNamespacesOp, memory: Graphmem) -> list[Namespace]:
    conditions = op.match_conditions or ()
    found: set[Namespace] = set()
    async for card in _cards_under(_common_prefix(conditions), memory):
        namespace = card.item.namespace
        if all(_matches(condition, namespace) for condition in conditions):
            found.add(namespace[: op.max_depth])
    return sorted(found)[op.offset : op.offset + op.limit]


def _common_prefix(conditions: Iterable[MatchCondition]) -> Namespace:
    """Return the longest beginning without a wildcard that all matching namespaces have."""
    prefixes = [one.path for one in conditions if one.match_type == "prefix"]
    literal = [path[: path.index("*")] if "*" in path else path for path in prefixes]
    return max(map(tuple, literal), key=len, default=())


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return not path or all(wanted in {"*", label} for wanted, label in zip(path, part, strict=True))


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, wanted: bool(value == wanted),
    "$ne": lambda value, wanted: bool(value != wanted),
    "$gt": lambda value, wanted: _ordered(value, wanted, 1),
    "$gte": lambda value, wanted: not _ordered(value, wanted, -1) and _comparable(value, wanted),
    "$lt": lambda value, wanted: _ordered(value, wanted, -1),
    "$lte": lambda value, wanted: not _ordered(value, wanted, 1) and _comparable(value, wanted),
}


def passes(value: Mapping[str, Any], filter: Mapping[str, Any] | None) -> bool:
    """Tell whether a value meets all conditions of a filter. Raises `InvalidInput` for an unknown operator.

    Numbers are compared as numbers and texts as texts; a value of another type, or none, is neither greater
    nor less.
    """
    return all(_meets(value.get(name), wanted) for name, wanted in (filter or {}).items())


def _meets(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, Mapping):
        return bool(value == (list(wanted) if isinstance(wanted, tuple) else wanted))
    operators = [name for name in wanted if name.startswith("$")]
    for name in operators:
        if name not in OPERATORS:
            raise InvalidInput(
                "filter", f"{name} is no operator; it is one of {', '.join(OPERATORS)}"
            )
    if operators:
        return all(OPERATORS[name](value, wanted[name]) for name in operators)
    return isinstance(value, Mapping) and passes(value, wanted)


def _comparable(value: Any, wanted: Any) -> bool:
    numbers = isinstance(value, int | float) and isinstance(wanted, int | float)
    return numbers or (isinstance(value, str) and isinstance(wanted, str))


def _ordered(value: Any, wanted: Any, sign: int) -> bool:
    """Tell whether a value is greater (`sign` 1) or less (-1) than the wanted one."""
    return _comparable(value, wanted) and (value > wanted if sign > 0 else value < wanted)


async def _cards_of(namespace: Sequence[str], key: str, memory: Graphmem) -> list[FoundItem]:
    """Return the cards of one item, the newest first: more than one only while it is being put."""
    place = tuple(namespace), key
    page = await memory.memories(kinds=KIND, source_id=_target(*place), limit=MOST_ENTRIES)
    cards = [card for one in page.memories if (card := _card(one)) and card.place == place]
    return sorted(cards, key=lambda card: (card.updated_at, card.id), reverse=True)


async def _cards_under(prefix: Namespace, memory: Graphmem) -> AsyncIterator[FoundItem]:
    """Yield the cards of all items under a prefix, the newest first."""
    asked = memory.pages(memory.memories, kinds=KIND, tags=[_tag(prefix)], limit=MOST_ENTRIES)
    async for page in asked:
        for one in page.memories:
            if card := _card(one):
                yield card


def _card(memory: ListedMemory) -> FoundItem | None:
    item = _decoded(memory.metadata)
    if item is None:
        return None
    return FoundItem(id=memory.id, item=item, updated_at=memory.occurred_at)


async def _delete_old(op: PutOp, memory: Graphmem) -> None:
    """Delete all cards of an item, except the newest if it was put."""
    cards = await _cards_of(op.namespace, op.key, memory)
    for card in cards if op.value is None else cards[1:]:
        await _unless_gone(memory.delete_memory(card.id))


async def _renew(cards: Iterable[FoundItem], memory: Graphmem) -> None:
    """Let the items that have a time to live begin it anew."""
    await _gathered(
        lambda card: _unless_gone(memory.annotate(card.id, expires_at=_expiry(card.item.ttl))),
        [card for card in cards if card.item.ttl is not None],
    )


async def _unless_gone(change: Any) -> None:
    """Wait for a change of a memory that another caller may have deleted."""
    try:
        await change
    except MemoryNotFound:
        return


async def _gathered(call: Callable[[Any], Any], each: Iterable[Any]) -> list[Any]:
    """Return the results of a call for each, a few at once."""
    turn = asyncio.Semaphore(AT_ONCE)

    async def called(one: Any) -> Any:
        async with turn:
            return await call(one)

    return list(await asyncio.gather(*map(called, each)))


def _encoded(item: StoredItem) -> dict[str, Any]:
    """Return an item as metadata. Raises `InvalidInput`, `TooLarge`."""
    try:
        stored: dict[str, Any] = as_json(item)
        size = len(msgspec.json.encode({MARK: stored}))
    except InvalidInput as problem:
        raise InvalidInput("value", f"of {item.key!r} is not JSON: {problem}") from problem
    except UnicodeEncodeError as problem:
        raise InvalidInput(
            "value", f"of {item.key!r} is not JSON ({problem}): put Unicode characters"
        ) from problem
    if size > METADATA_BYTES:
        raise TooLarge(
            "value",
            f"of {item.key!r} is {size:,} bytes of JSON; at most {METADATA_BYTES:,} are taken: put the parts "
            "under keys of their own",
        )
    return stored


def _decoded(metadata: Mapping[str, Any] | None) -> StoredItem | None:
    """Return the item of a reference, None if it holds none."""
    stored = (metadata or {}).get(MARK)
    try:
        return None if stored is None else msgspec.convert(stored, StoredItem)
    except msgspec.ValidationError:
        return None


def _text(value: Mapping[str, Any], paths: Sequence[str] | None) -> str:
    """Return the text of a value that is searched: that at the paths, or without any, all of it."""
    if paths is None or list(paths) == ["$"]:
        return "\n".join(_lines(value))
    found = (text for path in paths for text in get_text_at_path(value, tokenize_path(path)))
    return "\n".join(found)


def _lines(value: Any, name: str = "") -> Iterable[str]:
    """Yield the texts in a value, each after its name."""
    if isinstance(value, Mapping):
        for inner, one in value.items():
            yield from _lines(one, str(inner))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _lines(one, name)
    elif value is not None:
        yield f"{name}: {value}"


def _expiry(ttl: float | None) -> datetime | None:
    """Return when an item expires that lives for so many minutes. Raises `InvalidInput`."""
    if ttl is None:
        return None
    if ttl < SHORTEST_TTL:
        raise InvalidInput(
            "ttl", f"{ttl:g} minutes; at least {SHORTEST_TTL:g} are taken (3 seconds)"
        )
    try:
        return datetime.now(UTC) + timedelta(minutes=ttl)
    except OverflowError as problem:
        raise InvalidInput(
            "ttl", f"{ttl:g} minutes end after the year 9999; leave it out"
        ) from problem


def _target(namespace: Namespace, key: str) -> str:
    """Return the name of an item as a source. No label has a period, so the first two end the namespace."""
    name = f"{MARK}:{'.'.join(namespace)}..{key}"
    if len(name.encode(errors="replace")) <= 256 and name.isprintable() and key:
        return name
    return f"{MARK}:#{_hashed(name)}"


def _tag(prefix: Namespace) -> str:
    """Return the tag of all items under a prefix: its labels with periods, which none of them has."""
    name = f"{MARK}:{'.'.join(prefix)}" if prefix else MARK
    fits = len(name) <= 64 and re.match(TAG_PATTERN, name) and "#" not in name
    return name if fits else f"{MARK}:#{_hashed(name)[:48]}"


def _hashed(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()


# Nodes of a graph


def recall_node(
    memory: AnyMemory,
    *,
    into: str = "recalled",
    max_tokens: int = 1_000,
    limit: int | None = None,
    conversation_id: str | None = None,
    kinds: Sequence[Kind] | None = None,
    tags: Sequence[str] | None = None,
    min_relevance: float | None = None,
) -> Runnable[Any, dict[str, str]]:
    """Return a node that recalls what answers the last message of a human, as a text in the state.

    Args:
        memory: what `graphmem.open` gives, or a client of a service, with or without `await`.
        into: the key of the state that gets the text; it is empty if nothing is recalled.
        max_tokens: the greatest length of the text.
        limit: the greatest number of memories in it.
        conversation_id: only memories of this conversation.
        kinds: only these kinds.
        tags: only memories that have all of these tags.
        min_relevance: only memories at least so relevant, 0–1.

    The node raises `InvalidInput` if an argument is out of range, `Unavailable`.
    """
    access = MemoryAccess(memory)

    async def recall(asked: str, memory: Graphmem) -> dict[str, str]:
        if not asked.strip():
            return {into: ""}
        recalled = await memory.recall(
            question(asked),
            conversation_id=conversation_id,
            kinds=kinds,
            tags=tags,
            limit=limit,
            max_tokens=max_tokens,
            min_relevance=min_relevance,
        )
        return {into: recalled.context}

    def wait(state: Any) -> dict[str, str]:
        return access.wait(lambda memory: recall(_question(state), memory))

    async def ask(state: Any) -> dict[str, str]:
        return await access.ask(lambda memory: recall(_question(state), memory))

    return RunnableLambda(wait, ask, name="recall")


def remember_node(
    memory: AnyMemory, *, conversation_id: str | None = None, session_id: str | None = None
) -> Runnable[Any, dict[str, Any]]:
    """Return a node that remembers the messages of the state; those that are remembered already stay.

    Args:
        memory: what `graphmem.open` gives, or a client of a service, with or without `await`.
        conversation_id: the conversation; None for the thread of the run (`thread_id`): where an id may not
            have its characters, they are replaced by `-`, and a digest follows.
        session_id: the session; None for that of the day.

    The node raises `InvalidInput` if there is neither a conversation nor a thread, `TooLarge`, `Unavailable`.
    """
    access = MemoryAccess(memory)

    async def remember(
        messages: Sequence[AnyMessage], config: RunnableConfig, memory: Graphmem
    ) -> dict[str, Any]:
        thread = config.get("configurable", {}).get("thread_id")
        given = "" if thread is None else conversation_of(str(thread))
        conversation = conversation_id or given
        if not conversation:
            raise InvalidInput(
                "conversation_id",
                "is missing: give it to remember_node, or run the graph with "
                "config={'configurable': {'thread_id': …}}",
            )
        new = new_messages(messages, session_id=session_id)
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            await memory.remember(conversation, batch, create=True)
        return {}

    def wait(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return access.wait(lambda memory: remember(_messages(state), config, memory))

    async def ask(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return await access.ask(lambda memory: remember(_messages(state), config, memory))

    return RunnableLambda(wait, ask, name="remember")


def _messages(state: Any) -> Sequence[AnyMessage]:
    """Return the messages of a state. Raises `InvalidInput` if it has none."""
    found = (
        state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    )
    if found is None:
        raise InvalidInput("state", "has no `messages`: use a MessagesState, or one with that key")
    return list(found)


def _question(state: Any) -> str:
    """Return the last message of a human in a state, empty if there is none."""
    humans = (one for one in reversed(_messages(state)) if isinstance(one, HumanMessage))
    return next((str(one.text) for one in humans), "")
