"""The export of spans to the receiver of the standard `OTEL_…` variables, with `graphmem[otel]`."""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from opentelemetry import trace

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

EXPORTER = "OTEL_TRACES_EXPORTER"
WANTED = (EXPORTER, "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""Each of these variables asks for spans."""

PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
LAST_SECONDS = 3.0
"""The time limit for sending the last spans."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def exporting(environ: Mapping[str, str] | None = None) -> AsyncIterator[None]:
    """Send spans for the length of the block, if they are requested and no other SDK is set up."""
    environ = os.environ if environ is None else environ
    provider = _provider(environ) if _wanted(environ) else None
    try:
        yield
    finally:
        if provider is not None:
            # A daemon thread: a receiver that hangs must not keep the process alive.
            last = threading.Thread(target=provider.shutdown, name="last spans", daemon=True)
            last.start()
            await asyncio.to_thread(last.join, LAST_SECONDS)
            if last.is_alive():
                log.warning("the last spans could not be sent within %g s", LAST_SECONDS)


def _wanted(environ: Mapping[str, str]) -> bool:
    # The SDK itself obeys `OTEL_SDK_DISABLED`.
    return environ.get(EXPORTER) != "none" and any(environ.get(name) for name in WANTED)


def _provider(environ: Mapping[str, str]) -> "TracerProvider | None":
    """Set up the SDK; None, with a line in the log, if that is impossible."""
    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    try:
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("spans are asked for, but not sent: pip install 'graphmem[otel]'")
        return None
    resource = Resource.create()
    if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "graphmem"}))
    provider = TracerProvider(resource=resource)
    for name in _names(environ):
        found = entry_points(group="opentelemetry_traces_exporter", name=name)
        if not found:
            log.warning("spans are not sent to %s: no such exporter is installed", name)
        for exporter in found:
            provider.add_span_processor(BatchSpanProcessor(exporter.load()()))
    trace.set_tracer_provider(provider)
    return provider


def _names(environ: Mapping[str, str]) -> set[str]:
    """Return the names under which the wanted exporters are registered."""
    protocol = environ.get(PROTOCOL, "http/protobuf").partition("/")[0]
    asked = (environ.get(EXPORTER) or "otlp").split(",")
    return {
        f"otlp_proto_{protocol}" if name.strip() == "otlp" else name.strip()
        for name in asked
        if name.strip()
    }
