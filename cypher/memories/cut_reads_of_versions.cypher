CYPHER 25
// Deletes some of the edges from recorded reads to the versions of a memory and to their spans; the reads stay.
// Those of a span of a content stay too: it is not deleted alone.
//
// $client_id  string  the client
// $id         string  its id
// $limit      int     the maximum number of edges
MATCH (memory:Memory {client_id: $client_id, id: $id})
WHERE NOT EXISTS { (memory)-[:PART_OF]->(:Reference {client_id: $client_id}) }
MATCH (memory)(()-[:SUPERSEDES]-(:Memory {client_id: $client_id})){0,}(version:Memory)
WITH DISTINCT version
OPTIONAL MATCH (version)<-[:PART_OF]-(span:Span {client_id: $client_id})
WITH collect(DISTINCT version) + collect(span) AS gone
UNWIND gone AS one
MATCH (one)<-[returned:RETURNED]-(:Access {client_id: $client_id})
WITH returned
LIMIT $limit
DELETE returned
RETURN count(*) AS written
