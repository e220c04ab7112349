CYPHER 25
// The messages of some sessions as candidates, each with its exact cosine and, if its words match, its word
// score. Reads no other session.
//
// $client_id    string        the client
// $session_ids  list<string>  the sessions
// $embedding    list<float>   the question's vector
// $limit        int           the number of messages of each session by cosine, and of messages by words
// $timed        boolean       whether the two times below apply
// $valid_by     datetime      the last valid_at that passes
// $created_by   datetime      the last created_at that passes
// $longest      int           the number of characters of a searched text to return
CALL () {
  UNWIND $session_ids AS session_id
  CALL (session_id) {
    MATCH (message:Message {client_id: $client_id, session_id: session_id})
    // The index only holds nodes with an idx: without this line it is not used.
    WHERE message.idx IS NOT NULL AND message.active = true
      // include tagged(message)
      AND (NOT $timed OR (message.valid_at <= $valid_by AND message.created_at <= $created_by))
    WITH message, vector.similarity.cosine(message.embedding, $embedding) AS score
    ORDER BY score DESC, message.idx DESC
    LIMIT $limit
    RETURN message, score
  }
  RETURN message, score AS vector, null AS bm25

  UNION ALL

  // include words_leg(message)
    AND message.active = true AND message.idx IS NOT NULL
    // include tagged(message)
    AND (NOT $timed OR (message.valid_at <= $valid_by AND message.created_at <= $created_by))
  RETURN message, null AS vector, score AS bm25
}
WITH message AS memory, max(vector) AS vector, max(bm25) AS bm25
RETURN collect(memory {
  // include candidate
  cosine: 2 * coalesce(vector, vector.similarity.cosine(memory.embedding, $embedding)) - 1,
  bm25: bm25,
  by_vector: vector IS NOT NULL
}) AS rows
