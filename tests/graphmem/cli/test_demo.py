import json
import re
import signal
import socket

import httpx

from graphmem.cli.demo import QUESTIONS
from graphmem.config import folder


def test_once_tells_the_story_and_ends(graphmem):  # B9
    result = graphmem("demo", "--once")
    assert result.returncode == 0, result.stderr
    assert "195 messages in Neo4j" in result.stdout
    costs = re.findall(
        r"(\d+) of (\d+) tokens · (\d+) items · (\d+) left out · \d+ ms", result.stdout
    )
    assert [int(budget) for _, budget, _, _ in costs] == [asked.max_tokens for asked in QUESTIONS]
    assert all(int(used) <= int(budget) for used, budget, _, _ in costs)
    assert all(f"? {asked.query}" in result.stdout for asked in QUESTIONS)
    assert re.search(r"^  │ ## 2026-", result.stdout, re.MULTILINE)
    assert "left out: #" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert "\x1b" not in result.stdout
    assert "loading the story" in result.stderr


def test_the_shown_answers_hold_most_of_what_answers_the_question(graphmem):
    lines = (folder("seed") / "questions.jsonl").read_text("utf-8").splitlines()
    evidence = {row["query"]: set(row["evidence"]) for row in map(json.loads, lines)}
    result = graphmem("demo", "--once", "--json")
    [told] = map(json.loads, result.stdout.splitlines())
    assert len(told["answers"]) == len(QUESTIONS)
    for answer in told["answers"]:
        shown = {item["external_id"] for item in answer["recalled"]["items"]}
        wanted = evidence[answer["asked"]["query"]]
        # Not all: how rare a word is depends on the other clients that share the tests' database.
        assert 2 * len(wanted & shown) > len(wanted)


def test_it_takes_another_port_where_its_own_is_taken_and_serves_the_story(started):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = started("demo", "--port", str(port))
        said = ""
        while "in a browser: " not in said:
            line = process.stdout.readline()
            assert line, said
            said += line
    assert f"port {port} is taken" in said
    [command] = re.findall(r"curl -s (\S+) -H '([^:]+): ([^']+)' \\\n.*-d '(.*)'", said)
    url, header, value, body = command
    answer = httpx.post(url, headers={header: value}, json=json.loads(body), timeout=300)
    assert answer.status_code == 200
    assert answer.json()["items"]
    [page] = re.findall(r"in a browser: (\S+/\?client=demo)", said)
    assert "<title>graphmem explorer</title>" in httpx.get(page, timeout=300).text
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=300) in (0, 130)
