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
    AsyncZeroOrMore,
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
    """What every process on one database agrees on: the embedding model and the tokenizer.

    `former_`, `wanted_` and `change_` stand there while the model is being changed.
    """

    uid = StringProperty(db_property="id", required=True)
    embedding_model = StringProperty(required=True)
    embedding_sha256 = StringProperty(required=True)
    dimensions = IntegerProperty(required=True)
    tokenizer = StringProperty(required=True)
    cosine_low = FloatProperty(required=True)
    cosine_high = FloatProperty(required=True)
    embedding_source = StringProperty()
    embeddings = ArrayProperty(StringProperty())
    former_model = StringProperty()
    former_sha256 = StringProperty()
    former_source = StringProperty()
    former_dimensions = IntegerProperty()
    wanted_model = StringProperty()
    wanted_sha256 = StringProperty()
    wanted_source = StringProperty()
    wanted_dimensions = IntegerProperty()
    wanted_low = FloatProperty()
    wanted_high = FloatProperty()
    change_id = StringProperty()
    change_state = StringProperty()
    change_after_client = StringProperty()
    change_after_id = StringProperty()
    change_at = DateTimeNeo4jFormatProperty()
    change_indexed = BooleanProperty()
    change_done = IntegerProperty()
    change_total = IntegerProperty()
    created_at = DateTimeNeo4jFormatProperty(required=True)


class Client(AsyncStructuredNode):
    """A tenant's own settings; `locked` is what whoever starts a run or sets them holds it by."""

    client_id = StringProperty(required=True)
    categories = ArrayProperty(StringProperty())
    locked = BooleanProperty()


class Conversation(AsyncStructuredNode):
    """A durable memory space; `locked` is what its one writer sets to hold it."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    title = StringProperty()
    created_at = DateTimeNeo4jFormatProperty(required=True)
    next_position = IntegerProperty(required=True)
    locked = BooleanProperty()


class Linked(AsyncStructuredRel):
    """A link between two memories or sessions: since when, and, where we made it, how near and why.

    `entities` are the names that two sessions share.
    """

    created_at = DateTimeNeo4jFormatProperty(required=True)
    basis = StringProperty()
    score = FloatProperty()
    entities = ArrayProperty(StringProperty())
    start_byte = IntegerProperty()
    end_byte = IntegerProperty()


class Session(AsyncStructuredNode):
    """One dialogue inside a conversation; `external_id` is the caller's name for it."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    conversation_id = StringProperty(required=True)
    external_id = StringProperty(required=True)
    started_at = DateTimeNeo4jFormatProperty(required=True)
    last_active_at = DateTimeNeo4jFormatProperty(required=True)
    next_idx = IntegerProperty(required=True)
    segmented_idx = IntegerProperty()
    summarized_idx = IntegerProperty()
    locked = BooleanProperty()

    conversation = AsyncRelationshipTo("Conversation", "PART_OF", cardinality=AsyncZeroOrOne)
    relates_to = AsyncRelationshipTo(
        "Session", "RELATES_TO", cardinality=AsyncZeroOrMore, model=Linked
    )


class Superseding(AsyncStructuredRel):
    """When a version superseded another, and why."""

    reason = StringProperty()
    created_at = DateTimeNeo4jFormatProperty(required=True)


class Joined(AsyncStructuredRel):
    """Why a name is an alias: the rule, and the name that it found, `of`, an alias itself or not."""

    rule = StringProperty(required=True)
    of = StringProperty(required=True)
    created_at = DateTimeNeo4jFormatProperty(required=True)


class Parted(AsyncStructuredRel):
    """That somebody has undone an alias, so that no rule makes it again, and by which it was one."""

    rule = StringProperty(required=True)
    created_at = DateTimeNeo4jFormatProperty(required=True)


class SpelledOut(AsyncStructuredRel):
    """What a memory says that a short name stands for, in normal form."""

    form = StringProperty(required=True)


