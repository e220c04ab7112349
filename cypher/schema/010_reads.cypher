CYPHER 25
// Recorded reads by their conversation: they go with it.
CREATE INDEX access_conversation IF NOT EXISTS
FOR (access:Access) ON (access.client_id, access.conversation_id, access.at);
