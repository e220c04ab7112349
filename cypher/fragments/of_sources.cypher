// `memory` has one of the requested sources.
//
// $whole_kinds       list<string>  the kinds that pass with any source type
// $source_types      list<string>  the source types that pass; [''] for none
// $source_ids        list<string>  the sources that pass; [''] for all
// $conversation_ids  list<string>  the conversations that pass; [''] for all
AND (memory.kind IN $whole_kinds OR memory.source_type IN $source_types)
AND ('' IN $source_ids OR memory.source_id IN $source_ids)
AND ('' IN $conversation_ids OR memory.conversation_id IN $conversation_ids)
// include tagged
