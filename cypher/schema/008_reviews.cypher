CYPHER 25
// Reviews by their conversation: the same question asked again, a list of one conversation's, a deletion.
CREATE INDEX review_conversation IF NOT EXISTS
FOR (review:Review) ON (review.client_id, review.conversation_id, review.at);
