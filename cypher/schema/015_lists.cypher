CYPHER 25
// Lists: a client's conversations by their time, a conversation's messages by their place, memories by the
// caller's id; and when a client last wrote and read.
CREATE INDEX conversation_created IF NOT EXISTS
FOR (conversation:Conversation)
ON (conversation.client_id, conversation.created_at, conversation.id);

CREATE INDEX message_position IF NOT EXISTS
FOR (message:Message) ON (message.client_id, message.conversation_id, message.position);

CREATE INDEX memory_external_id IF NOT EXISTS
FOR (memory:Memory) ON (memory.client_id, memory.external_id);

CREATE INDEX memory_created IF NOT EXISTS
FOR (memory:Memory) ON (memory.client_id, memory.created_at);

CREATE INDEX access_client_time IF NOT EXISTS
FOR (access:Access) ON (access.client_id, access.at);
