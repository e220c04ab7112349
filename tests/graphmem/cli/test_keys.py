"""`graphmem keys`: what is printed, what is kept, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from graphmem_api.keys import Keys, RequestClient

from graphmem.cli.main import commands


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.txt"


@pytest.fixture
def keys(path: Path) -> Any:
    """A function that runs `graphmem keys` on the file."""

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(commands, ["keys", *arguments, "--keys-file", str(path)])

    return run


def test_the_key_alone_is_printed_and_it_opens(keys: Any, path: Path) -> None:
    result = keys("create", "acme", "--role", "reader", "--days", "90")
    assert result.exit_code == 0, result.output
    key = result.stdout.removesuffix("\n")
    assert Keys(path).client(key) == RequestClient("acme", "reader")
    assert "acme for the role reader, until 20" in result.stderr
    assert key not in result.stderr


def test_a_key_may_read_other_clients(keys: Any, path: Path) -> None:
    result = keys("create", "alice", "--reads", "team,alice,handbook,team")
    assert result.exit_code == 0, result.output
    key = result.stdout.removesuffix("\n")
    assert Keys(path).client(key) == RequestClient("alice", "agent", ("team", "handbook"))
    assert "that also reads team, handbook" in result.stderr
    assert "reads team handbook" in keys("list").stdout
    [listed] = json.loads(keys("list", "--json").stdout)["keys"]
    assert listed["reads"] == ["team", "handbook"]


def test_a_list_shows_ids_and_times_but_no_key(keys: Any, path: Path) -> None:
    made = json.loads(keys("create", "acme", "--json").stdout)
    keys("create", "other", "--days", "1")
    path.write_text(f"{path.read_text()}old agent {'ab' * 32} expires=2020-01-01T00:00:00Z\n")
    shown = keys("list").stdout
    listed = json.loads(keys("list", "--json").stdout)["keys"]
    assert made["key"] not in shown
    assert "key" not in listed[0]
    assert [one["client"] for one in listed] == ["acme", "other", "old"]
    assert [one["expired"] for one in listed] == [False, False, True]
    assert listed[0]["id"] == made["id"]
    assert f"{made['id']}  acme  agent  made 20" in shown
    assert "EXPIRED 2020-01-01" in shown


def test_a_key_is_revoked_by_its_id(keys: Any, path: Path) -> None:
    made = json.loads(keys("create", "acme", "--json").stdout)
    result = keys("revoke", made["id"])
    assert result.stdout == f"the key {made['id']} of acme (agent) is revoked\n"
    assert Keys(path).client(made["key"]) is None
    again = keys("revoke", made["id"])
    assert again.exit_code == 2
    assert "no key" in again.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("create", "a b"),
        ("create", "acme", "--role", "boss"),
        ("create", "acme", "--days", "0"),
        ("create", "acme", "--reads", "*"),
        ("create", "acme", "--reads", "team,"),
        ("create", "acme", "--reads", ""),
        ("create", "acme", "--reads", ",".join("abcdefghi")),
        ("revoke", "abc"),
        ("revoke", "acme12"),
    ],
)
def test_what_cannot_be_is_refused_before_a_file_is_made(
    arguments: tuple[str, ...], keys: Any, path: Path
) -> None:
    assert keys(*arguments).exit_code == 2
    assert not path.exists()


def test_without_a_file_it_says_how_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPHMEM_KEYS_FILE", raising=False)
    result = CliRunner().invoke(commands, ["keys", "list"])
    assert result.exit_code == 2
    assert "--keys-file" in result.stderr
