CYPHER 25
// A fact that is to be superseded, as far as its next version takes after it; any other memory says that
// it is none.
//
// $client_id  string  whose fact
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
  fact.valid_at AS valid_at
