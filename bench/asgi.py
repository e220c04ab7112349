"""The API over HTTP in the bench's own process: ASGI, no socket."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from graphmem_api.app import create_app

from graphmem.runtime import Runtime


@asynccontextmanager
async def over_http(runtime: Runtime, client_id: str) -> AsyncIterator[httpx.AsyncClient]:
    """Have the API of a running graphmem for the length of the block, as this client."""
    # Litestar's types of ASGI are narrower than httpx's.
    app: Any = create_app(runtime)
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app),
        base_url="http://localhost",
        headers={"X-Client-Id": client_id},
        timeout=120,
    ) as http:
        yield http
