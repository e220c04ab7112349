CYPHER 25
// A memory's links, those of either direction, newest first; no row when there is no memory.
//
// $client_id  string        whose memory
// $id         string        its id
// $types      list<string>  of which types
// $kinds      list<string>  to memories of which kinds
// $beginning  datetime      stands for a time that is not known
// $before     datetime      made before when
// $before_id  string        and, of those made then, with a lower key
// $limit      int           how many
MATCH (memory:Memory {client_id: $client_id, id: $id})
RETURN COLLECT {
  MATCH (memory)-[link:
    // include link_types
  ]-(other:Memory {client_id: $client_id})
  WHERE type(link) IN $types AND other.kind IN $kinds
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
      score: link.score,
      basis: link.basis,
      start_byte: link.start_byte,
      end_byte: link.end_byte,
      created_at: toString(link.created_at)
    }
  }
} AS links
