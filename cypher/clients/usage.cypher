CYPHER 25
// What a client has, if that is counted.
//
// $client_id  string  the client
MATCH (usage:Usage {client_id: $client_id})
RETURN usage.memories AS memories, usage.bytes AS bytes, usage.day AS day, usage.tokens AS tokens,
  usage.counted_at AS counted_at
