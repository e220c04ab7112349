CYPHER 25
// One step from some nodes along edges, in both directions, to unknown nodes; the newest of each type, and
// what was superseded behind these: all versions of a memory have its links.
//
// $client_id  string        the client
// $frontier   list<string>  the element ids of the start nodes, in order
// $known      list<string>  the element ids of all known nodes
// $types      list<string>  the types of edges to follow
// $looked_at  int           the number of edges of one type and node from which the newest are chosen
// $fan_out    int           the maximum number of neighbours of a node
// One more than these shows that there are more.
UNWIND range(0, size($frontier) - 1) AS place
MATCH (here)
WHERE elementId(here) = $frontier[place] AND here.client_id = $client_id
CALL (here) {
  // One branch for each type, so that only a few edges of each type are read: a type in a parameter would be
  // compared with all edges of the node.
  CALL (here) {
    // The branches are written by `make queries`.
    FILTER 'ALIAS_OF' IN $types
    MATCH (here)-[edge:ALIAS_OF]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'CONTINUES' IN $types
    MATCH (here)-[edge:CONTINUES]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'CONTRADICTS' IN $types
    MATCH (here)-[edge:CONTRADICTS]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'DERIVED_FROM' IN $types
    MATCH (here)-[edge:DERIVED_FROM]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'HOLDS' IN $types
    MATCH (here)-[edge:HOLDS]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'MENTIONS' IN $types
    MATCH (here)-[edge:MENTIONS]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'NAMES' IN $types
    MATCH (here)-[edge:NAMES]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'NEXT' IN $types
    MATCH (here)-[edge:NEXT]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'NOT_ALIAS_OF' IN $types
    MATCH (here)-[edge:NOT_ALIAS_OF]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'PART_OF' IN $types
    MATCH (here)-[edge:PART_OF]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'PERFORMED' IN $types
    MATCH (here)-[edge:PERFORMED]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'RATED' IN $types
    MATCH (here)-[edge:RATED]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'REFERENCES' IN $types
    MATCH (here)-[edge:REFERENCES]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'REFINES' IN $types
    MATCH (here)-[edge:REFINES]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'RELATES_TO' IN $types
    MATCH (here)-[edge:RELATES_TO]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'RETURNED' IN $types
    MATCH (here)-[edge:RETURNED]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'SPAWNED' IN $types
    MATCH (here)-[edge:SPAWNED]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'SPELLS_OUT' IN $types
    MATCH (here)-[edge:SPELLS_OUT]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'SUMMARIZES' IN $types
    MATCH (here)-[edge:SUMMARIZES]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'SUPERSEDES' IN $types
    MATCH (here)-[edge:SUPERSEDES]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1

    UNION ALL

    FILTER 'WROTE' IN $types
    MATCH (here)-[edge:WROTE]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1
  }
  WITH type(edge) AS type, there, head(collect(elementId(edge))) AS edge, count(*) AS edges
  WITH
    type,
    edge,
    edges,
    elementId(there) AS key,
    there.client_id = $client_id
      AND coalesce(there.id, there.normalized) IS NOT NULL
      AND NOT elementId(there) IN $known AS is_new,
    coalesce(there.occurred_at, there.last_active_at, there.started_at, there.at, there.created_at)
      AS at,
    coalesce(there.active, true) AS holds,
    coalesce(there.id, there.normalized) AS id
  ORDER BY holds DESC, at DESC, id
  RETURN
    type,
    sum(edges) AS looked_at,
    collect(CASE WHEN is_new THEN {key: key, edge: edge} END)[..$fan_out + 1] AS reached
}
RETURN collect({place: place, type: type, looked_at: looked_at, reached: reached}) AS rows
