CYPHER 25
// The themes that sessions return to, by meaning and not by words: with a question, all sessions on its
// theme, including less similar ones whose summaries have the question's words among their topics; without
// one, every theme. The sessions are ordered by time, with first, last and rhythm, and with a summary of the
// theme in their own sentences.
//
// title     Recurring themes
// detector  recurring_themes
// example   {"question": "I've been struggling with auth a lot"}
//
// $client_id           string       the client
// $question            string       the theme, in any words; '' for all themes [0..2000 = ""]
// $question_embedding  list<float>  its vector
// $background          list<float>  the mean vector of unrelated texts
// $model               string       the embedding model, with its hash
// $unembedded          list<map>    id and vector of sessions whose vector as a whole is not stored
// $conversation_id     string       of this conversation only, '' for all [0..128 = ""]
// $since               datetime     sessions that began then or later [= "beginning"]
// $until               datetime     and before then [= "end"]
// $newest              int          the number of newest sessions to search [2..500 = 300]
// $least               int          the least number of sessions of a theme, without a question [2..100 = 3]
// $limit               int          the maximum number of themes [1..1000 = 50]
//
// > theme       string        words that its sessions share, else the beginning of its central session
// > sessions    int           the number of sessions
// > first_at    datetime      when the first began
// > last_at     datetime      when the last began
// > every_days  float         the median number of days between sessions; null for one session
// > rhythm      string        the name of the rhythm
// > occasions   list<map>     session_id, session_external_id, conversation_id, at, opening, memory_ids; by time
// > central     string        the beginning of the session nearest to the others
// > summary     list<map>     text, at, role, name, session_id, memory_id; the most telling sentences, by time
// > memory_ids  list<string>  the most telling messages, session by session
MATCH (session:Session {client_id: $client_id})
WHERE session.id IS NOT NULL // else no index is used
  AND session.started_at >= $since AND session.started_at < $until
  AND ($conversation_id = '' OR session.conversation_id = $conversation_id)
WITH session
ORDER BY session.started_at DESC, session.id
LIMIT $newest
MATCH (session)<-[:PART_OF]-(message:Message {client_id: $client_id})
WITH session, message
ORDER BY message.token_count DESC, message.idx
// Long messages say most, and a user says more than an assistant.
WITH session, collect(message)[..16] AS messages
OPTIONAL MATCH (session)<-[:SUMMARIZES]-(summary:Summary {client_id: $client_id, active: true})
WITH session, messages, collect(summary) AS summaries
WITH
  session,
  messages,
  reduce(named = [], summary IN summaries | named + coalesce(summary.topics, [])) AS topics,
  [message IN messages | {
    vector: message.embedding,
    weight: CASE message.role WHEN 'user' THEN 1.0 ELSE 0.5 END
  }] AS said,
  // A summary says less than the session's own words: it is used only if there is no vector of these.
  CASE
    WHEN session.whole_model = $model THEN [session.whole_embedding]
    WHEN any(one IN $unembedded WHERE one.id = session.id)
      THEN [one IN $unembedded WHERE one.id = session.id | one.vector]
    ELSE [summary IN summaries | summary.embedding]
  END AS wholes
// Vectors of pieces weigh somewhat more than the vector of the whole.
WITH
  session,
  messages,
  topics,
  [part IN said |
    {vector: part.vector, weight: part.weight / reduce(all = 0.0, one IN said | all + one.weight)}]
    + [whole IN wholes | {vector: whole, weight: 0.7}] AS parts
WITH
  session,
  messages,
  topics,
  [place IN range(0, size(parts[0].vector) - 1) |
    reduce(sum = 0.0, part IN parts | sum + part.weight * part.vector[place])] AS centre
ORDER BY session.started_at, session.id
WITH
  collect({session: session, messages: messages, topics: topics, centre: centre}) AS seen,
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
  one.topics AS topics,
  [message IN one.messages | {
    id: message.id,
    idx: message.idx,
    role: message.role,
    name: message.name,
    at: message.occurred_at,
    text: substring(message.text, 0, 500),
    near: CASE size($question_embedding)
      WHEN 0 THEN 2 * vector.similarity.cosine(message.embedding, one.centre) - 1
      ELSE 2 * vector.similarity.cosine(message.embedding, $question_embedding) - 1
    END
  }] AS messages,
  [other IN seen[..place] | 2 * vector.similarity.cosine(one.centre, other.centre) - 1] AS cosines,
  sqrt(base) * (2 * vector.similarity.cosine(one.centre, $background) - 1) AS common,
  base,
  CASE size($question_embedding)
    WHEN 0 THEN 0.0
    ELSE 2 * vector.similarity.cosine(one.centre, $question_embedding) - 1
  END AS asked,
  CASE size($question_embedding)
    WHEN 0 THEN 0.0
    ELSE sqrt(base) * (2 * vector.similarity.cosine($question_embedding, $background) - 1)
  END AS asked_common
ORDER BY place
