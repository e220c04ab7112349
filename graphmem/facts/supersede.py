"""Superseding a fact: writing its next version."""

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from graphmem.context import Context
from graphmem.errors import ConversationNotFound, InvalidInput, MemoryNotFound
from graphmem.facts.remember import (
    LINK_FACTS,
    CheckedFact,
    check_locked,
    check_surroundings,
    checked_fact,
    draft_of,
    lock_writers,
)
from graphmem.facts.types import REASON_BYTES, FactVersion, NewFact, NextFact
from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query
from graphmem.memories.versions import LOCK_VERSION, supersede
from graphmem.memories.write import Draft, Prepared, prepare
from graphmem.model.times import after
from graphmem.model.validation import checked_text
from graphmem.model.vocabulary import Kind


class PriorFact(Struct, frozen=True):
    """The properties of a fact that its next version inherits."""

    id: str
    kind: Kind
    conversation_id: str
    category: str
    other_categories: list[str]
    scope: str
    keywords: list[str]
    importance: float
    valid_at: datetime
    created_at: datetime
    metadata: str | None = None
    tags: list[str] | None = None
    expires_at: datetime | None = None


PRIOR_FACT = Query("facts/prior_fact", PriorFact)


async def supersede_fact(fact_id: str, new: NextFact, context: Context) -> FactVersion:
    """Write the next version of a fact, with its links; omitted fields keep their value.

    Raises `InvalidInput`, `TooLarge`, `MemoryNotFound` for the fact or a source, `ConversationNotFound`,
    `NotHead` when another version was written first, `Unavailable`.
    """
    if new.reason is not None:
        checked_text(new.reason, "reason", most_bytes=REASON_BYTES)
    while True:
        version = await _supersede_as_read(fact_id, new, context)
        if version is not None:
            return version


async def _supersede_as_read(fact_id: str, new: NextFact, context: Context) -> FactVersion | None:
    """Write the next version of a fact; None if what it inherits was changed meanwhile."""
    client_id = context.client_id
    prior = await _find_prior(fact_id, client_id, context.graph)
    now = after(prior.created_at, context.now())
    fact = checked_fact(_inherited(new, prior, now), "", now)
    draft = draft_of(fact, context.new_id(), client_id=client_id, now=now)
    draft = with_annotations(draft, prior, category_given=new.category is not None)
    checked = CheckedFact("", fact, draft, category_given=new.category is not None)
    await check_surroundings(context.graph, [checked], client_id)
    [prepared] = await prepare([draft], embedder=context.embedder, tokens=context.tokens)

    async def write_version(transaction: Transaction) -> int | None:
        await _lock(prior, fact, transaction, client_id)
        if not await _stands(prior, draft.id, transaction, client_id):
            return None
        await check_locked(transaction, [checked], client_id)
        version = await supersede(
            transaction, prior.id, prepared, client_id=client_id, now=now, reason=new.reason
        )
        row = {"id": draft.id, "source_ids": fact.source_episode_ids, "similar": []}
        await transaction.rows(LINK_FACTS, client_id=client_id, now=now, rows=[row])
        return version

    version = await context.graph.write(write_version)
    return None if version is None else _shown(prepared, prior, new.reason, version)


def with_annotations(draft: Draft, prior: PriorFact, *, category_given: bool) -> Draft:
    """Return the next version of a fact with what all versions share, and its other categories.

    A category that is given stands alone.
    """
    inherited = {name: getattr(prior, name) for name in ("metadata", "tags", "expires_at")}
    if not category_given and prior.other_categories:
        inherited["other_categories"] = prior.other_categories
    return replace(draft, own=draft.own | inherited)


async def _find_prior(fact_id: str, client_id: str, graph: Graph) -> PriorFact:
    rows = await graph.rows(PRIOR_FACT, client_id=client_id, id=fact_id)
    if not rows:
        raise MemoryNotFound(fact_id)
    if rows[0].kind != "fact":
        raise InvalidInput(
            "fact_id",
            f"{fact_id!r} is a {rows[0].kind}; only facts are superseded here. A new summary of the same "
            "target supersedes a summary, new content supersedes a reference",
        )
    return rows[0]


async def _stands(prior: PriorFact, next_id: str, transaction: Transaction, client_id: str) -> bool:
    """Lock a fact, and tell whether it is as it was read, or an earlier try has written its next version.

    Raises `MemoryNotFound`.
    """
    heads = await transaction.rows(LOCK_VERSION, client_id=client_id, id=prior.id)
    now = await transaction.rows(PRIOR_FACT, client_id=client_id, id=prior.id)
    if not heads or not now:
        raise MemoryNotFound(prior.id)
    return now[0] == prior or heads[0].superseded_by == [next_id]


def _inherited(new: NextFact, prior: PriorFact, now: datetime) -> NewFact:
    """Return the next version as a fact, with the prior one's values for omitted fields."""
    keywords, importance = new.keywords, new.importance
    return NewFact(
        fact=new.fact,
        category=new.category or prior.category,
        conversation_id=new.conversation_id or prior.conversation_id or None,
        scope=new.scope or prior.scope,
        keywords=prior.keywords if keywords is None else keywords,
        source_episode_ids=new.source_episode_ids,
        # The next version of a fact with a future valid time keeps that time.
        valid_at=new.valid_at or max(now, prior.valid_at),
        importance=prior.importance if importance is None else importance,
    )


async def _lock(prior: PriorFact, fact: NewFact, transaction: Transaction, client_id: str) -> None:
    """Lock the writers of both conversations."""
    try:
        await lock_writers(
            {prior.conversation_id, fact.conversation_id or ""}, transaction, client_id
        )
    except ConversationNotFound as problem:
        if problem.conversation_id != prior.conversation_id:
            raise
        raise MemoryNotFound(prior.id) from problem  # It was deleted with its conversation.


def _shown(prepared: Prepared, prior: PriorFact, reason: str | None, version: int) -> FactVersion:
    draft = prepared.draft
    return FactVersion(
        id=draft.id,
        version=version,
        supersedes=prior.id,
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
