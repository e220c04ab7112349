import json
from collections.abc import Callable, Iterator

import neo4j
import pytest

from graphmem.config import Settings
from graphmem.graph.schema import schema_files


def test_it_says_what_was_applied_and_then_that_nothing_is_left(invoke):
    applied = json.loads(invoke("migrate", "--json").stdout)["applied"]
    assert set(applied) <= {file.name for file in schema_files()}
    again = invoke("migrate")
    assert (again.exit_code, again.stdout) == (0, "the schema is up to date\n")
    listed = json.loads(invoke("migrate", "--json").stdout)
    assert listed == {"applied": [], "created": [], "missing": []}


@pytest.fixture
def execute(neo4j_settings: Settings) -> Iterator[Callable[[str], object]]:
    """Run a statement on the tests' Neo4j."""
    assert neo4j_settings.neo4j_uri is not None
    auth = (neo4j_settings.neo4j_user, neo4j_settings.neo4j_password)
    with neo4j.GraphDatabase.driver(neo4j_settings.neo4j_uri, auth=auth) as driver:
        yield driver.execute_query


def test_it_creates_what_was_dropped_and_says_so(invoke, execute):
    invoke("migrate")
    execute("DROP INDEX memory_text")

    done = invoke("migrate")

    assert (done.exit_code, done.stdout) == (0, "created what was missing: memory_text\n")


def test_what_it_cannot_create_is_named_and_is_a_failure(invoke, execute):
    invoke("migrate")
    execute("DROP INDEX entity_short")
    execute("CREATE INDEX mine FOR (e:Entity) ON (e.client_id, e.short)")
    try:
        told, listed = invoke("migrate"), invoke("migrate", "--json")
    finally:
        execute("DROP INDEX mine")
        again = invoke("migrate")
    assert told.exit_code == listed.exit_code == 1
    assert "missing of the schema: entity_short; `graphmem doctor` says what to do" in told.stderr
    assert json.loads(listed.stdout)["missing"] == ["entity_short"]
    assert again.stdout == "created what was missing: entity_short\n"
