"""Summaries: versioned digests of threads, plans and sessions."""

from datetime import datetime
from typing import Annotated, ClassVar

from msgspec import Meta, Struct

from graphmem.model.pages import GivenCursor, PageSize
from graphmem.model.times import Time
from graphmem.model.vocabulary import Importance, SourceId, SummaryType

SUMMARY_BYTES = 100_000
"""The maximum length of a session's summary, in bytes of UTF-8."""

POINT_BYTES = 10_000
"""The maximum length of a key point, milestone or topic."""

Short = Annotated[str, Meta(min_length=1, max_length=256)]
Count = Annotated[int, Meta(ge=0, le=2**31)]
Point = Annotated[str, Meta(min_length=1, description="at most 10,000 bytes of UTF-8")]
Points = Annotated[list[Point], Meta(max_length=100)]
SpanIds = Annotated[list[SourceId], Meta(max_length=1_000)]


class NewThreadSummary(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="thread"
):
    """The summary of a thread; a repeated target makes the next version."""

    type: ClassVar[SummaryType] = "thread"

    target_id: SourceId
    platform: Short
    participant_count: Count
    message_count: Count
    key_points: Points
    sentiment: Short
    last_activity_at: Time
    importance: Importance = 0.5
    content_span_ids: SpanIds | None = None


class NewPlanSummary(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="plan"
):
    """The summary of a plan; a repeated target makes the next version."""

    type: ClassVar[SummaryType] = "plan"

    target_id: SourceId
    plan_type: Short
    total_nodes: Count
    completed_nodes: Count
    pending_nodes: Count
    failed_nodes: Count
    key_milestones: Points
    current_phase: Short
    last_activity_at: Time | None = None
    importance: Importance = 0.5
    content_span_ids: SpanIds | None = None


class NewSessionSummary(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="session"
):
    """The summary of a session; a repeated target makes the next version."""

    type: ClassVar[SummaryType] = "session"

    target_id: SourceId
    text: Annotated[str, Meta(min_length=1, description="at most 100,000 bytes of UTF-8")]
    key_points: Points | None = None
    topics: Points | None = None
    last_activity_at: Time | None = None
    importance: Importance = 0.5
    content_span_ids: SpanIds | None = None


NewSummary = NewThreadSummary | NewPlanSummary | NewSessionSummary


class Summary(Struct, frozen=True, kw_only=True):
    """A digest of a thread, a plan or a session; fields that its type does not have are null.

    `text` is its text for a model, and `token_count` its tokens. `active` is false once a newer version has
    superseded it.
    """

    id: str
    type: SummaryType
    target_id: str
    """The caller's name of the thread or plan; of a session its id."""
    text: str
    token_count: int
    version: int
    """Its number in its chain of versions, from 1."""
    active: bool = True
    importance: float
    """0–1, as its writer gave it."""
    platform: str | None = None
    participant_count: int | None = None
    message_count: int | None = None
    sentiment: str | None = None
    plan_type: str | None = None
    current_phase: str | None = None
    total_nodes: int | None = None
    completed_nodes: int | None = None
    pending_nodes: int | None = None
    failed_nodes: int | None = None
    key_milestones: list[str] | None = None
    key_points: list[str] | None = None
    topics: list[str] | None = None
    content_span_ids: list[str] | None = None
    """The spans that it summarizes, as its caller named them."""
    last_activity_at: datetime | None = None
    """The time of the last activity of its target."""
    occurred_at: datetime
    created_at: datetime
    """The time when it was stored (recorded time), by the service's clock."""
    embedding_truncated: bool = False
    """Whether its vector stands for the beginning alone: the text exceeds the embedding model's input."""


class SummariesAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The filters and the page of a list of summaries."""

    type: Annotated[SummaryType, Meta(description="only summaries of this type")] | None = None
    since: (
        Annotated[Time, Meta(description="only summaries of this time or newer; with a zone")]
        | None
    ) = None
    limit: PageSize = 50
    cursor: GivenCursor | None = None


class Summaries(Struct, frozen=True, kw_only=True):
    """A page of summaries, newest first, and the cursor of the next page."""

    summaries: list[Summary]
    cursor: str | None
