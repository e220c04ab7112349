CYPHER 25
// Stores how well the embedding model knows languages.
//
// $model      string        the model's key
// $languages  list<string>  the codes of the languages
// $knowledge  list<float>   0–1 for each
MATCH (installation:Installation {id: 'installation'})
SET
  installation.knowledge_of = $model,
  installation.languages = $languages,
  installation.knowledge = $knowledge
RETURN installation.languages AS languages, installation.knowledge AS knowledge
