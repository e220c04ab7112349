"""The declaration of the graph in neomodel's classes: labels, their properties, and the edges between them.

`graphmem/graph/schema.py` reads them for the graph schema and the doctor, which compares them with a
database. Constraints and indexes are in the schema files, so that nothing here asks neomodel to install
any; search and traversal are in the query files. neomodel reserves the name `id`: the property `id` is
called `uid` here.
"""

from typing import Any

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


def _many(label: str, type: str, model: Any = None) -> Any:
    """Declare edges of a type to any number of nodes with a label; `model` has their properties."""
    return AsyncRelationshipTo(_full(label), type, cardinality=AsyncZeroOrMore, model=model)


def _one(label: str, type: str, model: Any = None) -> Any:
    """Declare an edge of a type to at most one node with a label; `model` has its properties."""
    return AsyncRelationshipTo(_full(label), type, cardinality=AsyncZeroOrOne, model=model)


def _full(label: str) -> str:
    # A bare name is looked up in the first module on the stack that knows it, which may be another one.
    return f"{__name__}.{label}"


class Migration(AsyncStructuredNode):
    """A schema file that was applied; number 0 is the lock and has no file."""

    number = IntegerProperty(required=True)
    name = StringProperty()
    sha256 = StringProperty()
    applied_at = DateTimeNeo4jFormatProperty()
    locked = BooleanProperty()


class Installation(AsyncStructuredNode):
    """The embedding model and the tokenizer, on which all processes of a database agree.

    Properties that begin with `former_`, `wanted_` and `change_` exist while the model is being changed.
    """

    uid = StringProperty(db_property="id", required=True)
    embedding_model = StringProperty(required=True)
    embedding_sha256 = StringProperty(required=True)
    dimensions = IntegerProperty(required=True)
    tokenizer = StringProperty(required=True)
    cosine_low = FloatProperty()
    cosine_high = FloatProperty()
    knowledge_of = StringProperty()
    languages = ArrayProperty(StringProperty())
    knowledge = ArrayProperty(FloatProperty())
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
    """The settings of a tenant; starting a run or changing them sets `locked`, to hold the node's lock.

    While an export is imported, `import_sha256` is the hash of its file and `import_place` the place in it.
    """

    client_id = StringProperty(required=True)
    categories = ArrayProperty(StringProperty())
    import_sha256 = StringProperty()
    import_place = StringProperty()
    legal_hold = StringProperty()
    locked = BooleanProperty()


class Usage(AsyncStructuredNode):
    """The usage of a client with limits: memories, the bytes of their texts, and the tokens written on `day`.

    Made with its first write under limits; from then on each write and deletion keeps it right.
    """

    client_id = StringProperty(required=True)
    memories = IntegerProperty(required=True)
    bytes = IntegerProperty(required=True)
    day = StringProperty(required=True)
    tokens = IntegerProperty(required=True)
    counted_at = DateTimeNeo4jFormatProperty(required=True)
    locked = BooleanProperty()


class Conversation(AsyncStructuredNode):
    """A durable memory space; its only writer sets `locked`, to hold the node's lock."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    title = StringProperty()
    metadata = StringProperty()
    tags = ArrayProperty(StringProperty())
    created_at = DateTimeNeo4jFormatProperty(required=True)
    next_position = IntegerProperty(required=True)
    locked = BooleanProperty()


class Linked(AsyncStructuredRel):
    """A link between two memories or sessions; `score` and `basis` exist if graphmem found it.

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
    given_idx = IntegerProperty()
    whole_embedding = ArrayProperty(FloatProperty())
    whole_model = StringProperty()
    taken_back = IntegerProperty()
    locked = BooleanProperty()

    conversation = _one("Conversation", "PART_OF")
    relates_to = _many("Session", "RELATES_TO", Linked)


class Superseding(AsyncStructuredRel):
    """The time at which a version superseded another, and the reason."""

    reason = StringProperty()
    created_at = DateTimeNeo4jFormatProperty(required=True)


class Joined(AsyncStructuredRel):
    """The reason for an alias: the rule, and the name that it found, `of`, itself an alias or not."""

    rule = StringProperty(required=True)
    of = StringProperty(required=True)
    created_at = DateTimeNeo4jFormatProperty(required=True)


