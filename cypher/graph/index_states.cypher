CYPHER 25
// The names of this database's indexes with their states and the constraints that they serve.
SHOW INDEXES
YIELD name, state, owningConstraint
RETURN collect({name: name, state: state, owner: owningConstraint}) AS rows
