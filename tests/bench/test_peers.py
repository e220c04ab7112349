"""The bench of peers: what is measured of a peer in a process of its own, and the table of its report."""

from pathlib import Path
from typing import Any

import pytest

from bench import figures
from bench.peers.material import OTHER, OWN, Material, Vectors, alike, told
from bench.peers.measuring import packed, row
from bench.peers.peer import Named
from bench.plots import PLOTS
from graphmem.embedding import Embedder, Vector
from graphmem.tokens import TokenCounter

SAID = ["We sail at dawn.", "The engine leaks oil.", "Lunch is at noon."]
DATA = {
    "name": "Boats 1",
    "conversations": [
        {
            "id": "a/1",
            "sessions": [
                {
                    "id": "s",
                    "messages": [
                        {
                            "id": f"m{n}",
                            "role": "user",
                            "name": "Ada",
                            "content": content,
                            "occurred_at": "2026-01-01T09:00:00Z",
                        }
                        for n, content in enumerate(SAID)
                    ],
                }
            ],
            "questions": [
                {"id": "1", "text": "What leaks oil?", "category": "x", "evidence": ["m1"]},
                {
                    "id": "2",
                    "text": "What sail is this?",
                    "category": "x",
                    "evidence": ["m0", "m2"],
                },
                {"id": "3", "text": "Nothing?", "category": "x", "evidence": []},
                {"id": "4", "text": "Never?", "category": "adversarial", "evidence": ["m1"]},
            ],
        }
    ],
}


class Model:
    """A model that counts the texts that it embeds."""

    name, sha256, dimensions = "counting", "0" * 64, 384

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def embed(self, texts: list[str]) -> list[Vector]:
        self.embedded += texts
        return [[1.0] * self.dimensions for _ in texts]

    def truncates(self, text: str) -> bool:
        return False


def peer(module: str) -> Named:
    return Named(module=f"tests.bench.{module}", settings="as it is", tenants="a list")


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
async def given(model: Model, tmp_path: Path):
    embedder = Embedder(model)
    vectors = Vectors(tmp_path / "vectors.sqlite", embedder)
    one = told(DATA)
    [messages] = one.messages.values()
    fill = {"large-0": [message | {"id": f"f{n}"} for n, message in enumerate(messages)]}
    yield Material([one], [], fill, ["What leaks?", "Who sails?"], vectors)
    vectors.close()
    await embedder.close()


async def test_a_peer_is_measured_in_a_process_of_its_own(given: Material, model, tmp_path):
    result = await row(peer("fake_peer"), given, 60.0, tmp_path / "log")

    assert "failed" not in result
    assert result["version"]
    assert result["leaks"] == {"wanted": 400, "foreign": 0, "missing": 0}
    found = result["sets"]["Boats 1"]
    assert found["questions"] == 2
    assert found["recall@10"] == 100
    assert found["evidence in 512"] == found["evidence in 1024"] == 100
    assert 10 < found["tokens of 1024"] < 40
    near = sum(len(some) for some in alike()[0].values())
    assert result["latency"]["small"]["memories"] == near + 3
    assert result["latency"]["large"]["memories"] == near + 6
    assert result["latency"]["large tenant"]["memories"] == 3
    assert result["ingest"]["large"]["messages"] == 3
    # The runner embedded what the file lacked, once, and what the library printed stood in nobody's way.
    assert sorted(model.embedded) == sorted(set(model.embedded))
    assert "a library speaks" in (tmp_path / "log").read_text(encoding="utf-8")


async def test_a_peer_that_fails_has_the_reason_and_what_was_measured_before(
    given: Material, tmp_path
):
    result = await row(peer("leaky_peer"), given, 60.0, tmp_path / "log")

    assert result["failed"] == "search: RuntimeError: worn out"
    assert result["leaks"]["foreign"] == result["leaks"]["missing"] == 400 - 40 * 1
    assert "latency" not in result


