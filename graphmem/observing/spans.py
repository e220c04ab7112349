"""Spans of requests and jobs for OpenTelemetry; they contain names and numbers, never a text.

A request and a job begin a span; their steps are its children. Outside of any span no span begins, so that
a worker that looks for jobs every second does not fill a store with traces. Without an SDK, the usual case,
a span costs about a microsecond.
"""

from collections.abc import Mapping
from contextvars import Token
from types import TracebackType

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
