CYPHER 25
// The time of the server's clock.
RETURN datetime.realtime() AS now
