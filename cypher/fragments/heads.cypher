// Some memories or, on request, their replacements: `memory` is the head of a version chain, or the span of a
// new content at the start of a span of the old one, and `chain` holds the ids from the requested one on.
//
// $client_id  string        the client
// $ids        list<string>  their ids
// $now_only   boolean       whether to return heads: a memory may be superseded between search and answer
UNWIND $ids AS id
MATCH (found:Memory {client_id: $client_id, id: id})
WITH CASE WHEN NOT $now_only OR found.active THEN [found] ELSE [found] + COLLECT {
  MATCH path = (found)(()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
  WITH newer, length(path) AS steps
  ORDER BY steps
  RETURN newer

  UNION ALL

  MATCH (found:Span)-[:PART_OF]->(:Reference {client_id: $client_id})
    (()<-[:SUPERSEDES]-(:Reference {client_id: $client_id})){1,}(whole:Reference)
    <-[:PART_OF]-(newer:Span {client_id: $client_id})
  WHERE newer.active = true AND newer.start_byte <= found.start_byte
  WITH newer
  ORDER BY newer.start_byte DESC, newer.id
  LIMIT 1
  RETURN newer
} END AS versions
WITH last(versions) AS memory, [one IN versions | one.id] AS chain
// Ended memories without a replacement are dropped. A reader may see the end of a version before the next version.
WHERE (NOT $now_only OR memory.active = true OR (memory.invalidated_at IS NULL AND NOT memory:Span))
