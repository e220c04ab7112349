"""Remembering facts: each is new, or says again what is known and reinforces it.

Facts of one conversation, and those of none, have one writer at a time: of two equal facts that come
together one is new and the other reinforces it. How alike two facts are is `duplicates`' to say.
"""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphmem.conversations.remember import LOCK_CONVERSATION
from graphmem.embedding import Embedder
from graphmem.errors import ConversationNotFound, InvalidInput, MemoryNotFound
from graphmem.facts.duplicates import SAME, SIMILAR, no_new_words, same_words
from graphmem.facts.types import FACT_BYTES, KeptFact, NewFact, Similar
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.memories.write import Draft, Prepared, prepare, write
from graphmem.model.text import checked_text
from graphmem.model.times import utc
from graphmem.model.vocabulary import CATEGORIES, Kind
from graphmem.text.extraction import cosine
from graphmem.tokens import TokenCounter

NEAREST = 20
"""How many facts one is compared with: those that lie nearest."""

MOST_SIMILAR = 5
"""To how many facts a new one is linked."""

SOURCE_KINDS: tuple[Kind, ...] = ("episode", "message")


class Incoming(Struct, frozen=True):
    """A fact that has been checked, under the name that an error gives it, and the memory it becomes."""

    field: str
    fact: NewFact
    draft: Draft
    chosen: bool = True
    """Whether its category was sent; one that is taken over stays, whatever the legal ones are now."""


class Source(Struct, frozen=True):
    """A memory that a fact comes from."""

    id: str
    kind: Kind


class Surroundings(Struct, frozen=True):
    """What facts to be written refer to, as far as it is there."""

    categories: list[str]
    conversations: list[str]
    sources: list[Source]
    written: list[str]


class NearFact(Struct, frozen=True):
    """A fact that holds now and lies near."""

    id: str
    text: str
    category: str
    keywords: list[str]
    cosine: float


class Decided(Struct, frozen=True):
    """What becomes of one fact: `twin` is the one that it says again."""

    memory: Prepared
    source_ids: list[str]
    twin: NearFact | None
    similar: list[Similar]


LOCK_CLIENT = Query("facts/lock_client", RowsWritten, writes=True)
FACT_SURROUNDINGS = Query("facts/fact_surroundings", Surroundings)
NEAR_FACTS = Query("facts/near_facts", NearFact)
NEAR_FACTS_EXACTLY = Query("facts/near_facts_exactly", NearFact)
LINK_FACTS = Query("facts/link_facts", RowsWritten, writes=True)
REINFORCE_FACTS = Query("facts/reinforce_facts", RowsWritten, writes=True)


async def remember_facts(
    facts: Sequence[NewFact],
    *,
    client_id: str,
    now: datetime,
    new_id: Callable[[], str],
    graph: Graph,
    embedder: Embedder,
    tokens: TokenCounter,
    listed: bool = True,
) -> list[KeptFact]:
    """Remember facts, all or none; return what became of each, in their order.

    An error names a field with the fact's place in the list, unless it came alone (`listed`). Raises
    `InvalidInput`, `ConversationNotFound`, `MemoryNotFound` for a source that is not there, `Unavailable`.
    """
    incoming = []
    for place, fact in enumerate(facts):
        field = f"[{place}]." if listed else ""
        checked = checked_fact(fact, field, now)
        draft = draft_of(checked, new_id(), client_id=client_id, now=now)
        incoming.append(Incoming(field, checked, draft))
    await check_surroundings(graph, incoming, client_id)
    prepared = await prepare([one.draft for one in incoming], embedder=embedder, tokens=tokens)
    sources = [one.fact.source_episode_ids for one in incoming]

    async def work(transaction: Transaction) -> list[KeptFact]:
        await lock_writers({one.draft.conversation_id for one in incoming}, transaction, client_id)
        written = await check_surroundings(transaction, incoming, client_id)
        return await keep(
            transaction, prepared, sources, written=written, client_id=client_id, now=now
        )

    return await graph.write(work)


