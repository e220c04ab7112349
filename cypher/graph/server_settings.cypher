CYPHER 25
// Some of the server's settings, as far as it shows them.
//
// $names  list<string>  which settings
SHOW SETTINGS
YIELD name, value
WHERE name IN $names
RETURN name, value
ORDER BY name
