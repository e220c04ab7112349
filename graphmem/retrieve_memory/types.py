"""Questions to the facts and episodes of one conversation, and their answers."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct

from graphmem.model.annotations import WantedTags
from graphmem.model.times import AS_OF, CLOCK_SKEW, INCLUDE_SUPERSEDED, KNOWN_AS_OF, Time
from graphmem.model.vocabulary import QUERY_CHARACTERS, Lacks, Leg, Role
from graphmem.prompts.rendering import from_day, one_line, shown_since
from graphmem.retrieval.fusion import RRF_K

Detail = Literal["auto", "none", "low", "high"]
"""The episodes to return with their messages; with `auto` and `low` only the surprising ones."""

KEY_MOMENT = 0.7
"""The surprise from which on an episode is a key moment."""

Query = Annotated[str, Meta(min_length=1, max_length=QUERY_CHARACTERS)]

UUID_PATTERN = r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$(?!\n)"
ConversationUuid = Annotated[
    str,
    Meta(
        pattern=UUID_PATTERN,
        description="the conversation's id, a UUID",
        examples=["550e8400-e29b-41d4-a716-446655440001"],
    ),
]
EpisodicLimit = Annotated[int, Meta(ge=1, le=100, description="1–100")]
SemanticLimit = Annotated[int, Meta(ge=1, le=1_000, description="1–1,000")]
Category = Annotated[str, Meta(max_length=128, description="one of the client's categories")]


class FactsAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to the facts of one conversation."""

    query: Query
    conversation_id: ConversationUuid
    semantic_limit: SemanticLimit = 20
    category: Category | None = None
    tags: WantedTags | None = None
    as_of: Annotated[Time, Meta(description=AS_OF)] | None = None
    known_as_of: Annotated[Time, Meta(description=KNOWN_AS_OF)] | None = None
    include_superseded: Annotated[bool, Meta(description=INCLUDE_SUPERSEDED)] = False


