"""The closed lists and limits that several parts share: kinds, types of edges, sizes."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta, Struct
from msgspec.structs import replace

Kind = Literal["message", "episode", "fact", "summary", "reference", "span"]
"""The kinds of memories; a memory also has its kind, capitalized, as a label in the graph."""

KINDS: tuple[Kind, ...] = get_args(Kind)

WantedKinds = Annotated[list[Kind], Meta(min_length=1, max_length=len(KINDS))]
"""Some of the kinds, in a request."""

SourceType = Literal[
    "thread_summary",
    "plan_summary",
    "session_summary",
    "knowledge_base",
    "brand_kit",
    "offer",
    "reference",
    "episode_log",
    "span",
    "message",
    "episode",
    "fact",
]
"""The origin of a memory; as a filter, `span` finds all spans."""

WantedSources = Annotated[
    list[SourceType], Meta(min_length=1, max_length=len(get_args(SourceType)))
]
"""Some of the origins, in a request."""

SummaryType = Literal["thread", "plan", "session"]
ReferenceType = Literal["knowledge_base", "brand_kit", "offer", "reference", "episode_log"]

SpanSource = Literal[
    "knowledge_base", "thread_summary", "plan_summary", "episode_log", "brand_kit", "offer"
]
"""The source types of the spans that a caller registers."""


class KindTraits(Struct, frozen=True):
    """The names that go with a kind of memory."""

    heading: str
    """The heading over such memories in a text for a prompt."""
    source_types: tuple[SourceType, ...]
    """The source types of such memories. Spans have those of their sources, too."""


TRAITS: Mapping[Kind, KindTraits] = {
    "message": KindTraits("Messages", ("message",)),
    "episode": KindTraits("Episodes", ("episode",)),
    "fact": KindTraits("Facts", ("fact",)),
    "summary": KindTraits("Summaries", ("thread_summary", "plan_summary", "session_summary")),
    "reference": KindTraits("References", get_args(ReferenceType)),
    "span": KindTraits("Excerpts", ("span",)),
}

KIND_OF: Mapping[SourceType, Kind] = {
    source_type: kind for kind, traits in TRAITS.items() for source_type in traits.source_types
}
"""The kind of the memories of a source type; others of that type are spans."""


CUT_KINDS: frozenset[Kind] = frozenset({"message", "episode", "fact", "summary"})
"""The kinds whose long memories have passages: a reference is described in short, its content is in spans."""


def kind_label(kind: Kind) -> str:
    """Return the label that the memories of a kind have beside `Memory`."""
    return kind.capitalize()


LinkType = Literal["relates_to", "references", "refines", "contradicts", "derived_from"]
"""The types of links between two memories, which callers may create."""

GivenLinkType = Literal[LinkType, "related_to"]
"""A type of link in a request; `related_to` means `relates_to`."""

LINK_TYPES: tuple[LinkType, ...] = get_args(LinkType)

Step = Literal[LinkType, "summarizes", "mentions", "part_of", "next"]
"""The edges that a hop may follow in both directions; `mentions` leads over an entity to other memories."""

GivenStep = Literal[Step, "related_to"]
"""A step in a request; `related_to` means `relates_to`."""

STEPS: tuple[Step, ...] = get_args(Step)
DEFAULT_STEPS: tuple[Step, ...] = tuple(step for step in STEPS if step not in {"part_of", "next"})
"""The default steps of a hop: not to the other parts of a text or its neighbours."""

EdgeType = Literal[
    "ALIAS_OF",
    "CONTINUES",
    "CONTRADICTS",
    "DERIVED_FROM",
    "HOLDS",
    "MENTIONS",
    "NAMES",
    "NEXT",
    "NOT_ALIAS_OF",
    "PART_OF",
    "PERFORMED",
    "RATED",
    "REFERENCES",
    "REFINES",
    "RELATES_TO",
    "RETURNED",
    "SPAWNED",
    "SPELLS_OUT",
    "SUMMARIZES",
    "SUPERSEDES",
    "WROTE",
]
"""The types of edges that a walk shows; `graphmem/graph/nodes.py` declares their ends and properties."""

EDGE_TYPES: tuple[EdgeType, ...] = get_args(EdgeType)

INNER_EDGES = ("PASSAGE_OF",)
"""The types of edges inside one memory, which no walk and no hop follows."""


def stored_type(given: str) -> str:
    """Return the stored type of an edge that a caller names in any case; `related_to` means `relates_to`."""
    name = given.strip().upper()
    return "RELATES_TO" if name == "RELATED_TO" else name


Role = Literal["user", "assistant", "system", "tool"]

GivenRole = Literal[Role, "human", "ai", "function", "developer"]
"""A role in a request; the names of agent frameworks mean one of ours."""

ROLE_OF: Mapping[GivenRole, Role] = {
    **{role: role for role in get_args(Role)},
    "human": "user",
    "ai": "assistant",
    "function": "tool",
    "developer": "system",
}

CATEGORIES: tuple[str, ...] = (
    "identity",
    "preference",
    "interest",
    "personality",
    "relationship",
    "experience",
    "goal",
    "guideline",
    "coding_preference",
    "project_convention",
    "architectural_decision",
    "user_fact",
    "correction",
    "pattern",
)
"""The categories of facts for a client that has not set its own."""

AliasRule = Literal["manual", "spelling", "known", "plural", "path", "first_name", "acronym"]
"""The origin of an alias: a caller (`manual`), or the rule of `graphmem/text/aliases.py` that found it."""

Rating = Literal["again", "hard", "good", "easy"]
"""The usefulness of a memory that was shown, worst first, in the terms of FSRS."""

RATINGS: tuple[Rating, ...] = get_args(Rating)

TruncationStrategy = Literal["end", "sentence", "middle"]

Ranking = Literal["default", "rrf", "vector", "bm25"]

Leg = Literal["vector", "bm25"]

Lack = Literal["no_vector", "language", "no_reranker", "fan_out"]
"""A part of a search that an answer is without."""

LACKING = (
    "the parts of the search that the answer is without: `no_vector`, the embedding model failed and only "
    "words were searched; `language`, the model does not know the question's language, and words and "
    "spelling lead; `no_reranker`, the reranker gave no scores in time; `fan_out`, a memory has more links "
    "than a hop follows"
)

Lacks = Annotated[list[Lack], Meta(description=LACKING)]

# JSON Schema knows no `\Z`, and Python's `$` alone would let a line break follow.
ID_PATTERN = r"^[A-Za-z0-9._:-]{1,128}$(?!\n)"
"""The pattern of the ids that callers choose."""

Id = Annotated[
    str,
    Meta(
        pattern=ID_PATTERN,
        description="1–128 of letters, digits, `.`, `_`, `:` and `-`",
        examples=["550e8400-e29b-41d4-a716-446655440001"],
    ),
]
ClientId = Id

MOST_READS = 8
"""The maximum number of clients that a caller reads beside its own: each is searched by itself."""

READS = "the clients to read beside one's own; default: all that the key, or the setting, permits"
OWNER = "the client that it belongs to, as the item says; default: one's own"

OtherReads = Annotated[list[ClientId], Meta(max_length=MOST_READS, description=READS)]
Owner = Annotated[ClientId, Meta(description=OWNER)]

MARK_END = "\x1f"
"""The end of the client in a marked id; no client's id contains it."""


