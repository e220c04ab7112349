CYPHER 25
// Conversations, sessions and memories: an id is unique within its client, so that another client's
// id neither collides nor shows.
CREATE CONSTRAINT conversation_id IF NOT EXISTS
FOR (conversation:Conversation) REQUIRE (conversation.client_id, conversation.id) IS UNIQUE;

CREATE CONSTRAINT session_id IF NOT EXISTS
FOR (session:Session) REQUIRE (session.client_id, session.id) IS UNIQUE;

CREATE CONSTRAINT session_external_id IF NOT EXISTS
FOR (session:Session)
REQUIRE (session.client_id, session.conversation_id, session.external_id) IS UNIQUE;

CREATE CONSTRAINT memory_id IF NOT EXISTS
FOR (memory:Memory) REQUIRE (memory.client_id, memory.id) IS UNIQUE;

CREATE CONSTRAINT message_idx IF NOT EXISTS
FOR (message:Message) REQUIRE (message.client_id, message.session_id, message.idx) IS UNIQUE;

CREATE CONSTRAINT message_external_id IF NOT EXISTS
FOR (message:Message)
REQUIRE (message.client_id, message.conversation_id, message.external_id) IS UNIQUE;

CREATE INDEX memory_conversation IF NOT EXISTS
FOR (memory:Memory) ON (memory.client_id, memory.conversation_id);
