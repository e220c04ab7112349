"""Superseding a fact: what it says from now on is its next version."""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from graphmem.embedding import Embedder
from graphmem.errors import ConversationNotFound, InvalidInput, MemoryNotFound
from graphmem.facts.remember import (
    LINK_FACTS,
    Incoming,
    check_surroundings,
    checked_fact,
    draft_of,
    lock_writers,
)
from graphmem.facts.types import REASON_BYTES, FactVersion, NewFact, NextFact
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query
from graphmem.memories.write import Prepared, prepare
from graphmem.model.text import checked_text
from graphmem.model.vocabulary import Kind
from graphmem.tokens import TokenCounter
from graphmem.versions.supersede import supersede


class StoredFact(Struct, frozen=True):
    """A fact that is to be superseded, as far as its next version takes after it."""

    id: str
    kind: Kind
    conversation_id: str
    category: str
    scope: str
    keywords: list[str]
    importance: float


FACT_STANDING = Query("facts/fact_standing", StoredFact)


async def supersede_fact(
    fact_id: str,
    next_fact: NextFact,
    *,
    client_id: str,
    now: datetime,
    new_id: Callable[[], str],
    graph: Graph,
    embedder: Embedder,
    tokens: TokenCounter,
) -> FactVersion:
    """Write the next version of a fact; what is not said of it stays as it was.

    Raises `InvalidInput`, `TooLarge`, `MemoryNotFound` for the fact or a source that is not there,
    `ConversationNotFound`, `NotHead` when another version has come first, `Unavailable`.
    """
    if next_fact.reason is not None:
        checked_text(next_fact.reason, "reason", most_bytes=REASON_BYTES)
    old = await _old(fact_id, client_id, graph)
    fact = checked_fact(_inherited(next_fact, old), "", now)
    draft = draft_of(fact, new_id(), client_id=client_id, now=now)
    incoming = Incoming("", fact, draft, chosen=next_fact.category is not None)
    await check_surroundings(graph, [incoming], client_id)
    [prepared] = await prepare([draft], embedder=embedder, tokens=tokens)

    async def work(transaction: Transaction) -> int:
        await _lock(old, fact, transaction, client_id)
        await check_surroundings(transaction, [incoming], client_id)
        version = await supersede(
            transaction, old.id, prepared, client_id=client_id, now=now, reason=next_fact.reason
        )
        row = {"id": draft.id, "source_ids": fact.source_episode_ids, "similar": []}
        await transaction.rows(LINK_FACTS, client_id=client_id, now=now, rows=[row])
        return version

    return _shown(prepared, old, next_fact.reason, await graph.write(work))


async def _old(fact_id: str, client_id: str, graph: Graph) -> StoredFact:
    rows = await graph.rows(FACT_STANDING, client_id=client_id, id=fact_id)
    if not rows:
        raise MemoryNotFound(fact_id)
    if rows[0].kind != "fact":
        raise InvalidInput(
            "fact_id",
            f"{fact_id!r} is a {rows[0].kind}; only facts are superseded here: a summary by another of its "
            "target, a reference by other content",
        )
    return rows[0]


def _inherited(next_fact: NextFact, old: StoredFact) -> NewFact:
    """Return the next version as a fact: what is not said of it is the old one's."""
    conversation_id, keywords = next_fact.conversation_id, next_fact.keywords
    importance = next_fact.importance
    return NewFact(
        fact=next_fact.fact,
        category=next_fact.category or old.category,
        conversation_id=conversation_id or old.conversation_id or None,
        scope=next_fact.scope or old.scope,
        keywords=old.keywords if keywords is None else keywords,
        source_episode_ids=next_fact.source_episode_ids,
        valid_at=next_fact.valid_at,
        importance=old.importance if importance is None else importance,
    )


async def _lock(old: StoredFact, fact: NewFact, transaction: Transaction, client_id: str) -> None:
    """Lock the writers of both conversations, as everything that writes facts does."""
    try:
        await lock_writers(
            {old.conversation_id, fact.conversation_id or ""}, transaction, client_id
        )
    except ConversationNotFound as problem:
        if problem.conversation_id != old.conversation_id:
            raise
        raise MemoryNotFound(old.id) from problem  # it was deleted with its conversation


def _shown(prepared: Prepared, old: StoredFact, reason: str | None, version: int) -> FactVersion:
    draft = prepared.draft
    return FactVersion(
        id=draft.id,
        version=version,
        supersedes=old.id,
        reason=reason,
        fact=draft.text,
        category=draft.category,
        conversation_id=draft.conversation_id or None,
        scope=draft.scope,
        keywords=draft.own["keywords"],
        importance=draft.importance,
        valid_at=draft.valid_at,
        created_at=draft.created_at,
        embedding_truncated=prepared.embedding.truncated,
    )
