CYPHER 25
// Facts for a turn, each with its version chain, oldest first, as of a transaction time. With a time, of each chain
// the version that held then: one that was recorded since the search may have taken the place of the one found.
//
// $client_id   string    the client
// $created_by  datetime  the last created_at that is shown
// $end         datetime  the value for no upper bound
// include heads(found)
CALL (found) {
  FILTER $now_only
  RETURN found AS fact

  UNION ALL

  FILTER NOT $now_only
  MATCH (found)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){0,}(fact:Memory)
  WHERE fact.client_id = $client_id
    // include held_then(fact)
  RETURN fact
  LIMIT 1
}
WITH fact, CASE WHEN $now_only OR fact = found THEN chain ELSE [found.id, fact.id] END AS chain
RETURN collect(fact {
  .id, .text, .category, .scope,
  version: coalesce(fact.version, 1),
  supersedes: head(COLLECT {
    MATCH (fact)-[:SUPERSEDES]->(before:Memory {client_id: $client_id})
    RETURN before.id
  }),
  conversation_id: nullIf(fact.conversation_id, ''),
  valid_at: toString(fact.valid_at),
  created_at: toString(fact.created_at),
  versions: COLLECT {
    MATCH (fact)(()-[:SUPERSEDES]-(:Memory {client_id: $client_id})){0,}(version:Memory)
    WITH DISTINCT version
    WHERE version.created_at <= $created_by
      // One that was written while this was read is newer than what is shown.
      AND (NOT $now_only OR coalesce(version.version, 1) <= coalesce(fact.version, 1))
    OPTIONAL MATCH (version)-[edge:SUPERSEDES]->(:Memory {client_id: $client_id})
    WITH version, edge, coalesce(version.version, 1) AS number
    ORDER BY number
    RETURN version {
      .id, .kind, .text,
      version: number,
      valid_at: toString(version.valid_at),
      created_at: toString(version.created_at),
      superseded_at:
        CASE WHEN version.superseded_at <= $created_by
          THEN toString(nullIf(version.superseded_at, $end)) END,
      reason: edge.reason
    }
  },
  // include head(fact)
}) AS rows
