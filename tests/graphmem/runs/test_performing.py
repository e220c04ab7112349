"""Operations within a budget: exact under concurrency, once for each operation_id, released on failure."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.embedding import Embedder
from graphmem.errors import (
    BudgetExhausted,
    ChildlessBudget,
    InvalidInput,
    OperationReused,
    RunEnded,
    SpanNotFound,
    TooDeep,
    TooManyRuns,
    Unavailable,
)
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.runs import performing, retrieve
from graphmem.runs.performing import SETTLE, Exhausted, RunOperation, Tries, reserve
from graphmem.runs.types import RetrievalResult
from tests.budgeted import below, check, check_stored, fill

CALLERS = 64


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(performing, "FIRST_PAUSE", 0.01)


def about(budget: int, *, time_ms: int = 600_000, retries: int = 50) -> dict[str, Any]:
    return {
        "agent_type": "copy-agent",
        "episode_id": "ep-123",
        "budget": {"max_tokens": budget, "max_time_ms": time_ms, "max_retries": retries},
    }


# S3.22 S3.39
async def test_64_callers_on_one_run_never_spend_more_than_there_is(memory: Graphmem) -> None:
    await fill(memory)
    run = await memory.run(**about(600))
    refusals: list[BudgetExhausted] = []

    async def caller(place: int) -> int:
        try:
            result = await run.retrieve(
                f"pricing {place}", max_tokens=random.Random(place).choice([20, 40, 90])
            )
        except BudgetExhausted as refused:
            refusals.append(refused)
            return 0
        assert result.tokens_used == sum(one.token_count for one in result.spans)
        return result.tokens_used

    charged = await asyncio.gather(*(caller(place) for place in range(CALLERS)))
    assert refusals
    assert all(refused.remaining < refused.requested for refused in refusals)
    tree = await run.tree()
    check(tree)
    assert tree.spent == sum(charged) <= 600
    assert tree.held == 0
    assert 0 < sum(1 for one in charged if one) < CALLERS
    await check_stored(memory)
    # Every caller left one record, refused or not.
    assert tree.operations == {"start": 1, "retrieve": CALLERS}


# S3.42
@given(st.randoms(use_true_random=False), st.integers(100, 2_000))
@settings(
    max_examples=3,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
async def test_a_tree_of_runs_balances_whatever_its_callers_do_at_once(
    memory: Graphmem, chance: random.Random, budget: int
) -> None:
    memory = memory.for_client(f"{memory.client_id}-{chance.getrandbits(64):x}")
    await fill(memory, 4)
    root = await memory.run(**about(budget))
    runs = [root]

    async def caller(seed: int) -> None:
        mine = random.Random(seed)
        run = mine.choice(runs)
        try:
            match mine.choice(["retrieve", "retrieve", "retrieve", "subcall", "end"]):
                case "subcall":
                    runs.append(await run.subcall(agent_type="qa", budget_fraction=mine.random()))
                case "end" if run is not root:
                    await run.end("success")
                case _:
                    await run.retrieve("pricing", max_tokens=mine.randint(1, 80))
        except (BudgetExhausted, ChildlessBudget, RunEnded, TooDeep, TooManyRuns):
            pass

    async def looker() -> None:
        for _ in range(10):
            check(await root.tree())

    await asyncio.gather(*(caller(chance.getrandbits(32)) for _ in range(CALLERS)), looker())
    tree = await root.tree()
    check(tree)
    assert all(run.held == 0 for run in below(tree))
    result = await root.end("success")
    tree = await root.tree()
    check(tree)
    spent = sum(run.spent for run in below(tree))
    assert result.total_tokens_used == spent == tree.max_tokens - tree.remaining
    assert {run.status for run in below(tree)} == {"completed"}
    await check_stored(memory)


async def test_the_same_operation_id_answers_again_without_a_second_charge(
    memory: Graphmem,
) -> None:
    await fill(memory)
    run = await memory.run(**about(1_000))
    first = await run.retrieve("pricing", max_tokens=100, operation_id="step-1")
    answers = await asyncio.gather(
        *(run.retrieve("pricing", max_tokens=100, operation_id="step-1") for _ in range(8))
    )
    for again in answers:
        assert replace(again, budget=None) == replace(first, budget=None)
    assert (await run.tree()).spent == first.tokens_used > 0
    with pytest.raises(OperationReused):
        await run.retrieve("pricing", max_tokens=101, operation_id="step-1")
    with pytest.raises(OperationReused):
        await run.peek("span-1", operation_id="step-1")


async def test_callers_with_one_operation_id_at_once_are_charged_once_for_all_that_is_left(
    memory: Graphmem,
) -> None:
    await fill(memory)
    run = await memory.run(**about(120))
    answers = await asyncio.gather(
        *(run.retrieve("pricing", max_tokens=120, operation_id="all") for _ in range(8))
    )
    tree = await run.tree()
    assert {one.tokens_used for one in answers} == {tree.spent}
    assert len({tuple(span.span_id for span in one.spans) for one in answers}) == 1
    assert tree.operations["retrieve"] == 1
    check(tree)


async def test_a_write_and_a_subcall_are_done_once_for_each_operation_id(memory: Graphmem) -> None:
    run = await memory.run(**about(1_000))
    fields: dict[str, Any] = {"type": "log", "content": "The harbour light is red."}
    one, two = await asyncio.gather(*(run.write(**fields, operation_id="w") for _ in range(2)))
    assert (one.id, one.spans) == (two.id, two.spans)
    children = [
        await run.subcall(agent_type="qa", budget_fraction=0.5, operation_id="s") for _ in range(2)
    ]
    assert children[0].id == children[1].id
    tree = await run.tree()
    assert (tree.given, len(tree.children)) == (500, 1)
    starts = [await memory.run(**about(500), operation_id="begin") for _ in range(2)]
    assert starts[0].id == starts[1].id
    with pytest.raises(OperationReused):
        await memory.run(**about(501), operation_id="begin")
    under = {"parent_session_id": run.id, "operation_id": "under"}
    child = await memory.run(**about(100) | under)
    assert (await memory.run(**about(100) | under)).id == child.id
    with pytest.raises(OperationReused):
        await memory.run(**about(100) | under | {"episode_id": "ep-124"})


class Flaky(Graph):
    """A graph that has transient errors at some queries, some times."""

    def __init__(self, graph: Graph, failing: dict[str, int]) -> None:
        self.__dict__ |= graph.__dict__
        self.failing = failing

    def _fail(self, query: Query[Any]) -> None:
        if self.failing.get(query.name, 0):
            self.failing[query.name] -= 1
            raise Unavailable("the database does not answer (ServiceUnavailable)")

    async def rows(self, query, **parameters):
        self._fail(query)
        return await super().rows(query, **parameters)

    async def change(self, query, **parameters):
        self._fail(query)
        return await super().change(query, **parameters)


def flaky(memory: Graphmem, **failing: int) -> Graphmem:
    names = {name.replace("__", "/"): times for name, times in failing.items()}
    runtime = replace(memory.runtime, graph=Flaky(memory.runtime.graph, names))
    return Graphmem(runtime, memory.client_id)


# S3.27
@pytest.mark.parametrize(
    ("name", "times"),
    # Two kinds are searched each time.
    [("runs__reserve", 2), ("retrieval__found_of_kind", 4), ("runs__settle", 2)],
)
async def test_a_failure_in_passing_is_tried_again_and_each_retry_charged(
    name: str, times: int, memory: Graphmem
) -> None:
    await fill(memory)
    run_id = (await memory.run(**about(1_000, retries=3))).id
    run = await flaky(memory, **{name: times}).runs().find(run_id)
    assert run is not None
    result = await run.retrieve("pricing", max_tokens=100)
    assert result.spans
    assert run.budget.retries_used == 2
    assert run.budget.remaining_retries == 1
    tree = await run.tree()
    assert (tree.retries_used, tree.held, tree.spent) == (2, 0, result.tokens_used)


# S3.27
async def test_with_no_retry_left_it_fails_clearly_and_lets_its_tokens_go(memory: Graphmem) -> None:
    await fill(memory)
    told: list[Any] = []
    run_id = (await memory.run(**about(1_000, retries=1))).id
    bad = flaky(memory, retrieval__found_of_kind=9)
    with pytest.raises(Unavailable, match="no retry is left"):
        await bad.runs(on_access=told.append).retrieve(run_id, query="pricing", max_tokens=900)
    run = await memory.runs().find(run_id)
    assert run is not None
    tree = await run.tree()
    assert (tree.held, tree.spent, tree.remaining, tree.retries_used) == (0, 0, 1_000, 1)
    [failed] = [one for one in (await run.accesses()).accesses if one.error]
    assert (failed.operation, failed.error, failed.tokens_consumed) == (
        "retrieve",
        "unavailable",
        0,
    )
    assert [one.error for one in told] == ["unavailable"]
    with pytest.raises(Unavailable):
        await (
            flaky(memory, runs__reserve=1, retrieval__found_of_kind=1)
            .runs()
            .retrieve(run_id, query="pricing", max_tokens=900)
        )
    assert (await run.retrieve("pricing", max_tokens=900)).spans


class Broken:
    """A model that fails as no one foresaw."""

    name, sha256, dimensions = "broken", "0", 384

    def embed(self, texts: list[str]) -> list[list[float]]:
        raise RuntimeError(f"cannot embed {texts}")

    def truncates(self, text: str) -> bool:
        return False


async def test_an_embedder_that_fails_costs_retries_and_no_tokens(memory: Graphmem) -> None:
    run_id = (await memory.run(**about(1_000, retries=2))).id
    embedder = Embedder(Broken())
    try:
        broken = Graphmem(replace(memory.runtime, embedder=embedder), memory.client_id)
        with pytest.raises(Unavailable, match="no retry is left"):
            await broken.runs().retrieve(run_id, query="pricing", max_tokens=100)
    finally:
        await embedder.close()
    tree = await memory.runs().tree(run_id)
    assert (tree.retries_used, tree.held, tree.spent) == (2, 0, 0)


async def test_a_caller_that_leaves_takes_no_tokens_along(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(memory, 1)
    run = await memory.run(**about(1_000))
    searching = asyncio.Event()

    async def endless(*_args: Any, **_more: Any) -> None:
        searching.set()
        await asyncio.sleep(60)

    monkeypatch.setattr("graphmem.runs.retrieve.find_pool", endless)
    task = asyncio.create_task(run.retrieve("pricing", max_tokens=900))
    await searching.wait()
    while (await run.tree()).held < 900:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    tree = await run.tree()
    assert (tree.held, tree.remaining) == (0, 1_000)


async def test_a_caller_that_leaves_does_not_wait_for_a_database_that_hangs(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await memory.run(**about(1_000))
    searching, answers = asyncio.Event(), asyncio.Event()

    async def endless(*_args: Any, **_more: Any) -> None:
        searching.set()
        await asyncio.sleep(600)

    async def hanging(*_args: Any) -> None:
        await answers.wait()

    monkeypatch.setattr("graphmem.runs.retrieve.find_pool", endless)
    monkeypatch.setattr("graphmem.runs.performing._record_failure", hanging)
    task = asyncio.create_task(run.retrieve("pricing", max_tokens=900))
    await searching.wait()
    task.cancel()
    ended, _ = await asyncio.wait([task], timeout=60)
    answers.set()
    assert ended
    assert task.cancelled()


class Attempts:
    """Delivers for a run's retrievals, each when it is told to, and tells when each has its tokens."""

    def __init__(self, deliver: Callable[..., Awaitable[Any]], count: int) -> None:
        self._deliver = deliver
        self.at_work = [asyncio.Event() for _ in range(count)]
        self.goes_on = [asyncio.Event() for _ in range(count)]
        self._begun = itertools.count()

    async def deliver(self, *arguments: Any) -> Any:
        number = next(self._begun)
        self.at_work[number].set()
        await self.goes_on[number].wait()
        return await self._deliver(*arguments)


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> Attempts:
    attempts = Attempts(retrieve._deliver, 3)
    monkeypatch.setattr(retrieve, "_deliver", attempts.deliver)
    return attempts


