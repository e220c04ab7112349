"""Spans: begun inside of others, ended without what went wrong, next to nothing without an SDK."""

import timeit

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import INVALID_SPAN, StatusCode

from graphmem.observing.spans import begun, sent, span


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    return traced_by(TracerProvider(), monkeypatch)


def traced_by(provider: TracerProvider, monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("graphmem.observing.spans.tracer", provider.get_tracer("graphmem"))
    return exporter


def test_a_span_inside_another_is_its_child(spans: InMemorySpanExporter) -> None:
    with span("outer", parent=begun()), span("inner", {"rows": 3}):
        pass
    inner, outer = spans.get_finished_spans()
    assert inner.parent is not None
    assert inner.parent.span_id == outer.context.span_id
    assert (outer.parent, inner.attributes) == (None, {"rows": 3})


def test_outside_of_any_span_none_is_begun(spans: InMemorySpanExporter) -> None:
    with span("alone") as shown:
        assert shown is INVALID_SPAN
        shown.set_attribute("rows", 3)
    assert not spans.get_finished_spans()


def test_what_begins_a_trace_does_so_inside_another_too(spans: InMemorySpanExporter) -> None:
    with span("request", parent=begun()), span("job", parent=begun()):
        pass
    job, request = spans.get_finished_spans()
    assert job.parent is None
    assert job.context.trace_id != request.context.trace_id


def test_of_what_went_wrong_only_the_class_is_told(spans: InMemorySpanExporter) -> None:
    with pytest.raises(KeyError), span("failing", parent=begun()):
        raise KeyError("sesame")
    [shown] = spans.get_finished_spans()
    assert (shown.status.status_code, shown.status.description) == (StatusCode.ERROR, "KeyError")
    assert "sesame" not in shown.to_json()
    assert not shown.events
    assert trace.get_current_span() is INVALID_SPAN


def test_what_is_not_sampled_stays_so_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    spans = traced_by(TracerProvider(sampler=ALWAYS_OFF), monkeypatch)
    with span("outer", parent=begun()) as outer, span("inner") as inner:
        assert inner.get_span_context().trace_id == outer.get_span_context().trace_id != 0
    assert not spans.get_finished_spans()


@pytest.mark.parametrize("given", ["", "nonsense", "00-0-0-01", "\xff" * 300])
def test_a_trace_that_cannot_be_is_not_gone_on_with(given: str, spans) -> None:
    with span("request", parent=sent({"traceparent": given})):
        pass
    [shown] = spans.get_finished_spans()
    assert shown.parent is None


def test_without_an_sdk_it_costs_next_to_nothing() -> None:
    def once() -> None:
        with span("recall/texts", {"db.system": "neo4j"}) as shown:
            shown.set_attribute("graphmem.rows", 1)

    # It takes about a microsecond; a busy machine takes a few.
    assert min(timeit.repeat(once, number=1_000, repeat=20)) / 1_000 < 20e-6
