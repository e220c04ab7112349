"""How well planted themes are found again, with and without summaries of the sessions.

    python -m bench.themes --out themes.json

Five sets in `bench/theme_sets`, 42 to 56 sessions each, with eight planted themes whose words differ
between their sessions, and a dozen sessions of none. `mixed` was there before the detector; the others were
written afterwards, without knowing it, and its constants were chosen on all five: figures for sessions
that nobody has seen will be lower. In `backend` all themes are of one trade and lie near each other.

Precision and recall are those of sessions: each theme that is found stands for at most one that was planted,
and the reverse. `questions` are the same for one question about each theme, in percent as well.
"""

import asyncio
import json
import statistics
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from bench.quality import store, summarize
from bench.reporting import arguments, write
from graphmem.client import Graphmem
from graphmem.runtime import Runtime

FOLDER = Path(__file__).parent / "theme_sets"
SETS = ("mixed", "engineer", "household", "manager", "backend")
PATTERN = "recurring_themes"


def sessions(name: str) -> list[dict[str, Any]]:
    """Return the sessions of a set: `session`, `theme` or null, `at`, `messages`."""
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@cache
def questions() -> Mapping[str, Mapping[str, str]]:
    """Return a question about each theme of each set."""
    found: dict[str, dict[str, str]] = json.loads(
        (FOLDER / "questions.json").read_text(encoding="utf-8")
    )
    return found


async def tell(memory: Graphmem, told: Iterable[dict[str, Any]], id: str = "themes") -> None:
    """Remember sessions as messages of one conversation, each message at the time of its session."""
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
            for session in told
            for said in session["messages"]
        ],
    )


def judged(
    groups: Sequence[Sequence[str]], told: Sequence[dict[str, Any]]
) -> tuple[float, float, int]:
    """Return precision and recall over sessions, and how many planted themes were found.

    Each found group stands for at most one planted theme, each planted theme for at most one group, the
    largest share first; whatever else a group holds is wrong.
    """
    planted = {one["session"]: one["theme"] for one in told}
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


def named(row: Mapping[str, Any]) -> list[str]:
    """Return the sessions of a row, by their names."""
    return [one["session_external_id"] for one in row["occasions"]]


async def asked(memory: Graphmem, name: str) -> tuple[float, float]:
    """Return precision and recall of the sessions that questions find, in the mean over a set's themes."""
    told = sessions(name)
    precisions, recalls = [], []
    for theme, question in questions()[name].items():
        rows = (await memory.pattern(PATTERN, {"question": question})).rows
        found = {session for row in rows for session in named(row)}
        wanted = {one["session"] for one in told if one["theme"] == theme}
        precisions.append(len(found & wanted) / max(1, len(found)))
        recalls.append(len(found & wanted) / len(wanted))
    return statistics.fmean(precisions), statistics.fmean(recalls)


async def measure(runtime: Runtime) -> dict[str, dict[str, dict[str, float]]]:
    """Tell every set to a client of its own, and return what is found before and after summarizing."""
    result: dict[str, dict[str, dict[str, float]]] = {"as told": {}, "summarized": {}}
    for name in SETS:
        memory = Graphmem(runtime, f"themes-{uuid.uuid4().hex}")
        told = sessions(name)
        await tell(memory, told)
        for state, figures in result.items():
            if state == "summarized":
                await summarize(memory)
            rows = (await memory.pattern(PATTERN)).rows
            precision, recall, found = judged([named(row) for row in rows], told)
            in_questions = await asked(memory, name)
            figures[name] = {
                "precision": percent(precision),
                "recall": percent(recall),
                "themes": found,
                "precision of questions": percent(in_questions[0]),
                "recall of questions": percent(in_questions[1]),
            }
            print(state, name, figures[name], flush=True)
    for figures in result.values():
        figures["mean"] = {
            what: round(statistics.fmean(one[what] for one in figures.values()), 1)
            for what in figures["mixed"]
        }
    return result


def percent(share: float) -> float:
    """Return a share in percent."""
    return round(100 * share, 1)


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("themes", __doc__)
    given = parser.parse_args()
    async with store() as runtime:
        result = await measure(runtime)
    print(json.dumps({state: figures["mean"] for state, figures in result.items()}, indent=2))
    write(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
