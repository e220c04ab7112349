"""The rules of the stored data: nothing dangles, chains are whole, no property is missing."""

from collections.abc import Iterator

from msgspec import Struct

from graphmem.doctor.findings import Finding, note, ok, problem
from graphmem.graph.driver import Graph
from graphmem.graph.inspection import (
    BROKEN_CHAINS,
    COUNTED_MEMORIES,
    COUNTED_PASSAGES,
    EDGES_BETWEEN_CLIENTS,
    MEMORIES_TO_CUT,
    MEMORIES_WITHOUT_CONVERSATION,
    MEMORIES_WITHOUT_EMBEDDING,
    MEMORIES_WITHOUT_FILTERS,
    MESSAGES_WITHOUT_SESSION,
    PASSAGES_WITHOUT_EMBEDDING,
    PASSAGES_WITHOUT_MEMORY,
    SESSIONS_WITHOUT_CONVERSATION,
    Defect,
)
from graphmem.graph.query import Query
from graphmem.model.text import counted

SCANNED = 1_000_000
"""The number of nodes or edges that one check looks at."""

MOST = 1_000
"""The number of defects of a kind after which counting stops."""

RESTORE = "restore them from a backup, or delete them by id"


class Rule(Struct, frozen=True):
    """A rule: the query for its violations, and their name."""

    query: Query[Defect]
    thing: str
    breaks: str
    remedy: str


RULES = (
    Rule(
        MESSAGES_WITHOUT_SESSION,
        "message",
        "outside any session",
        f"they are found and show no neighbours: {RESTORE}",
    ),
    Rule(
        SESSIONS_WITHOUT_CONVERSATION,
        "session",
        "outside any conversation",
        "deleting that conversation would leave them: restore them from a backup, or delete them",
    ),
    Rule(
        MEMORIES_WITHOUT_CONVERSATION,
        "memory",
        "in a conversation that does not exist",
        f"open a conversation with that id again, then delete it with them, or {RESTORE}",
    ),
    Rule(
        BROKEN_CHAINS,
        "session",
        "with messages that are not one chain of NEXT",
        "neighbours of a message are lost: restore it from a backup, or import it again",
    ),
    Rule(
        EDGES_BETWEEN_CLIENTS,
        "edge",
        "between two clients",
        "no query follows them, and none of ours makes them: find out what writes here, delete them",
    ),
    Rule(
        MEMORIES_WITHOUT_FILTERS,
        "memory",
        "without a property that searches filter on",
        f"no search finds them: {RESTORE}",
    ),
    Rule(
        MEMORIES_WITHOUT_EMBEDDING,
        "memory",
        "without an embedding",
        "they are found by their words alone: delete them and remember them again",
    ),
    Rule(
        PASSAGES_WITHOUT_MEMORY,
        "passage",
        "of a memory that does not exist",
        "no search finds them, and they only take room: delete them by id",
    ),
    Rule(
        PASSAGES_WITHOUT_EMBEDDING,
        "passage",
        "without an embedding",
        "they are found by their words alone: delete their memories and remember these again",
    ),
)


async def check_rule(graph: Graph, rule: Rule, *, scanned: int = SCANNED) -> list[Finding]:
    """Check whether a rule holds."""
    [defect] = await graph.rows(rule.query, scanned=scanned, most=MOST)
    if not defect.found:
        return []
    number = counted(defect.found, rule.thing)
    if defect.found >= MOST:
        number = f"at least {number}"
    examples = ", ".join(defect.examples)
    what = f"{number} {rule.breaks}{examples and f', such as {examples}'}"
    return [problem("integrity", what, rule.remedy)]


async def amount(graph: Graph, *, scanned: int = SCANNED) -> list[Finding]:
    """Report the number of memories, and whether all are checked."""
    [row] = await graph.rows(COUNTED_MEMORIES)
    [parts] = await graph.rows(COUNTED_PASSAGES)
    [left] = await graph.rows(MEMORIES_TO_CUT)
    return list(_amount(row.memories, parts.passages, left.memories, scanned))


def _amount(memories: int, passages: int, left: int, scanned: int) -> Iterator[Finding]:
    also = f", and {counted(passages, 'passage')} of the long ones" if passages else ""
    yield ok("memories", f"{counted(memories, 'memory')} stored{also}")
    if left:
        what = f"{counted(left, 'long memory')} not cut into all passages yet"
        remedy = (
            "nothing: the job `passages` of `graphmem serve` does it; till then words find the rest"
        )
        yield note("memories", what, remedy)
    if memories > scanned:
        yield note("integrity", f"only the first {scanned:,} of each kind are looked at")
