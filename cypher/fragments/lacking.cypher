// The required models for which some of the rows in `made` have no vectors.
[
  side IN sides WHERE any(
    one IN made WHERE one.row.embeddings[side.model] IS NULL
      AND (NOT side.current OR one.row.embeddings.current IS NULL)
  )
  | side.model
] AS lacking
