CYPHER 25
// The running statements of any client, including those whose callers have already got an answer.
SHOW TRANSACTIONS
YIELD metaData, status, elapsedTime
WHERE metaData.graphmem_statement IS NOT NULL
RETURN collect({
  id: metaData.graphmem_statement,
  seconds: elapsedTime.milliseconds / 1000.0,
  limit: metaData.graphmem_seconds,
  terminated: status STARTS WITH 'Terminated'
}) AS rows
