"""Episodes: remembering one, making them of messages, making facts of them."""

from typing import Annotated

from litestar import post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg
from msgspec import Meta, Struct

from graphmem.context import Context
from graphmem.episodes import consolidate as consolidation, remember, segment as segmentation
from graphmem.episodes.types import Consolidated, KeptEpisode, NewEpisode, Segmented
from graphmem_api.admission import LONG_WORK
from graphmem_api.conversations import ConversationId
from graphmem_api.problems import failures
from graphmem_api.queries import query

INLINE = Example(
    summary="New messages, with everything said about them",
    value={
        "conversation_id": "550e8400-e29b-41d4-a716-446655440001",
        "messages": [
            {"session_id": "1", "role": "user", "content": "My new team is all Rust."},
            {"session_id": "1", "role": "assistant", "content": "That's a big shift."},
        ],
        "title": "Career switch to Rust",
        "summary": "User switching careers from Python to Rust.",
        "surprise": 0.85,
    },
)
RANGE = Example(
    summary="Messages that are there; title, summary and surprise are computed",
    value={
        "conversation_id": "550e8400-e29b-41d4-a716-446655440001",
        "range": {"session_id": "2026-03-02-morning", "from_idx": 0, "to_idx": 7},
    },
)


class SegmentAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options of segmenting a conversation."""

    leave_growing: Annotated[
        bool, Meta(description="leave the last run of each session that is not idle: it may grow")
    ] = False


@post(
    "/episodes",
    summary="Remember an episode",
    response_description="The episode and its messages are stored and searchable",
    tags=["episodes"],
    responses=failures(404, 413, 415),
)
async def remember_episode(
    data: Annotated[NewEpisode, BodyKwarg(examples=[INLINE, RANGE])],
    context: NamedDependency[Context],
) -> KeptEpisode:
    """Remember a run of messages: new `messages`, stored `message_ids`, or a `range` of a session.

    An omitted title or summary is made of the messages' own sentences; the surprise, 0–1, is the distance to
    the conversation's earlier episodes. A repetition changes nothing: if an episode with exactly these
    messages and all given values exists, `action` is `repeated`.
    """
    return await remember.remember_episode(data, context)


@post(
    "/conversations/{conversation_id:str}/segment",
    opt=LONG_WORK,
    summary="Make episodes of a conversation's messages",
    status_code=200,
    response_description="The new episodes",
    tags=["episodes"],
    responses=failures(404),
    **query(SegmentAsked),
)
async def segment(
    conversation_id: ConversationId,
    context: NamedDependency[Context],
    asked: NamedDependency[SegmentAsked],
) -> Segmented:
    """Make episodes of all messages without one, and rate the pending reviews.

    Background work does the same when nothing was written to the conversation for half an hour. Messages of
    an episode that was deleted, forgotten or has expired itself are left alone.
    """
    return await segmentation.segment(conversation_id, context, leave_growing=asked.leave_growing)


@post(
    "/conversations/{conversation_id:str}/consolidate",
    opt=LONG_WORK,
    summary="Make facts of episodes",
    status_code=200,
    response_description="The outcome, or why nothing was done",
    tags=["episodes"],
    responses=failures(404),
)
async def consolidate(
    conversation_id: ConversationId, context: NamedDependency[Context]
) -> Consolidated:
    """Let the language model make facts of up to five episodes without facts, oldest first.

    Without a language model, `consolidated` is false and `reason` is `no_llm`.
    """
    return await consolidation.consolidate(conversation_id, context)
