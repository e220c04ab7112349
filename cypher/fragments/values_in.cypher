// `memory` has one of the requested values, and occurred in the period.
//
// $since               datetime      the first occurred_at that passes
// $until               datetime      the upper bound of occurred_at, exclusive
// $kind_in             list<string>  the values of kind that pass; [''] for all
// $conversation_id_in  list<string>  the values of conversation_id that pass; [''] for all
// $session_id_in       list<string>  the values of session_id that pass; [''] for all
// $source_type_in      list<string>  the values of source_type that pass; [''] for all
// $source_id_in        list<string>  the values of source_id that pass; [''] for all
// $category_in         list<string>  the values of category that pass; [''] for all
// $scope_in            list<string>  the values of scope that pass; [''] for all
AND memory.occurred_at >= $since AND memory.occurred_at < $until
AND ('' IN $kind_in OR memory.kind IN $kind_in)
AND ('' IN $conversation_id_in OR memory.conversation_id IN $conversation_id_in)
AND ('' IN $session_id_in OR memory.session_id IN $session_id_in)
AND ('' IN $source_type_in OR memory.source_type IN $source_type_in)
AND ('' IN $source_id_in OR memory.source_id IN $source_id_in)
AND ('' IN $category_in OR memory.category IN $category_in
  OR any(
    one IN coalesce(memory.other_categories, []) WHERE one IN $category_in
  ))
AND ('' IN $scope_in OR memory.scope IN $scope_in)
// include tagged
