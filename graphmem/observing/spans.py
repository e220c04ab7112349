"""Spans of requests and jobs for OpenTelemetry, with names and numbers, never a text; and their export."""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from contextvars import Token
from importlib.metadata import entry_points
from types import TracebackType
from typing import TYPE_CHECKING

from opentelemetry import context, propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode

Attributes = Mapping[str, str | int | float]

tracer = trace.get_tracer("graphmem")


class span:  # noqa: N801 - used as a verb: with span("…")
    """A span for the length of a block, inside another span or with a `parent`.

    `parent` is the trace context of a caller's request, or a new one; only with it a trace can begin.
    """

    __slots__ = ("_attributes", "_kind", "_name", "_parent", "_span", "_token")

    def __init__(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        parent: Context | None = None,
    ) -> None:
        self._name = name
        self._attributes = attributes
        self._kind = kind
        self._parent = parent
        self._span: Span = INVALID_SPAN
        self._token: Token[Context] | None = None

    def __enter__(self) -> Span:
        """Begin the span."""
        if self._parent is None and not trace.get_current_span().get_span_context().is_valid:
            return INVALID_SPAN
        self._span = tracer.start_span(
            self._name, self._parent, kind=self._kind, attributes=self._attributes
        )
        if self._span.get_span_context().is_valid:
            self._token = context.attach(trace.set_span_in_context(self._span, self._parent))
        return self._span

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the span; of an error only the class is recorded, since a message may quote a text."""
        if self._token is None:
            return
        context.detach(self._token)
        if kind is not None:
            self._span.set_status(StatusCode.ERROR, kind.__name__)
        self._span.end()


def begun() -> Context:
    """Return the context of a new trace."""
    return Context()


def sent(headers: Mapping[str, str]) -> Context:
    """Return the trace context of a caller's headers, or that of a new trace."""
    return propagate.extract(headers, Context())


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
