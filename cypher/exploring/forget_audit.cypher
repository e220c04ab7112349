CYPHER 25
// Deletes the oldest entries of the audit, of any client, that are too old or too many.
//
// $before  datetime  entries from before this time are too old
// $most    int       the maximum number of entries
// $limit   int       the batch size
CALL () {
  MATCH (one:Audit)
  RETURN count(one) AS kept
}
CALL () {
  MATCH (entry:Audit)
  WHERE entry.at < datetime('9999-12-31T23:59:59Z') AND entry.id IS NOT NULL // else no index is used
  RETURN entry
  ORDER BY entry.at
  LIMIT $limit
}
WITH entry, kept
WHERE entry.at < $before OR kept > $most
DELETE entry
RETURN count(*) AS written