async def test_a_caller_that_gave_up_and_asks_again_is_answered(
    memory: Graphmem, attempts: Attempts
) -> None:
    await fill(memory, 1)
    run = await memory.run(**about(1_000))

    async def ask(number: int) -> asyncio.Task[RetrievalResult]:
        asked = run.retrieve("pricing", max_tokens=900, operation_id="same")
        task = asyncio.create_task(asked)
        await attempts.at_work[number].wait()
        return task

    first, second = await ask(0), await ask(1)
    first.cancel()
    await asyncio.wait([first])
    tree = await run.tree()
    assert (tree.held, tree.remaining) == (900, 100)
    attempts.goes_on[1].set()
    answer = await second
    assert answer.spans
    tree = await run.tree()
    assert (tree.held, tree.spent) == (0, answer.tokens_used)


async def test_attempts_of_one_operation_let_its_tokens_go_with_the_last_of_them(
    memory: Graphmem, attempts: Attempts
) -> None:
    run = await memory.run(**about(1_000))
    tasks = []
    for number in range(3):
        asked = run.retrieve("pricing", max_tokens=900, operation_id="same")
        tasks.append(asyncio.create_task(asked))
        await attempts.at_work[number].wait()
    held = []
    for task in tasks:
        task.cancel()
        await asyncio.wait([task])
        held.append((await run.tree()).held)
    assert held == [900, 900, 0]