async def keep(
    transaction: Transaction,
    memories: Sequence[Prepared],
    sources: Sequence[list[str]],
    *,
    written: Iterable[str],
    client_id: str,
    now: datetime,
    gone: Container[str] = (),
) -> list[KeptFact]:
    """Write the facts that are new and reinforce those that are known, under the lock of their writer.

    `written` are the ids of those that are there already, after a lost answer; `gone` are those that
    this transaction has ended, which the index does not know yet.
    """
    decided: list[Decided] = []
    for memory, source_ids in zip(memories, sources, strict=True):
        near = [one for one in await _nearest(transaction, memory, client_id) if one.id not in gone]
        near += _nearest_of_batch(memory, decided)
        decided.append(decide(memory, source_ids, near))
    there = set(written)
    new = [one for one in decided if one.twin is None]
    unwritten = [one.memory for one in new if one.memory.draft.id not in there]
    await write(transaction, unwritten, client_id=client_id)
    if new:
        await transaction.rows(
            LINK_FACTS, client_id=client_id, now=now, rows=[_links(one) for one in new]
        )
    if said_again := _reinforcements(decided):
        await transaction.rows(REINFORCE_FACTS, client_id=client_id, now=now, rows=said_again)
    return [_kept(one) for one in decided]


def decide(memory: Prepared, source_ids: list[str], near: Sequence[NearFact]) -> Decided:
    """Return what becomes of a fact among those that lie near it."""
    draft = memory.draft
    others = sorted(
        {one.id: one for one in near if one.id != draft.id}.values(),
        key=lambda one: one.cosine,
        reverse=True,
    )
    twin = next((one for one in others if _says_the_same(draft, one)), None)
    similar = [
        Similar(id=one.id, score=round(one.cosine, 4))
        for one in others
        if one.cosine >= SIMILAR and one is not twin
    ]
    return Decided(memory, source_ids, twin, similar[:MOST_SIMILAR])


def draft_of(fact: NewFact, id: str, *, client_id: str, now: datetime) -> Draft:
    """Return a fact as the memory that it becomes."""
    valid_at = fact.valid_at or now
    searched = " ".join([fact.fact, *fact.keywords])
    return Draft(
        id=id,
        client_id=client_id,
        kind="fact",
        text=fact.fact,
        search_text=searched,
        embedded_text=searched,
        source_type="fact",
        conversation_id=fact.conversation_id or "",
        category=fact.category,
        scope=fact.scope,
        importance=fact.importance,
        occurred_at=valid_at,
        valid_at=valid_at,
        created_at=now,
        own={"keywords": fact.keywords, "version": 1, "reinforced": 0},
    )


def check_category(category: str, chosen: Sequence[str], field: str) -> None:
    """Raise `InvalidInput` with the legal ones when a client's facts cannot have this category."""
    legal = chosen or CATEGORIES
    if category not in legal:
        raise InvalidInput(
            field, f"{category!r} is not one of this client's categories: {', '.join(legal)}"
        )


def checked_fact(fact: NewFact, field: str, now: datetime) -> NewFact:
    """Return a fact with its time, each keyword and source once. Raises `InvalidInput`, `TooLarge`."""
    checked_text(fact.fact, f"{field}fact", most_bytes=FACT_BYTES)
    for number, keyword in enumerate(fact.keywords):
        checked_text(keyword, f"{field}keywords[{number}]", most_bytes=1024)
    valid_at = utc(fact.valid_at, f"{field}valid_at") if fact.valid_at else now
    return replace(
        fact,
        valid_at=valid_at,
        keywords=list(dict.fromkeys(fact.keywords)),
        source_episode_ids=list(dict.fromkeys(fact.source_episode_ids)),
    )


