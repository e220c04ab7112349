"""A chain of three versions, written in the same way as by the use cases."""

from datetime import UTC, datetime, timedelta

from graphmem.client import Graphmem
from graphmem.graph.driver import Transaction
from graphmem.memories.versions import supersede
from graphmem.memories.write import prepare, write
from tests.planted import draft

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)
STORES = ("It is Postgres.", "It is SQLite.", "It is Postgres again.")


async def chain(memory: Graphmem) -> list[str]:
    """Write three versions of a fact, a month apart, each written a day after it became valid."""
    runtime, client_id = memory.runtime, memory.client_id
    drafts = [
        draft(
            client_id,
            "fact",
            text,
            valid_at=MAY + timedelta(days=30 * place),
            created_at=MAY + timedelta(days=30 * place + 1),
            version=1,
        )
        for place, text in enumerate(STORES)
    ]
    prepared = await prepare(drafts, embedder=runtime.embedder, tokens=runtime.tokens)

    async def work(transaction: Transaction) -> None:
        await write(transaction, prepared[:1], client_id=client_id)
        for old, new in zip(drafts, prepared[1:], strict=False):
            await supersede(
                transaction,
                old.id,
                new,
                client_id=client_id,
                now=new.draft.created_at,
                reason=f"instead of {old.text}",
            )

    await runtime.graph.write(work)
    return [one.id for one in drafts]
