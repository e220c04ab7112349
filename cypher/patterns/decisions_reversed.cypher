CYPHER 25
// Facts that were replaced by another version, each with its chain from the first to what holds now and the
// reasons that were given; those that changed last come first.
//
// title    Decisions reversed
// example  {"category": "architectural_decision"}
//
// $client_id        string    whose facts
// $category         string    of this category only, '' for all [0..128 = ""]
// $conversation_id  string    of this conversation only, '' for all [0..128 = ""]
// $since            datetime  replaced then or later, by when it was written [= "beginning"]
// $until            datetime  and before then [= "end"]
// $least            int       how often it was replaced at least [1..100 = 1]
// $limit            int       how many chains [1..1000 = 50]
//
// > now          string        what holds now
// > before       string        what was decided first
// > reason       string        why it was replaced the last time; null where nobody said
// > reversed_at  datetime      when that was written
// > times        int           how often it was replaced
// > category     string        what the fact is about
// > steps        list<map>     memory_id, text, valid_at, and why it replaced the one before; oldest first
// > memory_ids   list<string>  all versions, oldest first
MATCH (newest:Fact {client_id: $client_id})
WHERE newest.conversation_id IS NOT NULL AND newest.valid_at IS NOT NULL // else no index is used
  AND ($conversation_id = '' OR newest.conversation_id = $conversation_id)
  AND ($category = '' OR newest.category = $category)
  AND NOT EXISTS { (newest)<-[:SUPERSEDES]-(:Memory {client_id: $client_id}) }
MATCH (newest)-[last:SUPERSEDES]->(:Memory {client_id: $client_id})
WHERE last.created_at >= $since AND last.created_at < $until
MATCH chain = (newest)(()-[:SUPERSEDES]->(:Memory {client_id: $client_id})){1,100}(oldest)
WHERE NOT EXISTS { (oldest)-[:SUPERSEDES]->(:Memory {client_id: $client_id}) }
  AND length(chain) >= $least
WITH newest, last, oldest, reverse(nodes(chain)) AS versions, reverse(relationships(chain)) AS edges
RETURN
  newest.text AS now,
  oldest.text AS before,
  last.reason AS reason,
  last.created_at AS reversed_at,
  size(edges) AS times,
  newest.category AS category,
  [place IN range(0, size(versions) - 1) | {
    memory_id: versions[place].id,
    text: versions[place].text,
    valid_at: versions[place].valid_at,
    reason: CASE place WHEN 0 THEN null ELSE edges[place - 1].reason END
  }] AS steps,
  [version IN versions | version.id] AS memory_ids
ORDER BY reversed_at DESC, newest.id
LIMIT $limit
