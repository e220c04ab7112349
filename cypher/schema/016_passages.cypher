CYPHER 25
// The passages of long memories, with the two indexes that find them: they are found by the client, its
// conversations and sessions, which never change, and all other filters are tested on their memory. The
// memories that are already there are marked: a job cuts them.
//
// $dimensions  int  the length of the installation's embeddings
CREATE CONSTRAINT passage_id IF NOT EXISTS
FOR (passage:Passage) REQUIRE (passage.client_id, passage.id) IS UNIQUE;

CREATE INDEX passage_conversation IF NOT EXISTS
FOR (passage:Passage) ON (passage.client_id, passage.conversation_id);

CREATE VECTOR INDEX passage_embedding IF NOT EXISTS
FOR (passage:Passage) ON passage.embedding
WITH [passage.client_id, passage.conversation_id, passage.session_id]
OPTIONS {indexConfig: {
  `vector.dimensions`: $dimensions,
  `vector.similarity_function`: 'cosine',
  `vector.quantization.type`: 'none',
  `vector.default_search_expansion_factor`: 1.0
}};

CREATE FULLTEXT INDEX passage_text IF NOT EXISTS
FOR (passage:Passage) ON EACH [passage.search_text, passage.scope_words]
OPTIONS {indexConfig: {
  `fulltext.analyzer`: 'english',
  `fulltext.eventually_consistent`: false
}};

CREATE INDEX memory_passages_due IF NOT EXISTS
FOR (memory:Memory) ON (memory.passages_due, memory.client_id, memory.id);

MATCH (memory:Message|Episode|Fact|Summary)
WHERE size(memory.text) > 1000
CALL (memory) {
  SET memory.passages_due = true
} IN TRANSACTIONS OF 1000 ROWS;
