"""Budgets as numbers: shares of what remains, and ends that give back exactly what was not used."""

import math
from datetime import UTC, datetime, timedelta

from hypothesis import given, strategies as st

from graphmem.runs.budget import STATUS, EndingRun, Usage, ended, milliseconds, share, state
from graphmem.runs.types import FixedBudget

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def shared(remaining: int = 10_000, retries: int = 3, fraction: float = 0.2, **fixed: int):
    return share(
        remaining=remaining,
        remaining_retries=retries,
        deadline=LATER,
        fraction=fraction,
        fixed=FixedBudget(**fixed),
        now=NOW,
    )


# S3.29 S3.30
def test_a_child_has_a_fraction_of_what_remains_floored() -> None:
    part = shared()
    assert (part.max_tokens, part.max_retries) == (2_000, 0)
    assert part.deadline == NOW + timedelta(seconds=12)
    assert shared(remaining=200, fraction=0.5).max_tokens == 100
    assert shared(remaining=7, retries=3, fraction=0.5).max_retries == 1


# S3.29 S3.31
def test_what_is_fixed_goes_before_the_fraction_and_is_capped_by_what_remains() -> None:
    part = shared(max_tokens=300, max_retries=2)
    assert (part.max_tokens, part.max_retries) == (300, 2)
    assert part.deadline == NOW + timedelta(seconds=12)
    part = shared(remaining=250, retries=1, max_tokens=300, max_retries=9, max_time_ms=10**9)
    assert (part.max_tokens, part.max_retries, part.deadline) == (250, 1, LATER)


@given(st.integers(0, 10**9), st.floats(0, 1), st.integers(1, 10**9))
def test_a_child_never_has_more_than_remains(remaining: int, fraction: float, fixed: int) -> None:
    assert 0 <= shared(remaining, fraction=fraction).max_tokens <= remaining
    assert shared(remaining, fraction=fraction).max_tokens == math.floor(remaining * fraction)
    assert shared(remaining, max_tokens=fixed).max_tokens == min(remaining, fixed)


# S3.7 S3.8
def test_each_outcome_has_its_status() -> None:
    assert STATUS == {
        "success": "completed",
        "failure": "failed",
        "timeout": "timeout",
        "budget_exhausted": "failed",
    }


# S3.4
def test_no_number_of_a_budget_is_below_nothing() -> None:
    left = state(
        remaining=-1,
        spent=5,
        remaining_retries=-2,
        retries=1,
        below=[Usage(7, 2), Usage(1, 0)],
        started_at=NOW,
        deadline=LATER,
        until=LATER + timedelta(seconds=1),
    )
    assert (left.remaining_tokens, left.remaining_retries, left.remaining_time_ms) == (0, 0, 0)
    assert (left.tokens_used, left.retries_used, left.elapsed_time_ms) == (13, 3, 61_000)
    assert milliseconds(timedelta(microseconds=1_999)) == 1


def test_a_clock_that_was_set_back_gives_no_time_and_ends_no_run_before_its_beginning() -> None:
    yesterday = NOW - timedelta(days=1)
    left = state(
        remaining=1,
        spent=0,
        remaining_retries=0,
        retries=0,
        below=[],
        started_at=NOW,
        deadline=LATER,
        until=yesterday,
    )
    assert (left.remaining_time_ms, left.elapsed_time_ms) == (60_000, 0)
    run = EndingRun(
        id="r",
        status="active",
        started_at=NOW,
        deadline=LATER,
        max_tokens=10,
        spent=4,
        given=0,
        max_retries=1,
        retries=0,
        retries_given=0,
        children=[],
    )
    [end] = ended([run], "success", yesterday)
    assert (end.ended_at, end.outcome, end.returned) == (NOW, "success", 6)


@st.composite
def trees(draw: st.DrawFn) -> list[EndingRun]:
    """Return the active runs of a tree from the root down, each within its parent's budget."""
    budgets = [(draw(st.integers(1, 10_000)), draw(st.integers(0, 20)))]
    parents: list[int | None] = [None]
    for place in range(1, draw(st.integers(1, 12))):
        parents.append(draw(st.integers(0, place - 1)))
        budgets.append((draw(st.integers(1, 3_000)), draw(st.integers(0, 5))))
    runs = []
    for place, (tokens, retries) in enumerate(budgets):
        below = [i for i, parent in enumerate(parents) if parent == place]
        given_away = sum(budgets[i][0] for i in below), sum(budgets[i][1] for i in below)
        # What earlier children, ended by now, have not given back.
        gone = draw(st.integers(0, 500))
        spent, used = draw(st.integers(0, 500)), draw(st.integers(0, 3))
        runs.append(
            EndingRun(
                id=str(place),
                status="active",
                started_at=NOW - timedelta(hours=1),
                deadline=draw(st.sampled_from([LATER, NOW])),
                max_tokens=tokens + given_away[0] + gone + spent,
                spent=spent,
                given=given_away[0] + gone,
                max_retries=retries + given_away[1] + used,
                retries=used,
                retries_given=given_away[1],
                children=[str(i) for i in below],
            )
        )
    return runs


@given(trees())
def test_what_a_tree_leaves_unspent_comes_back_level_by_level(runs: list[EndingRun]) -> None:
    ends = {one.id: one for one in ended(runs, "success", NOW)}
    assert [one.id for one in ended(runs, "success", NOW)] == [r.id for r in reversed(runs)]
    for run in runs:
        back = sum(ends[child].returned for child in run.children)
        assert ends[run.id].returned == run.max_tokens - run.spent - (run.given - back)
        retried = sum(ends[child].retries_returned for child in run.children)
        assert (
            ends[run.id].retries_returned
            == run.max_retries - run.retries - run.retries_given + retried
        )
        late = run.deadline <= NOW
        assert ends[run.id].status == ("timeout" if late else "completed")
        assert ends[run.id].outcome == ("timeout" if late else "success")
