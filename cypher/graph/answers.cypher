CYPHER 25
// A row from the store, of any client, if the database can begin a transaction and read.
RETURN coalesce(head(COLLECT { MATCH (any) RETURN 1 LIMIT 1 }), 0) AS read
