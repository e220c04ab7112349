from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from graphmem.cli.main import Commands
from graphmem.cli.options import (
    LISTENING,
    LOGGING,
    RUNNING,
    Command,
    settings_options,
    shows_debug,
)
from graphmem.config import Settings


@pytest.fixture
def read():
    """Return a function that gives the settings a command gets, or what the user is told."""
    got: list[Settings] = []

    @click.command(cls=Command)
    @settings_options(*LISTENING, *RUNNING)
    def show(settings: Settings) -> None:
        got.append(settings)

    group = Commands("graphmem", commands={"show": show})

    def reading(*arguments: str, **environ: str) -> Settings | str:
        result = CliRunner().invoke(group, ["show", *arguments], env=environ)
        return got.pop() if result.exit_code == 0 else f"{result.exit_code} {result.stderr}"

    yield reading
    reading("--log-level", "info")


def test_every_setting_but_the_secrets_is_an_option():
    named = {*LISTENING, *RUNNING, *LOGGING, "neo4j_password", "embedding_key", "llm_key"}
    assert named == set(Settings.__struct_fields__)


def test_a_setting_comes_from_the_environment(read):
    assert read(GRAPHMEM_PORT="9001").port == 9001


def test_an_option_goes_before_the_environment(read):
    assert read("--port", "9002", GRAPHMEM_PORT="9001").port == 9002


def test_an_empty_option_counts_as_not_given(read):
    assert read("--data-dir", "", GRAPHMEM_DATA_DIR="/x/y").data_dir == Path("/x/y")


def test_a_bad_option_is_named_as_one(read):
    assert read("--port", "70000") == (
        "2 Error: --port: expected a whole number <= 65535; it is a whole number from 0 to 65,535\n"
    )
    assert read("--port", "abc") == (
        "2 Error: --port: expected a whole number, got a text; it is a whole number from 0 to 65,535\n"
    )


def test_a_bad_variable_is_named_as_one(read):
    assert read(GRAPHMEM_PORT="many").startswith("2 Error: GRAPHMEM_PORT: ")


def test_debug_is_a_log_level(read):
    assert read("--debug").log_level == "debug"
    assert shows_debug()
    assert read().log_level == "info"
    assert not shows_debug()


def test_a_setting_of_a_few_words_names_them(read):
    assert read(GRAPHMEM_JOBS="off").jobs == "off"
    assert read("--log-format", "json").log_format == "json"
    assert read(GRAPHMEM_JOBS="never").endswith("it is one of on, off\n")
