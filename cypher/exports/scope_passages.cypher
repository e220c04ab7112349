CYPHER 25
// Gives passages the scope words of their memories, as a write does.
//
// $client_id    string        the client
// $active_word  string        the scope word of active memories, which passages do not carry
// $ids          list<string>  the passages
UNWIND $ids AS id
MATCH (passage:Passage {client_id: $client_id, id: id})
MATCH (memory:Memory {client_id: $client_id, id: passage.memory_id})
SET passage.scope_words = replace(memory.scope_words, $active_word, '')
RETURN count(*) AS written
