// `memory` passes the filters of a list.
//
// $conversation_ids  list<string>  the conversations that pass; empty for all
// $session_ids       list<string>  the sessions that pass; empty for all
// $source_types      list<string>  the source types that pass; empty for all
// $source_ids        list<string>  the sources that pass; empty for all
// $categories        list<string>  the categories that pass; empty for all
// $scopes            list<string>  the scopes that pass; empty for all
// $timed             boolean       whether the times below apply, not the current state
AND (size($conversation_ids) = 0 OR memory.conversation_id IN $conversation_ids)
AND (size($session_ids) = 0 OR memory.session_id IN $session_ids)
AND (size($source_types) = 0 OR memory.source_type IN $source_types)
AND (size($source_ids) = 0 OR memory.source_id IN $source_ids)
AND (size($categories) = 0 OR memory.category IN $categories
  OR any(category IN memory.other_categories WHERE category IN $categories))
AND (size($scopes) = 0 OR memory.scope IN $scopes)
// include tagged
AND (NOT $timed OR (true
  // include held_then
))
