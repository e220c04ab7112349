// The sides of the embeddings that the installation requires of writes, each with its model, after `made`.
// After the nodes are created, not before: a change of the model begins with an index, whose creation
// waits for all writers. A writer that missed the change has committed before the change relies on it.
OPTIONAL MATCH (installation:Installation {id: 'installation'})
WITH
  made,
  coalesce(installation.embeddings, ['embedding']) AS properties,
  installation.embedding_model + '@' + installation.embedding_sha256 AS current,
  CASE installation.change_state
    WHEN 'embedding' THEN installation.wanted_model + '@' + installation.wanted_sha256
    ELSE installation.former_model + '@' + installation.former_sha256
  END AS beside
WITH made, [place IN range(0, size(properties) - 1) | {
  property: properties[place],
  model: [coalesce(current, 'current'), beside][place],
  current: place = 0
}] AS sides
