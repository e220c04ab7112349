"""Retrieval by hypotheses (HyDE): facts for an agent's next turn, within two seconds."""

from typing import Annotated

from litestar import post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg

from graphmem.context import Context
from graphmem.hypotheses import ask
from graphmem.hypotheses.types import Turn, TurnAsked
from graphmem_api.problems import failures

ASKED = Example(
    summary="A turn with the last messages",
    value={
        "turn_id": "5f0c9d52-1d7e-4f53-9d3e-1d0f6c2f8a11",
        "conversation_id": "550e8400-e29b-41d4-a716-446655440001",
        "window": ["user: Which store do the rollups use now?"],
        "injection_tokens": 800,
    },
)


@post(
    "/hyde/retrieve",
    summary="Find facts for a turn",
    status_code=200,
    response_description="The facts, the hypotheses that found them, and the block to inject",
    tags=["recall"],
    responses=failures(413, 415),
)
async def hyde_retrieve(
    data: Annotated[TurnAsked, BodyKwarg(examples=[ASKED])], context: NamedDependency[Context]
) -> Turn:
    """Let the language model write hypothetical facts, and find the stored facts that are like them.

    Without a model nothing is found, unless `on_failure` is `window`: then the last message of the user is
    searched for instead. It answers within two seconds, even if the model does not; `degraded` lists the
    missing parts. For ten minutes, a repeated `turn_id` of a conversation with the same filters, `top_k`,
    `hop_depth`, `hypotheses`, `mode`, `on_failure` and times gets the same findings without the model, even
    if its window has grown; memories deleted meanwhile are left out.
    """
    return await ask.hyde_retrieve(data, context)
