CYPHER 25
// Ends reviews that are locked by this transaction.
//
// $client_id  string        the client
// $ids        list<string>  their ids
// $state      string        done or expired
UNWIND $ids AS id
MATCH (review:Review {client_id: $client_id, id: id})
SET review.state = $state
RETURN count(*) AS written
