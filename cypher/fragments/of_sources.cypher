// `memory` is of the sources that are asked for.
//
// $whole_kinds       list<string>  the kinds that pass whatever their source type
// $source_types      list<string>  the source types that pass
// $source_ids        list<string>  the sources that pass, all when empty
// $conversation_ids  list<string>  the conversations that pass, all when empty
AND (memory.kind IN $whole_kinds OR memory.source_type IN $source_types)
AND (size($source_ids) = 0 OR memory.source_id IN $source_ids)
AND (size($conversation_ids) = 0 OR memory.conversation_id IN $conversation_ids)
