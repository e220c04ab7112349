CYPHER 25
// Entries of the audit, of any client or of one, newest first.
//
// $asked      string    the client; '' for all
// $outcome    string    the outcome; '' for all
// $before     datetime  sent before this time
// $before_id  string    and, at that time, with a lower id
// $limit      int       the maximum number
MATCH (entry:Audit)
WHERE entry.at <= $before AND entry.id IS NOT NULL // else no index is used
  // With OR the index may be read twice, and whole.
  AND CASE WHEN entry.at = $before THEN entry.id < $before_id ELSE true END
  AND ($asked = '' OR entry.client_id = $asked)
  AND ($outcome = '' OR entry.outcome = $outcome)
RETURN
  entry.id AS id,
  entry.client_id AS client_id,
  entry.at AS at,
  entry.via AS via,
  entry.query AS query,
  entry.parameters AS parameters,
  entry.outcome AS outcome,
  entry.code AS code,
  entry.rows AS rows,
  entry.truncated AS truncated,
  entry.milliseconds AS milliseconds
ORDER BY entry.at DESC, entry.id DESC
LIMIT $limit
