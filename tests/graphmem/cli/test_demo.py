import json
import re
import signal
import socket

import httpx
import pytest
import pytest_asyncio

from graphmem.config import folder, load, records
from graphmem.server.private import private_server
from tests.environments import environment_of

COST = re.compile(r"(\d+) of (\d+) tokens · (\d+) items? · (\d+) left out · \d+ ms")


@pytest_asyncio.fixture(scope="module")
async def fresh_store(tmp_path_factory, own_server):
    """The environment of a user whose store holds nothing but the story.

    How rare a word is depends on all that a store holds; so these answers are those of a first run only here.
    """
    settings = load(
        data_dir=tmp_path_factory.mktemp("demo") / "data",
        neo4j_heap="512m",
        neo4j_page_cache="64m",
        neo4j_start_seconds=600,
    )
    async with private_server(settings) as server:
        yield environment_of(
            load(
                {},
                neo4j_uri=server.uri,
                neo4j_user=server.user,
                neo4j_password=server.password,
            )
        )


@pytest.fixture
def environment(fresh_store):
    """What the programs of this file are started with."""
    return fresh_store


@pytest.fixture(scope="module")
def steps():
    """The steps of the tour, the first ones as they are shown by default."""
    return sorted(records("steps.jsonl"), key=lambda step: step.get("full", False))


def test_once_tells_the_story_and_ends(graphmem, steps):  # B9
    result = graphmem("demo", "--once")
    assert result.returncode == 0, result.stderr
    shown = result.stdout
    assert "195 messages, " in shown
    default = [step for step in steps if not step.get("full")]
    for number, step in enumerate(default, 1):
        assert f"\n{number}. {step['title']}\n   {step['why']}\n" in shown
    assert f"\n{len(default) + 1}. " not in shown
    costs = COST.findall(shown)
    asked = [one for step in default for one in step.get("asks", ())]
    assert [int(budget) for _, budget, _, _ in costs] == [one["max_tokens"] for one in asked]
    assert all(int(used) <= int(budget) for used, budget, _, _ in costs)
    assert re.search(r"^  │ ## 2026-", shown, re.MULTILINE)
    assert re.search(r"^  │ … \d+ more lines$", shown, re.MULTILINE)
    assert "\x1b" not in shown
    assert "loading the story" in result.stderr
    assert max(map(len, shown.splitlines())) <= 100


def test_the_answers_are_those_that_the_steps_promise(graphmem):
    shown = graphmem("demo", "--once").stdout
    price = re.findall(
        r"\? What does the Harbour plan cost\?  \(as of (\S+)\)\n(?:.*\n)*?.*?(\d\d €)", shown
    )
    assert price == [("2026-04-01", "59 €"), ("2026-07-15", "54 €")]
    history = re.findall(r"v(\d)  from (\S+)  The Harbour plan costs (\d+) €", shown)
    assert [cost for _, _, cost in history] == ["49", "59", "54"]
    assert "because: Two trial customers walked away" in shown
    assert "└─ derived_from ─ Incident report of 12 June" in shown
    assert "└─ references ─ notify/worker.py" in shown
    assert "(nothing is relevant enough)" in shown


def test_full_shows_every_step_and_whole_answers(graphmem, steps):
    result = graphmem("demo", "--once", "--full")
    assert result.returncode == 0, result.stderr
    assert all(f". {step['title']}\n   {step['why']}" in result.stdout for step in steps)
    assert "more line" not in result.stdout
    assert re.search(r"^  in +#1 ", result.stdout, re.MULTILINE)


def test_the_answer_of_the_readme_is_that_of_the_demo(graphmem, repository):
    readme = (repository / "README.md").read_text("utf-8")
    quoted = [line.rstrip() for line in readme.splitlines() if line.startswith("  │")]
    shown = {line.rstrip() for line in graphmem("demo", "--once", "--full").stdout.splitlines()}
    assert len(quoted) > 8
    assert [line for line in quoted if line not in shown and line != "  │ …"] == []


def test_the_end_names_commands_that_run(graphmem):
    shown = graphmem("demo", "--once").stdout
    [asked] = re.findall(r'^    graphmem recall "(.*)" --client demo$', shown, re.MULTILINE)
    answer = graphmem("recall", asked, "--client", "demo")
    assert answer.returncode == 0, answer.stderr
    assert "Teodor" in answer.stdout
    assert "\n    graphmem serve\n" in shown


def test_the_shown_answers_hold_most_of_what_answers_the_question(graphmem):
    lines = (folder("seed") / "questions.jsonl").read_text("utf-8").splitlines()
    evidence = {row["query"]: set(row["evidence"]) for row in map(json.loads, lines)}
    result = graphmem("demo", "--once", "--full", "--json")
    [told] = map(json.loads, result.stdout.splitlines())
    answers = [answer for step in told["steps"] for answer in step.get("asks", ())]
    compared = 0
    for answer in answers:
        wanted = evidence.get(answer["asked"]["query"], set())
        if wanted and answer["asked"]["max_tokens"] == 400:
            compared += 1
            shown = {item["external_id"] for item in answer["recalled"]["items"]}
            assert 2 * len(wanted & shown) > len(wanted)
    assert compared == 2


def test_it_takes_another_port_where_its_own_is_taken_and_serves_the_story(started):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = started("demo", "--port", str(port))
        said = ""
        while "Ctrl-C: its Neo4j" not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
    assert f"port {port} is taken" in said
    # The whole tour is watched to its end.
    assert said.count("\n") <= 80
    [command] = re.findall(r"curl -s (\S+) -H '([^:]+): ([^']+)' \\\n.*\\\n.*-d '(.*)'", said)
    url, header, value, body = command
    answer = httpx.post(url, headers={header: value}, json=json.loads(body), timeout=300)
    assert answer.status_code == 200
    assert answer.json()["items"]
    [page] = re.findall(r"open (\S+/\?client=demo) in a browser", said)
    assert "<title>graphmem explorer</title>" in httpx.get(page, timeout=300).text
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) in (0, 130)
