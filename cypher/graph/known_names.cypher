CYPHER 25
// The labels and edge types in use, and all property keys that this database has ever had.
RETURN
  COLLECT { CALL db.labels() YIELD label RETURN label ORDER BY label } AS labels,
  COLLECT {
    CALL db.relationshipTypes() YIELD relationshipType
    RETURN relationshipType
    ORDER BY relationshipType
  } AS edge_types,
  COLLECT { CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey ORDER BY propertyKey } AS keys
