CYPHER 25
// Sessions that join others which have nothing else in common: each of two other sessions shares a name with
// this one, and the two share no name.
//
// title    Bridges
// example  {"common": 5}
//
// $client_id        string    the client
// $conversation_id  string    sessions of this conversation only, '' for all [0..128 = ""]
// $since            datetime  sessions that began then or later [= "beginning"]
// $until            datetime  and before then [= "end"]
// $newest           int       the number of newest sessions to search [3..300 = 150]
// $common           int       the greatest number of sessions that mention a name that joins [2..100 = 6]
// $limit            int       the maximum number of sessions [1..1000 = 20]
//
// > session_id           string        the session in between
// > session_external_id  string        the caller's name for it
// > started_at           datetime      when it began
// > opening              string        its beginning
// > joins                int           the number of pairs of sessions that it joins
// > pairs                list<map>     one_session_id, one_via, other_session_id, other_via; the first ten
// > memory_ids           list<string>  its messages that mention the names
MATCH (session:Session {client_id: $client_id})
WHERE session.id IS NOT NULL // else no index is used
  AND session.started_at >= $since AND session.started_at < $until
  AND ($conversation_id = '' OR session.conversation_id = $conversation_id)
WITH session
ORDER BY session.started_at DESC, session.id
LIMIT $newest
MATCH (session)<-[:PART_OF]-(message:Message {client_id: $client_id})
MATCH (message)-[:MENTIONS]->(name:Entity {client_id: $client_id})
OPTIONAL MATCH (name)-[:ALIAS_OF]->(canonical:Entity {client_id: $client_id})
WITH coalesce(canonical, name) AS entity, session, collect(DISTINCT message.id) AS ids
ORDER BY session.id
WITH entity, collect({session: session, ids: ids}) AS named
// A name that many sessions mention says nothing about two of them, but they do have it in common.
UNWIND named AS one
UNWIND named AS other
WITH entity, one, other, size(named) <= $common AS telling
WHERE one.session <> other.session
ORDER BY entity.normalized
WITH
  one.session AS session,
  other.session AS other,
  collect(CASE WHEN telling THEN {name: entity.name, ids: one.ids} END) AS shared
WITH session, other, shared
ORDER BY other.id
WITH session, collect({session: other, shared: shared}) AS beside
WITH collect({session: session, beside: beside}) AS seen
WITH
  seen,
  [one IN seen | one.session.id] AS ids,
  [one IN seen | [other IN one.beside | other.session.id]] AS near
UNWIND seen AS one
WITH one.session AS session, [other IN one.beside WHERE size(other.shared) > 0] AS beside, ids, near
UNWIND beside AS first
WITH session, beside, first, [place IN range(0, size(ids) - 1) WHERE ids[place] = first.session.id | near[place]][0] AS kin
UNWIND beside AS second
WITH session, first, second, kin
WHERE first.session.id < second.session.id AND NOT second.session.id IN kin
WITH
  session,
  count(*) AS joins,
  collect({
    one_session_id: first.session.id,
    one_via: first.shared[0].name,
    other_session_id: second.session.id,
    other_via: second.shared[0].name
  })[..10] AS pairs,
  collect(first.shared + second.shared) AS shared
RETURN
  session.id AS session_id,
  session.external_id AS session_external_id,
  session.started_at AS started_at,
  COLLECT {
    MATCH (session)<-[:PART_OF]-(message:Message {client_id: $client_id})
    RETURN substring(message.text, 0, 120)
    ORDER BY message.idx
    LIMIT 1
  }[0] AS opening,
  joins,
  pairs,
  COLLECT {
    UNWIND shared AS some
    UNWIND some AS one
    UNWIND one.ids AS id
    RETURN DISTINCT id
    LIMIT 100
  } AS memory_ids
ORDER BY joins DESC, started_at DESC, session_id
LIMIT $limit
