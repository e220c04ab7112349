"""Recall: the best context for a question within a budget."""

from typing import Annotated

from litestar import post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg

from graphmem.context import Context
from graphmem.recall import ask
from graphmem.recall.types import ExplainedQuestion, Explanation, Question, Recalled
from graphmem_api.problems import failures

QUESTION = Example(
    summary="A question to one conversation, answered in at most 1,000 tokens",
    value={
        "query": "Why did the login fail in March?",
        "conversation_id": "550e8400-e29b-41d4-a716-446655440001",
        "kinds": ["message"],
        "max_tokens": 1000,
    },
)


@post(
    "/recall",
    summary="Recall the best context within a budget",
    status_code=200,
    response_description="The context, its items and the omitted ones",
    tags=["recall"],
    responses=failures(413, 415),
)
async def recall(
    data: Annotated[Question, BodyKwarg(examples=[QUESTION])], context: NamedDependency[Context]
) -> Recalled:
    """Return a context that fits the budget, its items, and the omitted ones.

    Without `conversation_id` all memories of the client are searched. An empty result is not an error.
    """
    return await ask.recall(data, context)


EXPLAINED = Example(
    summary="Why a message is not in the answer to a question",
    value={
        "query": "Why did the login fail in March?",
        "max_tokens": 1000,
        "memory_id": "550e8400-e29b-41d4-a716-446655440002",
    },
)


@post(
    "/explain",
    summary="Explain why a memory is in an answer, or why it is not",
    status_code=200,
    response_description="The stage at which the memory falls out, and by how much",
    tags=["recall"],
    responses=failures(404, 413, 415),
)
async def explain(
    data: Annotated[ExplainedQuestion, BodyKwarg(examples=[EXPLAINED])],
    context: NamedDependency[Context],
) -> Explanation:
    """Return at which stage of recall a memory falls out of the answer to the same question, and by how much.

    `filtered`: by which options. `not_a_candidate`: its exact rank in each leg, which takes longer than a
    recall. `below_min_relevance`, `outranked` by the last memory that was taken, `no_room`, or `taken`.
    """
    return await ask.explain(data, context)
