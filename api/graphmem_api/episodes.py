"""Episodes: remembering one, making them of messages, making facts of them."""

from typing import Annotated

import msgspec
from litestar import post
from litestar.di import NamedDependency
from litestar.openapi.spec import Example
from litestar.params import BodyKwarg, QueryParameter
from msgspec import Struct

from graphmem.episodes.types import Consolidated, KeptEpisode, NewEpisode, Segmented
from graphmem.service import Graphmem
from graphmem_api.conversations import ConversationId
from graphmem_api.problems import failures
from graphmem_api.queries import strictly

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
    """How a conversation is to be segmented."""

    leave_growing: bool = False


@post(
    "/episodes",
    summary="Remember an episode",
    response_description="It is remembered and searchable, and so are its messages",
    tags=["episodes"],
    responses=failures(404, 413, 415),
)
async def remember_episode(
    data: Annotated[NewEpisode, BodyKwarg(examples=[INLINE, RANGE])],
    memory: NamedDependency[Graphmem],
) -> KeptEpisode:
    """Remember a run of messages: `messages` to be stored, or `message_ids` or a `range` of a session.

    A title and a summary that are not given are made of the messages' own sentences; the surprise, 0–1,
    is how far the episode lies from the conversation's earlier ones. A repeat is the same episode: where one
    with exactly these messages is there, and all that is said about it holds, `action` is `repeated`.
    """
    return await memory.remember_episode(**msgspec.structs.asdict(data))


@post(
    "/conversations/{conversation_id:str}/segment",
    summary="Make episodes of a conversation's messages",
    status_code=200,
    response_description="What was made",
    tags=["episodes"],
    responses=failures(404),
    before_request=strictly(SegmentAsked),
)
async def segment(
    conversation_id: ConversationId,
    memory: NamedDependency[Graphmem],
    leave_growing: Annotated[
        bool,
        QueryParameter(
            description="leave the last run of each session that is not idle: it may go on"
        ),
    ] = False,
) -> Segmented:
    """Make episodes of all messages that none holds, and rate the reviews that wait.

    The same happens by itself when nothing was written to the conversation for half an hour.
    """
    return await memory.segment(conversation_id, leave_growing=leave_growing)


@post(
    "/conversations/{conversation_id:str}/consolidate",
    summary="Make facts of episodes",
    status_code=200,
    response_description="What was done, or why nothing was",
    tags=["episodes"],
    responses=failures(404),
)
async def consolidate(
    conversation_id: ConversationId, memory: NamedDependency[Graphmem]
) -> Consolidated:
    """Have the language model make facts of up to five episodes that none were made of, oldest first.

    Without a language model it is off: `consolidated` is false and `reason` is `no_llm`.
    """
    return await memory.consolidate(conversation_id)
