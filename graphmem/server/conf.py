"""Neo4j's settings: the constant ones, and the neo4j.conf of one server."""

from collections.abc import Mapping

HOST = "127.0.0.1"

SETTINGS: Mapping[str, str] = {
    "server.http.enabled": "false",
    "server.https.enabled": "false",
    # The server sends nothing: no usage reports, no offers of Neo4j's cloud, no broadcasts.
    "dbms.usage_report.enabled": "false",
    "dbms.fleet_manager.enabled": "false",
    "server.fleet_discovery.enabled": "false",
    # A query's parameters contain memories, which must not be logged.
    "db.logs.query.enabled": "OFF",
    "db.query.default_language": "CYPHER_25",
    # A session in READ mode allows both forms of LOAD CSV: these two settings forbid them.
    "dbms.security.allow_csv_import_from_file_urls": "false",
    "internal.dbms.cypher_ip_blocklist": "0.0.0.0/0,::/0",
    # Limits for one runaway query, so that others can still use the server.
    "db.transaction.timeout": "120s",
    "db.memory.transaction.max": "256m",
    # Otherwise a query is planned again, for up to a second, for lists and texts of 0, 1, 10, 100, … entries.
    "internal.cypher.use_parameter_size": "false",
    # Two such files are allocated in full at the first start: 64 MB instead of 512.
    "db.tx_log.rotation.size": "32m",
    # Deleted texts are in them: nothing reads them but a recovery, which needs the last minutes.
    "db.tx_log.rotation.retention_policy": "1 hours",
    # Stopping takes half a second instead of ten.
    "internal.server.bolt.thread_pool_shutdown_wait_time": "100ms",
}


def conf(port: int, page_cache: str) -> str:
    """Return the neo4j.conf of a server that listens on this port of the loopback interface."""
    address = f"{HOST}:{port}"
    settings = {
        **SETTINGS,
        "server.bolt.listen_address": address,
        "server.bolt.advertised_address": address,
        "server.memory.pagecache.size": page_cache,
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
