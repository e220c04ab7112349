import json
import re
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphmem.cli.main import commands

FILES = Path(__file__).parents[2] / "imports"


def test_a_file_is_imported_and_found(invoke, client_id, story):
    result = invoke("import", str(story), "--client", client_id)
    assert result.exit_code == 0, result.output
    assert re.fullmatch(r"3 messages in 2 conversations \(2 new\) in [\d.]+ s\n", result.stdout), (
        result.stdout
    )
    assert "importing story.jsonl" in result.stderr
    found = invoke("recall", "who keeps the lighthouse?", "--client", client_id)
    assert "The lighthouse keeper is called Ansgar." in found.stdout


def test_again_changes_nothing(invoke, client_id, story):
    first = json.loads(invoke("import", str(story), "--client", client_id, "--json").stdout)
    again = json.loads(invoke("import", str(story), "--client", client_id, "--json").stdout)
    assert (first["messages"], first["new_conversations"]) == (3, 2)
    assert (again["messages"], again["new_conversations"]) == (3, 0)
    assert (first["known_messages"], again["known_messages"]) == (0, 3)
    recalled = invoke("recall", "lighthouse pancakes", "--client", client_id, "--json")
    assert len(json.loads(recalled.stdout)["items"]) == 3
    with story.open("a") as file:
        file.write('{"session_id": "s", "role": "user", "content": "A new line."}\n')
    told = invoke("import", str(story), "--client", client_id, "--conversation", "tidewater").stdout
    assert told.startswith("4 messages in ")
    assert told.endswith(" s\n3 of them were there already, or twice in the file\n")


def test_a_bad_line_is_one_sentence_and_what_stood_before_it_stays(invoke, client_id, story):
    with story.open("a") as file:
        file.write('{"session_id": "s", "role": "boss", "content": "x"}\n')
    result = invoke("import", str(story), "--client", client_id)
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == (
        "Error: line 4: role: invalid enum value 'boss'; it is one of ai, assistant, developer, function, "
        "human, system, tool, user; 3 messages before it imported, to stay"
    )
    recalled = invoke("recall", "pancakes", "--client", client_id, "--json")
    assert json.loads(recalled.stdout)["items"]


def test_standard_input_is_read(graphmem, client_id):
    line = '{"session_id": "s", "role": "user", "content": "The keeper has a dog."}\r\n'
    result = graphmem(
        "import", "-", "--conversation", "c", "--client", client_id, "--json", input="\ufeff" + line
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["messages"] == 1


def test_a_file_that_is_not_there_is_named(invoke):
    result = invoke("import", "nowhere.jsonl")
    assert result.exit_code == 2
    assert "'nowhere.jsonl' does not exist" in result.stderr


def test_ctrl_c_ends_an_import_that_waits_for_its_pipe(started, client_id):
    process = started("import", "-", "--client", client_id)
    for line in process.stdout:
        if line.startswith("importing"):
            break
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) == 130
    assert "Traceback" not in process.stdout.read()


def test_an_export_of_chatgpt_is_imported_found_and_imported_again_without_a_change(
    invoke, client_id
):
    export = str(FILES / "chatgpt.json")
    first = json.loads(invoke("import", export, "--client", client_id, "--json").stdout)
    assert first["form"] == "an export of ChatGPT"
    assert (first["messages"], first["new_conversations"]) == (7, 2)
    assert first["left_out"]["message of another branch"] == 2
    recalled = ("recall", "how high is the lighthouse?", "--client", client_id, "--json")
    before = json.loads(invoke(*recalled).stdout)
    assert "It is 42 metres high." in before["context"]
    again = json.loads(invoke("import", export, "--client", client_id, "--json").stdout)
    assert again["new_conversations"] == 0
    after = json.loads(invoke(*recalled).stdout)
    assert [item["id"] for item in after["items"]] == [item["id"] for item in before["items"]]


def test_a_dry_run_says_what_a_file_holds_and_imports_nothing(client_id):
    result = dry_run(FILES / "chatgpt.json")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        "an export of ChatGPT: 7 messages in 2 conversations (3 assistant, 1 tool, 3 user)",
        "from 2024-03-01 to 2024-03-01",
        "left out: 6",
    ]
    assert "  2 × message of another branch" in lines[3:]


def dry_run(path):
    # It needs no database: this one does not exist.
    environment = {"GRAPHMEM_NEO4J_URI": "bolt://127.0.0.1:1", "GRAPHMEM_NEO4J_PASSWORD": "x"}
    return CliRunner().invoke(commands, ["import", str(path), "--dry-run"], env=environment)


def test_a_dry_run_of_own_lines_says_what_they_hold(story):
    with story.open("a") as file:
        file.write(
            '{"conversation_id": "new", "role": "human", "content": "x", "occurred_at": 1709290800}\n'
        )
    result = dry_run(story)
    assert result.exit_code == 0, result.output
    first, *others = result.stdout.splitlines()
    assert re.fullmatch(
        r"graphmem's own lines: 4 messages in 3 conversations \((\d assistant, )?\d user\)", first
    ), first
    assert others == ["from 2024-03-01 to 2024-03-01"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ({"role": "boss", "content": "x"}, "line 4: role: invalid enum value 'boss'"),
        (
            {"role": "user", "content": " "},
            "line 4: content: is blank; send at least one character",
        ),
        (
            {"role": "user", "content": "x", "metadata": {"a": "x" * 5_000}},
            "line 4: metadata: 5,008 bytes of UTF-8; at most 4,096 are taken",
        ),
        (
            {"role": "user", "content": "x", "expires_at": "2026-01-01T00:00:00Z"},
            "line 4: expires_at: 2026-01-01T00:00:00+00:00 is not at least 2 seconds ahead",
        ),
        (
            {"role": "user", "content": "x", "conversation_id": None},
            "line 4: conversation_id: is missing",
        ),
    ],
)
def test_a_dry_run_refuses_the_line_that_an_import_would_refuse(story, line, sentence):
    with story.open("a") as file:
        file.write(json.dumps({"conversation_id": "c"} | line) + "\n")
    result = dry_run(story)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_a_dry_run_of_an_empty_file_says_that_it_is_empty(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.write_text("\n")
    result = dry_run(path)
    assert (result.exit_code, result.stdout) == (
        0,
        "an empty file: 0 messages in 0 conversations (none)\n",
    )


def test_a_file_in_no_known_form_is_told_what_it_resembles(tmp_path):
    path = tmp_path / "chats.json"
    path.write_text('[{"title": "x", "create_time": 1}]')
    result = CliRunner().invoke(commands, ["import", str(path)])
    assert result.exit_code == 2
    assert "it resembles an export of ChatGPT (create_time, title)" in result.stderr
