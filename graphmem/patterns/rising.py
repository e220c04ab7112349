"""Themes that became more frequent, and those that became less frequent."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from graphmem.patterns.themes import (
    ThemeSession,
    called,
    centred,
    clustered,
    theme,
    words_by_session,
)

ORDER = ("rising", "fading", "steady")


def rising(shown: list[ThemeSession], chosen: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each theme of the last two windows with its counts, the greatest changes first."""
    found, words = centred(shown), words_by_session(shown)
    window = timedelta(days=chosen["days"])
    rows = []
    for group in clustered(found):
        if len(group) < chosen["least"]:
            continue
        some = theme(group, shown, found)
        recent, before = _counts([one.at for one in some.sessions], chosen["until"], window)
        if recent + before == 0:
            continue
        rows.append(
            {
                "theme": called(some, words),
                "direction": direction(recent, before),
                "recent": recent,
                "before": before,
                "sessions": len(some.sessions),
                "first_at": some.sessions[0].at,
                "last_at": some.sessions[-1].at,
                "session_ids": [one.id for one in some.sessions],
                "central": some.central.opening,
                "memory_ids": [id for one in some.sessions for id in one.memory_ids],
            }
        )
    return sorted(
        rows,
        key=lambda row: (
            ORDER.index(row["direction"]),
            -abs(row["recent"] - row["before"]),
            row["theme"],
        ),
    )


def direction(recent: int, before: int) -> str:
    """Return the direction of the change between two counts."""
    return "steady" if recent == before else "rising" if recent > before else "fading"


def _counts(times: list[datetime], until: datetime, window: timedelta) -> tuple[int, int]:
    """Return the number of times in the window before `until`, and in the window before that."""
    recent = sum(until - window <= at < until for at in times)
    before = sum(until - 2 * window <= at < until - window for at in times)
    return recent, before
