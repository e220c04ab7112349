"""The application: what is wired to what, and nothing else."""

from importlib.metadata import version

from litestar import Litestar, Router
from litestar.di import Provide

from api.access import Access
from api.bodies import BODY_BYTES, StrictRequest
from api.chunks import chunk, peek
from api.clients import Guard, current_client, current_memory
from api.contexts import contexts
from api.contextual import contextual
from api.conversations import conversations
from api.cypher import cypher
from api.entities import entities
from api.episodes import consolidate, remember_episode, segment
from api.facts import remember_facts, set_categories, show_categories, supersede_fact
from api.graph import graph
from api.health import health
from api.hyde import hyde_retrieve
from api.jobs import list_jobs
from api.links import add_links, list_links
from api.memories import memories
from api.metrics import metrics
from api.patterns import list_patterns, run_pattern
from api.problems import answer
from api.recall import recall
from api.references import references
from api.retrieve_memory import context_pre_retrieve, retrieve_memory, retrieve_memory_raw
from api.reviews import list_reviews, review, run_reviews
from api.runs import runs
from api.schema import SECURITY, description
from api.search import search, search_spans
from api.sessions import sessions
from api.spans import spans
from api.summaries import summaries
from api.versions import list_versions
from graphmem.runtime import Runtime

PREFIX = "/api/v0"


def create_app(runtime: Runtime) -> Litestar:
    """Return the API of a running graphmem. Raises `SettingError` when the keys cannot be used."""
    guard = Guard(runtime.settings)
    app = Litestar(
        route_handlers=[
            Router(
                PREFIX,
                route_handlers=[
                    conversations,
                    segment,
                    consolidate,
                    remember_facts,
                    supersede_fact,
                    show_categories,
                    set_categories,
                    remember_episode,
                    memories,
                    list_versions,
                    peek,
                    chunk,
                    contexts,
                    contextual,
                    recall,
                    hyde_retrieve,
                    search,
                    search_spans,
                    list_jobs,
                    references,
                    summaries,
                    sessions,
                    spans,
                    entities,
                    add_links,
                    list_links,
                    retrieve_memory,
                    retrieve_memory_raw,
                    context_pre_retrieve,
                    list_reviews,
                    runs,
                    run_reviews,
                    review,
                    list_patterns,
                    run_pattern,
                    cypher(runtime.settings),
                    graph,
                ],
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