class Entity(AsyncStructuredNode):
    """A name that memories mention; `name` is how it was first written.

    `alias_due` marks one whose aliases are still to be found; `spelled` and `short` stand there afterwards.
    """

    client_id = StringProperty(required=True)
    normalized = StringProperty(required=True)
    name = StringProperty(required=True)
    spelled = StringProperty()
    short = StringProperty()
    alias_due = BooleanProperty()
    locked = BooleanProperty()

    alias_of = AsyncRelationshipTo("Entity", "ALIAS_OF", cardinality=AsyncZeroOrOne, model=Joined)
    not_alias_of = AsyncRelationshipTo(
        "Entity", "NOT_ALIAS_OF", cardinality=AsyncZeroOrMore, model=Parted
    )


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
    locked = BooleanProperty()
    embedding_2 = ArrayProperty(FloatProperty())
    other_truncated = BooleanProperty()

    mentions = AsyncRelationshipTo("Entity", "MENTIONS", cardinality=AsyncZeroOrMore)
    spells_out = AsyncRelationshipTo(
        "Entity", "SPELLS_OUT", cardinality=AsyncZeroOrMore, model=SpelledOut
    )
    supersedes = AsyncRelationshipTo(
        "Memory", "SUPERSEDES", cardinality=AsyncZeroOrOne, model=Superseding
    )
    relates_to = AsyncRelationshipTo(
        "Memory", "RELATES_TO", cardinality=AsyncZeroOrMore, model=Linked
    )
    references = AsyncRelationshipTo(
        "Memory", "REFERENCES", cardinality=AsyncZeroOrMore, model=Linked
    )
    refines = AsyncRelationshipTo("Memory", "REFINES", cardinality=AsyncZeroOrMore, model=Linked)
    contradicts = AsyncRelationshipTo(
        "Memory", "CONTRADICTS", cardinality=AsyncZeroOrMore, model=Linked
    )
    derived_from = AsyncRelationshipTo(
        "Memory", "DERIVED_FROM", cardinality=AsyncZeroOrMore, model=Linked
    )


class Message(Memory):
    """One utterance, at `idx` in its session and `position` in its conversation."""

    idx = IntegerProperty(required=True)
    position = IntegerProperty(required=True)
    role = StringProperty(required=True)
    name = StringProperty()

    session = AsyncRelationshipTo("Session", "PART_OF", cardinality=AsyncZeroOrOne)
    episode = AsyncRelationshipTo("Episode", "PART_OF", cardinality=AsyncZeroOrOne)
    next_message = AsyncRelationshipTo("Message", "NEXT", cardinality=AsyncZeroOrOne)


class Episode(Memory):
    """A coherent run of messages, remembered as FSRS says; `fsrs_step` only while it is learnt."""

    title = StringProperty(required=True)
    start_at = DateTimeNeo4jFormatProperty(required=True)
    end_at = DateTimeNeo4jFormatProperty(required=True)
    surprise = FloatProperty(required=True)
    stability = FloatProperty(required=True)
    difficulty = FloatProperty(required=True)
    last_reviewed_at = DateTimeNeo4jFormatProperty(required=True)
    fsrs_state = StringProperty(required=True)
    fsrs_step = IntegerProperty()
    consolidated_at = DateTimeNeo4jFormatProperty()

    conversation = AsyncRelationshipTo("Conversation", "PART_OF", cardinality=AsyncZeroOrOne)
    next_episode = AsyncRelationshipTo("Episode", "NEXT", cardinality=AsyncZeroOrOne)


class Fact(Memory):
    """One distilled statement; `reinforced` counts how often it was said again."""

    version = IntegerProperty(required=True)
    keywords = ArrayProperty(StringProperty(), required=True)
    reinforced = IntegerProperty(required=True)
    reinforced_at = DateTimeNeo4jFormatProperty()
    invalidated_at = DateTimeNeo4jFormatProperty()
    invalidated_from = DateTimeNeo4jFormatProperty()