async def test_a_refused_attempt_takes_no_tokens_from_the_one_at_work(
    memory: Graphmem, attempts: Attempts
) -> None:
    await fill(memory, 1)
    run = await memory.run(**about(1_000))
    first = asyncio.create_task(run.retrieve("pricing", max_tokens=900, operation_id="same"))
    await attempts.at_work[0].wait()
    with pytest.raises(BudgetExhausted):
        await run.retrieve("pricing", max_tokens=1_001, operation_id="same")
    smaller = asyncio.create_task(run.retrieve("pricing", max_tokens=1, operation_id="same"))
    await attempts.at_work[1].wait()
    assert (await run.tree()).held == 900
    attempts.goes_on[0].set()
    assert (await first).spans
    attempts.goes_on[1].set()
    with pytest.raises(OperationReused):
        await smaller


async def test_an_attempt_that_is_refused_at_its_end_leaves_the_tokens_to_the_other(
    memory: Graphmem, attempts: Attempts
) -> None:
    await fill(memory, 1)
    run_id = (await memory.run(**about(1_000, retries=1))).id
    tasks = []
    for number, caller in enumerate([flaky(memory, runs__reserve=1), memory]):
        asked = caller.runs().retrieve(run_id, query="pricing", max_tokens=900, operation_id="same")
        tasks.append(asyncio.create_task(asked))
        await attempts.at_work[number].wait()
    with pytest.raises(BudgetExhausted):
        await (
            flaky(memory, runs__reserve=1)
            .runs()
            .retrieve(run_id, query="pricing", max_tokens=1_001)
        )
    attempts.goes_on[0].set()
    with pytest.raises(Unavailable, match="no retry left"):
        await tasks[0]
    attempts.goes_on[1].set()
    answer = await tasks[1]
    tree = await memory.runs().tree(run_id)
    assert (tree.held, tree.spent) == (0, answer.tokens_used)


