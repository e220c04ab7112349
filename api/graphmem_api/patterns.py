"""Patterns: the catalogue, and running one of them."""

from typing import Annotated

from litestar import get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, PathParameter

from graphmem.context import Context
from graphmem.patterns import running
from graphmem.patterns.types import PatternAnswer, PatternAsked, Patterns
from graphmem_api.admission import LONG_WORK
from graphmem_api.problems import failures

THEME = Example(
    summary="All sessions on one theme, in any words",
    value={"parameters": {"question": "I've been struggling with auth a lot"}},
)
DEFAULTS = Example(summary="With its defaults", value={"parameters": {}})


@get(
    "/patterns",
    summary="List patterns",
    response_description="The catalogue",
    tags=["patterns"],
    responses=failures(),
)
async def list_patterns() -> Patterns:
    """List the patterns that can be searched across sessions: parameters with bounds, columns, an example."""
    return running.patterns()


@post(
    "/patterns/{name:str}",
    opt=LONG_WORK,
    summary="Run a pattern",
    status_code=200,
    response_description="The rows found",
    tags=["patterns"],
    responses=failures(404, 408, 413, 415),
)
async def run_pattern(
    name: Annotated[str, PathParameter(description="the pattern's name", max_length=128)],
    data: Annotated[PatternAsked, BodyKwarg(examples=[THEME, DEFAULTS])],
    context: NamedDependency[Context],
) -> PatternAnswer:
    """Run a pattern of the catalogue; each row has `memory_ids`, the memories behind it.

    It only reads, for at most 30 seconds, and returns at most 1,000 rows.
    """
    return await running.run_pattern(name, data, context)
