CYPHER 25
// Counts a conversation's messages, or those of one of its sessions, which is given by its own id or by the
// caller's name for it; no row if there is no such conversation.
//
// $client_id  string    the client
// $id         string    the conversation
// $session    string?   the session; null for all
// $since      datetime  the first occurred_at that passes
// $until      datetime  the upper bound of occurred_at, exclusive
// $timed      boolean   whether any occurred_at does not pass
MATCH (:Conversation {client_id: $client_id, id: $id})
OPTIONAL MATCH (found:Session {client_id: $client_id, conversation_id: $id})
WHERE found.external_id IS NOT NULL // else no index is used
  AND (found.external_id = $session OR found.id = $session)
WITH found.id AS session_id, found.external_id AS name
// A name that is another session's id: the name is meant.
ORDER BY name = $session DESC
LIMIT 1
RETURN
  session_id,
  CASE
    WHEN $session IS NULL THEN COUNT {
      MATCH (message:Message {client_id: $client_id, conversation_id: $id})
      WHERE message.position IS NOT NULL // as above
        AND (NOT $timed OR (message.occurred_at >= $since AND message.occurred_at < $until))
        // include tagged(message)
    }
    ELSE COUNT {
      MATCH (message:Message {client_id: $client_id, session_id: session_id})
      WHERE message.idx IS NOT NULL // as above
        AND (NOT $timed OR (message.occurred_at >= $since AND message.occurred_at < $until))
        // include tagged(message)
    }
  END AS total