def marked_id(client_id: str, id: str) -> str:
    """Return an id of another client so that no id of any other client is equal; '' stays ''."""
    return f"{client_id}{MARK_END}{id}" if client_id and id else id


def owner_of(id: str) -> str:
    """Return the client of a marked id; '' for an id of the caller's own client."""
    return id.partition(MARK_END)[0] if MARK_END in id else ""


def bare_id(id: str) -> str:
    """Return an id as its client knows it."""
    return id.partition(MARK_END)[2] if MARK_END in id else id


def marked_row(client_id: str, row: Any) -> Any:
    """Return a row of another client, or an id, with its ids marked."""
    if isinstance(row, str):
        return marked_id(client_id, row)
    changes: dict[str, Any] = {}
    for name in _IDS:
        if isinstance(id := getattr(row, name, None), str):
            changes[name] = marked_id(client_id, id)
    for name in _LISTS:
        if ids := getattr(row, name, None):
            changes[name] = type(ids)(marked_id(client_id, id) for id in ids)
    if (head := getattr(row, "head", None)) is not None:
        changes["head"] = marked_row(client_id, head)
    return replace(row, **changes)


_IDS = ("id", "session_id", "from_id", "related_to")
_LISTS = ("chain", "cut_at")
"""The fields of rows with ids of memories and sessions, which are unique only within a client."""

Importance = Annotated[float, Meta(ge=0.0, le=1.0)]
SourceId = Annotated[str, Meta(min_length=1, max_length=256)]
Byte = Annotated[int, Meta(ge=0, le=2**53)]
"""A position in a source, in bytes of UTF-8."""

MESSAGE_BYTES = 1_000_000
"""The maximum size of a message's content, in bytes of UTF-8."""

QUERY_CHARACTERS = 32_768
"""The maximum length of a question, in characters."""

LABEL_CHARACTERS = 256
"""The maximum length of a caller's id or name for something, in characters."""

Label = Annotated[str, Meta(min_length=1, max_length=LABEL_CHARACTERS)]

BATCH_MESSAGES = 1_000
"""The maximum number of messages in one call."""


class Side(Struct, frozen=True):
    """Two vector indexes, of memories and of their passages, and the property that both index."""

    index: str
    embedding: str
    passage_index: str


FIRST = Side("memory_embedding", "embedding", "passage_embedding")
SECOND = Side("memory_embedding_2", "embedding_2", "passage_embedding_2")
SIDES = (FIRST, SECOND)

VECTORS = frozenset({*(side.embedding for side in SIDES), "whole_embedding"})
"""The properties that hold vectors: of memories, and of a session as a whole. Nobody is shown them."""


def side_of(embedding: str) -> Side:
    """Return the side with this property."""
    return next(side for side in SIDES if side.embedding == embedding)


def other(side: Side) -> Side:
    """Return the opposite side."""
    return SECOND if side == FIRST else FIRST
