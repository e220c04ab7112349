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
  // A span ends with the version of the reference that it is part of.
  MATCH (memory)(()-[:PART_OF]->(:Reference {client_id: $client_id})){0,1}()
    (()<-[:SUPERSEDES]-(:Memory {client_id: $client_id})){1,}(newer:Memory)
  WHERE newer.created_at <= $created_by AND newer.valid_at <= $valid_by
})
