"""The Markdown for a language model: facts as bullets, then each episode under a heading. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from graphmem.model.times import CLOCK_SKEW
from graphmem.prompts.rendering import one_line
from graphmem.retrieval.fusion import RRF_K
from graphmem.retrieve_memory.types import KEY_MOMENT, Detail, FoundEpisode, FoundFact

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
) -> str:
    """Return facts and episodes as Markdown, '' for none.

    `sources` holds the number of sessions that each fact comes from; `legs` is the number of lists from
    which scores were fused: a score is shown as its share of the greatest possible one.
    """
    sections = []
    if facts:
        bullets = "\n".join(_bullet(fact, sources.get(fact.id, 0)) for fact in facts)
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


def _bullet(fact: FoundFact, sources: int) -> str:
    conversations = "conversation" if sources == 1 else "conversations"
    return (
        f"- [{one_line(fact.category)}] {one_line(fact.fact)} (sources: {sources} {conversations})"
    )


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
