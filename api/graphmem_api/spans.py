"""Spans: byte ranges of sources."""

from typing import Annotated

from litestar import Router, get, post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, PathParameter

from graphmem.context import Context
from graphmem.references import spans as registry
from graphmem.references.types import NewSpan, NewSpans, Span, SpanContent
from graphmem_api.problems import failures

SpanId = Annotated[str, PathParameter(description="the span's id")]

SPAN = Example(
    summary="The beginning of a page",
    value={
        "id": "kb-123:0",
        "source_type": "knowledge_base",
        "source_id": "kb-123",
        "start_byte": 0,
        "end_byte": 47,
        "content": "Information about product pricing and features.",
        "metadata": {"importance": 0.8, "tags": ["pricing"]},
    },
)


@post(
    "/",
    summary="Register spans",
    response_description="The spans; those with content are searchable",
    responses=failures(409, 413, 415),
)
async def register_spans(
    data: Annotated[NewSpan | NewSpans, BodyKwarg(examples=[SPAN])],
    context: NamedDependency[Context],
) -> Span | list[Span]:
    """Register one span or 1–1,000, all or none; a span whose `id` exists is replaced.

    Hash and length must match the content. Tokens are measured. Without `content` a span is only a card and
    is not searched. 409 if the id belongs to another kind of memory, or to a reference's content; under a
    legal hold also if another text would be replaced.
    """
    if isinstance(data, list):
        return await registry.register_spans(data, context)
    return (await registry.register_spans([data], context))[0]


@get(
    "/{span_id:str}",
    summary="Show a span",
    response_description="The span without its text",
    responses=failures(404),
)
async def show_span(span_id: SpanId, context: NamedDependency[Context]) -> Span:
    """Show a span's card; a summary is a span of all its bytes, as in a run."""
    return await registry.show_span(span_id, context)


@get(
    "/{span_id:str}/content",
    summary="Show a span's content",
    response_description="The text, checked against its SHA-256",
    responses=failures(404, 409),
)
async def show_span_content(span_id: SpanId, context: NamedDependency[Context]) -> SpanContent:
    """Show a span's text; null if it was registered without one.

    409 if the text does not match its stored SHA-256.
    """
    return await registry.show_span_content(span_id, context)


spans = Router(
    "/spans", route_handlers=[register_spans, show_span, show_span_content], tags=["spans"]
)
