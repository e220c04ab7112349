CYPHER 25
// The schema files that were applied to this database, in order; number 0 is the lock.
MATCH (migration:Migration)
WHERE migration.number > 0
RETURN migration.number AS number, migration.name AS name, migration.sha256 AS sha256
ORDER BY number
