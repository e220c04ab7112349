CYPHER 25
// Forgets some entries of the audit, of any client: the oldest, where they are too old or there are too many.
//
// $before  datetime  what was sent before then is too old
// $most    int       so many entries may be kept
// $limit   int       how many at once
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
