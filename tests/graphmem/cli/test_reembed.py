"""`graphmem reembed` and `graphmem migrate`: the model of the settings is checked before they connect."""

import pytest
from click.testing import CliRunner

from graphmem.cli.main import commands

NOWHERE = {"GRAPHMEM_NEO4J_URI": "bolt://127.0.0.1:1", "GRAPHMEM_NEO4J_PASSWORD": "x"}


@pytest.mark.parametrize("command", ["reembed", "migrate"])
@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        ("no-such-model", "fastembed knows no model of this name"),
        ("./no-such-folder", "there is no folder"),
        ("http://127.0.0.1:1/v1", "does not say which model"),
        ("http://127.0.0.1:1/v1#fake", "cannot be reached"),
    ],
)
def test_a_wrong_model_is_told_before_the_database_is_asked(
    command: str, chosen: str, sentence: str
) -> None:
    result = CliRunner().invoke(commands, [command, "--embedding-model", chosen], env=NOWHERE)

    assert result.exit_code == 2
    assert "Error: GRAPHMEM_EMBEDDING_MODEL: " in result.stderr
    assert sentence in result.stderr


def test_a_change_that_is_not_under_way_is_not_given_up_and_the_model_is_told(invoke) -> None:
    assert invoke("migrate").exit_code == 0
    result = invoke("reembed", "--cancel")

    assert result.exit_code == 0, result.output
    assert result.stdout == (
        "no change is under way that could be given up: the memories are embedded with "
        "graphmem/bge-small-en-v1.5-q\n"
    )
