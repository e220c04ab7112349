"""Whatever reads is answered, and whatever may do more is refused before it runs: on a real server."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any

import pytest

from graphmem.errors import CypherMistake, CypherRefused, GraphmemError, InvalidInput
from graphmem.exploring.guard import RULES, StatementText, check_plan
from graphmem.graph.driver import Graph
from graphmem.graph.exploring import (
    Bounds,
    CypherPlan,
    CypherStatement,
    Operator,
    explain,
    fetch_rows,
)
from graphmem.runtime import Runtime
from tests.graphmem.exploring.conftest import INTRUDERS, Small
from tests.graphmem.exploring.statements import ANSWERED, REFUSED

PARAMETERS = {
    "url": "file:///etc/passwd",
    "property": "intruded",
    "far": 9 * 10**18,
    "many": [1] * 2_000,
    "pattern": "(a*)*b",
    "slashed": "tea /(a{1,100}){1,100}/",
}


AT_ONCE = 4
"""How many statements are sent at a time."""


async def wrong(answers: Iterable[Awaitable[str]]) -> list[str]:
    """Wait for what each answer says is wrong, some at a time; an empty text is nothing."""
    free = asyncio.Semaphore(AT_ONCE)

    async def one(answer: Awaitable[str]) -> str:
        async with free:
            return await answer

    return [said for said in await asyncio.gather(*map(one, answers)) if said]


async def test_what_only_reads_is_answered(small: Small) -> None:
    # B3
    async def answer(statement: str, parameters: dict[str, object]) -> str:
        try:
            table = await small.memory.cypher(statement, small.parameters | parameters)
        except GraphmemError as problem:
            return f"{statement!r}: {type(problem).__name__}: {problem}"
        if not all(list(row) == table.columns for row in table.rows):
            return f"{statement!r}: a row has other columns than {table.columns}"
        if (last := table.plan_summary.operators[0].operator) != "ProduceResults":
            return f"{statement!r}: its plan ends with {last}"
        return ""

    found = await wrong(answer(*one) for one in ANSWERED)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("rule", RULES)
async def test_what_may_do_more_is_refused_and_nothing_has_changed(
    rule: str, small: Small, runtime: Runtime
) -> None:
    # B3
    async def refusal(statement: str) -> str:
        try:
            await small.memory.cypher(statement, small.parameters | PARAMETERS)
        except CypherRefused as problem:
            if problem.rule != rule:
                return f"{statement!r}: refused by {problem.rule}"
            return "" if RULES[rule] in str(problem) else f"{statement!r}: {problem}"
        except GraphmemError as problem:
            return f"{statement!r}: {type(problem).__name__}: {problem}"
        return f"{statement!r}: answered"

    statements = [statement for by, statement in REFUSED if by == rule]
    before = await small.seen()
    found = await wrong(map(refusal, statements))
    assert not found, "\n".join(found)
    assert await small.seen() == before, statements
    assert await runtime.graph.execute(INTRUDERS) == [{"intruders": 0}], statements


def test_every_rule_is_tested() -> None:
    assert {rule for rule, _ in REFUSED} == set(RULES)
    assert len(ANSWERED) + len(REFUSED) >= 80


HIDDEN_FROM_PLANS = {
    *("cypher_prefix", "cypher_options", "cypher_statements", "cypher_transaction"),
    "cypher_nesting",
}
"""What is no plan, has the plan of what it hides, or would keep the planner for ever."""


def shows(rule: str, statement: str) -> bool:
    """Tell whether a plan shows it: not USE of the same graph, what is never reached, or a long parameter."""
    return rule not in HIDDEN_FROM_PLANS and not (
        rule == "cypher_use" or "WHERE false" in statement or "$many" in statement
    )


UNKNOWN = ("not found", "Unknown", "no procedure", "Unsupported", "not supported", "not exist")
"""There is no such procedure, function, graph or command here: nothing that could be run."""


async def test_the_plan_alone_refuses_what_the_text_might_hide(runtime: Runtime) -> None:
    """Nothing is known of the text here: not one of its words."""
    # B3
    parameters = PARAMETERS | {"c": "nobody", "a": "one", "b": "another"}

    async def refusal(statement: str) -> str:
        alone = statement.removeprefix("CYPHER 5 ").removeprefix("CYPHER 25 ")
        sent = CypherStatement("CYPHER 25", alone, parameters)
        try:
            plan = await explain(sent, seconds=10, graph=runtime.graph)
            check_plan(plan, StatementText(""), database=runtime.graph.database)
        except CypherRefused:
            return ""
        except CypherMistake as problem:
            known = any(part in str(problem) for part in UNKNOWN)
            return "" if known else f"{statement!r}: {problem}"
        return f"{statement!r}: its plan is let pass"

    statements = [statement for rule, statement in REFUSED if shows(rule, statement)]
    assert len(statements) >= 80
    found = await wrong(map(refusal, statements))
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("operator", "rule"),
    [
        (Operator("LoadCSV", "neo4j", "l", 1, 1.0), "cypher_load_csv"),
        (Operator("Projection", "neo4j", 'COUNT { WITH "\\u0022" AS q LOAD CSV FROM q AS l }', 1, 1.0),
         "cypher_load_csv"),
        (Operator("Filter", "neo4j", "EXISTS {   CALL a.b($x)   RETURN 1 }", 1, 1.0), "cypher_procedure"),
        (Operator("Filter", "neo4j", "EXISTS {   CALL `odd name`()   RETURN 1 }", 1, 1.0),
         "cypher_procedure"),
        (Operator("ShowSomethingNew", "neo4j", "", 1, 1.0), "cypher_show"),
        (Operator("Filter", "neo4j", "n.text =~ $autostring_0", 1, 1.0), "cypher_regex"),
        (Operator("Projection", "neo4j", "[i IN range($autoint_0, n) | i]", 1, 1.0), "cypher_range"),
        (Operator("NodeByLabelScan", "another", "n:Memory", 1, 1.0), "cypher_use"),
        (Operator("CreateSomethingNew", "neo4j", "", 1, 1.0), "cypher_write"),
        (Operator("SetNodeProperties(Map)", "neo4j", "", 1, 1.0), "cypher_write"),
        (Operator("TransactionForeach", "neo4j", "", 1, 1.0), "cypher_in_transactions"),
    ],
)  # fmt: skip
def test_an_operator_is_enough_whatever_the_kind_of_its_plan(operator: Operator, rule: str) -> None:
    plan = CypherPlan(
        "r", "25", "SLOTTED", [Operator("ProduceResults", "neo4j", "x", 0, 1.0), operator]
    )
    with pytest.raises(CypherRefused) as raised:
        check_plan(plan, StatementText("RETURN 1"), database="neo4j")
    assert raised.value.rule == rule


@pytest.mark.parametrize("kind", ["w", "rw", "s", ""])
def test_a_plan_that_does_not_only_read_is_refused_whatever_its_operators(kind: str) -> None:
    plan = CypherPlan(kind, "25", "SLOTTED", [Operator("ProduceResults", "neo4j", "x", 0, 1.0)])
    with pytest.raises(CypherRefused):
        check_plan(plan, StatementText("RETURN 1"), database="neo4j")


@pytest.mark.parametrize(
    ("statement", "line", "column", "offset"),
    [
        ("CREATE (n:Intruder)", 1, 1, 0),
        ("MATCH (n:Fact)\nWHERE n.create = 1\n  SET n.intruded = 1", 3, 3, 36),
        ("RETURN 'CREATE' AS create\nUNION MERGE (n:Intruder) RETURN 1 AS create", 2, 7, 32),
        ("RETURN 1\r\nAS x; RETURN 2", 2, 7, 16),
        ("MATCH (n) CALL\n dbms.listConfig() YIELD name RETURN name", 2, 2, 16),
        ("\\u0043REATE (n:Intruder)", 1, 1, 0),
        ("RETURN '\\u00e4', 1 AS x UNION LOAD CSV FROM $url AS x RETURN x, 1 AS y", 1, 31, 30),
    ],
)
async def test_a_refusal_names_the_place(
    statement: str, line: int, column: int, offset: int, small: Small
) -> None:
    with pytest.raises(CypherRefused) as raised:
        await small.memory.cypher(statement, PARAMETERS)
    problem = raised.value
    assert (problem.line, problem.column, problem.offset) == (line, column, offset)


@pytest.mark.parametrize(
    ("statement", "place", "part"),
    [
        ("RETURN 1 +", (1, 11, 10), "Invalid input"),
        ("CYPHER", (1, 7, 6), "no statement"),
        ("CYPHER 25 ;", (1, 12, 11), "no statement"),
        ("// RETURN 1", (1, 12, 11), "no statement"),
        ("MATCH (n)\nRETURN m", (2, 8, 17), "Variable `m` not defined"),
        ("CYPHER 25\nMATCH (n)\nRETRUN n", (3, 1, 20), "Invalid input 'RETRUN'"),
        ("CYPHER 5 RETURN\nx", (2, 1, 16), "Variable `x` not defined"),
        ("RETURN date.nonsense()", (1, 8, 7), "Unknown function"),
        ("RETURN $missing AS x", (None, None, None), "missing"),
        ("RETURN 1 / 0 AS x", (None, None, None), "/ by zero"),
        ("RETURN 'a", (1, 8, 7), "quotes"),
        (
            "MATCH (m:Memory) SEARCH m IN (FULLTEXT INDEX none FOR 'x' LIMIT 1) RETURN m",
            None,
            "none",
        ),
    ],
)
async def test_a_mistake_is_told_in_neo4j_s_words_with_its_place(
    statement: str, place: tuple[int | None, ...] | None, part: str, small: Small
) -> None:
    with pytest.raises(CypherMistake) as raised:
        await small.memory.cypher(statement)
    problem = raised.value
    assert part in str(problem)
    if place is not None:
        assert (problem.line, problem.column, problem.offset) == place
    if problem.line is not None:
        assert f"(line {problem.line}, column {problem.column} (offset: {problem.offset}))" in str(
            problem
        )


async def test_a_question_that_lucene_cannot_read_is_a_mistake(small: Small) -> None:
    with pytest.raises(CypherMistake):
        await small.memory.cypher(
            "MATCH (m:Memory) SEARCH m IN (FULLTEXT INDEX memory_text FOR 'a AND (' LIMIT 3) RETURN m"
        )


@pytest.mark.parametrize(
    ("query", "parameters", "more", "field"),
    [
        ("", {}, {}, "query"),
        (" \n", {}, {}, "query"),
        ("x" * 32_769, {}, {}, "query"),
        ("RETURN '\ud800'", {}, {}, "query"),
        ("RETURN $x", {"x": 2**63}, {}, "parameters"),
        ("RETURN $x", {"x": "\ud800"}, {}, "parameters.x"),
        ("RETURN 1", {}, {"max_rows": 0}, "max_rows"),
        ("RETURN 1", {}, {"max_rows": 50_001}, "max_rows"),
        ("RETURN 1", {}, {"timeout_ms": 0}, "timeout_ms"),
        ("RETURN 1", {}, {"timeout_ms": 60_001}, "timeout_ms"),
    ],
)
async def test_what_cannot_be_used_is_named(
    query: str, parameters: dict[str, object], more: dict[str, Any], field: str, small: Small
) -> None:
    with pytest.raises(InvalidInput) as raised:
        await small.memory.cypher(query, parameters, **more)
    assert raised.value.field == field


async def test_what_is_run_is_what_was_judged(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two texts differ in one word in front."""
    sent: list[str] = []
    session = Graph.reading

    def listening(graph: Graph, *, fetch_size: int) -> Any:
        opened: Any = session(graph, fetch_size=fetch_size)
        run = opened.run

        async def noted(query: Any, parameters: Any) -> Any:
            sent.append(query.text)
            return await run(query, parameters)

        opened.run = noted
        return opened

    monkeypatch.setattr(Graph, "reading", listening)
    await small.memory.cypher("MATCH (n:Fact) RETURN count(n) AS n")
    judged, ran = sent
    assert judged == f"EXPLAIN {ran}"


async def test_a_session_that_reads_is_the_last_line(small: Small, runtime: Runtime) -> None:
    """Were the guard blind, the server would still refuse to write."""
    for statement in (
        "CREATE (n:Intruder)",
        "CALL db.createLabel('Intruder')",
        "DROP INDEX memory_text",
    ):
        sent = CypherStatement("CYPHER 25", statement, {})
        with pytest.raises(CypherMistake):
            await fetch_rows(sent, bounds=Bounds(1, 5.0), graph=runtime.graph)
    [found] = await runtime.graph.execute(INTRUDERS)
    assert found == {"intruders": 0}
