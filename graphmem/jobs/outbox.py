"""The outbox: jobs are written together with their cause, claimed for a time, and settled.

A claim is a lease: it marks the job and moves its due time to the end of the lease, so that the job of a
worker that dies comes due again. The effect of a job is committed together with its completion, so that
it happens once, however often the job is started.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from graphmem.graph.driver import Graph, Transaction
from graphmem.graph.query import Query, RowsWritten
from graphmem.model.pages import GivenCursor, PageSize, listing, page

MOST_ATTEMPTS = 8
FIRST_PAUSE = timedelta(seconds=2)
LONGEST_PAUSE = timedelta(minutes=10)
KEPT = timedelta(days=7)
CLAIM_TRIES = 2
SWEPT_AT_ONCE = 1_000

Effect = Callable[[Transaction], Awaitable[None]]
"""The writes of a job, in the transaction that settles it."""


class Claim(Struct, frozen=True, kw_only=True):
    """A job that a worker holds until its lease ends."""

    client_id: str
    id: str
    kind: str
    key: str
    payload: str
    state: str
    attempts: int
    lease: str

    def decoded(self) -> dict[str, Any]:
        """Return the payload."""
        decoded: dict[str, Any] = msgspec.json.decode(self.payload)
        return decoded


class Due(Struct, frozen=True, kw_only=True):
    """A job that is due at a time; with `earliest` it never delays a waiting job with its key."""

    id: str
    kind: str
    key: str
    run_at: datetime
    payload: dict[str, Any] = {}
    conversation_id: str | None = None
    earliest: bool = False

    @property
    def row(self) -> dict[str, Any]:
        """The row of the query `postpone`."""
        payload = msgspec.json.encode(self.payload).decode()
        return msgspec.structs.asdict(self) | {"payload": payload}


class Settled(Struct, frozen=True):
    """A job, in whatever state."""

    id: str


class ClaimLost(Exception):
    """Another worker has the job since its lease ended, or it was deleted: nothing of it may be committed."""


ENQUEUE = Query("jobs/enqueue", Settled, writes=True)
POSTPONE = Query("jobs/postpone", Settled, writes=True)
CLAIM = Query("jobs/claim", Claim, writes=True)
RENEW = Query("jobs/renew", Settled, writes=True)
SETTLE = Query("jobs/settle", Settled, writes=True)
JOB_STATE = Query("jobs/job_state", Settled)
SWEEP = Query("jobs/sweep", RowsWritten, writes=True)


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
    """Queue a job in the transaction that causes it; return its id, or that of the job with the same key.

    A job of a conversation is deleted with it.
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
    """Queue a job, or move the one with its key to the new time; return its id.

    A job that has ended is queued again at once, a running one when it ends. A job of a conversation is
    deleted with it.
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
    # A job that was swept while this waited for its lock is gone; the next try creates it.
    while len(rows) < len(jobs):
        rows = await transaction.rows(
            POSTPONE,
            client_id=client_id,
            # Two callers that want the same jobs lock them in the same order.
            jobs=[job.row for job in sorted(jobs, key=lambda job: (job.kind, job.key))],
            now=now,
        )
    return [row.id for row in rows]


async def queue_alone(job: Due, *, client_id: str, now: datetime, graph: Graph) -> None:
    """Queue or move a job as `postpone` does, in a transaction of its own. Raises `Unavailable`."""
    await graph.write(
        lambda transaction: postpone_all(transaction, [job], client_id=client_id, now=now)
    )


async def queue_for_clients(
    kind: str,
    client_ids: Iterable[str],
    *,
    now: datetime,
    new_id: Callable[[], str],
    graph: Graph,
) -> None:
    """Queue the one job of a kind that each of some clients has, due now. Raises `Unavailable`."""
    for client_id in client_ids:
        due = Due(id=new_id(), kind=kind, key=kind, run_at=now, earliest=True)
        await queue_alone(due, client_id=client_id, now=now, graph=graph)


async def claim(
    kinds: Sequence[str], *, lease: str, now: datetime, lasting: timedelta, graph: Graph
) -> Claim | None:
    """Claim one of the jobs that are due the longest, or return None if none is due.

    A job without attempts left is given up: it is returned with the state `dead`.
    """
    # Another worker may claim the chosen job first: then the next one is chosen.
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
    """Extend the lease of a claim. Raises `ClaimLost`."""
    rows = await graph.write(
        lambda transaction: transaction.rows(
            RENEW, client_id=held.client_id, id=held.id, lease=held.lease, lease_until=until
        )
    )
    if not rows:
        raise ClaimLost(held.id)


async def is_deleted(held: Claim, graph: Graph) -> bool:
    """Tell whether a claimed job was deleted, as with its conversation or its client."""
    return not await graph.rows(JOB_STATE, client_id=held.client_id, id=held.id)


async def complete(held: Claim, effect: Effect | None, *, now: datetime, graph: Graph) -> None:
    """Commit the effect of a job together with its completion. Raises `ClaimLost`: nothing is committed."""

    async def work(transaction: Transaction) -> None:
        # The job comes first: its lock keeps another worker from settling it meanwhile.
        await _settle(transaction, held, "done", now, now, None, held.attempts)
        if effect is not None:
            await effect(transaction)

    await graph.write(work)


async def give_back(held: Claim, *, now: datetime, graph: Graph) -> None:
    """Queue an interrupted job again; the attempt does not count."""
    await graph.write(
        lambda transaction: _settle(transaction, held, "queued", now, now, None, held.attempts - 1)
    )


async def fail(held: Claim, error: str, *, now: datetime, graph: Graph) -> None:
    """Queue a failed job again after a pause that doubles, or give it up after `MOST_ATTEMPTS`."""
    state = "dead" if held.attempts >= MOST_ATTEMPTS else "queued"
    await graph.write(
        lambda transaction: _settle(
            transaction, held, state, now + pause(held.attempts), now, error, held.attempts
        )
    )


def pause(attempts: int) -> timedelta:
    """Return the pause after a number of failed attempts."""
    doubled: timedelta = FIRST_PAUSE * 2 ** (attempts - 1)
    return min(doubled, LONGEST_PAUSE)


async def sweep(*, now: datetime, graph: Graph) -> bool:
    """Delete some finished jobs that are older than a week; return whether others may be left."""
    rows = await graph.write(
        lambda transaction: transaction.rows(SWEEP, before=now - KEPT, limit=SWEPT_AT_ONCE)
    )
    return rows[0].written >= SWEPT_AT_ONCE


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


JobState = Literal["queued", "running", "done", "dead"]
JOB_STATES: tuple[JobState, ...] = ("queued", "running", "done", "dead")

OPEN: tuple[JobState, ...] = ("queued", "running", "dead")
"""The states that an operator watches; finished jobs are no load."""


class Job(Struct, frozen=True, kw_only=True):
    """One piece of background work; `dead` was given up, `error` names the class of the last failure."""

    id: str
    kind: str
    key: str
    """The object of the work: of a kind there is one job for each key."""
    state: JobState
    attempts: int
    """The number of times that it was started."""
    run_at: datetime
    """The earliest time of its next start."""
    created_at: datetime
    finished_at: datetime | None = None
    error: str | None = None


class JobsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filters and the page of a list of jobs."""

    state: Annotated[JobState, Meta(description="only jobs in this state")] | None = None
    kind: (
        Annotated[
            Annotated[str, Meta(min_length=1, max_length=128)],
            Meta(description="only jobs of this kind"),
        ]
        | None
    ) = None
    limit: PageSize = 50
    cursor: GivenCursor | None = None


