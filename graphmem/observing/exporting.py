"""Where spans go: to what the standard `OTEL_…` variables name, if `graphmem[otel]` is installed."""

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
"""Any of these asks for spans."""

PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
LAST_SECONDS = 3.0
"""How long the last spans may take to leave."""

log = logging.getLogger(__name__)


@asynccontextmanager
async def exporting(environ: Mapping[str, str] | None = None) -> AsyncIterator[None]:
    """Send spans for the length of the block, where somebody asks for them and nobody else does it."""
    environ = os.environ if environ is None else environ
    provider = _provider(environ) if _wanted(environ) else None
    try:
        yield
    finally:
        if provider is not None:
            # A thread that ends with the process: a receiver that hangs must not keep it.
            last = threading.Thread(target=provider.shutdown, name="last spans", daemon=True)
            last.start()
            await asyncio.to_thread(last.join, LAST_SECONDS)
            if last.is_alive():
                log.warning("the last spans could not be sent within %g s", LAST_SECONDS)


def _wanted(environ: Mapping[str, str]) -> bool:
    # `OTEL_SDK_DISABLED` is the SDK's own to heed.
    return environ.get(EXPORTER) != "none" and any(environ.get(name) for name in WANTED)


def _provider(environ: Mapping[str, str]) -> "TracerProvider | None":
    """Set up the SDK; None, and a line in the log, when that cannot be."""
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
    """Return the exporters that are asked for, as they are registered."""
    protocol = environ.get(PROTOCOL, "http/protobuf").partition("/")[0]
    asked = (environ.get(EXPORTER) or "otlp").split(",")
    return {
        f"otlp_proto_{protocol}" if name.strip() == "otlp" else name.strip()
        for name in asked
        if name.strip()
    }
