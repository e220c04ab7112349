CYPHER 25
// The indexes of this database as the server shows them.
SHOW INDEXES
YIELD name, type, state, labelsOrTypes, properties, options, failureMessage, owningConstraint
RETURN
  name,
  type,
  state,
  coalesce(labelsOrTypes, []) AS labels,
  coalesce(properties, []) AS properties,
  options.indexConfig AS options,
  coalesce(failureMessage, '') AS failure,
  owningConstraint AS owner
ORDER BY name
