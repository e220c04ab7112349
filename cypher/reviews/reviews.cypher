CYPHER 25
// A client's reviews, newest first, each with its episodes in the order of the answer.
//
// $client_id         string        the client
// $states            list<string>  the states
// $conversation_ids  list<string>  the conversations; empty for all
// $before            datetime      recorded before this time
// $before_id         string        and, at that time, with a lower id
// $limit             int           the maximum number
MATCH (review:Review {client_id: $client_id})
USING INDEX review:Review(client_id, at, id)
WHERE review.at <= $before AND review.id IS NOT NULL // else no index is used
  AND review.state IN $states
  AND (size($conversation_ids) = 0 OR review.conversation_id IN $conversation_ids)
  // With OR the index may be read twice, and whole.
  AND CASE WHEN review.at = $before THEN review.id < $before_id ELSE true END
WITH review
// As in the index.
ORDER BY review.client_id DESC, review.at DESC, review.id DESC
LIMIT $limit
WITH
  review,
  COLLECT {
    MATCH (review)-[edge:RETURNED|RATED]->(episode)
    WHERE episode.client_id = $client_id
    WITH
      episode.id AS id,
      max(CASE WHEN type(edge) = 'RETURNED' THEN edge.rank END) AS rank,
      max(CASE WHEN type(edge) = 'RETURNED' THEN edge.score END) AS score,
      head(collect(CASE WHEN type(edge) = 'RATED' THEN edge END)) AS rated
    ORDER BY rank, id
    RETURN {
      id: id,
      rank: rank,
      score: score,
      rated: rated {
        .rating, .basis, .stability_before, .stability_after, .difficulty_before, .difficulty_after,
        reviewed_at: toString(rated.reviewed_at)
      }
    }
  } AS episodes
ORDER BY review.at DESC, review.id DESC
RETURN collect(review {
  .id, .conversation_id, .state,
  query: nullIf(review.query, ''),
  at: toString(review.at),
  memory_ids: [episode IN episodes | episode.id],
  episodes: episodes
}) AS rows
