"""The graph as neomodel knows it: labels, their properties, and the edges between them.

Declarations only. Constraints and indexes are the schema files', so nothing here asks neomodel to
install any; search and traversal are the query files'. A live test compares this with the database.
neomodel keeps the name `id` for itself: the property `id` is called `uid` here.
"""

from neomodel import (
    ArrayProperty,
    AsyncRelationshipTo,
    AsyncStructuredNode,
    AsyncStructuredRel,
    AsyncZeroOrOne,
    BooleanProperty,
    DateTimeNeo4jFormatProperty,
    FloatProperty,
    IntegerProperty,
    StringProperty,
)


class Migration(AsyncStructuredNode):
    """A schema file that the database has seen; number 0 is the lock and has no file."""

    number = IntegerProperty(required=True)
    name = StringProperty()
    sha256 = StringProperty()
    applied_at = DateTimeNeo4jFormatProperty()
    locked = BooleanProperty()


class Installation(AsyncStructuredNode):
    """What every process on one database agrees on: the embedding model and the tokenizer."""

    uid = StringProperty(db_property="id", required=True)
    embedding_model = StringProperty(required=True)
    embedding_sha256 = StringProperty(required=True)
    dimensions = IntegerProperty(required=True)
    tokenizer = StringProperty(required=True)
    created_at = DateTimeNeo4jFormatProperty(required=True)


class Conversation(AsyncStructuredNode):
    """A durable memory space; `locked` is what its one writer sets to hold it."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    title = StringProperty()
    created_at = DateTimeNeo4jFormatProperty(required=True)
    next_position = IntegerProperty(required=True)
    locked = BooleanProperty()


class Session(AsyncStructuredNode):
    """One dialogue inside a conversation; `external_id` is the caller's name for it."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    conversation_id = StringProperty(required=True)
    external_id = StringProperty(required=True)
    started_at = DateTimeNeo4jFormatProperty(required=True)
    last_active_at = DateTimeNeo4jFormatProperty(required=True)
    next_idx = IntegerProperty(required=True)

    conversation = AsyncRelationshipTo("Conversation", "PART_OF", cardinality=AsyncZeroOrOne)


class Memory(AsyncStructuredNode):
    """Anything that can be remembered; what an index filters on is '' or a far time, never absent."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    kind = StringProperty(required=True)
    text = StringProperty(required=True)
    search_text = StringProperty(required=True)
    scope_words = StringProperty(required=True)
    embedding = ArrayProperty(FloatProperty(), required=True)
    embedding_truncated = BooleanProperty(required=True)
    token_count = IntegerProperty(required=True)
    importance = FloatProperty(required=True)
    active = BooleanProperty(required=True)
    source_type = StringProperty(required=True)
    source_id = StringProperty(required=True)
    conversation_id = StringProperty(required=True)
    session_id = StringProperty(required=True)
    category = StringProperty(required=True)
    scope = StringProperty(required=True)
    occurred_at = DateTimeNeo4jFormatProperty(required=True)
    valid_at = DateTimeNeo4jFormatProperty(required=True)
    invalid_at = DateTimeNeo4jFormatProperty(required=True)
    created_at = DateTimeNeo4jFormatProperty(required=True)
    superseded_at = DateTimeNeo4jFormatProperty(required=True)
    external_id = StringProperty()


class Message(Memory):
    """One utterance, at `idx` in its session and `position` in its conversation."""

    idx = IntegerProperty(required=True)
    position = IntegerProperty(required=True)
    role = StringProperty(required=True)
    name = StringProperty()

    session = AsyncRelationshipTo("Session", "PART_OF", cardinality=AsyncZeroOrOne)
    next_message = AsyncRelationshipTo("Message", "NEXT", cardinality=AsyncZeroOrOne)


class Episode(Memory):
    """A coherent run of messages."""


class Superseding(AsyncStructuredRel):
    """When a version superseded another, and why."""

    reason = StringProperty()
    created_at = DateTimeNeo4jFormatProperty(required=True)


class Fact(Memory):
    """One distilled statement; `locked` is what whoever supersedes it sets to hold it."""

    version = IntegerProperty()
    locked = BooleanProperty()

    supersedes = AsyncRelationshipTo(
        "Fact", "SUPERSEDES", cardinality=AsyncZeroOrOne, model=Superseding
    )


class Summary(Memory):
    """A digest of a session, a thread or a plan."""


class Reference(Memory):
    """The catalogue card of a source."""


class Span(Memory):
    """A byte range of a source."""


class Job(AsyncStructuredNode):
    """Background work: due at `run_at`, held under `lease` until then once it is claimed."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    kind = StringProperty(required=True)
    key = StringProperty(required=True)
    payload = StringProperty(required=True)
    state = StringProperty(required=True)
    run_at = DateTimeNeo4jFormatProperty(required=True)
    attempts = IntegerProperty(required=True)
    created_at = DateTimeNeo4jFormatProperty(required=True)
    finished_at = DateTimeNeo4jFormatProperty()
    error = StringProperty()
    lease = StringProperty()
    locked = BooleanProperty()
