// `memory` has one of the requested values, and occurred in the period.
//
// $since               datetime      the first occurred_at that passes
// $until               datetime      the upper bound of occurred_at, exclusive
// $kind_in             list<string>  the values of kind that pass, all when empty
// $conversation_id_in  list<string>  the values of conversation_id that pass, all when empty
// $session_id_in       list<string>  the values of session_id that pass, all when empty
// $source_type_in      list<string>  the values of source_type that pass, all when empty
// $source_id_in        list<string>  the values of source_id that pass, all when empty
// $category_in         list<string>  the values of category that pass, all when empty
// $scope_in            list<string>  the values of scope that pass, all when empty
AND memory.occurred_at >= $since AND memory.occurred_at < $until
AND (size($kind_in) = 0 OR memory.kind IN $kind_in)
AND (size($conversation_id_in) = 0 OR memory.conversation_id IN $conversation_id_in)
AND (size($session_id_in) = 0 OR memory.session_id IN $session_id_in)
AND (size($source_type_in) = 0 OR memory.source_type IN $source_type_in)
AND (size($source_id_in) = 0 OR memory.source_id IN $source_id_in)
AND (size($category_in) = 0 OR memory.category IN $category_in
  OR any(
    one IN coalesce(memory.other_categories, []) WHERE one IN $category_in
  ))
AND (size($scope_in) = 0 OR memory.scope IN $scope_in)
// include tagged
