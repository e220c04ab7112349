CYPHER 25
// Marks episodes as consolidated.
//
// $client_id  string        the client
// $ids        list<string>  their ids
// $now        datetime      now
UNWIND $ids AS id
MATCH (episode:Memory {client_id: $client_id, id: id})
SET episode.consolidated_at = $now
RETURN count(*) AS written