class Jobs(Struct, frozen=True, kw_only=True):
    """A page of jobs, newest first, and the cursor of the next page."""

    jobs: list[Job]
    cursor: str | None


class JobCount(Struct, frozen=True):
    """The number of jobs in one state."""

    state: JobState
    jobs: int


class LateJobs(Struct, frozen=True):
    """The number of jobs that came due before a time, and when the first did."""

    jobs: int
    first: datetime | None


JOBS = Query("jobs/jobs", Job)
LATE_JOBS = Query("jobs/late_jobs", LateJobs)
JOBS_BY_STATE = Query("jobs/jobs_by_state", JobCount)


async def show_jobs(asked: JobsAsked, *, client_id: str, graph: Graph) -> Jobs:
    """Return a client's jobs, newest first, one page at a time.

    Raises `InvalidInput` for a foreign cursor, `Unavailable`.
    """
    listed = listing(asked)
    before, before_id = listed.position(asked.cursor)
    rows = await graph.rows(
        JOBS,
        client_id=client_id,
        states=[asked.state] if asked.state else list(JOB_STATES),
        kinds=[asked.kind] if asked.kind else [],
        before=before,
        before_id=before_id,
        limit=asked.limit + 1,
    )
    shown, after = page(rows, asked.limit, lambda row: listed.cursor(row.created_at, row.id))
    return Jobs(jobs=shown, cursor=after)


async def count_open_jobs(graph: Graph) -> list[JobCount]:
    """Return the number of jobs, of all clients, in each open state."""
    return await graph.rows(JOBS_BY_STATE, states=list(OPEN))
