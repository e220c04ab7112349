// The properties of a memory in a list.
.id, .kind, .importance, .token_count,
occurred_at: toString(memory.occurred_at)
