import json

from graphmem.graph.schema import schema_files


def test_it_says_what_was_applied_and_then_that_nothing_is_left(invoke):
    applied = json.loads(invoke("migrate", "--json").stdout)["applied"]
    assert set(applied) <= {file.name for file in schema_files()}
    again = invoke("migrate")
    assert (again.exit_code, again.stdout) == (0, "the schema is up to date\n")
    assert json.loads(invoke("migrate", "--json").stdout) == {"applied": []}
