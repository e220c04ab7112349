from datetime import UTC, datetime
from typing import Any

from graphmem.runs.show import TreeRunRow, show_tree
from tests.scripted import ScriptedGraph, scripted_context

DAY = datetime(2026, 3, 2, tzinfo=UTC)


def row(
    id: str, parent: str | None, *, given: int, returned: int, spent: int = 0, held: int = 0
) -> TreeRunRow:
    """Return an ended run of 100 tokens."""
    return TreeRunRow(
        id=id,
        parent_session_id=parent,
        agent_type="qa",
        depth=0 if parent is None else 1,
        status="completed",
        outcome="success",
        max_tokens=100,
        spent=spent,
        held=held,
        given=given,
        remaining=100 - spent - held - given,
        returned=returned,
        retries_used=0,
        started_at=DAY,
        ended_at=DAY,
        operations=[],
    )


async def test_a_tree_that_was_read_in_the_middle_of_a_change_is_read_again() -> None:
    root_before_the_end, child_after_it = (
        row("root", None, given=100, returned=0),
        row("child", "root", given=0, returned=60),
    )
    answers = iter(
        [
            [root_before_the_end, child_after_it],
            [row("root", None, given=40, returned=0), child_after_it],
        ]
    )

    def read(**asked: Any) -> list[TreeRunRow]:
        return next(answers)

    graph = ScriptedGraph({"runs/run_tree": read})
    tree = await show_tree("root", scripted_context(graph))
    assert (tree.given, tree.children[0].returned) == (40, 60)
    assert len(graph.asked) == 2


async def test_a_tree_with_an_operation_that_is_both_reserved_and_spent_is_read_again() -> None:
    def read(**asked: Any) -> list[TreeRunRow]:
        return next(answers)

    answers = iter(
        [
            [row("root", None, given=0, returned=0, spent=80, held=80)],
            [row("root", None, given=0, returned=0, spent=80)],
        ]
    )
    graph = ScriptedGraph({"runs/run_tree": read})
    assert (await show_tree("root", scripted_context(graph))).remaining == 20
    assert len(graph.asked) == 2


async def test_a_tree_that_never_balances_is_shown_as_it_is() -> None:
    graph = ScriptedGraph({"runs/run_tree": [row("root", None, given=7, returned=0)]})
    assert (await show_tree("root", scripted_context(graph))).given == 7
