// `memory` is active and inside the ranges of the usual filters, for the vector index.
//
// $client_id             string    the client
// $kind_from             string    the least kind that passes
// $kind_to               string    the greatest
// $conversation_id_from  string    the least conversation_id that passes
// $conversation_id_to    string    the greatest
// $source_type_from      string    the least source_type that passes
// $source_type_to        string    the greatest
// $scope_from            string    the least scope that passes
// $scope_to              string    the greatest
// $since                 datetime  the first occurred_at that passes
// $until                 datetime  the upper bound of occurred_at, exclusive
WHERE memory.client_id = $client_id AND memory.active = true
  AND memory.kind >= $kind_from AND memory.kind <= $kind_to
  AND memory.conversation_id >= $conversation_id_from AND memory.conversation_id <= $conversation_id_to
  AND memory.source_type >= $source_type_from AND memory.source_type <= $source_type_to
  AND memory.scope >= $scope_from AND memory.scope <= $scope_to
  AND memory.occurred_at >= $since AND memory.occurred_at < $until
