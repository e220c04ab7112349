"""The story's references, summaries and links are well formed, resolve, and agree with the messages."""

from collections import Counter
from itertools import pairwise

import pytest

from tests.seed.conftest import Read, Record, Records

VERSIONED = {"page-pricing", "doc-api", "file-ingress"}
WITH_CONTENT = {"page-pricing", "doc-runbook", "doc-api", "file-ingress", "report-2026-06-12"}


def by_target(records: Read) -> dict[str, Records]:
    chains: dict[str, Records] = {}
    for record in records("references.jsonl"):
        chains.setdefault(record["target_id"], []).append(record)
    return chains


def latest(records: Read, target_id: str) -> Record:
    """Return a reference's card with the content of its newest version."""
    first, *later = by_target(records)[target_id]
    return first | {"content": (later[-1] if later else first)["content"]}


def test_a_changed_content_is_a_later_line_that_names_the_version_it_replaces(
    records: Read,
) -> None:
    chains = by_target(records)
    assert {target for target, chain in chains.items() if len(chain) > 1} == VERSIONED
    for chain in chains.values():
        first, *later = chain
        assert "replaces" not in first
        assert all(set(record) == {"type", "target_id", "replaces", "content"} for record in later)
        assert [record["replaces"] for record in later] == list(range(1, len(chain)))
        for before, after in pairwise(chain):
            assert before["type"] == after["type"]
            assert before["content"] != after["content"]


def test_the_long_texts_make_several_spans(records: Read) -> None:
    chains = by_target(records)
    assert {target for target, chain in chains.items() if "content" in chain[0]} == WITH_CONTENT
    for target in ("page-pricing", "doc-runbook", "doc-api"):
        for record in chains[target]:
            assert 1_500 <= len(record["content"].encode()) <= 6_000
            assert record["content"].count("\n## ") >= 5


@pytest.mark.parametrize(
    ("target_id", "text", "source"),
    [
        ("page-pricing", "54 €", "m161"),
        ("page-pricing", "583.20", "m162"),
        ("page-pricing", "0.08 € each|0.08 € for each", "m161"),
        ("page-pricing", "40 bookings a month", "m038"),
        ("doc-api", "Sat, 31 Oct 2026 00:00:00 GMT", "m194"),
        ("doc-api", "120 requests a minute", "m115"),
        ("doc-api", "The same key within 24 hours", "m116"),
        ("doc-runbook", "check the clock offset of every node (limit 5 s)", "m181"),
        ("doc-runbook", "above 20 a minute for 5 minutes", "m182"),
        ("doc-runbook", "window of Tuesday 2 June", "m184"),
        ("doc-runbook", "it fires at 5 duplicates|fires at 5 duplicates", "m188"),
        ("report-2026-06-12", "18.72 €", "m172"),
        ("report-2026-06-12", "312 extra messages to 104 people", "m172"),
        ("file-ingress", "about 3 s", "m131"),
    ],
)
def test_the_newest_content_says_what_was_said(
    records: Read, messages: dict[str, Record], target_id: str, text: str, source: str
) -> None:
    said, written = text.split("|") if "|" in text else (text, text)
    assert said in messages[source]["content"].replace("**", "")
    assert written in latest(records, target_id)["content"]


@pytest.mark.parametrize(
    ("target_id", "text"),
    [
        ("page-pricing", "59 €"),
        ("page-pricing", "637.20 €"),
        ("doc-api", "30 Sep 2026"),
        ("file-ingress", "sessionAffinity: cookie"),
    ],
)
def test_what_changed_stands_in_the_old_content_only(
    records: Read, target_id: str, text: str
) -> None:
    old, new = by_target(records)[target_id]
    assert text in old["content"]
    assert text not in new["content"]


def test_the_error_table_of_the_api_document_is_the_one_that_was_agreed(
    records: Read, messages: dict[str, Record]
) -> None:
    rows = [line for line in messages["m118"]["content"].splitlines() if line.startswith("| ")]
    for chain in by_target(records)["doc-api"]:
        assert "\n".join([rows[0], "|---|---|---|", *rows[1:]]) in chain["content"]


def test_the_price_list_shows_the_plans_of_its_time(records: Read) -> None:
    old, new = by_target(records)["page-pricing"]
    for record, monthly in ((old, 59), (new, 54)):
        yearly = f"{monthly * 12 * 9 / 10:.2f}"
        assert f"| Harbour | up to 5 | {monthly} € |" in record["content"]
        assert f"{yearly} € a year ({monthly} × 12 × 0.9)" in record["content"]
        assert f"{149 * 12 * 9 / 10:,.2f} € a year (149 × 12 × 0.9)" in record["content"]


def test_thread_summaries_count_what_is_in_the_thread(
    records: Read, sessions: dict[str, Records]
) -> None:
    threads = [record for record in records("summaries.jsonl") if record["type"] == "thread"]
    assert len(threads) >= 4
    for thread in threads:
        said = sessions[thread["target_id"]]
        assert thread["message_count"] == len(said)
        assert thread["participant_count"] == len({message["name"] for message in said})
        assert thread["last_activity_at"] == said[-1]["occurred_at"]


def test_every_session_has_one_summary(records: Read, sessions: dict[str, Records]) -> None:
    summaries = [record for record in records("summaries.jsonl") if record["type"] == "session"]
    assert [summary["target_id"] for summary in summaries] == list(sessions)
    for summary in summaries:
        assert summary["last_activity_at"] == sessions[summary["target_id"]][-1]["occurred_at"]


def test_plan_summaries_count_up_and_move_forward(
    records: Read, messages: dict[str, Record]
) -> None:
    said = {message["occurred_at"] for message in messages.values()}
    plans: dict[str, Records] = {}
    for record in records("summaries.jsonl"):
        if record["type"] == "plan":
            plans.setdefault(record["target_id"], []).append(record)
    assert Counter({target: len(versions) for target, versions in plans.items()}) == {
        "plan-lanternfish": 3,
        "plan-tidewater": 2,
    }
    for versions in plans.values():
        for plan in versions:
            nodes = plan["completed_nodes"] + plan["pending_nodes"] + plan["failed_nodes"]
            assert plan["total_nodes"] == nodes
            assert plan["last_activity_at"] in said
        for before, after in pairwise(versions):
            assert before["last_activity_at"] < after["last_activity_at"]
            assert before["completed_nodes"] < after["completed_nodes"]
            assert before["plan_type"] == after["plan_type"]


def test_links_join_two_things_that_are_there_and_each_pair_once(
    records: Read, keys: set[str]
) -> None:
    links = records("links.jsonl")
    for link in links:
        assert set(link) == {"from", "to", "type"}
        assert {link["from"], link["to"]} <= keys, link
        assert link["from"] != link["to"]
    assert len({(link["from"], link["to"], link["type"]) for link in links}) == len(links)


def test_every_reference_is_linked(records: Read, keys: set[str]) -> None:
    linked = {end for link in records("links.jsonl") for end in (link["from"], link["to"])}
    assert {key for key in keys if key.startswith("reference:")} <= linked


def test_a_question_over_hops_has_links_all_the_way(records: Read) -> None:
    links = {frozenset((link["from"], link["to"])): link["type"] for link in records("links.jsonl")}
    for question in records("hop_questions.jsonl"):
        assert question["query"].endswith("?")
        assert len(question["path"]) == 3, "two hops"
        for step in pairwise(question["path"]):
            assert links[frozenset(step)] in question["link_types"]
        assert frozenset((question["path"][0], question["path"][2])) not in links
