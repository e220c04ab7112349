"""Reading a query string: strictly, or an error that names the parameter and what it may be."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec
from litestar import Request
from msgspec import Struct

from graphmem.errors import InvalidInput
from graphmem.model.validation import invalid

Reading = Callable[[Iterable[str]], list[str]]


def strictly(
    wanted: type[Struct], lists: Mapping[str, Reading] | None = None
) -> Callable[[Request[Any, Any, Any]], Awaitable[None]]:
    """Return what checks a query string before the handler is called.

    Litestar alone would pass over unknown names, and not say which values are legal. Lists may stand
    several times or have commas; how their items are read is said here.
    """
    lists = lists or {}

    async def check(request: Request[Any, Any, Any]) -> None:
        given = request.query_params
        for name in given:
            if len(given.getall(name)) > 1 and name not in lists:
                raise InvalidInput(name, "stands twice in the query string; send it once")
        read = {name: lists[name](items(given.getall(name))) for name in lists if name in given}
        try:
            msgspec.convert(dict(given) | read, wanted, strict=False)
        except msgspec.ValidationError as problem:
            raise invalid(problem, wanted) from problem

    return check


def items(given: Iterable[str]) -> list[str]:
    """Return the items of a list that stands several times, has commas, or both."""
    return [item for one in given for item in one.split(",")]
