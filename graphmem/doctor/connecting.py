"""How other programs reach the database that graphmem uses; the password itself is never told."""

import shlex

from graphmem.doctor.types import Connection, Way

CAUTION = (
    "such a program may change anything and sees every client, where `graphmem cypher` only reads; a private "
    "Neo4j runs while a graphmem process uses it: let `graphmem serve` run meanwhile"
)


def ways(connection: Connection) -> list[Way]:
    """Return how each of the usual programs is connected."""
    uri, user, database = connection.uri, connection.user, connection.database
    place = connection.credentials
    secret = f'"$(cat {shlex.quote(place)})"' if _is_file(place) else f'"${place}"'
    protocol, host, port = _parts(uri)
    rest = f"database {database}, user {user}, password in {place}"
    told = {
        "Neo4j Browser": f"in Neo4j Desktop, or served by another Neo4j: connect URL {uri}, {rest}",
        "NeoDash": f"protocol {protocol}, host {host}, port {port}, {rest}",
        "Bloom": f"as Explore in Neo4j Desktop, which needs no plug-in here: connect URL {uri}, {rest}",
        "cypher-shell": f"NEO4J_PASSWORD={secret} cypher-shell -a {uri} -u {user} -d {database} "
        "--access-mode read",
        "any Bolt driver": f'GraphDatabase.driver("{uri}", auth=("{user}", password)), its sessions with '
        f'database="{database}", default_access_mode="READ"',
    }
    return [Way(program=program, how=how) for program, how in told.items()]


def _is_file(credentials: str) -> bool:
    return "/" in credentials or "\\" in credentials


def _parts(uri: str) -> tuple[str, str, str]:
    """Return the protocol, the host and the port of an address."""
    protocol, _, rest = uri.partition("://")
    host, colon, port = rest.partition("/")[0].rpartition(":")
    return (protocol, host, port) if colon else (protocol, port, "7687")
