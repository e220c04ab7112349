"""Erasing: memories are deleted with everything that was made of them, and the rest is made anew."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from datetime import datetime

from msgspec import Struct
from msgspec.structs import asdict

from graphmem.conversations.remember import SEGMENT, SUMMARIZE_SESSIONS
from graphmem.errors import LegalHold
from graphmem.graph.driver import Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.jobs.outbox import Due, postpone_all
from graphmem.memories.memory import KEEP_SOURCES, delete_unmentioned
from graphmem.memories.write import WrittenMemory
from graphmem.model.vocabulary import QUERY_CHARACTERS, Kind

ERASED_AT_ONCE = 500
"""The number of memories that one transaction starts from: its memory is limited."""


class ErasedMemory(Struct, frozen=True):
    """A memory that was deleted, and the numbers of what went with it."""

    kind: Kind
    entities: list[str]
    passages: int
    held: int
    """The contexts that held its text."""
    wrote: int
    """The operations of runs that had written it."""


class Locked(Struct, frozen=True):
    """The reason of the legal hold of a client whose memories are locked."""

    legal_hold: str | None


class TakenBack(Struct, frozen=True):
    """A conversation with a session of which parts are made anew."""

    conversation_id: str


class Erased(Struct, frozen=True):
    """The ids of deleted memories, and the numbers of deleted nodes by their kinds."""

    ids: frozenset[str]
    memories: Counter[str]
    others: Counter[str]

    @classmethod
    def nothing(cls) -> "Erased":
        """Return the outcome of a deletion that found nothing."""
        return cls(frozenset(), Counter(), Counter())


class ErasedRecords(Struct, frozen=True):
    """The numbers of deleted records; of statements only the text was deleted."""

    reads: int
    reviews: int
    contexts: int
    statements: int


ERASE_RECORDS = Query("forgetting/erase_records", ErasedRecords, writes=True)
ERASE_IDS_OF_RUNS = Query("forgetting/erase_ids_of_runs", RowsWritten, writes=True)
MADE_OF = Query("forgetting/made_of", WrittenMemory)
LOCK_MEMORIES = Query("forgetting/lock_memories", Locked, writes=True)
TAKE_SESSIONS_BACK = Query("forgetting/take_sessions_back", TakenBack, writes=True)
ERASE_MEMORIES = Query("forgetting/erase_memories", ErasedMemory, writes=True)


async def erase(
    transaction: Transaction,
    ids: Sequence[str],
    *,
    client_id: str,
    derived: bool,
    now: datetime,
    new_id: Callable[[], str],
    but: Set[str] = frozenset(),
    dry_run: bool = False,
    named: str = "",
) -> Erased:
    """Delete memories with all their versions and spans, and the episodes and summaries of messages.

    With `derived` also what was derived from any of these, and their records, with the questions that found
    them. Episodes and summaries are made anew of what is left, by jobs. A repeated call finds nothing to
    delete. `but` are memories to leave out. In a dry run, which the caller rolls back, reads are counted
    and stay, but for those whose question matches `named`, which the caller counts. Raises `LegalHold`.
    """
    found = await lock_all(transaction, ids, client_id=client_id, derived=derived)
    every = [id for id in found if id not in but]
    if not every:
        return Erased.nothing()
    records: Counter[str] = Counter()
    if derived:
        [gone] = await transaction.rows(
            ERASE_RECORDS,
            client_id=client_id,
            ids=every,
            longest=QUERY_CHARACTERS,
            named=named,
            dry_run=dry_run,
        )
        records.update(asdict(gone))
        await transaction.rows(ERASE_IDS_OF_RUNS, client_id=client_id, ids=every)
    await transaction.rows(KEEP_SOURCES, client_id=client_id, ids=every, derived=derived)
    conversations = await transaction.rows(TAKE_SESSIONS_BACK, client_id=client_id, ids=every)
    erased = await transaction.rows(ERASE_MEMORIES, client_id=client_id, ids=every, dry_run=dry_run)
    entities = {name for one in erased for name in one.entities}
    records["entities"] = await delete_unmentioned(transaction, entities, client_id=client_id)
    again = [due for one in conversations for due in _made_anew(one.conversation_id, now, new_id)]
    if again:
        await postpone_all(transaction, again, client_id=client_id, now=now)
    return _counted(every, erased, records)


async def lock_all(
    transaction: Transaction, ids: Iterable[str], *, client_id: str, derived: bool
) -> list[str]:
    """Lock memories and all that goes with them; return their ids, in order."""
    every: set[str] = set()
    new = set(ids)
    while new:
        # Under the locks: from then on no writer adds to what was found.
        [locked] = await transaction.rows(LOCK_MEMORIES, client_id=client_id, ids=sorted(new))
        if locked.legal_hold is not None:
            raise LegalHold(client_id, locked.legal_hold)
        every |= new
        rows = await transaction.rows(
            MADE_OF, client_id=client_id, ids=sorted(new), derived=derived
        )
        new = {row.id for row in rows} - every
    return sorted(every)


def _made_anew(conversation_id: str, now: datetime, new_id: Callable[[], str]) -> list[Due]:
    """Return the jobs that make episodes and summaries of what is left of a conversation."""
    return [
        Due(
            id=new_id(),
            kind=kind,
            key=conversation_id,
            run_at=now,
            conversation_id=conversation_id,
            earliest=True,
        )
        for kind in (SEGMENT, SUMMARIZE_SESSIONS)
    ]


def _counted(ids: Iterable[str], erased: Sequence[ErasedMemory], others: Counter[str]) -> Erased:
    for one in erased:
        others["passages"] += one.passages
        others["embeddings"] += 1 + one.passages
        others["held_texts"] += one.held
        others["run_writes"] += one.wrote
    return Erased(frozenset(ids), Counter(one.kind for one in erased), others)
