CYPHER 25
// What belongs to no client: the applied schema files and the one installation.
CREATE CONSTRAINT migration_number IF NOT EXISTS
FOR (migration:Migration) REQUIRE migration.number IS UNIQUE;

CREATE CONSTRAINT installation_id IF NOT EXISTS
FOR (installation:Installation) REQUIRE installation.id IS UNIQUE;
