"""Entities: the names that memories mention, and their aliases."""

from typing import Annotated

from litestar import Response, Router, get, post
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg
from litestar.status_codes import HTTP_200_OK

from graphmem.context import Context
from graphmem.entities import aliases
from graphmem.entities.aliases import (
    Alias,
    AliasesFound,
    Entities,
    EntitiesAsked,
    NewAlias,
    UndoneAlias,
    show_entities,
)
from graphmem_api.problems import failures
from graphmem_api.queries import query

ALIAS = Example(
    summary="Two names of one database",
    value={"alias": "the ledger", "canonical": "PostgreSQL"},
)
UNDONE = Example(summary="It was another Anna", value={"alias": "Anna"})


@get(
    summary="List entities",
    response_description="A page of entities",
    responses=failures(),
    **query(EntitiesAsked),
)
async def list_entities(
    context: NamedDependency[Context],
    asked: NamedDependency[EntitiesAsked],
) -> Entities:
    """List the names that memories mention, in order; `cursor` is null on the last page.

    `mentions` counts the memories that use this very name. An alias has `alias_of`, with the rule that found
    it; its canonical name lists it under `aliases`.
    """
    return await show_entities(asked, context)


@post(
    "/aliases",
    summary="Make a name an alias",
    response_description="The new alias",
    responses={
        200: ResponseSpec(Alias, generate_examples=False, description="It existed already"),
        **failures(404, 413, 415),
    },
)
async def add_alias(
    data: Annotated[NewAlias, BodyKwarg(examples=[ALIAS])],
    context: NamedDependency[Context],
) -> Response[Alias]:
    """Make one name an alias of another, by the rule `manual`: 201, or 200 if it already was.

    A manual alias overrides those that rules find, and those that were undone. If `canonical` is itself an
    alias, both lead to its canonical name. Nothing is renamed: the memories keep the names that they mention.
    """
    made = await aliases.add_alias(data, context)
    return Response(made, status_code=201 if made.created else 200)


@post(
    "/aliases/undo",
    status_code=HTTP_200_OK,
    summary="Undo an alias",
    response_description="The former alias",
    responses=failures(404, 413, 415),
)
async def undo_alias(
    data: Annotated[UndoneAlias, BodyKwarg(examples=[UNDONE])],
    context: NamedDependency[Context],
) -> Alias:
    """Undo an alias. No rule makes it an alias of the same name again."""
    return await aliases.undo_alias(data, context)


@post(
    "/aliases/run",
    status_code=HTTP_200_OK,
    summary="Find aliases now",
    response_description="The numbers of names examined, and of aliases made and dropped",
    responses=failures(),
)
async def find_aliases(context: NamedDependency[Context]) -> AliasesFound:
    """Find the aliases of new names now; background work does so some seconds after they are written."""
    return await aliases.find_aliases(context)


entities = Router(
    "/entities",
    route_handlers=[list_entities, add_alias, undo_alias, find_aliases],
    tags=["entities"],
)
