CYPHER 25
// Replaces the ids of forgotten memories in the records of runs' operations by `forgotten`: in the request and
// in the stored answer.
//
// $client_id  string        the client
// $ids        list<string>  the memories
MATCH (access:Access {client_id: $client_id})
WHERE access.run_id > '' AND access.at IS NOT NULL AND access.id IS NOT NULL // else no index is used
// In JSON an id stands between quotation marks. What failed has no answer.
WITH access, [part IN split(access.params + coalesce(access.answer, ''), '"') WHERE part IN $ids] AS named
WHERE size(named) > 0
FOREACH (id IN named |
  SET
    access.params = replace(access.params, '"' + id + '"', '"forgotten"'),
    access.answer = replace(access.answer, '"' + id + '"', '"forgotten"')
)
RETURN count(*) AS written
