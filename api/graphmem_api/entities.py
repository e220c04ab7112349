"""Entities: the names that memories mention, and which of them mean the same."""

from typing import Annotated

from litestar import Response, Router, get, post
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, QueryParameter
from litestar.status_codes import HTTP_200_OK

from graphmem.entities.types import (
    Alias,
    AliasesFound,
    Entities,
    EntitiesAsked,
    NewAlias,
    UndoneAlias,
)
from graphmem.service import Graphmem
from graphmem_api.problems import failures
from graphmem_api.queries import strictly

ALIAS = Example(
    summary="Two names of one database",
    value={"alias": "the ledger", "canonical": "PostgreSQL"},
)
UNDONE = Example(summary="It was another Anna", value={"alias": "Anna"})


@get(
    summary="List entities",
    response_description="Some entities, and where the list goes on",
    responses=failures(),
    before_request=strictly(EntitiesAsked),
)
async def list_entities(
    memory: NamedDependency[Graphmem],
    name: Annotated[
        str | None,
        QueryParameter(
            description="those whose names begin so; case makes no difference",
            min_length=1,
            max_length=200,
        ),
    ] = None,
    limit: Annotated[int, QueryParameter(description="at most so many", ge=1, le=200)] = 50,
    cursor: Annotated[
        str | None, QueryParameter(description="the `cursor` of the page before this one")
    ] = None,
) -> Entities:
    """List the names that memories mention, in their order; `cursor` is null where it ends.

    `mentions` counts the memories that use this very name. A name that means another has `alias_of`, with
    the rule that found it; that other one lists it under `aliases`.
    """
    return await memory.entities(name=name, limit=limit, cursor=cursor)


@post(
    "/aliases",
    summary="Make a name an alias",
    response_description="It is an alias",
    responses={
        200: ResponseSpec(Alias, generate_examples=False, description="It was that already"),
        **failures(404, 413, 415),
    },
)
async def add_alias(
    data: Annotated[NewAlias, BodyKwarg(examples=[ALIAS])],
    memory: NamedDependency[Graphmem],
) -> Response[Alias]:
    """Say that one name means another, by the rule `manual`: 201, or 200 when it was so already.

    What is said goes before what the rules find, and before what was undone. When `canonical` is itself an
    alias, both mean what that means. Nothing is renamed: the memories keep the names that they mention.
    """
    made = await memory.add_alias(data.alias, data.canonical)
    return Response(made, status_code=201 if made.created else 200)


@post(
    "/aliases/undo",
    status_code=HTTP_200_OK,
    summary="Undo an alias",
    response_description="What it was",
    responses=failures(404, 413, 415),
)
async def undo_alias(
    data: Annotated[UndoneAlias, BodyKwarg(examples=[UNDONE])],
    memory: NamedDependency[Graphmem],
) -> Alias:
    """Make a name an alias of nothing. No rule makes it an alias of the same name again."""
    return await memory.undo_alias(data.alias)


@post(
    "/aliases/run",
    status_code=HTTP_200_OK,
    summary="Find aliases now",
    response_description="How many names were looked at, and what came of it",
    responses=failures(),
)
async def find_aliases(memory: NamedDependency[Graphmem]) -> AliasesFound:
    """Find the aliases of new names, which the background work does some seconds after they are written."""
    return await memory.find_aliases()


entities = Router(
    "/entities",
    route_handlers=[list_entities, add_alias, undo_alias, find_aliases],
    tags=["entities"],
)
