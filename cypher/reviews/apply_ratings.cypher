CYPHER 25
// Sets the new FSRS state of episodes, locked by this transaction; keeps each rating as an edge from its
// review.
//
// $client_id  string     the client
// $rows       list<map>  {review_id, episode_id, state, rated}; both hold the properties to set
UNWIND $rows AS row
MATCH (review:Review {client_id: $client_id, id: row.review_id})
MATCH (episode:Memory {client_id: $client_id, id: row.episode_id})
SET episode += row.state
MERGE (review)-[rated:RATED]->(episode)
SET rated = row.rated
RETURN count(*) AS written