class Summary(Memory):
    """A digest of a session, a thread or a plan; each has fields of its own.

    A superseded one of a session keeps the sessions that it related its own to.
    """

    version = IntegerProperty(required=True)
    platform = StringProperty()
    participant_count = IntegerProperty()
    message_count = IntegerProperty()
    key_points = ArrayProperty(StringProperty())
    sentiment = StringProperty()
    last_activity_at = DateTimeNeo4jFormatProperty()
    plan_type = StringProperty()
    total_nodes = IntegerProperty()
    completed_nodes = IntegerProperty()
    pending_nodes = IntegerProperty()
    failed_nodes = IntegerProperty()
    key_milestones = ArrayProperty(StringProperty())
    current_phase = StringProperty()
    topics = ArrayProperty(StringProperty())
    content_span_ids = ArrayProperty(StringProperty())

    session = AsyncRelationshipTo("Session", "SUMMARIZES", cardinality=AsyncZeroOrOne)
    related_sessions = AsyncRelationshipTo(
        "Session", "RELATES_TO", cardinality=AsyncZeroOrMore, model=Linked
    )


class Reference(Memory):
    """The catalogue card of a source; `metadata` is JSON, `content_…` where there is content."""

    version = IntegerProperty(required=True)
    label = StringProperty(required=True)
    description = StringProperty()
    metadata = StringProperty()
    span_id = StringProperty()
    span_start_byte = IntegerProperty()
    span_end_byte = IntegerProperty()
    span_token_estimate = IntegerProperty()
    content_sha256 = StringProperty()
    content_bytes = IntegerProperty()
    content_tokens = IntegerProperty()

    names = AsyncRelationshipTo("Entity", "NAMES", cardinality=AsyncZeroOrMore)


class Span(Memory):
    """A byte range of a source; without content it is a card with the caller's estimate."""

    start_byte = IntegerProperty(required=True)
    end_byte = IntegerProperty(required=True)
    sha256 = StringProperty()
    tags = ArrayProperty(StringProperty())
    recency = FloatProperty()
    token_estimate = IntegerProperty()

    reference = AsyncRelationshipTo("Reference", "PART_OF", cardinality=AsyncZeroOrOne)
    next_span = AsyncRelationshipTo("Span", "NEXT", cardinality=AsyncZeroOrOne)


class Held(AsyncStructuredRel):
    """A memory's text as a context holds it; it goes with the memory."""

    position = IntegerProperty(required=True)
    priority = IntegerProperty(required=True)
    content = StringProperty(required=True)
    tokens = IntegerProperty(required=True)


class Context(AsyncStructuredNode):
    """A context being composed."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    max_tokens = IntegerProperty(required=True)
    reserved_for_response = IntegerProperty(required=True)
    system_prompt = StringProperty()
    created_at = DateTimeNeo4jFormatProperty(required=True)
    expires_at = DateTimeNeo4jFormatProperty(required=True)
    locked = BooleanProperty()

    holds = AsyncRelationshipTo("Memory", "HOLDS", cardinality=AsyncZeroOrMore, model=Held)


class Returned(AsyncStructuredRel):
    """That a memory was shown, in which place."""

    rank = IntegerProperty(required=True)
    score = FloatProperty(required=True)
    tokens = IntegerProperty()


class Rated(AsyncStructuredRel):
    """A rating, what it stood on, and what it did."""

    rating = StringProperty(required=True)
    basis = StringProperty(required=True)
    reviewed_at = DateTimeNeo4jFormatProperty(required=True)
    stability_before = FloatProperty(required=True)
    stability_after = FloatProperty(required=True)
    difficulty_before = FloatProperty(required=True)
    difficulty_after = FloatProperty(required=True)


class Review(AsyncStructuredNode):
    """Episodes that a question was shown, and their ratings; `query` is '' on a caller's own rating."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    conversation_id = StringProperty(required=True)
    query = StringProperty(required=True)
    at = DateTimeNeo4jFormatProperty(required=True)
    state = StringProperty(required=True)
    locked = BooleanProperty()

    returned = AsyncRelationshipTo(
        "Episode", "RETURNED", cardinality=AsyncZeroOrMore, model=Returned
    )
    rated = AsyncRelationshipTo("Episode", "RATED", cardinality=AsyncZeroOrMore, model=Rated)