class MemoryAsked(FactsAsked, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question to the facts and episodes of one conversation."""

    episodic_limit: EpisodicLimit = 5
    detail: Detail = "auto"


class Said(Struct, frozen=True, kw_only=True):
    """One message of an episode."""

    role: Role
    content: str


class FoundFact(Struct, frozen=True, kw_only=True):
    """A fact that was found; `score` is Σ 1 / (60 + rank) over the two legs.

    `ranks` holds its rank in the legs that found it, `scores` its score in them (`vector`, the cosine;
    `bm25`) and the sum above (`fused`). `invalid_at` is the end of its valid time, as known at the time of
    the question.
    """

    id: str
    conversation_id: str
    category: str
    fact: str
    keywords: list[str]
    source_episodic_ids: list[str]
    """The episodes that it is derived from, in the order of their ends; only its links name messages."""
    valid_at: datetime
    """The beginning of its valid time: since when it is true."""
    invalid_at: datetime | None
    score: float
    scores: dict[str, float] = {}
    ranks: dict[Leg, int] = {}
    other_categories: list[str] = []
    """The other categories under which it was repeated."""


class StoredEpisode(Struct, frozen=True, kw_only=True):
    """An episode that was found, as it is stored."""

    id: str
    conversation_id: str
    messages: list[Said]
    title: str
    summary: str
    stability: float
    """The days after a review in which its retrievability falls to .9."""
    difficulty: float
    """1–10, in the terms of FSRS."""
    surprise: float
    """Its distance from the conversation's earlier episodes, 0–1; from .7 on a key moment."""
    start_at: datetime
    end_at: datetime
    created_at: datetime
    """The time when it was stored (recorded time), by the service's clock."""
    last_reviewed_at: datetime
    """The time from which it fades; without a review the time of its end."""
    consolidated_at: datetime | None
    """The time when facts were last derived from it; null if they never were."""


class FoundEpisode(StoredEpisode, frozen=True, kw_only=True):
    """An episode that was found; `score` is Σ 1 / (60 + rank) over the two legs × retrievability.

    `ranks` holds its rank in the legs that found it, `scores` its score in them (`vector`, the cosine;
    `bm25`) and the two factors (`fused`, `retrievability`).
    """

    score: float
    scores: dict[str, float] = {}
    ranks: dict[Leg, int] = {}


class Found(Struct, frozen=True, kw_only=True):
    """The facts and episodes that answer a question, best first."""

    semantic: list[FoundFact]
    episodic: list[FoundEpisode]


class Retrieved(Struct, frozen=True, kw_only=True):
    """An answer as Markdown for a language model and as data.

    `degraded` contains `no_vector` if the embedding model failed and only words were searched.
    """

    markdown: str
    found: Found
    degraded: Lacks = []


_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_SPANS = (
    (730 * _DAY, 365 * _DAY, "year"),
    (60 * _DAY, 30 * _DAY, "month"),
    (14 * _DAY, 7 * _DAY, "week"),
    (2 * _DAY, _DAY, "day"),
    (_HOUR, _HOUR, "hour"),
    (_MINUTE, _MINUTE, "minute"),
)
"""The elapsed time from which on a unit is used, the length of the unit, and its name."""


def tool_result(
    facts: Sequence[FoundFact],
    episodes: Sequence[FoundEpisode],
    *,
    sources: Mapping[str, int],
    detail: Detail,
    legs: int,
    now: datetime,
    with_versions: bool = False,
) -> str:
    """Return facts and episodes as Markdown, '' for none.

    A fact begins with the day from which it holds if that lies ahead, or `with_versions`. `sources` holds
    the number of sessions that each fact comes from; `legs` is the number of lists from which scores were
    fused: a score is shown as its share of the greatest possible one.
    """
    sections = []
    if facts:
        bullets = "\n".join(
            _bullet(
                fact,
                sources.get(fact.id, 0),
                shown_since(fact.valid_at, now, with_versions=with_versions),
            )
            for fact in facts
        )
        sections.append(f"## Semantic Memory\n{bullets}")
    if episodes:
        sections.append("## Episodic Memories")
    sections += [
        "\n".join(_episode(episode, rank, detail, legs, now))
        for rank, episode in enumerate(episodes, start=1)
    ]
    return "\n\n".join(sections)


def detailed_ranks(detail: Detail, found: int) -> int:
    """Return the last rank, from 1, at which an episode may have its messages."""
    return {"auto": min(2, found), "none": 0, "low": min(1, found), "high": found}[detail]


def relative_time(moment: datetime, now: datetime) -> str:
    """Return the elapsed time in words, rounded down."""
    elapsed = now - moment
    if elapsed < -CLOCK_SKEW:
        return "in the future"
    if _DAY <= elapsed < 2 * _DAY:
        return "yesterday"
    for least, length, unit in _SPANS:
        if elapsed >= least:
            number = elapsed // length
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


def _bullet(fact: FoundFact, sources: int, since: date | None) -> str:
    conversations = "conversation" if sources == 1 else "conversations"
    text = f"{from_day(since)}{one_line(fact.fact)}"
    return f"- [{one_line(fact.category)}] {text} (sources: {sources} {conversations})"


def _episode(
    episode: FoundEpisode, rank: int, detail: Detail, legs: int, now: datetime
) -> Iterator[str]:
    score = episode.score * (RRF_K + 1) / legs
    surprising = episode.surprise >= KEY_MOMENT
    key_moment = ", key moment" if surprising else ""
    yield f"### {one_line(episode.title)} [rank: {rank}, score: {score:.2f}{key_moment}]"
    yield f"**When:** {relative_time(episode.end_at, now)}"
    yield f"**Summary:** {one_line(episode.summary)}"
    shown = rank <= detailed_ranks(detail, rank) and (surprising or detail == "high")
    if shown and episode.messages:
        yield "\n**Details:**"
        for message in episode.messages:
            yield f'- {message.role}: "{one_line(message.content)}"'
