"""Sessions with planted themes, told as a client would tell them, and how well they are found again."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from graphmem.service import Graphmem

FOLDER = Path(__file__).parent / "patterns"


def records(name: str) -> list[dict[str, Any]]:
    """Return the records of a file of the set."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


async def tell(memory: Graphmem, sessions: Iterable[dict[str, Any]], id: str = "themes") -> None:
    """Remember sessions as messages of one conversation, an hour apart from the client's point of view."""
    await memory.open_conversation(id)
    await memory.remember(
        id,
        [
            {
                "session_id": session["session"],
                "role": said.partition(": ")[0],
                "content": said.partition(": ")[2],
                "occurred_at": session["at"],
            }
            for session in sessions
            for said in session["messages"]
        ],
    )


def judged(
    groups: Sequence[Sequence[str]], sessions: Sequence[dict[str, Any]]
) -> tuple[float, float, int]:
    """Return precision and recall over sessions, and how many planted themes were found.

    Each found group stands for at most one planted theme, each planted theme for at most one group, the
    largest share first; whatever else a group holds is wrong.
    """
    planted = {one["session"]: one["theme"] for one in sessions}
    right, taken = 0, set()
    for group in sorted(groups, key=len, reverse=True):
        counts = Counter(planted[one] for one in group)
        free = [(n, theme) for theme, n in counts.items() if theme and theme not in taken]
        if free:
            most, theme = max(free)
            right += most
            taken.add(theme)
    wanted = sum(theme is not None for theme in planted.values())
    found = sum(map(len, groups))
    return (right / found if found else 0.0), right / wanted, len(taken)
