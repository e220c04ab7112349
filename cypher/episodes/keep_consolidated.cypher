CYPHER 25
// Notes that facts were made of episodes.
//
// $client_id  string        whose episodes
// $ids        list<string>  their ids
// $now        datetime      now
UNWIND $ids AS id
MATCH (episode:Memory {client_id: $client_id, id: id})
SET episode.consolidated_at = $now
RETURN count(*) AS written
