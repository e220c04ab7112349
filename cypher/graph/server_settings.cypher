CYPHER 25
// Some of the server's settings, if the server shows them.
//
// $names  list<string>  the settings
SHOW SETTINGS
YIELD name, value
WHERE name IN $names
RETURN name, value
ORDER BY name
