CYPHER 25
// Some memories that a caller selects to be forgotten, in the order of their ids.
//
// $client_id        string        the client
// $after            string        only ids after this one
// $limit            int           the maximum number
// $ids              list<string>  the memories, by id; empty for all
// $names            list<string>  the normal forms of a name: who said it, or is mentioned; empty for all
// $speakers         list<string>  the forms in which that name, or another one of the same, may stand as a speaker
// $written          list<string>  the forms of its longest word, in lower case, of which a value with it holds one
// $word             string        a pattern for that name as a whole word
// $conversation_id  string        their conversation, '' for all
// $session_id       string        their session, '' for all
// $since            datetime      the first occurred_at that passes
// $until            datetime      the upper bound of occurred_at, exclusive
CALL () {
  FILTER size($ids) > 0
  UNWIND $ids AS id
  MATCH (memory:Memory {client_id: $client_id, id: id})
  RETURN memory

  UNION

  FILTER size($ids) = 0 AND $conversation_id <> ''
  MATCH (memory:Memory {client_id: $client_id, conversation_id: $conversation_id})
  RETURN memory

  UNION

  FILTER size($ids) = 0 AND $conversation_id = ''
  MATCH (memory:Memory {client_id: $client_id})
  WHERE memory.id > $after
  RETURN memory
}
WITH memory
WHERE memory.id > $after
  AND ($session_id = '' OR memory.session_id = $session_id)
  AND memory.occurred_at >= $since AND memory.occurred_at < $until
  // include tagged
  AND (
    size($names) = 0
    OR EXISTS {
      MATCH (memory)-[:MENTIONS|NAMES]->(entity:Entity {client_id: $client_id})
      WHERE entity.normalized IN $names
    }
    // Of a version the reason, too.
    OR any(value IN [memory.search_text, memory.text, memory.name, memory.title, memory.metadata]
      + coalesce(memory.tags, []) + [
        (memory)-[version:SUPERSEDES]-(:Memory {client_id: $client_id}) | version.reason
      ]
      WHERE any(form IN $written WHERE toLower(value) CONTAINS form) AND value =~ $word)
    // The speaker of a message, by any name.
    OR toLower(memory.name) IN $speakers
  )
WITH memory
ORDER BY memory.id
LIMIT $limit
RETURN collect(memory {.id}) AS rows
