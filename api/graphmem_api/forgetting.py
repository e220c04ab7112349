"""Forgetting: by a selection or a whole client, its proof, and legal holds."""

from typing import Annotated

from litestar import Router, delete, post, put
from litestar.di import NamedDependency
from litestar.exceptions import PermissionDeniedException
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, PathParameter
from msgspec import Meta, Struct

from graphmem.context import Context
from graphmem.forgetting import forget as use_case
from graphmem.forgetting.types import ForgetAsked, NewHold, Receipt, Verified, VerifyAsked
from graphmem.model.validation import validated
from graphmem.model.vocabulary import ClientId
from graphmem.runtime import Runtime
from graphmem_api.admission import LONG_WORK
from graphmem_api.keys import RequestClient
from graphmem_api.problems import failures
from graphmem_api.queries import query

OneClient = Annotated[str, PathParameter(description="the client's id")]

NAMED = Example(
    summary="A dry run for everything about a person",
    value={"name": "Mara Lind", "dry_run": True},
)
SENTENCE = Example(
    summary="A sentence that must be found nowhere",
    value={"text": "Mara Lind takes insulin."},
)
REASON = Example(summary="A hold", value={"reason": "case 2026-114"})


class ClientForgetAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether to count only."""

    dry_run: Annotated[bool, Meta(description="whether to count only")] = False


@post(
    "/forget",
    opt=LONG_WORK,
    summary="Forget memories",
    status_code=200,
    response_description="The receipt",
    responses=failures(409, 413, 415),
)
async def forget(
    data: Annotated[ForgetAsked, BodyKwarg(examples=[NAMED])], context: NamedDependency[Context]
) -> Receipt:
    """Delete the memories that meet all given conditions, with everything made of them.

    That includes all versions, the spans of references, the episodes and summaries of messages (which are
    made again from the remaining messages), everything derived from them, their passages and vectors, and the
    questions that found them. `dry_run` counts and deletes nothing. 409 under a legal hold.
    """
    return await use_case.forget(data, context)


@post(
    "/forget/verify",
    opt=LONG_WORK,
    summary="Verify that something is forgotten",
    status_code=200,
    response_description="Whether it is found nowhere, and where it is found",
    responses=failures(413, 415),
)
async def verify(
    data: Annotated[VerifyAsked, BodyKwarg(examples=[SENTENCE])],
    context: NamedDependency[Context],
) -> Verified:
    """Search every property of the client's nodes and edges for a text, in any case, or an id.

    It reads the whole store.
    """
    return await use_case.verify_forgotten(data, context)


@delete(
    "/clients/{client_id:str}",
    opt=LONG_WORK,
    summary="Forget a client",
    status_code=200,
    response_description="The receipt",
    responses=failures(409),
    **query(ClientForgetAsked),
)
async def forget_client(
    client_id: OneClient,
    client: NamedDependency[RequestClient],
    runtime: NamedDependency[Runtime],
    asked: NamedDependency[ClientForgetAsked],
) -> Receipt:
    """Delete everything of a client; for the client itself and for operators. `dry_run` deletes nothing.

    Memories that are written meanwhile may remain: revoke the client's keys first. Where limits hold, the
    number of tokens that a client has written today stays until tomorrow if it forgets itself. 409 under a
    legal hold.
    """
    if client.role != "operator" and client.id != client_id:
        raise PermissionDeniedException(
            "a client may forget itself; another one is forgotten with a key of the role operator only"
        )
    context = runtime.context(validated(client_id, ClientId, "client_id"))
    return await use_case.forget_client(
        context, dry_run=asked.dry_run, keeps_tokens=client.role != "operator"
    )


@put(
    "/clients/{client_id:str}/hold",
    summary="Begin a legal hold",
    status_code=204,
    responses=failures(413, 415),
)
async def begin_hold(
    client_id: OneClient,
    data: Annotated[NewHold, BodyKwarg(examples=[REASON])],
    runtime: NamedDependency[Runtime],
) -> None:
    """Forbid all deletion of a client's memories, and their expiry; for operators."""
    await use_case.begin_hold(
        validated(client_id, ClientId, "client_id"), data, runtime.context(client_id).graph
    )


@delete(
    "/clients/{client_id:str}/hold",
    summary="End a legal hold",
    status_code=204,
    responses=failures(),
)
async def end_hold(client_id: OneClient, runtime: NamedDependency[Runtime]) -> None:
    """Allow deletion of a client's memories again; for operators. Memories that have expired are deleted."""
    await use_case.end_hold(
        validated(client_id, ClientId, "client_id"), runtime.context(client_id).graph
    )


forgetting = Router(
    "/",
    route_handlers=[forget, verify, forget_client, begin_hold, end_hold],
    tags=["forgetting"],
)
