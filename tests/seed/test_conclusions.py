"""The story's facts, episodes, reviews and runs: each is proven by what was said."""

import re
from datetime import datetime
from itertools import pairwise

import pytest

from tests.seed.conftest import Read, Record, Records

# What changes in the story: the facts of each chain, oldest first.
CHANGED = [
    ["rollups-postgres-march", "rollups-sqlite", "rollups-postgres"],
    ["harbour-49", "harbour-59", "harbour-54"],
    ["queue-redis", "queue-jobs"],
    ["window-thursday", "window-tuesday"],
    ["style-reasoning", "style-diff"],
    ["affinity-in", "affinity-out"],
    ["v1-september", "v1-october"],
    ["phase3-may", "phase3-june", "phase3-done"],
    ["drift-code-old", "drift-code-new"],
]
CATEGORIES = {
    "identity",
    "preference",
    "interest",
    "personality",
    "relationship",
    "experience",
    "goal",
    "guideline",
    "coding_preference",
    "project_convention",
    "architectural_decision",
    "user_fact",
    "correction",
    "pattern",
}


@pytest.fixture(scope="module")
def facts(records: Read) -> dict[str, Record]:
    return {fact["key"]: fact for fact in records("facts.jsonl")}


def sources(fact: Record) -> list[str]:
    """Return the external ids of the messages that a fact comes from."""
    named = fact["source_episode_ids"]
    return [one.removeprefix("message:") for one in named if one.startswith("message:")]


def test_there_are_facts_of_every_category_and_of_both_scopes(
    records: Read, facts: dict[str, Record]
) -> None:
    assert len(facts) == len(records("facts.jsonl"))
    assert 25 <= len(facts) <= 40
    assert {fact["category"] for fact in facts.values()} == CATEGORIES
    assert {fact["scope"] for fact in facts.values()} == {"user", "repo"}


def test_a_fact_s_quote_stands_in_its_first_source(
    facts: dict[str, Record], messages: dict[str, Record]
) -> None:
    for key, fact in facts.items():
        assert fact["quote"] in messages[sources(fact)[0]]["content"], key
        assert set(sources(fact)) <= set(messages)
        assert len(set(sources(fact))) == len(sources(fact))


def test_a_fact_names_the_episodes_that_hold_its_messages(
    facts: dict[str, Record], episodes: Records
) -> None:
    for key, fact in facts.items():
        holding = [
            f"episode:{episode['key']}"
            for episode in episodes
            if any(episode["first"] <= one <= episode["last"] for one in sources(fact))
        ]
        named = [f"message:{one}" for one in sources(fact)]
        assert fact["source_episode_ids"] == [*holding, *named], key


def test_a_fact_is_said_within_six_weeks_of_the_day_it_becomes_true(
    facts: dict[str, Record], messages: dict[str, Record]
) -> None:
    for key, fact in facts.items():
        said = messages[sources(fact)[0]]["occurred_at"]
        weeks = (
            abs(datetime.fromisoformat(fact["valid_at"]) - datetime.fromisoformat(said)).days / 7
        )
        assert weeks <= 6, key


def test_the_demo_tells_facts_and_episodes_from_others_by_what_a_list_shows(
    facts: dict[str, Record], episodes: Records
) -> None:
    """A list shows the first 200 characters of a fact, and an episode's title."""
    assert len({fact["fact"] for fact in facts.values()}) == len(facts)
    assert max(len(fact["fact"]) for fact in facts.values()) <= 200
    assert len({episode["title"] for episode in episodes}) == len(episodes)


def test_some_names_stand_in_the_keywords_only(facts: dict[str, Record]) -> None:
    only = [
        keyword
        for fact in facts.values()
        for keyword in fact["keywords"]
        if keyword not in fact["fact"]
    ]
    assert {"Ines Okoro", "Ballast", "Birgit Amsel", "Redis"} <= set(only)


