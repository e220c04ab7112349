"""Reading a JSON body: strictly, into the struct that the handler names."""

import asyncio
import codecs
import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import msgspec
from litestar import Request
from litestar.exceptions import ClientException, HTTPException, InternalServerException
from litestar.exceptions.http_exceptions import RequestEntityTooLarge

from graphmem.errors import InvalidInput, TooLarge
from graphmem.model.validation import MOST_NESTED, invalid
from graphmem_api.admission import visit_of

BODY_BYTES = 32 * 1024 * 1024
"""The maximum length of a body."""

LONG_BODY = 256 * 1024
"""The length from which a body is read in a thread: others are answered between the steps of its reading."""

TOO_DEEP = f"is nested too deeply; send at most {MOST_NESTED} levels of lists and objects"

SPARE_BYTES = 64 * 1024 * 1024
SPARE_SECONDS = 10.0
"""The limits for draining a body that is too long."""


class StrictRequest(Request[Any, Any, Any]):
    """A request whose body must be JSON of exactly the wanted type; errors name the field.

    Litestar alone would take any content type, "20" for 20 and a bare number for a time.
    """

    async def json(self) -> Any:
        """Return the body as the handler's `data`, once it is the client's turn.

        Raises `InvalidInput`, `TooLarge`, `TooManyRequests`, `Overloaded`.
        """
        wanted = self.route_handler.parsed_data_field
        assert wanted is not None, "only handlers with a body ask for one"
        body = await self.body()
        visit = visit_of(self)
        if visit is not None:
            await visit.begin(self.route_handler)
        if len(body) < LONG_BODY:
            return decoded(body, wanted.annotation)
        return await asyncio.to_thread(decoded, body, wanted.annotation)

    async def body(self) -> bytes:
        """Return the whole body, if it is JSON and not too long. Litestar asks here first."""
        _check_type(self)
        # Litestar skips an empty body; a blank one is decoded, and refused with the name of the field.
        return await self.whole_body() or b" "

    async def whole_body(self) -> bytes:
        """Return the body, of any type. Raises `TooLarge`, and 400 if the caller leaves before its end."""
        try:
            return await super().body()
        except RequestEntityTooLarge as problem:
            await self._let_finish()
            raise TooLarge("body", f"at most {BODY_BYTES:,} bytes (32 MiB) are taken") from problem
        except InternalServerException as problem:
            raise ClientException("the connection ended before the body did") from problem

    async def _let_finish(self) -> None:
        """Drain the body for a while: a client that is still sending at the close never reads the answer."""
        if "expect" in self.headers:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SPARE_SECONDS):
                spare = SPARE_BYTES
                while spare > 0:
                    event = await self.receive()
                    if event["type"] != "http.request" or not event["more_body"]:
                        break
                    spare -= len(event["body"])


def decoded(body: bytes, wanted: Any) -> Any:
    """Return a JSON text as the wanted type. Raises an `InvalidInput` that names the field."""
    # Some editors and shells write this mark before a text.
    body = body.removeprefix(codecs.BOM_UTF8)
    if not body.strip():
        raise InvalidInput("body", "is empty; send a JSON object")
    try:
        value = msgspec.json.decode(body, type=wanted)
        _check_levels(json.loads(body, object_pairs_hook=_parts_of, parse_int=str))
    except msgspec.ValidationError as problem:
        raise invalid(problem, wanted) from problem
    except RecursionError as problem:
        raise InvalidInput("body", TOO_DEEP) from problem
    except UnicodeDecodeError as problem:
        _complain(body, "is not UTF-8", problem)
    except msgspec.DecodeError as problem:
        _complain(body, f"is not JSON: {problem}", problem)
    return value


def _check_type(request: Request[Any, Any, Any]) -> None:
    """Raise 415 for anything but JSON in UTF-8, which no foreign page may send (CORS)."""
    kind, options = request.content_type
    charset = options.get("charset", "utf-8").strip('"').lower()
    if kind != "application/json" or charset not in {"utf-8", "utf8"}:
        raise HTTPException(
            status_code=415, detail="send the body as JSON in UTF-8: Content-Type: application/json"
        )
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise HTTPException(status_code=415, detail="send the body without Content-Encoding")


def _parts_of(pairs: list[tuple[str, Any]]) -> Sequence[Any]:
    """Return the lists and objects in an object, each as a sequence.

    Raises `InvalidInput` if it has a field twice: parsers disagree on which one counts.
    """
    seen = set()
    for name, _ in pairs:
        if name in seen:
            raise InvalidInput(name, "occurs twice in the same object; send it once")
        seen.add(name)
    # Millions of empty lists would occupy the garbage collector; there is one empty tuple.
    return [value for _, value in pairs if isinstance(value, list | tuple)] or ()


def _check_levels(value: Any) -> None:
    """Raise `InvalidInput` if parts are nested so deeply that a later step could run out of stack."""
    level: list[Sequence[Any]] = [[value]]
    for _ in range(MOST_NESTED + 1):
        level = [part for one in level for part in one if isinstance(part, list | tuple)]
    if level:
        raise InvalidInput("body", TOO_DEEP)


def _complain(body: bytes, problem: str, cause: Exception) -> NoReturn:
    """Raise `InvalidInput` for invalid JSON; it names the field if that can be found."""
    try:
        # Unlike msgspec, the standard library reads half surrogates, so that they can be found.
        value = json.loads(body.decode(errors="surrogateescape"))
        field = next(_not_unicode(value, ""), None)
    except (ValueError, RecursionError):
        field = None
    if field is not None:
        raise InvalidInput(
            field or "body",
            "holds bytes that are not UTF-8 or half of a surrogate pair; send Unicode characters",
        ) from cause
    raise InvalidInput("body", problem) from cause


def _not_unicode(value: Any, place: str) -> Iterator[str]:
    """Yield the places of strings that are not Unicode."""
    if isinstance(value, str) and not _is_unicode(value):
        yield place
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _not_unicode(item, f"{place}[{index}]")
    elif isinstance(value, dict):
        for name, item in value.items():
            below = f"{place}.{name}" if place else name
            if not _is_unicode(name):
                yield below
            yield from _not_unicode(item, below)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
