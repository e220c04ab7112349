"""The outbox: jobs are written with what causes them, claimed for a while, and settled.

A claim is a lease. Whoever claims a job marks it and moves its due time to the lease's end; a worker
that dies leaves the job to come due again. What a job does to the graph is committed together with
its being done, so that it happens once however often it is begun.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query

MOST_ATTEMPTS = 8
FIRST_PAUSE = timedelta(seconds=2)
LONGEST_PAUSE = timedelta(minutes=10)
KEPT = timedelta(days=7)
CLAIM_TRIES = 2
SWEPT_AT_ONCE = 1_000

Effect = Callable[[Transaction], Awaitable[None]]
"""What a job does to the graph, in the transaction that settles it."""


class Claim(Struct, frozen=True, kw_only=True):
    """A job that a worker holds for a while."""

    client_id: str
    id: str
    kind: str
    key: str
    payload: str
    state: str
    attempts: int
    lease: str

    def decoded(self) -> dict[str, Any]:
        """Return what the work needs to know."""
        decoded: dict[str, Any] = msgspec.json.decode(self.payload)
        return decoded


class Due(Struct, frozen=True, kw_only=True):
    """A job that is to be done at a time; with `earliest` one that waits already is never put off by it."""

    id: str
    kind: str
    key: str
    run_at: datetime
    payload: dict[str, Any] = {}
    conversation_id: str | None = None
    earliest: bool = False

    @property
    def row(self) -> dict[str, Any]:
        """What `postpone` takes."""
        payload = msgspec.json.encode(self.payload).decode()
        return msgspec.structs.asdict(self) | {"payload": payload}


class Settled(Struct, frozen=True):
    """What a job is now."""

    id: str
    state: str
    attempts: int


class Swept(Struct, frozen=True):
    """How many jobs were removed."""

    written: int


class ClaimLost(Exception):
    """The lease ended and another worker has the job; this one's work must not be committed."""


ENQUEUE = Query("jobs/enqueue", Settled, writes=True)
POSTPONE = Query("jobs/postpone", Settled, writes=True)
CLAIM = Query("jobs/claim", Claim, writes=True)
RENEW = Query("jobs/renew", Settled, writes=True)
SETTLE = Query("jobs/settle", Settled, writes=True)
SWEEP = Query("jobs/sweep", Swept, writes=True)


async def enqueue(
    transaction: Transaction,
    *,
    client_id: str,
    id: str,
    kind: str,
    key: str,
    payload: dict[str, Any],
    now: datetime,
    run_at: datetime | None = None,
    conversation_id: str | None = None,
) -> str:
    """Queue a job in the transaction that causes it; return its id, an old one's if the key is known.

    One with a conversation is deleted with it.
    """
    rows = await transaction.rows(
        ENQUEUE,
        client_id=client_id,
        id=id,
        kind=kind,
        key=key,
        payload=msgspec.json.encode(payload).decode(),
        conversation_id=conversation_id,
        run_at=run_at or now,
        now=now,
    )
    return rows[0].id


async def postpone(
    transaction: Transaction,
    *,
    client_id: str,
    id: str,
    kind: str,
    key: str,
    payload: dict[str, Any],
    now: datetime,
    run_at: datetime,
    conversation_id: str | None = None,
) -> str:
    """Queue a job, or move it: there is one of its key, due at the time that was asked for last.

    One that has ended is queued anew; one that runs is queued anew when it ends. One with a
    conversation is deleted with it. Returns its id.
    """
    job = Due(
        id=id,
        kind=kind,
        key=key,
        payload=payload,
        run_at=run_at,
        conversation_id=conversation_id,
    )
    return (await postpone_all(transaction, [job], client_id=client_id, now=now))[0]


async def postpone_all(
    transaction: Transaction, jobs: Sequence[Due], *, client_id: str, now: datetime
) -> list[str]:
    """Queue or move several jobs as `postpone` does, in one statement; return their ids, by their kinds."""
    rows: list[Settled] = []
    # One that was swept while this waited for it is gone: then it is new.
    while len(rows) < len(jobs):
        rows = await transaction.rows(
            POSTPONE,
            client_id=client_id,
            # Whoever wants the same jobs takes their locks in the same order.
            jobs=[job.row for job in sorted(jobs, key=lambda job: (job.kind, job.key))],
            now=now,
        )
    return [row.id for row in rows]


async def claim(
    kinds: Sequence[str], *, lease: str, now: datetime, lasting: timedelta, graph: Graph
) -> Claim | None:
    """Claim one of the jobs that are due longest; None when none is due.

    One whose attempts are used up is given up on the way: it comes back as `dead`.
    """
    # Another worker may have been faster at the one that was picked: then another is.
    for _ in range(CLAIM_TRIES):
        rows = await graph.write(
            lambda transaction: transaction.rows(
                CLAIM,
                kinds=list(kinds),
                lease=lease,
                now=now,
                lease_until=now + lasting,
                most_attempts=MOST_ATTEMPTS,
            )
        )
        if rows:
            return rows[0]
    return None


async def renew(held: Claim, *, until: datetime, graph: Graph) -> None:
    """Hold a claim longer. Raises `ClaimLost`."""
    rows = await graph.write(
        lambda transaction: transaction.rows(
            RENEW, client_id=held.client_id, id=held.id, lease=held.lease, lease_until=until
        )
    )
    if not rows:
        raise ClaimLost(held.id)


async def complete(held: Claim, effect: Effect | None, *, now: datetime, graph: Graph) -> None:
    """Commit what the job does together with its being done. Raises `ClaimLost`: nothing is done."""

    async def work(transaction: Transaction) -> None:
        # The job comes first: its lock keeps another worker from settling it meanwhile.
        await _settle(transaction, held, "done", now, now, None, held.attempts)
        if effect is not None:
            await effect(transaction)

    await graph.write(work)


async def give_back(held: Claim, *, now: datetime, graph: Graph) -> None:
    """Queue a job again that was interrupted; the attempt does not count."""
    await graph.write(
        lambda transaction: _settle(transaction, held, "queued", now, now, None, held.attempts - 1)
    )


async def fail(held: Claim, error: str, *, now: datetime, graph: Graph) -> None:
    """Queue a job again after a pause that doubles, or give it up after `MOST_ATTEMPTS`."""
    state = "dead" if held.attempts >= MOST_ATTEMPTS else "queued"
    await graph.write(
        lambda transaction: _settle(
            transaction, held, state, now + pause(held.attempts), now, error, held.attempts
        )
    )


def pause(attempts: int) -> timedelta:
    """Return how long to wait after so many attempts."""
    doubled: timedelta = FIRST_PAUSE * 2 ** (attempts - 1)
    return min(doubled, LONGEST_PAUSE)


async def sweep(*, now: datetime, graph: Graph) -> int:
    """Remove what was done long ago; return how many."""
    rows = await graph.write(
        lambda transaction: transaction.rows(SWEEP, before=now - KEPT, limit=SWEPT_AT_ONCE)
    )
    return rows[0].written


async def _settle(
    transaction: Transaction,
    held: Claim,
    state: str,
    run_at: datetime,
    now: datetime,
    error: str | None,
    attempts: int,
) -> None:
    rows = await transaction.rows(
        SETTLE,
        client_id=held.client_id,
        id=held.id,
        lease=held.lease,
        state=state,
        run_at=run_at,
        error=error,
        attempts=attempts,
        now=now,
    )
    if not rows:
        raise ClaimLost(held.id)
