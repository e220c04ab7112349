import neo4j
import pytest

from graphmem.config import Settings
from graphmem.doctor.findings import Connection, ways

PRIVATE = Connection(
    uri="bolt://127.0.0.1:7701",
    user="neo4j",
    database="neo4j",
    credentials="/home/mara/my data/password",
)
NAMED = Connection(
    uri="neo4j+s://graph.example",
    user="ann",
    database="team",
    credentials="GRAPHMEM_NEO4J_PASSWORD",
)


def told(connection: Connection) -> dict[str, str]:
    return {way.program: way.how for way in ways(connection)}


def test_each_program_gets_what_it_asks_for():
    shown = told(PRIVATE)
    assert set(shown) == {"Neo4j Browser", "NeoDash", "Bloom", "cypher-shell", "any Bolt driver"}
    for program in ("Neo4j Browser", "Bloom"):
        assert "connect URL bolt://127.0.0.1:7701, database neo4j, user neo4j" in shown[program]
        assert "password in /home/mara/my data/password" in shown[program]
    assert shown["NeoDash"].startswith("protocol bolt, host 127.0.0.1, port 7701, database neo4j")


def test_a_command_can_be_pasted_and_reads_the_password_where_it_lies():
    assert told(PRIVATE)["cypher-shell"] == (
        "NEO4J_PASSWORD=\"$(cat '/home/mara/my data/password')\" cypher-shell "
        "-a bolt://127.0.0.1:7701 -u neo4j -d neo4j --access-mode read"
    )
    assert told(NAMED)["cypher-shell"].startswith('NEO4J_PASSWORD="$GRAPHMEM_NEO4J_PASSWORD" ')


def test_an_address_without_a_port_has_bolt_s():
    shown = told(NAMED)["NeoDash"]
    assert shown.startswith("protocol neo4j+s, host graph.example, port 7687, database team")


async def test_a_driver_connects_as_it_is_told(neo4j_settings: Settings):
    connection = Connection(
        uri=str(neo4j_settings.neo4j_uri),
        user=neo4j_settings.neo4j_user,
        database=neo4j_settings.neo4j_database,
        credentials="GRAPHMEM_NEO4J_PASSWORD",
    )
    line = told(connection)["any Bolt driver"].partition(", its sessions")[0]
    scope = {"GraphDatabase": neo4j.GraphDatabase, "password": neo4j_settings.neo4j_password}
    with (
        eval(line, scope) as driver,
        driver.session(database=connection.database, default_access_mode="READ") as session,
    ):
        assert session.run("RETURN 1 AS one").single(strict=True)["one"] == 1
        with pytest.raises(neo4j.exceptions.ClientError):
            session.run("CREATE (n:Never)").consume()
