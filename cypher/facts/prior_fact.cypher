CYPHER 25
// The properties of a fact that its next version inherits; for another kind of memory, only its kind counts.
//
// $client_id  string  the client
// $id         string  its id
MATCH (fact:Memory {client_id: $client_id, id: $id})
RETURN
  fact.id AS id,
  fact.kind AS kind,
  fact.conversation_id AS conversation_id,
  fact.category AS category,
  coalesce(fact.other_categories, []) AS other_categories,
  fact.scope AS scope,
  coalesce(fact.keywords, []) AS keywords,
  fact.importance AS importance,
  fact.valid_at AS valid_at,
  fact.created_at AS created_at,
  fact.metadata AS metadata,
  fact.tags AS tags,
  fact.expires_at AS expires_at
