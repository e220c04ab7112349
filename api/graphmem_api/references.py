"""References: the catalogue cards of sources, and their contents."""

from typing import Annotated

from litestar import Router, get, post, put
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, PathParameter

from graphmem.context import Context
from graphmem.references import reference
from graphmem.references.types import (
    Content,
    NewContent,
    NewReference,
    NewReferences,
    Reference,
    References,
    ReferencesAsked,
)
from graphmem_api.problems import failures
from graphmem_api.queries import query

ReferenceId = Annotated[str, PathParameter(description="the reference's id: that of one version")]

REFERENCE = Example(
    summary="The card of a page",
    value={
        "type": "knowledge_base",
        "target_id": "kb-1",
        "label": "Product FAQ",
        "description": "Frequently asked questions about pricing and features",
        "importance": 0.9,
        "metadata": {"path": "docs/faq.md"},
        "span_pointer": {"span_id": "kb-1:0", "start_byte": 0, "end_byte": 812},
    },
)
CONTENT = Example(
    summary="What the page says",
    value={"content": "The Harbour plan costs 59 € a month. Text messages are included."},
)


@post(
    "/",
    summary="Write references",
    response_description="The references are stored and searchable",
    responses=failures(413, 415),
)
async def add_references(
    data: Annotated[NewReference | NewReferences, BodyKwarg(examples=[REFERENCE])],
    context: NamedDependency[Context],
) -> Reference | list[Reference]:
    """Write one card or 1–1,000, all or none; each is new, even if its target has others."""
    if isinstance(data, list):
        return await reference.add_references(data, context)
    return (await reference.add_references([data], context))[0]


@get(
    "/",
    summary="List references",
    response_description="A page of references",
    responses=failures(),
    **query(ReferencesAsked, {"tags": list}),
)
async def list_references(
    context: NamedDependency[Context],
    asked: NamedDependency[ReferencesAsked],
) -> References:
    """List the client's references, newest first, without superseded versions."""
    return await reference.show_references(asked, context)


@get(
    "/{reference_id:str}",
    summary="Show a reference",
    response_description="The version with this id",
    responses=failures(404),
)
async def show_reference(reference_id: ReferenceId, context: NamedDependency[Context]) -> Reference:
    """Show one version of a reference; `active` is false once it has been superseded."""
    return await reference.show_reference(reference_id, context)


@put(
    "/{reference_id:str}/content",
    summary="Put a reference's content",
    response_description="The version that has it, and its spans in order",
    responses=failures(404, 409, 413, 415),
)
async def put_content(
    reference_id: ReferenceId,
    data: Annotated[NewContent, BodyKwarg(examples=[CONTENT])],
    context: NamedDependency[Context],
) -> Content:
    """Cut the content of a source into searchable spans of at most 1,000 bytes.

    The first content belongs to the reference; another one makes a new version with its own `id`, and the old
    spans are no longer found. A repeated content changes nothing, but missing or damaged spans are written
    again. 409 if the reference has been superseded, or another content was first.
    """
    return await reference.put_content(reference_id, data, context)


references = Router(
    "/references",
    route_handlers=[add_references, list_references, show_reference, put_content],
    tags=["references"],
)