async def test_a_peer_without_its_packages_has_that_as_its_reason(given: Material, tmp_path):
    named = Named(module="none", settings="", tenants="", environment="never-installed")

    result = await row(named, given, 60.0, tmp_path / "log")

    assert result["failed"] == "its packages could not be installed"


def test_the_other_tenant_has_ten_near_copies_of_each_text():
    messages, questions = alike()

    assert len(messages[OWN]) == len(questions) == 40
    assert len(messages[OTHER]) == 400
    assert len({one["text"] for some in messages.values() for one in some}) == 440


def test_questions_without_evidence_and_with_a_false_premise_are_left_out():
    one = told(DATA)

    assert list(one.messages) == ["boats-1-a-1"]
    assert [question.text for question in one.questions] == [
        "What leaks oil?",
        "What sail is this?",
    ]
    assert one.questions[1].evidence == {"m0": SAID[0], "m2": SAID[2]}
    assert one.messages["boats-1-a-1"][0]["text"] == "Ada: We sail at dawn."


def test_hits_are_taken_in_their_order_while_they_fit():
    tokens = TokenCounter()
    long = "word " * 50

    assert packed(["a b", long, "c d"], 10, tokens) == "a b\nc d"
    assert tokens.count(packed([long] * 9, 120, tokens)) <= 120
    assert packed([], 10, tokens) == ""


REPORT: dict[str, Any] = {
    "memories": 6000,
    "questions of a set": 80,
    "seconds of the fill": 30.0,
    "sets": {"Boats": {"messages": 3, "questions": 2}},
    "peers": {
        "ours": {
            "version": "1.0",
            "leaks": {"wanted": 400, "foreign": 0, "missing": 1},
            "sets": {
                "Boats": {
                    "questions": 2,
                    "recall@10": 81.25,
                    "evidence in 512": 70.0,
                    "evidence in 1024": 90.0,
                    "tokens of 1024": 987.6,
                }
            },
            "ingest": {"small": {"messages": 2006, "messages a second": 1234}},
            "latency": {"small": {"memories": 6000, "p50": 12.4, "p95": 20.6}},
        },
        "theirs": {"version": "2.0", "failed": "it would not start"},
    },
}


def test_the_table_is_made_from_the_report_and_a_failed_peer_has_its_reason():
    table = figures.peers({"peers": REPORT})

    lines = [line for line in table.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert rows[0] == ["", "ours 1.0", "theirs 2.0"]
    shown = {row[0]: row[1:] for row in rows[2:]}
    assert shown["Boats: recall@10, %"] == ["81.2", ""]
    assert shown["Boats: tokens used of 1,024"] == ["988", ""]
    assert shown["messages stored a second"] == ["1,234", ""]
    assert shown["a question, small store, ms"] == ["12 / 21", ""]
    # What nobody has measured has no row.
    assert not [name for name in shown if "large" in name]
    assert "theirs could not be measured to the end: it would not start." in table
    assert dict(PLOTS["peers"](REPORT).rows) == {"ours": (70.0, 90.0), "theirs": (None, None)}


def test_the_summary_names_the_best_of_the_others_and_who_answers_sooner():
    ours = REPORT["peers"]["ours"]
    worse, sooner = (
        {"sets": {"Boats": {"evidence in 1024": evidence}}, "latency": {"small": {"p50": p50}}}
        for evidence, p50 in ((71.0, 30.0), (64.0, 3.4))
    )
    others = {"worse": worse, "sooner": sooner, "theirs": REPORT["peers"]["theirs"]}

    told = figures.peers_summary({"peers": REPORT | {"peers": {"ours": ours} | others}})

    assert "3 other memories" in told
    assert "90.0 % of the evidence of Boats (worse: 71.0 %)" in told
    assert "takes 12 ms" in told
    assert "faster: sooner in 3 ms." in told


def test_the_command_measures_at_the_size_of_the_report():
    command = figures.commands(figures.reports() | {"peers": REPORT})["peers"]

    assert command.startswith("make bench-peers ")
    assert command.endswith("MEMORIES=6000 QUESTIONS=80 FILL=30")
