"""Neo4j's settings: those that always hold, and neo4j.conf as one server starts with it."""

from collections.abc import Mapping

HOST = "127.0.0.1"

SETTINGS: Mapping[str, str] = {
    "server.http.enabled": "false",
    "server.https.enabled": "false",
    # Nothing is sent anywhere: neither usage, nor offers to Neo4j's cloud, nor broadcasts.
    "dbms.usage_report.enabled": "false",
    "dbms.fleet_manager.enabled": "false",
    "server.fleet_discovery.enabled": "false",
    # A query's parameters are memories, which belong in no log.
    "db.logs.query.enabled": "OFF",
    "db.query.default_language": "CYPHER_25",
    # A session in READ mode refuses neither form of LOAD CSV: these two do.
    "dbms.security.allow_csv_import_from_file_urls": "false",
    "internal.dbms.cypher_ip_blocklist": "0.0.0.0/0,::/0",
    # One runaway query must not take the server from everybody else.
    "db.transaction.timeout": "120s",
    "db.memory.transaction.max": "256m",
    # Else a query is planned anew, for up to a second, for lists and texts of 0, 1, 10, 100, … entries.
    "internal.cypher.use_parameter_size": "false",
    # Two of these are laid out in full at the first start: 64 MB instead of 512.
    "db.tx_log.rotation.size": "32m",
    # Stopping takes half a second instead of ten.
    "internal.server.bolt.thread_pool_shutdown_wait_time": "100ms",
}


def conf(port: int, page_cache: str) -> str:
    """Return neo4j.conf for a server that listens on one port of the loopback."""
    address = f"{HOST}:{port}"
    settings = {
        **SETTINGS,
        "server.bolt.listen_address": address,
        "server.bolt.advertised_address": address,
        "server.memory.pagecache.size": page_cache,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
