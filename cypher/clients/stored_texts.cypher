CYPHER 25
// How long the texts of a client's memories and contexts are together, in bytes of UTF-8; those of the memories
// as they are counted.
//
// $client_id  string  the client
CALL () {
  MATCH (context:Context {client_id: $client_id})
  // The index only holds nodes with an id: without this line it is not used.
  WHERE context.id IS NOT NULL
  RETURN sum(coalesce(context.text_bytes, 0)) AS contexts
}
OPTIONAL MATCH (usage:Usage {client_id: $client_id})
RETURN contexts + coalesce(usage.bytes, 0) AS bytes
