"""Every record of the story is what the API takes."""

import shlex
from collections.abc import Collection
from typing import Any

import msgspec

from graphmem.cli.main import commands
from graphmem.episodes.types import NewEpisode
from graphmem.facts.types import NewFact
from graphmem.memories.links import NewLink
from graphmem.model.vocabulary import CATEGORIES
from graphmem.recall.types import Question
from graphmem.references.types import NewContent, NewReference
from graphmem.reviews.types import NewRating
from graphmem.runs.types import NewRun, NewWrite, RetrievalBudget, RunQuestion, SubcallAsked
from graphmem.search.types import SearchQuery
from graphmem.summaries.types import NewSummary
from tests.seed.conftest import Read, Record


def taken(record: Record, what: Any, *, apart: Collection[str] = ()) -> Any:
    """Convert a record as a request's body is; what only the story knows is set apart."""
    body = {name: value for name, value in record.items() if name not in apart}
    return msgspec.json.decode(msgspec.json.encode(body), type=what)


def test_references_and_their_contents_are_taken(records: Read) -> None:
    for record in records("references.jsonl"):
        if "replaces" not in record:
            reference = taken(record, NewReference, apart={"content"})
            assert reference.description
            assert reference.metadata
        if "content" in record:
            taken({"content": record["content"]}, NewContent)


def test_summaries_are_taken(records: Read) -> None:
    for record in records("summaries.jsonl"):
        assert taken(record, NewSummary).type == record["type"]


def test_links_are_taken(records: Read) -> None:
    for record in records("links.jsonl"):
        taken(record, NewLink)


def test_facts_are_taken(records: Read) -> None:
    apart = {"key", "quote", "supersedes", "reason"}
    for record in records("facts.jsonl"):
        fact = taken(record, NewFact, apart=apart)
        assert fact.category in CATEGORIES


def test_episodes_are_taken(records: Read) -> None:
    for record in records("episodes.jsonl"):
        assert set(record) == {"key", "range", "title", "summary", "surprise"}
        conversation = {"conversation_id": "tidewater"}
        episode = taken(record | conversation, NewEpisode, apart={"key"})
        assert episode.range.from_idx < episode.range.to_idx


def test_ratings_are_taken(records: Read) -> None:
    for record in records("reviews.jsonl"):
        taken(record, NewRating, apart={"episode"})


def test_runs_and_their_steps_are_taken(records: Read) -> None:
    bodies = {"retrieve": RunQuestion, "write": NewWrite}
    for record in records("runs.jsonl"):
        if record["parent"] is None:
            taken(record, NewRun, apart={"key", "parent", "outcome", "steps"})
            taken(record["budget"], RetrievalBudget)
        else:
            taken(record, SubcallAsked, apart={"key", "parent", "outcome", "steps"})
        for step in record["steps"]:
            if step["operation"] in bodies:
                taken(step, bodies[step["operation"]], apart={"operation"})


def test_what_is_asked_besides_is_taken(records: Read) -> None:
    for record in records("asked.jsonl"):
        assert record["times"] > 0
        taken(record, SearchQuery, apart={"times"})


def test_the_steps_of_the_demo_are_taken(records: Read) -> None:
    facts = {f"fact:{record['key']}" for record in records("facts.jsonl")}
    for record in records("steps.jsonl"):
        assert record["why"].endswith(".")
        assert len(record["why"]) < 100
        [kind] = {"asks", "versions", "hops"} & set(record)
        if kind == "versions":
            assert record["versions"] in facts
        for asked in record.get("asks", ()):
            taken(asked, Question)
        if kind == "hops":
            taken(record["hops"], SearchQuery)


def test_the_commands_to_go_on_with_exist(records: Read) -> None:
    for record in records("next.jsonl"):
        if record["command"].startswith("$graphmem"):
            _, name, *words = shlex.split(record["command"].removesuffix("$folder"))
            options = {one for param in commands.commands[name].params for one in param.opts}
            assert {word for word in words if word.startswith("-")} <= options
