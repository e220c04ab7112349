CYPHER 25
// What clients with limits have: one node for each, which all their writes find.
CREATE CONSTRAINT usage_key IF NOT EXISTS
FOR (usage:Usage) REQUIRE usage.client_id IS UNIQUE;
