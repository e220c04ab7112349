"""Reading a query string: strictly, or an error that names the parameter and what it may be."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from litestar import Request
from msgspec import Struct

from graphmem.errors import InvalidInput
from graphmem.model.validation import invalid


def strictly(wanted: type[Struct]) -> Callable[[Request[Any, Any, Any]], Awaitable[None]]:
    """Return what checks a query string before the handler is called.

    Litestar alone would pass over unknown names, and not say which values are legal.
    """

    async def check(request: Request[Any, Any, Any]) -> None:
        given = request.query_params
        for name in given:
            if len(given.getall(name)) > 1:
                raise InvalidInput(name, "stands twice in the query string; send it once")
        try:
            msgspec.convert(dict(given), wanted, strict=False)
        except msgspec.ValidationError as problem:
            raise invalid(problem, wanted) from problem

    return check
