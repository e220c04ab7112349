CYPHER 25
// Changes the annotations of all versions of a memory; the spans of a reference's content share its tags and
// its expiry.
//
// $client_id   string        the client
// $id          string        the id of any version; this transaction has locked all
// $changes     map           the changed properties; null removes one
// $shared      map           those of them that spans share
// $words_gone  list<string>  the scope words of the tags before
// $words       list<string>  those of the tags now
MATCH (memory:Memory {client_id: $client_id, id: $id})
MATCH (memory)(()-[:SUPERSEDES]-(:Memory {client_id: $client_id})){0,}(version:Memory)
WITH DISTINCT version
SET version += $changes
WITH version, [version] + COLLECT {
  MATCH (version)<-[:PART_OF]-(span:Span {client_id: $client_id})
  RETURN span
} AS parts
UNWIND parts AS part
SET part += CASE WHEN part = version THEN {} ELSE $shared END
WITH part, [part] + COLLECT {
  MATCH (part)<-[:PASSAGE_OF]-(passage:Passage {client_id: $client_id})
  RETURN passage
} AS searched
UNWIND searched AS one
SET one.scope_words = reduce(
  words = reduce(left = one.scope_words, word IN $words_gone | replace(left, ' ' + word, '')),
  word IN $words | words + ' ' + word
)
RETURN count(*) AS written
