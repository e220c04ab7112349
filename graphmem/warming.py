"""Warming: what the first questions after a start would wait for is done before readiness.

A database that has just started plans each query, compiles its own code, and reads the pages of its indexes,
for seconds. So the store is asked for its own memories, client by client, and nothing of it is kept.
"""

import asyncio
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from graphmem.accesses import NOBODY
from graphmem.context import Context
from graphmem.contextual.ask import search_contextual
from graphmem.contextual.types import ContextualQuery
from graphmem.graph.driver import Graph
from graphmem.graph.query import Query
from graphmem.observing.logs import traced
from graphmem.recall.ask import recall
from graphmem.recall.types import Question
from graphmem.runtime import Runtime
from graphmem.search.ask import search
from graphmem.search.types import SearchQuery

CLIENTS, OF_CLIENT = 8, 8
"""The clients that are asked for, the first by their ids, and the questions to each."""

SEARCHED = 5
"""The sampled questions that the other kinds of search are asked too."""

log = logging.getLogger(__name__)


class SampledQuestion(Struct, frozen=True):
    """The beginning of a memory, and its client."""

    client_id: str
    text: str


SAMPLED_QUESTIONS = Query("warming/sampled_questions", SampledQuestion)

NOBODY_S = SampledQuestion(NOBODY, "What did Zebulon Quillfeather say?")
"""Asked first: it needs the queries of all questions, those about names included, and no pages."""

FILTERS: Sequence[dict[str, Any]] = (
    {"kinds": ["message"]},
    {"conversation_id": "nothing"},
    {"kinds": ["message"], "conversation_id": "nothing"},
    {"since": datetime(2000, 1, 1, tzinfo=UTC)},
)
"""Each has a query file of its own."""


async def warm(runtime: Runtime) -> None:
    """Ask recall, search and contextual search for the store's own memories. Never raises.

    It ends after the setting `warm_seconds`.
    """
    seconds = runtime.settings.warm_seconds
    try:
        async with asyncio.timeout(seconds):
            sampled = await _sample(runtime.graph.impatient())
            for filters in FILTERS:
                await recall(_question(NOBODY_S, **filters), _context(runtime, NOBODY_S))
            for place, one in enumerate([NOBODY_S, *sampled]):
                await recall(_question(one), _context(runtime, one))
                if place <= SEARCHED:
                    await _search(one, _context(runtime, one))
            if runtime.recorder is not None:
                await runtime.recorder.prepare()
    except TimeoutError:
        log.info("warming ended after %g s; the next answers may take longer", seconds)
    except Exception as problem:
        log.info("the first answers may take longer: %s", traced(problem))


async def _sample(graph: Graph) -> list[SampledQuestion]:
    """Return some memories of some clients, in random order within each client, as their ids are."""
    sampled: list[SampledQuestion] = []
    for _ in range(CLIENTS):
        after = sampled[-1].client_id if sampled else ""
        rows = await graph.rows(SAMPLED_QUESTIONS, after=after, limit=OF_CLIENT)
        if not rows:
            break
        sampled += rows
    return sampled


async def _search(one: SampledQuestion, context: Context) -> None:
    await search(SearchQuery(query=_text(one)), context)
    await search_contextual(ContextualQuery(query=_text(one)), context)


def _question(one: SampledQuestion, **filters: Any) -> Question:
    return Question(query=_text(one), **filters)


def _text(one: SampledQuestion) -> str:
    return one.text.strip() or NOBODY_S.text


def _context(runtime: Runtime, one: SampledQuestion) -> Context:
    """Return a client's context in which no read is recorded, and none is repeated."""
    context = runtime.context(one.client_id)
    return replace(context, recorder=None, graph=context.graph.impatient())
