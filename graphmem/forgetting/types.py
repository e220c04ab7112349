"""What is to be forgotten, and the receipts."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct, field

from graphmem.model.annotations import WantedTags
from graphmem.model.times import Time
from graphmem.model.vocabulary import Kind

GivenId = Annotated[str, Meta(min_length=1, max_length=256)]

REMAINS = (
    "the files of the store and of its indexes, until other data overwrites them: Neo4j only marks what is "
    "deleted as free; export the clients that stay and import them into a new store to be rid of it",
    "the transaction logs of the database: on a private server until 32 MB more are written and an hour has "
    "passed, on your own as it is set",
    "backups and exports that were made before, and backups made later that copy the files of the store",
    "the memory of processes: what was found for a turn, for ten minutes at most; single words, names of "
    "speakers and, of other processes, last 64 questions, until others displace them or the process ends",
    "the questions of the last second in other processes of the service: they are recorded after this, "
    "unless a memory of their answer is gone",
    "the audit of operators' Cypher, if they asked as another client: for 90 days at most",
)
"""What may hold forgotten texts for a while."""


class ForgetAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The conditions of the memories to forget; all given ones must hold, and at least one must be given.

    Everything made of these memories is forgotten too: all versions, the episodes and summaries of messages,
    everything derived from them, and the questions that found them. `dry_run` counts and deletes nothing.
    """

    memory_ids: (
        Annotated[list[GivenId], Meta(min_length=1, max_length=1_000, description="these memories")]
        | None
    ) = None
    conversation_id: (
        Annotated[
            GivenId, Meta(description="those of this conversation; alone, the conversation as well")
        ]
        | None
    ) = None
    session_id: (
        Annotated[
            GivenId,
            Meta(
                description="those of this session, by its own id, or beside `conversation_id` by the "
                "caller's name for it; without other conditions, it as well"
            ),
        ]
        | None
    ) = None
    tags: WantedTags | None = None
    since: Annotated[Time, Meta(description="those of this time or later")] | None = None
    until: (
        Annotated[Time, Meta(description="those before this time, which is after `since`")] | None
    ) = None
    name: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=256,
                description="those that this person said, that mention this person or thing by any "
                "name, or hold the words",
            ),
        ]
        | None
    ) = None
    dry_run: bool = False


class Receipt(Struct, frozen=True, kw_only=True):
    """The numbers of deleted nodes, or of nodes that would be deleted, without their texts."""

    at: datetime
    """The time of the deletion, or of the count, by the service's clock."""
    dry_run: bool
    memories: dict[Kind, int]
    """By kind, with all versions and everything that was made of the selected ones."""
    total: int
    """The number of all memories."""
    passages: int = 0
    embeddings: int = 0
    entities: int = 0
    """The names that nothing mentions any more.

    A dry run of more than 500 memories counts too few names, and reads that found several of them twice.
    """
    conversations: int = 0
    sessions: int = 0
    reads: int = 0
    """The records of reads, with their questions in clear text."""
    reviews: int = 0
    contexts: int = 0
    """The contexts whose system prompt repeated a text."""
    held_texts: int = 0
    """The texts that other contexts held."""
    run_writes: int = 0
    """The operations of runs that had written some of the memories; their records, without texts, stay."""
    runs: int = 0
    jobs: int = 0
    statements: int = 0
    """The statements of operators that repeated a text, which was removed."""
    titles: int = 0
    """The titles of conversations with the name, which were removed."""
    digest: str | None = None
    """Of a dry run of a selection the SHA-256 of the ids: another one if other memories would be deleted."""
    remains: list[str] = field(default_factory=lambda: list(REMAINS))
    """What may hold a text for a while."""


class VerifyAsked(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A text or an id that must be found nowhere, exactly one of them."""

    text: Annotated[str, Meta(min_length=1, max_length=10_000)] | None = None
    id: GivenId | None = None


class FoundPlace(Struct, frozen=True, kw_only=True):
    """A property of a node, or of an edge that leaves it, that contains the text or the id."""

    labels: list[str]
    edge: str | None
    """The type of the edge; null for a property of the node itself."""
    property: str
    id: str | None


class Verified(Struct, frozen=True, kw_only=True):
    """Whether a text or an id is found nowhere, and up to 100 places where it is found."""

    forgotten: bool
    places: list[FoundPlace]


class NewHold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason of a legal hold, which is shown to everyone whom it stops."""

    reason: Annotated[str, Meta(min_length=1, max_length=1_000)]
