CYPHER 25
// Facts, each with its source episodes and the number of supporting sessions: those of the episodes'
// messages, and those of its direct sources.
//
// $client_id   string    the client
// $created_by  datetime  the transaction time: later versions and later ends are not known yet
// $end         datetime  the value for no upper bound
// include heads(fact)
  // A current version has no end.
  AND (NOT $now_only OR fact.active = false OR fact.invalid_at = $end)
WITH
  fact,
  chain,
  COLLECT {
    MATCH (fact)-[:DERIVED_FROM]->(episode:Episode)
    WHERE episode.client_id = $client_id
    WITH episode
    ORDER BY episode.end_at, episode.id
    RETURN episode.id
  } AS source_episodic_ids,
  COUNT {
    MATCH (fact)-[:DERIVED_FROM]->(source)
    WHERE source.client_id = $client_id
    OPTIONAL MATCH (source)<-[:PART_OF]-(message)
    WHERE source:Episode AND message.client_id = $client_id
    UNWIND [
      CASE WHEN source:Session THEN source.id ELSE source.session_id END,
      message.session_id
    ] AS session_id
    WITH DISTINCT session_id
    WHERE session_id <> ''
    RETURN session_id
  } AS sources,
  CASE WHEN $now_only THEN [] ELSE COLLECT {
    CALL (fact) {
      MATCH (fact)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
      WHERE newer.created_at <= $created_by
      // An end is never earlier than the beginning.
      RETURN CASE WHEN newer.valid_at < fact.valid_at THEN fact.valid_at ELSE newer.valid_at END AS moment

      UNION ALL

      FILTER fact.invalidated_at <= $created_by
      RETURN fact.invalidated_from AS moment
    }
    RETURN moment
    ORDER BY moment
    LIMIT 1
  } END AS ends
RETURN collect(fact {
  .id, .conversation_id, .category,
  keywords: coalesce(fact.keywords, []),
  other_categories: coalesce(fact.other_categories, []),
  fact: fact.text,
  source_episodic_ids: source_episodic_ids,
  sources: sources,
  valid_at: toString(fact.valid_at),
  invalid_at: toString(nullIf(head(ends), $end)),
  // include head(fact)
}) AS rows
