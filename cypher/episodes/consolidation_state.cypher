CYPHER 25
// The state that consolidation may still change, read under the conversation's lock: the episodes not yet
// consolidated and the facts that are active. Also whether these episodes were consolidated at a moment.
//
// $client_id    string        the client
// $episode_ids  list<string>  the episodes
// $fact_ids     list<string>  the facts
// $at           datetime      the moment
RETURN
  COLLECT {
    UNWIND $episode_ids AS id
    MATCH (episode:Memory {client_id: $client_id, id: id})
    WHERE episode.consolidated_at IS NULL
    RETURN episode.id
  } AS open,
  COLLECT {
    UNWIND $fact_ids AS id
    MATCH (fact:Memory {client_id: $client_id, id: id})
    WHERE fact.active = true
    RETURN fact.id
  } AS holding,
  EXISTS {
    UNWIND $episode_ids AS id
    MATCH (episode:Memory {client_id: $client_id, id: id})
    WHERE episode.consolidated_at = $at
    RETURN episode
  } AS done
