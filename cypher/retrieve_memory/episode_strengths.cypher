CYPHER 25
// The stored FSRS state of some episodes.
//
// $client_id  string        the client
// $ids        list<string>  their ids
UNWIND $ids AS id
MATCH (episode:Memory {client_id: $client_id, id: id})
WHERE episode.stability IS NOT NULL AND episode.last_reviewed_at IS NOT NULL
RETURN collect(episode {
  .id, .stability, last_reviewed_at: toString(episode.last_reviewed_at)
}) AS rows
