"""Facts: remembering one or many, and the categories that they may have."""

from typing import Annotated, Any

from litestar import Response, get, post, put
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, PathParameter

from graphmem.context import Context
from graphmem.facts import remember, supersede
from graphmem.facts.types import Categories, FactVersion, KeptFact, NewFact, NextFact
from graphmem_api.problems import failures

ONE = Example(
    summary="A fact of one conversation",
    value={
        "conversation_id": "550e8400-e29b-41d4-a716-446655440001",
        "category": "preference",
        "fact": "The user prefers dark mode",
        "keywords": ["editor", "Mara"],
    },
)
MANY = Example(
    summary="Facts that belong to no conversation",
    value=[
        {"category": "project_convention", "scope": "repo", "fact": "Tests mirror the tree"},
        {"category": "guideline", "fact": "Ask before deploying", "importance": 0.9},
    ],
)
NEXT = Example(
    summary="A decision that was reversed in May",
    value={
        "fact": "Orders are kept in SQLite",
        "valid_at": "2026-05-04T09:00:00Z",
        "reason": "one file is easier to back up",
    },
)
# Litestar accepts a union here, although its own annotation excludes one.
ONE_OR_MANY: Any = KeptFact | list[KeptFact]
CHOSEN = Example(summary="Three categories", value={"categories": ["recipe", "guest", "supplier"]})


@post(
    "/facts",
    summary="Remember facts",
    response_description="At least one fact is new",
    tags=["facts"],
    responses={
        200: ResponseSpec(
            ONE_OR_MANY,
            generate_examples=False,
            description="All facts were known and are reinforced",
        ),
        **failures(404, 413, 415),
    },
)
async def remember_facts(
    data: Annotated[NewFact | list[NewFact], BodyKwarg(examples=[ONE, MANY])],
    context: NamedDependency[Context],
) -> Response[KeptFact | list[KeptFact]]:
    """Remember one fact or 1–100, all or none, and return the outcome of each.

    A fact with the same words, conversation and scope as a known one reinforces that fact, which gets its
    keywords and tags, and its category as one of its `other_categories`. Its `valid_at` and `metadata` stay
    as they are: supersede it, or change its annotations. Any other fact is new; it is linked to similar
    facts, which are listed in `similar`.
    """
    listed = isinstance(data, list)
    new = data if isinstance(data, list) else [data]
    kept = await remember.remember_facts(new, context, listed=listed)
    status = 201 if any(one.action == "new" for one in kept) else 200
    return Response(kept if listed else kept[0], status_code=status)


@post(
    "/facts/{fact_id:str}/supersede",
    summary="Supersede a fact",
    response_description="The new version",
    tags=["facts"],
    responses=failures(404, 409, 413, 415),
)
async def supersede_fact(
    fact_id: Annotated[str, PathParameter(description="the newest version of a fact")],
    data: Annotated[NextFact, BodyKwarg(examples=[NEXT])],
    context: NamedDependency[Context],
) -> FactVersion:
    """Write the next version of a fact, valid from now on or since `valid_at`.

    Omitted fields keep their values, and it has the links of the version before, except `contradicts` and
    `derived_from`. That one is no longer found, except by time or with `include_superseded`. If another
    version was first, the problem's `head_id` names it (409).
    """
    return await supersede.supersede_fact(fact_id, data, context)


@get(
    "/categories",
    summary="List the categories of facts",
    response_description="The categories",
    tags=["facts"],
    responses=failures(),
)
async def show_categories(context: NamedDependency[Context]) -> Categories:
    """List the categories that the client's facts may have: its own, or the default fourteen."""
    return await remember.show_categories(context)


@put(
    "/categories",
    summary="Choose the categories of facts",
    response_description="The new categories",
    tags=["facts"],
    responses=failures(413, 415),
)
async def set_categories(
    data: Annotated[Categories, BodyKwarg(examples=[CHOSEN])], context: NamedDependency[Context]
) -> Categories:
    """Choose 1–100 categories; existing facts keep theirs."""
    return await remember.set_categories(data, context)
