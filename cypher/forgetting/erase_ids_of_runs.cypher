CYPHER 25
// Replaces the ids of forgotten memories in the records of runs' operations: in the request and in the stored
// answer.
//
// $client_id  string        the client
// $ids        list<string>  the memories
// $instead    string        what stands in place of an id
MATCH (access:Access {client_id: $client_id})
WHERE access.run_id > '' AND access.at IS NOT NULL AND access.id IS NOT NULL // else no index is used
// In JSON an id stands between quotation marks. What failed has no answer.
WITH access, [part IN split(access.params + coalesce(access.answer, ''), '"') WHERE part IN $ids] AS named
WHERE size(named) > 0
SET
  access.params = reduce(text = access.params, id IN named |
    replace(text, '"' + id + '"', '"' + $instead + '"')),
  access.answer = reduce(text = access.answer, id IN named |
    replace(text, '"' + id + '"', '"' + $instead + '"'))
RETURN count(*) AS written