class Run(AsyncStructuredNode):
    """One budgeted retrieval session: what it may use, has used, has given to its children and got back."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    operation_id = StringProperty()
    agent_type = StringProperty(required=True)
    episode_id = StringProperty(required=True)
    status = StringProperty(required=True)
    outcome = StringProperty()
    depth = IntegerProperty(required=True)
    max_tokens = IntegerProperty(required=True)
    max_time_ms = IntegerProperty(required=True)
    max_retries = IntegerProperty(required=True)
    spent = IntegerProperty(required=True)
    given = IntegerProperty(required=True)
    returned = IntegerProperty(required=True)
    retries = IntegerProperty(required=True)
    retries_given = IntegerProperty(required=True)
    retries_returned = IntegerProperty(required=True)
    retrievals = IntegerProperty(required=True)
    writes = IntegerProperty(required=True)
    started_at = DateTimeNeo4jFormatProperty(required=True)
    deadline = DateTimeNeo4jFormatProperty(required=True)
    ended_at = DateTimeNeo4jFormatProperty()
    locked = BooleanProperty()

    spawned = AsyncRelationshipTo("Run", "SPAWNED", cardinality=AsyncZeroOrMore)
    performed = AsyncRelationshipTo("Access", "PERFORMED", cardinality=AsyncZeroOrMore)
    holds = AsyncRelationshipTo("Hold", "HOLDS", cardinality=AsyncZeroOrMore)


class Hold(AsyncStructuredNode):
    """Tokens that an operation of a run has reserved until it is settled or `expires_at`."""

    client_id = StringProperty(required=True)
    run_id = StringProperty(required=True)
    operation_id = StringProperty(required=True)
    tokens = IntegerProperty(required=True)
    expires_at = DateTimeNeo4jFormatProperty(required=True)


class Access(AsyncStructuredNode):
    """One recorded operation; `params` and `answer` are JSON without texts.

    A read outside of runs has `run_id` '' and its `question`, how much it found and how much it showed.
    """

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    run_id = StringProperty(required=True)
    operation_id = StringProperty()
    operation = StringProperty(required=True)
    at = DateTimeNeo4jFormatProperty(required=True)
    tokens = IntegerProperty(required=True)
    duration_ms = FloatProperty(required=True)
    params = StringProperty(required=True)
    answer = StringProperty()
    error = StringProperty()
    question = StringProperty()
    found = IntegerProperty()
    shown = IntegerProperty()
    conversation_id = StringProperty()

    returned = AsyncRelationshipTo(
        "Memory", "RETURNED", cardinality=AsyncZeroOrMore, model=Returned
    )
    wrote = AsyncRelationshipTo("Memory", "WROTE", cardinality=AsyncZeroOrMore)
    continues = AsyncRelationshipTo("Access", "CONTINUES", cardinality=AsyncZeroOrOne)


class Audit(AsyncStructuredNode):
    """A statement in Cypher that an operator sent, and how it ended; `parameters` are their names."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    at = DateTimeNeo4jFormatProperty(required=True)
    via = StringProperty(required=True)
    query = StringProperty(required=True)
    parameters = ArrayProperty(StringProperty(), required=True)
    outcome = StringProperty(required=True)
    code = StringProperty()
    rows = IntegerProperty()
    truncated = BooleanProperty()
    milliseconds = FloatProperty()


class Job(AsyncStructuredNode):
    """Background work: due at `run_at`, held under `lease` until then once it is claimed."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    kind = StringProperty(required=True)
    key = StringProperty(required=True)
    conversation_id = StringProperty()
    payload = StringProperty(required=True)
    state = StringProperty(required=True)
    run_at = DateTimeNeo4jFormatProperty(required=True)
    attempts = IntegerProperty(required=True)
    created_at = DateTimeNeo4jFormatProperty(required=True)
    again_at = DateTimeNeo4jFormatProperty()
    finished_at = DateTimeNeo4jFormatProperty()
    error = StringProperty()
    lease = StringProperty()
    locked = BooleanProperty()
