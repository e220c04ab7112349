CYPHER 25
// A memory's links in both directions, newest first; no row if there is no such memory.
//
// $client_id  string        the client
// $id         string        its id
// $types      list<string>  the types of links
// $kinds      list<string>  the kinds of linked memories
// $ended      boolean       whether to show links to superseded and ended memories too
// $beginning  datetime      the value for an unknown time
// $before     datetime      made before this time
// $before_id  string        and, at that time, with a lower key
// $limit      int           the maximum number
MATCH (memory:Memory {client_id: $client_id, id: $id})
RETURN COLLECT {
  MATCH (memory)-[link:
    // include link_types
  ]-(other:Memory {client_id: $client_id})
  WHERE type(link) IN $types AND other.kind IN $kinds AND (other.active = true OR $ended)
  WITH
    link,
    other,
    coalesce(link.created_at, $beginning) AS at,
    CASE WHEN startNode(link) = memory THEN 'out' ELSE 'in' END AS direction
  WITH
    link, other, at, direction,
    other.id + ' ' + type(link) + ' ' + direction +
      coalesce(' ' + toString(link.start_byte) + ' ' + toString(link.end_byte), '') AS key
  WHERE at < $before OR (at = $before AND key < $before_id)
  ORDER BY at DESC, key DESC
  LIMIT $limit
  RETURN {
    key: key,
    at: toString(at),
    link: {
      id: $id,
      direction: direction,
      type: toLower(type(link)),
      other_id: other.id,
      other_kind: other.kind,
      other_active: other.active,
      score: link.score,
      basis: link.basis,
      start_byte: link.start_byte,
      end_byte: link.end_byte,
      created_at: toString(link.created_at)
    }
  }
} AS links
