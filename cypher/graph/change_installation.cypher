CYPHER 25
// Moves a change of the embedding model on from the state that it is expected in; no row where it is in
// another, or where another change is under way.
//
// $change      string  the change's id; '' where none is expected
// $state       string  the state that it is expected in; '' where none is
// $after       string  the last memory's id that it is expected to have come to
// $properties  map     what becomes of the installation's properties; null removes one
MATCH (installation:Installation {id: 'installation'})
SET installation.locked = true
WITH installation
WHERE coalesce(installation.change_id, '') = $change
  AND coalesce(installation.change_state, '') = $state
  AND coalesce(installation.change_after_id, '') = $after
SET installation += $properties
REMOVE installation.locked
RETURN coalesce(installation.change_state, '') AS state
