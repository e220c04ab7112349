CYPHER 25
// Deletes the reads, the reviews and the contexts that mention a name; titles of conversations with it are
// removed.
//
// $client_id  string   the client
// $word       string   a pattern for the name as a whole word
// $dry_run    boolean  whether reads are only counted: their many edges would fill the transaction's memory
CALL () {
  MATCH (access:Access {client_id: $client_id, run_id: ''})
  WHERE access.at IS NOT NULL AND access.id IS NOT NULL // else no index is used
    AND access.question =~ $word
  FOREACH (one IN CASE WHEN $dry_run THEN [] ELSE [access] END | DETACH DELETE one)
  RETURN count(*) AS reads
}
CALL () {
  MATCH (review:Review {client_id: $client_id})
  WHERE review.id IS NOT NULL AND review.query =~ $word
  DETACH DELETE review
  RETURN count(*) AS reviews
}
CALL () {
  MATCH (context:Context {client_id: $client_id})
  WHERE context.id IS NOT NULL AND context.system_prompt =~ $word
  DETACH DELETE context
  RETURN count(*) AS contexts
}
CALL () {
  MATCH (entry:Audit {client_id: $client_id})
  WHERE entry.id IS NOT NULL AND entry.query =~ $word
  SET entry.query = ''
  RETURN count(*) AS statements
}
CALL () {
  MATCH (conversation:Conversation {client_id: $client_id})
  WHERE conversation.id IS NOT NULL AND conversation.title =~ $word
  SET conversation.title = null
  RETURN count(*) AS titles
}
RETURN reads, reviews, contexts, statements, titles
