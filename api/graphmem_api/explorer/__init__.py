"""The explorer: a page at `/` to ask, look and curate, made of plain files and of requests to the API.

The page itself needs no key and has no data of any client: it asks the API for them, with the key that its
reader types in. The policy lets it run and load its own files only, and forbids making elements of text.
"""

from importlib.resources import files
from types import MappingProxyType
from typing import Annotated

from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.params import PathParameter

PAGE = "page.html"

MEDIA_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-cache",
}

FILES = MappingProxyType(
    {
        one.name: one.read_bytes()
        for one in files(__package__).iterdir()
        if one.name.endswith(tuple(MEDIA_TYPES))
    }
)
"""The files of the page by their names: a request chooses one of them, never a path."""


@get("/", include_in_schema=False)
async def show_page() -> Response[bytes]:
    """Return the page."""
    return _answer(PAGE)


@get("/explorer/{name:str}", include_in_schema=False)
async def show_file(
    name: Annotated[str, PathParameter(description="the file's name")],
) -> Response[bytes]:
    """Return one of the page's files."""
    if name not in FILES:
        raise NotFoundException
    return _answer(name)


def _answer(name: str) -> Response[bytes]:
    media_type = MEDIA_TYPES[f".{name.rpartition('.')[2]}"]
    return Response(FILES[name], media_type=media_type, headers=HEADERS)


explorer = (show_page, show_file)
"""The routes of the page, which need no key."""
