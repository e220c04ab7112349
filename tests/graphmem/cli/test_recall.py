import json
import re
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from graphmem.cli.main import commands
from graphmem.cli.recall import ask
from graphmem.recall.types import Question, Recalled


@pytest.fixture
def remembered(invoke, client_id, story) -> str:
    """A client that remembers the story."""
    assert invoke("import", str(story), "--client", client_id).exit_code == 0
    return client_id


def test_the_context_is_printed_and_what_it_cost(invoke, remembered):
    result = invoke("recall", "who keeps the lighthouse?", "--client", remembered, "--budget", "30")
    assert result.exit_code == 0, result.output
    context, _, cost = result.stdout.rstrip("\n").rpartition("\n")
    assert "Ansgar" in context
    told = re.fullmatch(r"(\d+) of 30 tokens · \d items? · \d left out · \d+ ms", cost)
    assert told, cost
    assert int(told[1]) <= 30


def test_programs_get_what_the_api_answers(invoke, remembered):
    result = invoke("recall", "lighthouse", "--client", remembered, "--json", "--limit", "1")
    answer = json.loads(result.stdout)
    assert [item["rank"] for item in answer["items"]] == [1]
    assert {"context", "tokens_used", "omitted", "omitted_total", "degraded"} <= set(answer)


def test_options_reach_the_question(invoke, remembered):
    def found(*options: str) -> set[str]:
        result = invoke("recall", "lighthouse pancakes", "--client", remembered, "--json", *options)
        assert result.exit_code == 0, result.stderr
        return {item["external_id"] for item in json.loads(result.stdout)["items"]}

    assert found() == {"a", "b", "c"}
    assert found("--conversation", "kitchen") == {"c"}
    assert found("--kind", "fact", "--kind", "span") == set()
    assert found("--since", "2020-01-01") == {"a", "b", "c"}
    assert found("--until", "2020-01-01T00:00:00") == set()
    assert found("--as-of", "2020-01-01") == set()
    assert found("--known-as-of", "2020-01-01") == set()
    assert found("--as-of", "2999-01-01", "--known-as-of", "2999-01-01") == {"a", "b", "c"}
    assert found("--ranking", "bm25", "--limit", "200") == {"a", "b", "c"}


async def test_a_question_is_validated_once(monkeypatch: pytest.MonkeyPatch):
    """The command line has validated it before anything starts; what it asks is that very question."""
    asked: list[tuple[Question, str]] = []

    async def answer(question: Question, context: str) -> Recalled:
        asked.append((question, context))
        return Recalled(
            items=[],
            context="",
            tokens_used=0,
            omitted=[],
            omitted_total=0,
            abstained=False,
            degraded=[],
        )

    monkeypatch.setattr("graphmem.recall.ask.recall", answer)
    runtime = SimpleNamespace(context=lambda client_id, reads: f"of {client_id} {reads}")
    memory: Any = SimpleNamespace(client_id="c", reads=("team",), runtime=runtime)
    question = Question(query="lighthouse")
    assert (await ask(question, memory)).asked is question
    assert asked[0][0] is question
    assert asked[0][1] == "of c ('team',)"


def test_explain_says_why(invoke, remembered):
    options = ("--client", remembered, "--explain", "--limit", "1")
    result = invoke("recall", "lighthouse", *options)
    assert re.search(r"^in   #1 .* tokens  [ab]  \(.*vector #\d", result.stdout, re.MULTILINE)
    assert re.search(r"^[█▏]+▓*░+$", result.stdout, re.MULTILINE)
    assert re.search(
        r"^     cosine +[\d.]+ [█▏▎▍▌▋▊▉]+ +[\d.]+ · [\d.]+$", result.stdout, re.MULTILINE
    )
    assert "\x1b" not in result.stdout
    assert re.search(r"^out  #\d .* beyond the limit$", result.stdout, re.MULTILINE)
    assert re.search(r"^time \w+: [\d.]+ ms$", result.stdout, re.MULTILINE)


def test_nothing_found_is_an_answer(invoke, client_id):
    result = invoke("recall", "anything?", "--client", client_id)
    assert result.exit_code == 0
    assert result.stdout.startswith("Nothing was found.\n")
    assert "0 of 2,048 tokens · 0 items · 0 left out" in result.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--budget", "0"), "--budget: expected a whole number >= 1"),
        (("--limit", "201"), "--limit: expected a whole number <= 200"),
        (("--since", "tomorrow"), "--since: is not a time as RFC 3339"),
        (
            ("--since", "2026-03-02", "--until", "2026-03-02"),
            "--until: expected a time after `since`",
        ),
        (("--time-zone", "Atlantis"), "--time-zone: there is no time zone 'Atlantis'"),
        (("--as-of", "tomorrow"), "--as-of: is not a time as RFC 3339"),
        (("--known-as-of", "tomorrow"), "--known-as-of: is not a time as RFC 3339"),
        (("--client", "a b"), "Invalid value for '--client'"),
        (("--kind", "dream"), "Invalid value for '--kind'"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_starts(options, sentence):
    nowhere = {"GRAPHMEM_NEO4J_URI": "bolt://127.0.0.1:1"}
    result = CliRunner().invoke(commands, ["recall", "x", *options], env=nowhere)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_a_database_that_is_not_there_is_one_sentence(invoke):
    result = invoke("recall", "x", "--neo4j-uri", "bolt://127.0.0.1:1")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith(
        "Error: no Neo4j answers at bolt://127.0.0.1:1"
    )
