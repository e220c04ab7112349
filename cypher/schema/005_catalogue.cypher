CYPHER 25
// The catalogue: entities that memories mention, versions of summaries, lists by time, contexts in the
// making, reviews that wait, facts and episodes by their conversation.
CREATE CONSTRAINT entity_normalized IF NOT EXISTS
FOR (entity:Entity) REQUIRE (entity.client_id, entity.normalized) IS UNIQUE;

CREATE CONSTRAINT summary_version IF NOT EXISTS
FOR (summary:Summary)
REQUIRE (summary.client_id, summary.source_type, summary.source_id, summary.version) IS UNIQUE;

CREATE INDEX reference_time IF NOT EXISTS
FOR (reference:Reference) ON (reference.client_id, reference.occurred_at, reference.id);

CREATE INDEX reference_source IF NOT EXISTS
FOR (reference:Reference) ON (reference.client_id, reference.source_id);

CREATE INDEX summary_time IF NOT EXISTS
FOR (summary:Summary) ON (summary.client_id, summary.occurred_at, summary.id);

CREATE INDEX span_source IF NOT EXISTS
FOR (span:Span) ON (span.client_id, span.source_id, span.start_byte);

CREATE CONSTRAINT context_id IF NOT EXISTS
FOR (context:Context) REQUIRE (context.client_id, context.id) IS UNIQUE;

CREATE INDEX context_expiry IF NOT EXISTS
FOR (context:Context) ON (context.expires_at);

CREATE CONSTRAINT review_id IF NOT EXISTS
FOR (review:Review) REQUIRE (review.client_id, review.id) IS UNIQUE;

CREATE INDEX review_state IF NOT EXISTS
FOR (review:Review) ON (review.client_id, review.state, review.at);

CREATE INDEX fact_conversation IF NOT EXISTS
FOR (fact:Fact) ON (fact.client_id, fact.conversation_id, fact.valid_at);

CREATE INDEX episode_conversation IF NOT EXISTS
FOR (episode:Episode) ON (episode.client_id, episode.conversation_id, episode.end_at);
