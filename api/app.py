"""The application: what is wired to what, and nothing else."""

from importlib.metadata import version

from litestar import Litestar, Router
from litestar.di import Provide

from api.access import Access
from api.bodies import BODY_BYTES, StrictRequest
from api.clients import Guard, current_client, current_memory
from api.conversations import conversations
from api.health import health
from api.jobs import list_jobs
from api.memories import memories
from api.metrics import metrics
from api.problems import answer
from api.recall import recall
from api.schema import SECURITY, description
from graphmem.runtime import Runtime

PREFIX = "/api/v0"


def create_app(runtime: Runtime) -> Litestar:
    """Return the API of a running graphmem. Raises `SettingError` when the keys cannot be used."""
    guard = Guard(runtime.settings)
    app = Litestar(
        route_handlers=[
            Router(
                PREFIX,
                route_handlers=[conversations, memories, recall, list_jobs],
                guards=[guard],
                security=SECURITY,
                dependencies={
                    "client": Provide(current_client, sync_to_thread=False),
                    "memory": Provide(current_memory, sync_to_thread=False),
                },
            ),
            health,
            metrics(guard),
        ],
        dependencies={"runtime": Provide(lambda: runtime, sync_to_thread=False)},
        exception_handlers={Exception: answer},
        logging_config=None,
        openapi_config=description(version("graphmem")),
        request_class=StrictRequest,
        request_max_body_size=BODY_BYTES,
    )
    app.asgi_handler = Access(app.asgi_handler)
    return app
