CYPHER 25
// Moves a change of the embedding model on from its expected state; no row if the state differs or another
// change is under way.
//
// $change      string  the change's id; '' if none is expected
// $state       string  the expected state; '' for none
// $after       string  the expected id of the last memory done
// $properties  map     the new properties of the installation; null removes one
MATCH (installation:Installation {id: 'installation'})
SET installation.locked = true
WITH installation
WHERE coalesce(installation.change_id, '') = $change
  AND coalesce(installation.change_state, '') = $state
  AND coalesce(installation.change_after_id, '') = $after
SET installation += $properties
REMOVE installation.locked
RETURN coalesce(installation.change_state, '') AS state
