CYPHER 25
// Active memories of one kind with the same text, or with nearly the same meaning, nearest pair first, among
// the newest. The vector of a message has its speaker too, that of a fact its keywords.
//
// title    Duplicates
// example  {"kind": "reference", "cosine": 0.95}
//
// $client_id        string  the client
// $kind             string  the kind [message|episode|fact|summary|reference|span = "fact"]
// $conversation_id  string  of this conversation only, '' for all [0..128 = ""]
// $cosine           float   the least cosine of their vectors, where the texts differ [0.5..1 = 0.92]
// $newest           int     the number of newest memories to compare [2..500 = 300]
// $limit            int     the maximum number of pairs [1..1000 = 50]
//
// > newer       string        the newer one's text, its first 500 characters
// > older       string        the older one's
// > cosine      float         the cosine of their vectors
// > same_text   boolean       whether they differ only in case and outer spaces
// > newer_at    datetime      when the newer one happened
// > older_at    datetime      when the older one did
// > memory_ids  list<string>  the newer and the older
MATCH (memory:Memory)
WHERE memory.client_id = $client_id AND memory.active = true AND memory.kind = $kind
  AND memory.occurred_at IS NOT NULL AND memory.source_type IS NOT NULL
  AND memory.source_id IS NOT NULL AND memory.conversation_id IS NOT NULL
  AND memory.importance IS NOT NULL AND memory.id IS NOT NULL // all properties: else the index is not used
  AND ($conversation_id = '' OR memory.conversation_id = $conversation_id)
WITH memory
ORDER BY memory.occurred_at DESC, memory.id
LIMIT $newest
// Whole copies of long texts would exceed the memory of a transaction. The vectors are read here, once for each
// memory: read for each pair, those of memories with long texts take milliseconds each.
WITH
  collect({
    memory: memory,
    begins: toLower(left(trim(memory.text), 500)),
    vector: memory.embedding
  }) AS seen
UNWIND range(0, size(seen) - 1) AS place
WITH seen, seen[place] AS one, place
UNWIND seen[place + 1..] AS other
WITH
  one.memory AS newer,
  other.memory AS older,
  one.begins = other.begins AS same_beginning,
  2 * vector.similarity.cosine(one.vector, other.vector) - 1 AS cosine
WITH
  newer,
  older,
  CASE
    WHEN same_beginning THEN toLower(trim(newer.text)) = toLower(trim(older.text))
    ELSE false
  END AS same_text,
  cosine
WHERE cosine >= $cosine OR same_text
RETURN
  substring(newer.text, 0, 500) AS newer,
  substring(older.text, 0, 500) AS older,
  cosine,
  same_text,
  newer.occurred_at AS newer_at,
  older.occurred_at AS older_at,
  [newer.id, older.id] AS memory_ids
ORDER BY same_text DESC, cosine DESC, newer_at DESC, memory_ids[0], memory_ids[1]
LIMIT $limit