def test_chains_are_linear_and_go_forward_in_time(facts: dict[str, Record]) -> None:
    replaced = [fact["supersedes"] for fact in facts.values() if "supersedes" in fact]
    assert len(set(replaced)) == len(replaced)
    seen: set[str] = set()
    for key, fact in facts.items():
        assert ("supersedes" in fact) == ("reason" in fact)
        if "supersedes" in fact:
            assert fact["supersedes"] in seen, "the older fact stands before the newer one"
            assert facts[fact["supersedes"]]["valid_at"] < fact["valid_at"]
        seen.add(key)


def test_what_changes_is_a_chain_that_ends_with_what_holds(facts: dict[str, Record]) -> None:
    superseded = {fact.get("supersedes") for fact in facts.values()}
    for chain in CHANGED:
        for older, newer in pairwise(chain):
            assert facts[newer]["supersedes"] == older
        assert chain[0] in facts
        assert "supersedes" not in facts[chain[0]]
        assert chain[-1] not in superseded


def test_the_episodes_cut_the_story_without_gap_or_overlap(
    episodes: Records, sessions: dict[str, Records]
) -> None:
    cut: dict[str, list[tuple[str, str]]] = {}
    for episode in episodes:
        cut.setdefault(episode["session_id"], []).append((episode["first"], episode["last"]))
    assert list(cut) == list(sessions)
    for session_id, ranges in cut.items():
        ids = [message["external_id"] for message in sessions[session_id]]
        covered = [
            external_id
            for first, last in ranges
            for external_id in ids[ids.index(first) : ids.index(last) + 1]
        ]
        assert covered == ids


def test_some_episodes_are_key_moments_and_most_are_not(episodes: Records) -> None:
    assert len({episode["key"] for episode in episodes}) == len(episodes)
    assert all(0 <= episode["surprise"] <= 1 for episode in episodes)
    key_moments = [episode for episode in episodes if episode["surprise"] >= 0.7]
    assert 5 <= len(key_moments) < len(episodes) / 2


def test_a_number_in_an_episode_s_summary_was_said_in_it_or_before(
    episodes: Records, messages: dict[str, Record]
) -> None:
    told = ""
    position = 0
    said = list(messages.values())
    for episode in episodes:
        while position < len(said) and said[position]["external_id"] <= episode["last"]:
            told += f" {said[position]['content']}"
            position += 1
        for number in re.findall(r"\d[\d.,:]*\d|\d\d", episode["summary"]):
            assert number in told, (episode["key"], number)


def test_reviews_rate_episodes_after_they_happened_and_in_order(
    records: Read, episodes: Records, messages: dict[str, Record]
) -> None:
    ended = {episode["key"]: messages[episode["last"]]["occurred_at"] for episode in episodes}
    reviews = records("reviews.jsonl")
    assert {review["rating"] for review in reviews} == {"again", "hard", "good", "easy"}
    for review in reviews:
        assert ended[review["episode"]] < review["reviewed_at"]
        ended[review["episode"]] = review["reviewed_at"]


def test_a_run_has_two_children_that_it_calls_and_that_leave_it_tokens(records: Read) -> None:
    runs = {run["key"]: run for run in records("runs.jsonl")}
    [root] = [run for run in runs.values() if run["parent"] is None]
    called = [step["run"] for step in root["steps"] if step["operation"] == "subcall"]
    assert called == [key for key in runs if runs[key]["parent"] == root["key"]]
    assert len(called) == 2
    left = root["budget"]["max_tokens"]
    for step in root["steps"]:
        if step["operation"] == "retrieve":
            left -= step["max_tokens"]
        if step["operation"] == "subcall":
            child = runs[step["run"]]
            given = int(left * child["budget_fraction"])
            asked = [
                part["max_tokens"] for part in child["steps"] if part["operation"] == "retrieve"
            ]
            assert sum(asked) <= given
            left -= given
    assert left > 0


def test_runs_look_at_references_that_have_a_content(records: Read) -> None:
    targets = {record["target_id"] for record in records("references.jsonl") if "content" in record}
    for run in records("runs.jsonl"):
        operations = [step["operation"] for step in run["steps"]]
        assert set(operations) <= {"retrieve", "peek", "write", "subcall"}
        for step in run["steps"]:
            if step["operation"] == "peek":
                assert step["reference"] in targets