class Parted(AsyncStructuredRel):
    """An alias that a caller has undone, so that no rule makes it again; `rule` had made it."""

    rule = StringProperty(required=True)
    created_at = DateTimeNeo4jFormatProperty(required=True)


class SpelledOut(AsyncStructuredRel):
    """The long form that a memory gives for a short name, in normal form."""

    form = StringProperty(required=True)


class Entity(AsyncStructuredNode):
    """A name that memories mention; `name` is its first spelling.

    `alias_due` marks one whose aliases are still to be found; `spelled` and `short` exist afterwards.
    """

    client_id = StringProperty(required=True)
    normalized = StringProperty(required=True)
    name = StringProperty(required=True)
    spelled = StringProperty()
    short = StringProperty()
    alias_due = BooleanProperty()
    locked = BooleanProperty()

    alias_of = _one("Entity", "ALIAS_OF", Joined)
    not_alias_of = _many("Entity", "NOT_ALIAS_OF", Parted)


class Memory(AsyncStructuredNode):
    """Anything that is remembered; a property on which an index filters is '' or a far time, never absent.

    Its embedding is in `embedding` or `embedding_2`, or in both while the model is being changed. A long one
    that still lacks some of its passages is marked by `passages_due`, one without a search for names by
    `names_due`. `metadata` is JSON.
    """

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    kind = StringProperty(required=True)
    text = StringProperty(required=True)
    search_text = StringProperty(required=True)
    scope_words = StringProperty(required=True)
    embedding = ArrayProperty(FloatProperty())
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
    metadata = StringProperty()
    tags = ArrayProperty(StringProperty())
    expires_at = DateTimeNeo4jFormatProperty()
    locked = BooleanProperty()
    embedding_2 = ArrayProperty(FloatProperty())
    other_truncated = BooleanProperty()
    passages_due = BooleanProperty()
    names_due = BooleanProperty()
    text_bytes = IntegerProperty()

    mentions = _many("Entity", "MENTIONS")
    spells_out = _many("Entity", "SPELLS_OUT", SpelledOut)
    supersedes = _one("Memory", "SUPERSEDES", Superseding)
    relates_to = _many("Memory", "RELATES_TO", Linked)
    references = _many("Memory", "REFERENCES", Linked)
    refines = _many("Memory", "REFINES", Linked)
    contradicts = _many("Memory", "CONTRADICTS", Linked)
    derived_from = _many("Memory", "DERIVED_FROM", Linked)


class Message(Memory):
    """One utterance, at `idx` in its session and `position` in its conversation."""

    idx = IntegerProperty(required=True)
    position = IntegerProperty(required=True)
    role = StringProperty(required=True)
    name = StringProperty()
    episode_deleted = BooleanProperty()
    episode_consolidated_at = DateTimeNeo4jFormatProperty()

    session = _one("Session", "PART_OF")
    episode = _one("Episode", "PART_OF")
    next_message = _one("Message", "NEXT")


class Episode(Memory):
    """A coherent run of messages, with its state in FSRS; `fsrs_step` exists while it is being learnt."""

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

    conversation = _one("Conversation", "PART_OF")
    next_episode = _one("Episode", "NEXT")


class Fact(Memory):
    """One distilled statement; `reinforced` counts its repetitions."""

    version = IntegerProperty(required=True)
    keywords = ArrayProperty(StringProperty(), required=True)
    other_categories = ArrayProperty(StringProperty())
    reinforced = IntegerProperty(required=True)
    reinforced_at = DateTimeNeo4jFormatProperty()
    invalidated_at = DateTimeNeo4jFormatProperty()
    invalidated_from = DateTimeNeo4jFormatProperty()


