CYPHER 25
// The statements that the server works on, of any client, also those whose callers have long been answered.
SHOW TRANSACTIONS
YIELD metaData, status, elapsedTime
WHERE metaData.graphmem_statement IS NOT NULL
RETURN collect({
  id: metaData.graphmem_statement,
  seconds: elapsedTime.milliseconds / 1000.0,
  limit: metaData.graphmem_seconds,
  terminated: status STARTS WITH 'Terminated'
}) AS rows
