"""A query string as a struct: read strictly, declared once, described in the OpenAPI document."""

import functools
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from inspect import Parameter, Signature
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from litestar import Request
from litestar.di import Provide
from litestar.params import QueryParameter
from msgspec import Meta, Struct
from msgspec.structs import FieldInfo

from graphmem.errors import InvalidInput
from graphmem.model.validation import invalid

ReadItems = Callable[[Iterable[str]], list[str]]

AnyRequest = Request[Any, Any, Any]

_PLUS = re.compile(r"T\S+ \d\d:\d\d$")
"""The end of a time whose zone has lost its sign."""
LOST_PLUS = (
    "`+` is a space in a query string: send the zone as %2B01:00, or the time in UTC, with Z"
)


def query(wanted: type[Struct], lists: Mapping[str, ReadItems] | None = None) -> dict[str, Any]:
    """Return the options of a route whose handler gets the query string as the struct `asked`.

    Litestar alone would ignore unknown names and not name the legal values. The parameters in `lists` may be
    repeated or separated by commas; their function reads the items.
    """
    lists = lists or {}

    async def read(request: AnyRequest) -> None:
        given = request.query_params
        for name in given:
            if len(given.getall(name)) > 1 and name not in lists:
                raise InvalidInput(name, "is given twice in the query string; send it once")
        items = {name: lists[name](_items(given.getall(name))) for name in lists if name in given}
        try:
            request.state.asked = msgspec.convert(dict(given) | items, wanted, strict=False)
        except msgspec.ValidationError as problem:
            wrong = invalid(problem, wanted)
            if _PLUS.search(given.get(wrong.field, "")):
                raise InvalidInput(wrong.field, LOST_PLUS) from problem
            raise wrong from problem

    return {
        "before_request": read,
        "dependencies": {"asked": Provide(_provider(wanted, lists), sync_to_thread=False)},
    }


async def refuse_unread(request: AnyRequest) -> None:
    """Raise `InvalidInput` for what the route does not read, as `?dry_run=true`: it would delete."""
    reads_query = request.route_handler.resolve_before_request() is not None
    if request.query_params and not reads_query:
        raise InvalidInput(
            next(iter(request.query_params)),
            "is not read in the query string here; leave it out, or send it in the body if that has it",
        )
    reads_no_body = request.method == "DELETE" or (request.method == "POST" and reads_query)
    if reads_no_body and (await Request.body(request)).strip() not in (b"", b"{}"):
        raise InvalidInput("body", "is not read here; what can be said stands in the query string")


def _provider(wanted: type[Struct], lists: Collection[str]) -> Callable[..., Struct]:
    """Return a function with a parameter for each field, so that Litestar describes them."""

    def provide(request: AnyRequest, **_described: Any) -> Any:
        return request.state.asked

    fields = [
        _parameter(field, listed=field.name in lists) for field in msgspec.structs.fields(wanted)
    ]
    asking = Parameter("request", Parameter.KEYWORD_ONLY, annotation=AnyRequest)
    signature = Signature([asking, *fields], return_annotation=wanted)
    provide.__signature__ = signature  # type: ignore[attr-defined]
    provide.__annotations__ = {
        name: parameter.annotation for name, parameter in signature.parameters.items()
    } | {"return": wanted}
    return provide


def _parameter(field: FieldInfo, *, listed: bool) -> Parameter:
    found: dict[str, Any] = {
        "description": "",
        "ge": None,
        "le": None,
        "min_length": None,
        "max_length": None,
    }
    for meta in _metas(field.type):
        found |= {name: value for name in found if (value := getattr(meta, name)) is not None}
    if str not in _choices(field.type):
        # The lengths of a list would be shown as those of its items.
        found["min_length"] = found["max_length"] = None
    shown = QueryParameter(name=field.encode_name, **found)
    # A prefix, since `state` and `query` are reserved by Litestar.
    return Parameter(
        f"asked_{field.name}",
        Parameter.KEYWORD_ONLY,
        default=Parameter.empty if field.required else field.default,
        # The items of a list are read by its own function; for Litestar they are strings.
        annotation=Annotated[list[str] | None if listed else _plain(field.type), shown],
    )


def _metas(declared: Any) -> Iterator[Meta]:
    """Yield the constraints of a value or a union, not those of a list's items."""
    if get_origin(declared) is Annotated:
        yield from _metas(get_args(declared)[0])
        yield from (one for one in declared.__metadata__ if isinstance(one, Meta))
    elif get_origin(declared) in {Union, UnionType}:
        for choice in get_args(declared):
            yield from _metas(choice)


def _choices(declared: Any) -> Iterator[Any]:
    """Yield the types that a value may have."""
    plain = _plain(declared)
    yield from get_args(plain) if get_origin(plain) in {Union, UnionType} else [plain]


def _plain(declared: Any) -> Any:
    """Return a type without its constraints."""
    if get_origin(declared) is Annotated:
        return _plain(get_args(declared)[0])
    if get_origin(declared) in {Union, UnionType}:
        return functools.reduce(operator.or_, map(_plain, get_args(declared)))
    return declared


def _items(given: Iterable[str]) -> list[str]:
    """Return the items of a list that is repeated, separated by commas, or both."""
    return [item for one in given for item in one.split(",")]
