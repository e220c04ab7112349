CYPHER 25
// The labels, types of edges and property keys that this database has ever known.
RETURN
  COLLECT { CALL db.labels() YIELD label RETURN label ORDER BY label } AS labels,
  COLLECT {
    CALL db.relationshipTypes() YIELD relationshipType
    RETURN relationshipType
    ORDER BY relationshipType
  } AS edge_types,
  COLLECT { CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey ORDER BY propertyKey } AS keys
