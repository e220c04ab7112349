CYPHER 25
// Spans with a text and its hash, and the lengths of the texts.
//
// $limit  int  the maximum number
MATCH (span:Span)
WHERE span.text <> '' AND span.sha256 IS NOT NULL
WITH span
LIMIT $limit
RETURN collect(span {.client_id, .id, characters: size(span.text)}) AS rows