async def check_surroundings(
    where: Graph | Transaction, incoming: Sequence[Incoming], client_id: str
) -> list[str]:
    """Check what facts refer to; return the ids of those that are there already.

    Raises `InvalidInput`, `ConversationNotFound`, `MemoryNotFound`.
    """
    facts = [one.fact for one in incoming]
    found = (
        await where.rows(
            FACT_SURROUNDINGS,
            client_id=client_id,
            conversation_ids=sorted(
                {fact.conversation_id for fact in facts if fact.conversation_id}
            ),
            source_ids=sorted({id for fact in facts for id in fact.source_episode_ids}),
            ids=[one.draft.id for one in incoming],
        )
    )[0]
    kinds = {source.id: source.kind for source in found.sources}
    for one in incoming:
        if one.chosen:
            check_category(one.fact.category, found.categories, f"{one.field}category")
        conversation_id = one.fact.conversation_id
        if conversation_id and conversation_id not in found.conversations:
            raise ConversationNotFound(conversation_id)
        _check_sources(one, kinds)
    return found.written


def _check_sources(one: Incoming, kinds: Mapping[str, Kind]) -> None:
    for id in one.fact.source_episode_ids:
        if id not in kinds:
            raise MemoryNotFound(id)
        if kinds[id] not in SOURCE_KINDS:
            raise InvalidInput(
                f"{one.field}source_episode_ids",
                f"{id!r} is a {kinds[id]}; a fact comes from episodes or messages",
            )


async def lock_writers(
    conversation_ids: set[str], transaction: Transaction, client_id: str
) -> None:
    """Lock the one writer of each conversation, always in the same order, and of what has none.

    Raises `ConversationNotFound`.
    """
    for id in sorted(conversation_ids):
        if not id:
            await transaction.rows(LOCK_CLIENT, client_id=client_id)
        elif not await transaction.rows(
            LOCK_CONVERSATION,
            client_id=client_id, id=id, session_names=[], external_ids=[], ids=[],
        ):  # fmt: skip
            raise ConversationNotFound(id)


async def _nearest(transaction: Transaction, memory: Prepared, client_id: str) -> list[NearFact]:
    """Return the facts that lie nearest in what the index holds, which is what has been committed."""
    parameters = {
        "client_id": client_id,
        "conversation_id": memory.draft.conversation_id,
        "scope": memory.draft.scope,
        "embedding": memory.embedding.vector,
        "limit": NEAREST,
    }
    found = await transaction.rows(NEAR_FACTS, **parameters)
    if len(found) < NEAREST:
        found = await transaction.rows(NEAR_FACTS_EXACTLY, **parameters)
    return found


def _nearest_of_batch(memory: Prepared, decided: Sequence[Decided]) -> list[NearFact]:
    """Return the new facts of the same batch that stand where this one stands."""
    draft = memory.draft
    return [
        NearFact(
            other.id,
            other.text,
            other.category,
            other.own["keywords"],
            cosine(memory.embedding.vector, one.memory.embedding.vector),
        )
        for one in decided
        if one.twin is None
        and (other := one.memory.draft).conversation_id == draft.conversation_id
        and other.scope == draft.scope
    ]


def _says_the_same(draft: Draft, other: NearFact) -> bool:
    """Tell whether nothing is lost when a fact only reinforces another."""
    return (
        other.cosine >= SAME
        and other.category == draft.category
        and no_new_words(draft.own["keywords"], other.keywords)
        and same_words(draft.text, other.text)
    )


def _links(one: Decided) -> dict[str, Any]:
    near = [{"id": other.id, "score": other.score} for other in one.similar]
    return {"id": one.memory.draft.id, "source_ids": one.source_ids, "similar": near}


def _reinforcements(decided: Iterable[Decided]) -> list[dict[str, Any]]:
    """Return one row for each fact that is said again, however often it is in this batch."""
    rows: dict[str, dict[str, Any]] = {}
    for one in decided:
        if one.twin is None:
            continue
        row = rows.setdefault(
            one.twin.id, {"id": one.twin.id, "times": 0, "importance": 0.0, "source_ids": []}
        )
        row["times"] += 1
        row["importance"] = max(row["importance"], one.memory.draft.importance)
        row["source_ids"] += one.source_ids
    return list(rows.values())


def _kept(one: Decided) -> KeptFact:
    if one.twin is not None:
        return KeptFact(id=one.twin.id, action="reinforced", similar=one.similar)
    return KeptFact(
        id=one.memory.draft.id,
        action="new",
        similar=one.similar,
        embedding_truncated=one.memory.embedding.truncated,
    )