def operation(run_id: str, tokens: int) -> RunOperation:
    return RunOperation(
        run_id=run_id,
        operation="retrieve",
        operation_id="crashed",
        parameters={},
        access_id="crashed",
        tokens=tokens,
    )


async def test_a_crash_leaves_a_hold_that_expires(memory: Graphmem) -> None:
    await fill(memory, 1)
    run = await memory.run(**about(1_000))
    now, crashed, change = datetime.now(UTC), operation(run.id, 900), memory.runtime.graph.change
    await reserve(crashed, 0, now, memory.client_id, change)
    tree = await run.tree()
    check(tree)
    assert (tree.held, tree.remaining) == (900, 100)
    with pytest.raises(BudgetExhausted) as refused:
        await run.retrieve("pricing", max_tokens=101)
    assert (refused.value.requested, refused.value.remaining) == (101, 100)
    # As if the same reservation had been made earlier.
    await reserve(crashed, 0, now - performing.HOLD, memory.client_id, change)
    assert (await run.tree()).held == 0
    assert (await run.retrieve("pricing", max_tokens=901)).spans


async def test_an_operation_that_outlasts_its_hold_is_charged_nothing(
    memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(memory, 1)
    run = await memory.run(**about(1_000))
    monkeypatch.setattr(performing, "HOLD", timedelta(0))
    with pytest.raises(Unavailable, match="longer than tokens are held"):
        await run.retrieve("pricing", max_tokens=900)
    tree = await run.tree()
    assert (tree.held, tree.spent, tree.retries_used) == (0, 0, 0)


@pytest.mark.parametrize(("tokens", "verdict"), [(101, "expired"), (100, "granted")])
async def test_no_more_is_charged_than_is_held(tokens: int, verdict: str, memory: Graphmem) -> None:
    run = await memory.run(**about(1_000))
    graph, now, of_run = memory.runtime.graph, datetime.now(UTC), operation(run.id, 100)
    await reserve(of_run, 0, now, memory.client_id, graph.change)
    [settled] = await graph.change(
        SETTLE,
        client_id=memory.client_id,
        id=run.id,
        operation_id=of_run.operation_id,
        access_id=of_run.access_id,
        operation=of_run.operation,
        held=True,
        tokens=tokens,
        retries=0,
        params="{}",
        answer="{}",
        at=now,
        now=now,
        duration_ms=1.0,
        returned=[],
        wrote=[],
        continues="",
    )
    assert settled.verdict == verdict
    assert (await run.tree()).spent == (tokens if verdict == "granted" else 0)


async def test_a_peek_of_what_is_not_there_is_recorded_and_costs_nothing(memory: Graphmem) -> None:
    run = await memory.run(**about(1_000))
    with pytest.raises(SpanNotFound, match=r"^Span not found: sesame$"):
        await run.peek("sesame")
    page = await run.accesses()
    assert [(one.operation, one.error) for one in page.accesses] == [
        ("peek", "span_not_found"),
        ("start", None),
    ]
    assert "sesame" not in str(page)


class Failing:
    """A step that has some transient errors before it succeeds."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.asked = 0

    async def __call__(self) -> str:
        self.asked += 1
        if self.left:
            self.left -= 1
            raise Unavailable("asleep")
        return "done"


# S3.27
async def test_each_retry_is_counted() -> None:
    tries = Tries(3)
    assert await tries.run(Failing(2)) == "done"
    assert tries.used == 2
    assert await tries.run(Failing(1)) == "done"
    assert tries.used == 3


async def test_with_no_retry_left_it_fails() -> None:
    step = Failing(9)
    tries = Tries(2)
    with pytest.raises(Unavailable, match="no retry is left"):
        await tries.run(step)
    assert (step.asked, tries.used) == (3, 2)


async def test_what_is_of_no_use_is_not_tried_again() -> None:
    tries = Tries()

    async def too_late() -> None:
        raise Exhausted("took too long")

    with pytest.raises(Unavailable, match="took too long"):
        await tries.run(too_late)
    assert tries.used == 0
    assert Exhausted.code == "unavailable"


async def test_what_does_not_pass_is_not_tried_again() -> None:
    tries = Tries()

    async def wrong() -> None:
        raise InvalidInput("cursor", "is none")

    with pytest.raises(InvalidInput):
        await tries.run(wrong)
    assert tries.used == 0
