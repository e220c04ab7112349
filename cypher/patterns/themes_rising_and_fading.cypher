CYPHER 25
// The themes that come more often than before, and those that come less often: how many of their sessions
// began in the last so many days, and how many in as many days before that. By meaning, not by words.
//
// title     Themes rising and fading
// detector  themes_rising_and_fading
// example   {"days": 14, "until": "2026-03-08T00:00:00Z"}
//
// $client_id        string       whose sessions
// $background       list<float>  what texts have in common that have nothing in common
// $conversation_id  string       of this conversation only, '' for all [0..128 = ""]
// $until            datetime     the end of the last window [= "now"]
// $days             int          how long a window is [1..365 = 30]
// $newest           int          how many sessions are looked at, the newest [2..500 = 300]
// $least            int          how many sessions make a theme [2..100 = 3]
// $limit            int          how many themes [1..1000 = 50]
//
// > theme        string        words that its sessions share, else how its central session begins
// > direction    string        rising, fading or steady
// > recent       int           how many of its sessions began in the last window
// > before       int           how many in the one before
// > sessions     int           how many there are in all
// > first_at     datetime      when the first began
// > last_at      datetime      when the last began
// > session_ids  list<string>  all of them, by time
// > central      string        how the session begins that lies nearest to the others
// > memory_ids   list<string>  the messages that tell most, session by session
MATCH (session:Session {client_id: $client_id})
WHERE session.id IS NOT NULL // else no index is used
  AND session.started_at < $until
  AND ($conversation_id = '' OR session.conversation_id = $conversation_id)
WITH session
ORDER BY session.started_at DESC, session.id
LIMIT $newest
MATCH (session)<-[:PART_OF]-(message:Message {client_id: $client_id})
WITH session, message
ORDER BY message.token_count DESC, message.id
// The longest say most, and one who asks says more than one who answers.
WITH session, collect(message)[..16] AS messages
OPTIONAL MATCH (session)<-[:SUMMARIZES]-(summary:Summary {client_id: $client_id, active: true})
WITH
  session,
  messages,
  [message IN messages | {
    vector: message.embedding,
    weight: CASE message.role WHEN 'user' THEN 1.0 ELSE 0.5 END
  }] + [summary IN collect(summary) | {vector: summary.embedding, weight: 2.0}] AS parts
WITH
  session,
  messages,
  [place IN range(0, size(parts[0].vector) - 1) |
    reduce(sum = 0.0, part IN parts | sum + part.weight * part.vector[place])] AS centre
ORDER BY session.started_at, session.id
WITH
  collect({session: session, messages: messages, centre: centre}) AS seen,
  reduce(sum = 0.0, value IN $background | sum + value * value) AS base
UNWIND range(0, size(seen) - 1) AS place
WITH seen, base, place, seen[place] AS one
WITH seen, base, place, one, reduce(
  first = null, message IN one.messages |
  CASE WHEN first IS NULL OR message.idx < first.idx THEN message ELSE first END
) AS first
RETURN
  one.session.id AS id,
  one.session.external_id AS external_id,
  one.session.conversation_id AS conversation_id,
  one.session.started_at AS at,
  substring(first.text, 0, 120) AS opening,
  substring(reduce(said = '', message IN one.messages |
    said + substring(message.text, 0, 500) + ' '), 0, 4000) AS text,
  [message IN one.messages | message.id] AS memory_ids,
  [other IN seen[..place] | 2 * vector.similarity.cosine(one.centre, other.centre) - 1] AS cosines,
  sqrt(base) * (2 * vector.similarity.cosine(one.centre, $background) - 1) AS common,
  base,
  0.0 AS asked,
  0.0 AS asked_common
ORDER BY place