class Summary(Memory):
    """A digest of a session, a thread or a plan, each with properties of its own.

    A superseded summary of a session keeps the sessions to which it related that session.
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

    session = _one("Session", "SUMMARIZES")
    related_sessions = _many("Session", "RELATES_TO", Linked)


class Reference(Memory):
    """The catalogue card of a source; `content_…` exist if the content is stored."""

    version = IntegerProperty(required=True)
    label = StringProperty(required=True)
    description = StringProperty()
    span_id = StringProperty()
    span_start_byte = IntegerProperty()
    span_end_byte = IntegerProperty()
    span_token_estimate = IntegerProperty()
    content_sha256 = StringProperty()
    content_bytes = IntegerProperty()
    content_tokens = IntegerProperty()

    names = _many("Entity", "NAMES")


class Span(Memory):
    """A byte range of a source; without content it is a card with the caller's estimate."""

    start_byte = IntegerProperty(required=True)
    end_byte = IntegerProperty(required=True)
    sha256 = StringProperty()
    recency = FloatProperty()
    token_estimate = IntegerProperty()

    reference = _one("Reference", "PART_OF")
    next_span = _one("Span", "NEXT")


class Passage(AsyncStructuredNode):
    """A part of a long memory that is searched by itself: its bytes from `start` up to `end`, exclusive."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    memory_id = StringProperty(required=True)
    conversation_id = StringProperty(required=True)
    session_id = StringProperty(required=True)
    place = IntegerProperty(required=True)
    start = IntegerProperty(required=True)
    end = IntegerProperty(required=True)
    search_text = StringProperty(required=True)
    scope_words = StringProperty(required=True)
    embedding = ArrayProperty(FloatProperty())
    embedding_2 = ArrayProperty(FloatProperty())

    memory = _one("Memory", "PASSAGE_OF")


class Held(AsyncStructuredRel):
    """The text of a memory in a context; it is deleted with the memory."""

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
    text_bytes = IntegerProperty()
    created_at = DateTimeNeo4jFormatProperty(required=True)
    expires_at = DateTimeNeo4jFormatProperty(required=True)
    locked = BooleanProperty()

    holds = _many("Memory", "HOLDS", Held)


class Returned(AsyncStructuredRel):
    """A memory's rank in an answer, with its score."""

    rank = IntegerProperty(required=True)
    score = FloatProperty(required=True)
    tokens = IntegerProperty()


class Rated(AsyncStructuredRel):
    """A rating, its basis, and its effect."""

    rating = StringProperty(required=True)
    basis = StringProperty(required=True)
    reviewed_at = DateTimeNeo4jFormatProperty(required=True)
    stability_before = FloatProperty(required=True)
    stability_after = FloatProperty(required=True)
    difficulty_before = FloatProperty(required=True)
    difficulty_after = FloatProperty(required=True)


class Review(AsyncStructuredNode):
    """The episodes in an answer, and their ratings; `query` is '' for a caller's own rating."""

    client_id = StringProperty(required=True)
    uid = StringProperty(db_property="id", required=True)
    conversation_id = StringProperty(required=True)
    query = StringProperty(required=True)
    at = DateTimeNeo4jFormatProperty(required=True)
    state = StringProperty(required=True)
    locked = BooleanProperty()

    returned = _many("Episode", "RETURNED", Returned)
    rated = _many("Episode", "RATED", Rated)


class Run(AsyncStructuredNode):
    """One budgeted retrieval session: its limits, its use, and its children's shares."""

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

    spawned = _many("Run", "SPAWNED")
    performed = _many("Access", "PERFORMED")
    holds = _many("Hold", "HOLDS")


class Hold(AsyncStructuredNode):
    """Tokens that an operation of a run has reserved until it is settled or `expires_at`.

    `attempts` names the records of the attempts that are at work on it.
    """

    client_id = StringProperty(required=True)
    run_id = StringProperty(required=True)
    operation_id = StringProperty(required=True)
    tokens = IntegerProperty(required=True)
    expires_at = DateTimeNeo4jFormatProperty(required=True)
    attempts = ArrayProperty(StringProperty())


class Access(AsyncStructuredNode):
    """One recorded operation; `params` and `answer` are JSON without texts.

    A read outside of runs has an empty `run_id`, its `question`, and the numbers of memories found and shown.
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

    returned = _many("Memory", "RETURNED", Returned)
    wrote = _many("Memory", "WROTE")
    continues = _one("Access", "CONTINUES")


class Audit(AsyncStructuredNode):
    """A statement in Cypher that an operator sent, and its outcome; `parameters` are their names."""

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
    """Background work, due at `run_at`; a claimed job is held under `lease` until that time."""

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
