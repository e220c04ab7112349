CYPHER 25
// Deletes what is counted of clients without memories on earlier days, of any client: it is counted anew with
// their next write.
//
// $day  string  today, such as 2026-11-24
MATCH (usage:Usage)
// The index only holds nodes with a client: without this line it is not used.
WHERE usage.client_id > '' AND usage.memories = 0 AND usage.day < $day
SET usage.locked = true
WITH usage
// A write that this waited for may have changed it, or deleted it.
WHERE usage.memories = 0 AND usage.day < $day
DELETE usage
RETURN count(*) AS written
