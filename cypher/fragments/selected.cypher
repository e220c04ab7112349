// `memory` meets the conditions of a caller who selects what is forgotten.
//
// $client_id   string        the client
// $session_id  string        the session, '' for all
// $since       datetime      the first occurred_at that passes
// $until       datetime      the upper bound of occurred_at, exclusive
// $names       list<string>  the normal forms of a name: who said it, or is mentioned; empty for all
// $speakers    list<string>  the forms in which that name, or another one of the same, may stand as a speaker
// $written     list<string>  the forms of its longest word, in lower case, of which a value with it holds one
// $word        string        a pattern for that name as a whole word
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
