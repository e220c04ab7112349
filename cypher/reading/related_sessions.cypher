CYPHER 25
// The sessions that some are related to, with why: written links both ways, and memories of theirs that are
// linked; only sessions that are there take part.
//
// $client_id         string        whose sessions
// $session_ids       list<string>  the sessions, by their own ids
// $conversation_ids  list<string>  the conversations whose sessions may be found, all when empty
// $most              int           how many for each session and reason
UNWIND $session_ids AS session_id
MATCH (session:Session {client_id: $client_id, id: session_id})
CALL (session) {
  UNWIND ['similarity', 'entities'] AS basis
  CALL (session, basis) {
    MATCH (session)-[link:RELATES_TO {basis: basis}]-(other:Session {client_id: $client_id})
    WHERE size($conversation_ids) = 0 OR other.conversation_id IN $conversation_ids
    WITH other, max(link.score) AS score, collect(link.entities) AS named
    ORDER BY score DESC, other.id
    LIMIT $most
    RETURN other, score, coalesce(named[0], []) AS entities
  }
  RETURN other, basis, score, entities

  UNION ALL

  MATCH (session)<-[:PART_OF]-(here:Message {client_id: $client_id})
    -[link:RELATES_TO|REFERENCES|REFINES|CONTRADICTS|DERIVED_FROM]-(there:Memory {client_id: $client_id})
  WHERE there.session_id <> '' AND there.session_id <> session.id
  WITH session, there.session_id AS other_id, count(DISTINCT link) AS links
  MATCH (other:Session {client_id: $client_id, id: other_id})
  WHERE size($conversation_ids) = 0 OR other.conversation_id IN $conversation_ids
  WITH other, links
  ORDER BY links DESC, other.id
  LIMIT $most
  RETURN other, 'links' AS basis, 1 - 0.5 ^ links AS score, [] AS entities
}
WITH session, other, basis, score, entities
WHERE other.next_idx IS NOT NULL
OPTIONAL MATCH (other)<-[:SUMMARIZES]-(summary:Summary {
  client_id: $client_id, source_type: 'session_summary', active: true
})
WITH session, other, basis, score, entities, collect(summary.text)[0] AS summary
ORDER BY score DESC, basis, other.id
RETURN collect({
  session_id: other.id,
  session_external_id: other.external_id,
  conversation_id: other.conversation_id,
  started_at: toString(other.started_at),
  summary: summary,
  related_to: session.id,
  basis: basis,
  score: score,
  entities: entities
}) AS rows
