// `memory` is a version that was valid and known at the requested times, the present by default.
//
// $client_id        string    the client
// $valid_by         datetime  the last valid_at that passes
// $invalid_from     datetime  the first invalid_at that passes
// $created_by       datetime  the last created_at that passes
// $superseded_from  datetime  the first superseded_at that passes
// $ending           boolean   whether versions that a newer version had ended by then are excluded
AND memory.valid_at <= $valid_by AND memory.invalid_at >= $invalid_from
AND memory.created_at <= $created_by AND memory.superseded_at >= $superseded_from
AND (NOT $ending OR NOT coalesce(
  memory.invalidated_at <= $created_by AND memory.invalidated_from <= $valid_by, false
))
AND (NOT $ending OR NOT EXISTS {
  // A span ends with the version of the reference that it is part of. Quantified path patterns say the same,
  // and take a multiple of the time to plan.
  MATCH way = (memory)-[:PART_OF*0..1]->()<-[:SUPERSEDES*1..]-(newer:Memory)
  WHERE all(one IN nodes(way) WHERE one.client_id = $client_id)
    AND newer.created_at <= $created_by AND newer.valid_at <= $valid_by
})
