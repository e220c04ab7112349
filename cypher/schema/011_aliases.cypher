CYPHER 25
// Names by how they are spelled and by their short form, and those whose aliases are still to be found.
CREATE INDEX entity_spelled IF NOT EXISTS
FOR (entity:Entity) ON (entity.client_id, entity.spelled);

CREATE INDEX entity_short IF NOT EXISTS
FOR (entity:Entity) ON (entity.client_id, entity.short);

CREATE INDEX entity_alias_due IF NOT EXISTS
FOR (entity:Entity) ON (entity.alias_due, entity.client_id);
