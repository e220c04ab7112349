"""The application: only the wiring of its parts."""

import math
from importlib.metadata import version

from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.di import Provide

from graphmem.runtime import Runtime
from graphmem_api.access import Following, ObservedApp
from graphmem_api.admission import Admission, Bodies, Turns
from graphmem_api.bodies import BODY_BYTES, StrictRequest
from graphmem_api.chunks import chunk, peek
from graphmem_api.clients import (
    Guard,
    current_client,
    current_context,
    export_client,
    list_all_clients,
    show_usage,
)
from graphmem_api.contexts import contexts
from graphmem_api.contextual import contextual
from graphmem_api.conversations import conversations
from graphmem_api.cypher import cypher
from graphmem_api.document import Structs
from graphmem_api.entities import entities
from graphmem_api.episodes import consolidate, remember_episode, segment
from graphmem_api.explorer import explorer
from graphmem_api.facts import remember_facts, set_categories, show_categories, supersede_fact
from graphmem_api.forgetting import forgetting
from graphmem_api.graph import graph
from graphmem_api.health import Closing, health
from graphmem_api.hyde import hyde_retrieve
from graphmem_api.jobs import list_jobs
from graphmem_api.links import add_links, delete_link, list_links
from graphmem_api.mcp import endpoint as mcp
from graphmem_api.memories import memories
from graphmem_api.metrics import metrics
from graphmem_api.patterns import list_patterns, run_pattern
from graphmem_api.problems import answer
from graphmem_api.recall import explain, recall
from graphmem_api.references import references
from graphmem_api.retrieve_memory import context_pre_retrieve, retrieve_memory, retrieve_memory_raw
from graphmem_api.reviews import list_reviews, review, run_reviews
from graphmem_api.runs import runs
from graphmem_api.schema import SECURITY, description
from graphmem_api.search import search, search_spans
from graphmem_api.sessions import sessions
from graphmem_api.spans import spans
from graphmem_api.summaries import summaries
from graphmem_api.versions import list_versions

PREFIX = "/api/v0"


def create_app(runtime: Runtime) -> Litestar:
    """Return the API of a running graphmem. Raises `SettingError` if the keys cannot be used."""
    settings, structs = runtime.settings, Structs()
    guard = Guard(settings)
    turns = Turns(
        at_once=settings.requests_at_once,
        waiting=settings.requests_waiting,
        of_client=lambda client_id: runtime.limits.of(client_id).requests,
    )
    bodies, seconds = Bodies(), float(settings.request_seconds)
    endpoint = mcp.Endpoint(runtime, turns, bodies, seconds=seconds)
    closing = Closing()
    app = Litestar(
        route_handlers=[
            Router(
                PREFIX,
                route_handlers=[
                    conversations,
                    list_all_clients,
                    show_usage,
                    export_client,
                    forgetting,
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
                    explain,
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
                    delete_link,
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
                    cypher(settings),
                    graph,
                ],
                guards=[guard],
                security=SECURITY,
                dependencies={
                    "client": Provide(current_client, sync_to_thread=False),
                    "context": Provide(current_context, sync_to_thread=False),
                },
            ),
            health,
            *explorer,
            metrics(guard),
            *([mcp.route(endpoint, guard)] if mcp.is_installed() else []),
        ],
        state=State({"mcp": endpoint, "closing": closing}),
        dependencies={
            "runtime": Provide(lambda: runtime, sync_to_thread=False),
            "closing": Provide(lambda: closing, sync_to_thread=False),
            "guard": Provide(lambda: guard, sync_to_thread=False),
        },
        exception_handlers={Exception: answer},
        logging_config=None,
        openapi_config=description(version("graphmem"), structs, guard),
        plugins=[structs],
        request_class=StrictRequest,
        request_max_body_size=BODY_BYTES,
    )
    admission = Admission(app.asgi_handler, turns, bodies, PREFIX, seconds=seconds)
    slow_seconds = settings.slow_ms / 1000 if settings.slow_ms else math.inf
    app.asgi_handler = ObservedApp(Following(admission), slow_seconds=slow_seconds)
    return app
