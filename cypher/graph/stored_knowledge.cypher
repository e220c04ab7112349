CYPHER 25
// How well the embedding model knows languages, if that was measured for this model.
//
// $model  string  the model's key
MATCH (installation:Installation {id: 'installation', knowledge_of: $model})
RETURN installation.languages AS languages, installation.knowledge AS knowledge
