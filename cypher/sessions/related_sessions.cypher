CYPHER 25
// The sessions related to some sessions, with the reason: stored links in both directions, and linked
// memories; deleted sessions are excluded. A stored link is valid as long as the summary version with which
// it was written: links of the newest version start at the session, links of older ones at the version.
//
// $client_id         string        the client
// $session_ids       list<string>  the sessions, by their own ids
// $conversation_ids  list<string>  the conversations of the sessions to find; empty for all
// $most              int           the maximum number for each session and reason
// $timed             boolean       whether the times below apply, not the current state
UNWIND $session_ids AS session_id
MATCH (session:Session {client_id: $client_id, id: session_id})
CALL (session) {
  CALL (session) {
    MATCH (session)-[link:RELATES_TO]-(other:Session {client_id: $client_id})
    RETURN link, other, startNode(link) AS holder

    UNION ALL

    FILTER $timed
    MATCH (session)<-[:SUMMARIZES]-(holder:Summary {client_id: $client_id})
      -[link:RELATES_TO]->(other:Session {client_id: $client_id})
    RETURN link, other, holder

    UNION ALL

    FILTER $timed
    MATCH (session)<-[link:RELATES_TO]-(holder:Summary {client_id: $client_id})
      -[:SUMMARIZES]->(other:Session {client_id: $client_id})
    RETURN link, other, holder
  }
  WITH link, other, holder
  WHERE (size($conversation_ids) = 0 OR other.conversation_id IN $conversation_ids)
    AND (NOT $timed OR EXISTS {
      MATCH (holder)(()<-[:SUMMARIZES]-(:Summary {client_id: $client_id})){0,1}(version:Summary {
        source_type: 'session_summary'
      })
      WHERE (version = holder OR version.active)
        // include held_then(version)
    })
  WITH link, other
  ORDER BY link.score DESC
  WITH link.basis AS basis, other, max(link.score) AS score, collect(link.entities) AS named
  ORDER BY score DESC, other.id
  WITH basis, collect({other: other, score: score, entities: coalesce(named[0], [])})[..$most] AS best
  UNWIND best AS one
  RETURN one.other AS other, basis, one.score AS score, one.entities AS entities

  UNION ALL

  MATCH (session)<-[:PART_OF]-(here:Message {client_id: $client_id})
    -[link:
      // include link_types
    ]-(there:Memory {client_id: $client_id})
  WHERE there.session_id <> '' AND there.session_id <> session.id
    AND (NOT $timed OR (
      coalesce(link.created_at <= $created_by, true)
      AND here.valid_at <= $valid_by AND here.created_at <= $created_by
      // include held_then(there)
    ))
  // Each version of a summary has the links of the one before: they count once.
  WITH session, there.session_id AS other_id, count(DISTINCT CASE WHEN there:Summary
    THEN here.id + ' ' + type(link) + ' ' + there.source_type
    ELSE elementId(link)
  END) AS links
  MATCH (other:Session {client_id: $client_id, id: other_id})
  WHERE size($conversation_ids) = 0 OR other.conversation_id IN $conversation_ids
  WITH other, links
  ORDER BY links DESC, other.id
  LIMIT $most
  RETURN other, 'links' AS basis, 1 - 0.5 ^ links AS score, [] AS entities
}
WITH session, other, basis, score, entities
WHERE other.next_idx IS NOT NULL
  AND (NOT $timed OR EXISTS {
    // A session without a message by then did not exist.
    MATCH (message:Message {client_id: $client_id, session_id: other.id})
    WHERE message.idx IS NOT NULL
      AND message.valid_at <= $valid_by AND message.created_at <= $created_by
  })
OPTIONAL MATCH (other)<-[:SUMMARIZES]-(summary:Summary {
  client_id: $client_id, source_type: 'session_summary'
})
// Without a time the newest counts, not what is active: beside a write neither version may be, or both.
WHERE NOT $timed OR (true
  // include held_then(summary)
)
WITH session, other, basis, score, entities, summary
ORDER BY summary.created_at DESC, summary.version DESC
WITH session, other, basis, score, entities, collect(summary.text)[0] AS summary
ORDER BY score DESC, basis, other.id
RETURN collect({
  session_id: other.id,
  session_external_id: other.external_id,
  conversation_id: other.conversation_id,
  started_at: toString(other.started_at),
  summary: summary,
  related_to: session.id,
  basis: basis,
  score: score,
  entities: entities
}) AS rows
