CYPHER 25
// The evidence about the episodes of pending reviews, locked by this transaction: newer versions and
// contradictions since, later messages nearby, and questions asked soon after.
//
// $client_id        string        the client
// $conversation_id  string        their conversation
// $ids              list<string>  their ids
// $since            datetime      when the first of them was recorded
// $soon             int           the number of seconds within which a question counts as repeated
// $most             int           the maximum number of later messages to compare
// $near             float         the least cosine of a message nearby
// $characters       int           the number of characters of a text to examine
WITH COLLECT {
  MATCH (message:Memory {client_id: $client_id, conversation_id: $conversation_id})
  WHERE message.kind = 'message' AND message.created_at > $since
  WITH message
  ORDER BY message.position
  RETURN message
} AS said
UNWIND $ids AS id
MATCH (review:Review {client_id: $client_id, id: id})
WHERE review.state = 'pending'
WITH review, [message IN said WHERE message.created_at > review.at][..$most] AS later
WITH
  review,
  COLLECT {
    MATCH (again:Review {client_id: $client_id, conversation_id: $conversation_id})
    WHERE again.at > review.at AND again.at <= review.at + duration({seconds: $soon})
      AND again.id <> review.id
    RETURN again.query
  } AS asked_soon,
  COLLECT {
    MATCH (review)-[returned:RETURNED]->(episode)
    WHERE episode.client_id = $client_id
    WITH
      review, returned, episode, later,
      COUNT {
        MATCH (episode)<-[ending:SUPERSEDES|CONTRADICTS]-(newer)
        WHERE newer.client_id = $client_id
          AND coalesce(ending.created_at, newer.created_at) > review.at
        RETURN newer
      } AS ended,
      COLLECT {
        MATCH (episode)<-[:DERIVED_FROM]-(fact:Fact)
        WHERE fact.client_id = $client_id
        RETURN CASE
          WHEN fact.active THEN 'holds'
          WHEN EXISTS {
            MATCH (fact)<-[ending:SUPERSEDES|CONTRADICTS]-(newer)
            WHERE newer.client_id = $client_id
              AND coalesce(ending.created_at, newer.created_at) > review.at
          } THEN 'ended since'
          ELSE 'ended before'
        END
      } AS facts
    ORDER BY returned.rank
    RETURN {
      id: episode.id,
      rank: returned.rank,
      text: left(coalesce(episode.title, '') + ' ' + episode.search_text, $characters),
      // An episode is outdated if it was ended itself, or if no fact derived from it is active.
      outdated: ended > 0 OR ('ended since' IN facts AND NOT 'holds' IN facts),
      later: [
        message IN later
        WHERE 2 * vector.similarity.cosine(message.embedding, episode.embedding) - 1 >= $near
        | left(message.text, $characters)
      ]
    }
  } AS episodes
ORDER BY review.at, review.id
RETURN collect(review {
  .id, .query,
  at: toString(review.at),
  asked_soon: asked_soon,
  episodes: episodes
}) AS rows
