"""Background work as it is shown."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

JobState = Literal["queued", "running", "done", "dead"]
JOB_STATES: tuple[JobState, ...] = ("queued", "running", "done", "dead")


class Job(Struct, frozen=True, kw_only=True):
    """One piece of background work; `dead` was given up, `error` names the class of the last failure."""

    id: str
    kind: str
    key: str
    state: JobState
    attempts: int
    run_at: datetime
    created_at: datetime
    finished_at: datetime | None = None
    error: str | None = None


class JobsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which jobs are to be shown."""

    state: JobState | None = None
    kind: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: str | None = None


class Jobs(Struct, frozen=True, kw_only=True):
    """Some jobs, newest first, and where the list goes on."""

    jobs: list[Job]
    cursor: str | None
