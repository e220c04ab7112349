// The properties that rank a candidate; the others, and a cosine that no index gave, are read by its id.
.id, .kind, .importance,
token_count: 0,
occurred_at: toString(memory.occurred_at),
places: places,
by_vector: vector IS NOT NULL,
cosine: 2 * vector - 1,
bm25: bm25,
