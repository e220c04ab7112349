// `memory` has one of the requested sources.
//
// $whole_kinds       list<string>  the kinds that pass with any source type
// $source_types      list<string>  the source types that pass
// $source_ids        list<string>  the sources that pass; empty for all
// $conversation_ids  list<string>  the conversations that pass; empty for all
AND (memory.kind IN $whole_kinds OR memory.source_type IN $source_types)
AND (size($source_ids) = 0 OR memory.source_id IN $source_ids)
AND (size($conversation_ids) = 0 OR memory.conversation_id IN $conversation_ids)
// include tagged
