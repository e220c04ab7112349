// `memory` passes the filters of a list.
//
// $conversation_ids  list<string>  the conversations that pass; [''] for all
// $session_ids       list<string>  the sessions that pass; [''] for all
// $source_types      list<string>  the source types that pass; [''] for all
// $source_ids        list<string>  the sources that pass; [''] for all
// $categories        list<string>  the categories that pass; [''] for all
// $scopes            list<string>  the scopes that pass; [''] for all
// $timed             boolean       whether the times below apply, not the current state
AND ('' IN $conversation_ids OR memory.conversation_id IN $conversation_ids)
AND ('' IN $session_ids OR memory.session_id IN $session_ids)
AND ('' IN $source_types OR memory.source_type IN $source_types)
AND ('' IN $source_ids OR memory.source_id IN $source_ids)
AND ('' IN $categories OR memory.category IN $categories
  OR any(category IN memory.other_categories WHERE category IN $categories))
AND ('' IN $scopes OR memory.scope IN $scopes)
// include tagged
AND (NOT $timed OR (true
  // include held_then
))
