CYPHER 25
// Facts that were replaced by another version, each with its chain from the first version to the current one
// and the given reasons; the latest change comes first.
//
// title    Decisions reversed
// example  {"category": "architectural_decision"}
//
// $client_id        string    the client
// $category         string    of this category only, '' for all [0..128 = ""]
// $conversation_id  string    of this conversation only, '' for all [0..128 = ""]
// $since            datetime  replaced then or later, by when it was written [= "beginning"]
// $until            datetime  and before then [= "end"]
// $least            int       the least number of replacements [1..100 = 1]
// $limit            int       the maximum number of chains [1..1000 = 50]
//
// > now          string        the current version
// > before       string        the first version
// > reason       string        the reason of the last replacement; null if none was given
// > reversed_at  datetime      when it was replaced last
// > times        int           the number of replacements
// > category     string        the category of the fact
// > steps        list<map>     memory_id, text, valid_at and the reason of each version; oldest first
// > memory_ids   list<string>  all versions, oldest first
MATCH (newest:Fact {client_id: $client_id})
WHERE newest.conversation_id IS NOT NULL AND newest.valid_at IS NOT NULL // else no index is used
  AND ($conversation_id = '' OR newest.conversation_id = $conversation_id)
  AND ($category = '' OR newest.category = $category
    OR $category IN coalesce(newest.other_categories, []))
  AND NOT EXISTS { (newest)<-[:SUPERSEDES]-(:Memory {client_id: $client_id}) }
MATCH (newest)-[last:SUPERSEDES]->(:Memory {client_id: $client_id})
WHERE last.created_at >= $since
MATCH chain = (newest)(()-[:SUPERSEDES]->(:Memory {client_id: $client_id})){1,}(oldest)
WHERE NOT EXISTS { (oldest)-[:SUPERSEDES]->(:Memory {client_id: $client_id}) }
  AND length(chain) >= $least
  AND any(edge IN relationships(chain) WHERE edge.created_at >= $since AND edge.created_at < $until)
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
