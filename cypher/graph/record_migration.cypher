CYPHER 25
// Records the application of a schema file.
//
// $number  int     its number
// $name    string  its name
// $sha256  string  the hash of its text
MERGE (migration:Migration {number: $number})
ON CREATE SET
  migration.name = $name, migration.sha256 = $sha256, migration.applied_at = datetime.transaction()
RETURN migration.number AS number, migration.name AS name, migration.sha256 AS sha256
