CYPHER 25
// Moves an import from one place of its file to the next, under the client's lock; returns the place after it. It
// is another one than asked for if another process has moved it.
//
// $client_id  string  the client
// $sha256     string  the file's hash
// $before     string  the place before, '' at the start
// $after      string  the place after
MERGE (client:Client {client_id: $client_id})
SET client.locked = true
WITH client, coalesce(client.import_place, '') = $before
  AND coalesce(client.import_sha256, $sha256) = $sha256 AS ours
FOREACH (_ IN CASE WHEN ours THEN [1] ELSE [] END |
  SET client.import_sha256 = $sha256, client.import_place = $after)
RETURN coalesce(client.import_place, '') AS place, ours AS moved
