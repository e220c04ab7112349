CYPHER 25
// One hop from some memories to linked memories, in both directions, and to memories that mention the same
// entity.
//
// $client_id  string        the client
// $frontier   list<string>  the ids of the start memories, best first
// $worth      list<float>   the relevance of each of them
// $seen       list<string>  the ids of memories already visited
// $types      list<string>  the types of edges to follow, as they are stored
// $last       boolean       whether to return only memories that pass the filters
// $since      datetime      the first occurred_at that passes
// $until      datetime      the upper bound of occurred_at, exclusive
// $scopes     list<string>  the scopes that pass; [''] for all
// $timed      boolean       whether the times below apply, not the current state
// $looked_at  int           the number of edges examined for each memory or entity
// $hub        int           the greatest number of mentions of an entity that still joins memories
// $edges      int           the number of edges followed from each memory
// $limit      int           the maximum number
// An entity between two memories makes one hop, whichever of its names they use. A step passes on the
// relevance of `here` times the edge's factor: 1, or 1 / n if both mention an entity that n memories mention
// by any of its names. Ties: the more important first, then the newer.
// `cut` marks a `here` with more edges than were followed.
UNWIND range(0, size($frontier) - 1) AS place
MATCH (here:Memory {client_id: $client_id, id: $frontier[place]})
CALL (here) {
  CALL (here) {
    MATCH (here)-[link:SUMMARIZES|
      // include link_types
    ]-(there:Memory)
    // Each version of a memory has its links: those to versions of other times do not count as examined.
    WHERE type(link) IN $types AND CASE
      WHEN $timed THEN coalesce(link.created_at <= $created_by, true)
        // include held_then(there)
      ELSE there.active = true
    END
    RETURN there, type(link) AS type, null AS entity, 1.0 AS factor, coalesce(link.score, 1.0) AS strength
    LIMIT $looked_at

    UNION ALL

    FILTER 'MENTIONS' IN $types
    MATCH (here)-[:MENTIONS|NAMES]->(name:Entity)
    WHERE name.client_id = $client_id
    OPTIONAL MATCH (name)-[:ALIAS_OF]->(canonical:Entity)
    WHERE canonical.client_id = $client_id
    WITH DISTINCT coalesce(canonical, name) AS entity
    WITH entity, [entity] + COLLECT {
      MATCH (entity)<-[:ALIAS_OF]-(alias:Entity)
      WHERE alias.client_id = $client_id
      RETURN alias
    } AS names
    WITH entity, names, COLLECT {
      UNWIND names AS name
      RETURN COUNT { (name)<-[:MENTIONS]-() }
    } AS mentions
    // A memory that uses several names counts once; this is only computed where it can change the result.
    WITH entity, names, reduce(sum = 0, one IN mentions | sum + one) AS mentions,
      size(names) > 1 AND none(one IN mentions WHERE one > $hub) AS exact
    WITH entity, names, CASE WHEN exact THEN COUNT {
      UNWIND CASE WHEN exact THEN names ELSE [] END AS name
      MATCH (name)<-[:MENTIONS]-(memory:Memory {client_id: $client_id})
      RETURN DISTINCT memory
    } ELSE mentions END AS mentioned
    ORDER BY mentioned, entity.normalized
    LIMIT $edges
    CALL (names, mentioned) {
      UNWIND names AS name
      MATCH (name)<-[:NAMES]-(there:Memory)
      WHERE CASE
        WHEN $timed THEN true
          // include held_then(there)
        ELSE there.active = true
      END
      RETURN there, 1.0 AS factor
      LIMIT $looked_at

      UNION ALL

      FILTER mentioned <= $hub
      UNWIND names AS name
      MATCH (name)<-[:MENTIONS]-(there:Memory)
      RETURN there, 1.0 / mentioned AS factor
    }
    RETURN there, 'MENTIONS' AS type, entity.name AS entity, factor, 0.5 * factor AS strength

    UNION ALL

    FILTER 'PART_OF' IN $types
    MATCH (here)-[:PART_OF]-(there:Memory)
    RETURN there, 'PART_OF' AS type, null AS entity, 1.0 AS factor, 0.0 AS strength
    LIMIT $looked_at

    UNION ALL

    FILTER 'NEXT' IN $types
    MATCH (here)-[:NEXT]-(there:Memory)
    RETURN there, 'NEXT' AS type, null AS entity, 1.0 AS factor, 0.0 AS strength
    LIMIT $looked_at
  }
  WITH collect({
    there: there, type: type, entity: entity, factor: factor, strength: strength
  }) AS steps
  WITH steps, any(
    followed IN $types WHERE size([step IN steps WHERE step.type = followed]) >= $looked_at
  ) AS hub
  UNWIND steps AS step
  WITH hub, step.there AS there, step.type AS type, step.entity AS entity,
    step.factor AS factor, step.strength AS strength
  WHERE there.client_id = $client_id AND (there.active = true OR $timed) AND there <> here
    AND NOT there.id IN $seen
    // include held_then(there)
  ORDER BY factor DESC, strength DESC, type, entity
  WITH hub, there, head(collect({type: type, entity: entity, factor: factor, strength: strength})) AS edge,
    there.occurred_at >= $since AND there.occurred_at < $until
    AND ('' IN $scopes OR there.scope IN $scopes)
    // include of_sources(there)
    AS passes
  WHERE passes OR NOT $last
  ORDER BY passes DESC, edge.factor DESC, edge.strength DESC, there.importance DESC,
    there.occurred_at DESC, there.id
  WITH hub, collect({there: there, edge: edge, passes: passes}) AS reached
  WITH hub OR size(reached) > $edges AS cut, reached[..$edges] AS reached
  UNWIND reached AS one
  RETURN one.there AS there, one.edge AS edge, one.passes AS passes, cut
}
WITH here, place, there, passes, edge, cut, $worth[place] * edge.factor AS passed
ORDER BY passed DESC, place
WITH there, passes, collect(CASE WHEN cut THEN here.id END) AS cut_at, head(collect({
  from_id: here.id, type: edge.type, entity: edge.entity, strength: edge.strength, passed: passed
})) AS edge
ORDER BY passes DESC, edge.passed DESC, edge.strength DESC, there.importance DESC,
  there.occurred_at DESC, there.id
LIMIT $limit
RETURN collect(there {
  from_id: edge.from_id,
  link_type: edge.type,
  entity: edge.entity,
  passed: edge.passed,
  passes: passes,
  cut_at: cut_at,
  // include listed(there)
}) AS rows
