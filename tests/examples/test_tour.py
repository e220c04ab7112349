"""The tour of graphmem, as a program that prints it, and chapter by chapter."""

import re
import subprocess
import sys
import uuid
from itertools import pairwise
from pathlib import Path

import pytest
import pytest_asyncio

from examples.tour import (
    ABOUT_REDIS,
    CHUNK_TOKENS,
    CONTEXT_TOKENS,
    MORE_TOKENS,
    PROMPT_TOKENS,
    QUESTIONS,
    ask_about_sessions,
    walk,
)
from graphmem.cli.showing import path_to_deepest
from graphmem.cli.story import StoryLoader
from graphmem.client import Graphmem
from graphmem.config import Settings, records
from graphmem.hypotheses.ask import prepare_turns
from graphmem.runtime import Runtime
from tests.environments import environment_of

pytestmark = pytest.mark.usefixtures("whole_story")

SECONDS = 600
"""Long: it is cut off only when it hangs, also where the machine is busy."""


@pytest_asyncio.fixture(scope="module")
async def told(runtime: Runtime) -> tuple[Graphmem, str, dict[str, str]]:
    """A client with the story, its conversation, and the ids of its memories."""
    memory = Graphmem(runtime, f"tour-{uuid.uuid4().hex}")
    story = StoryLoader(memory)
    ids = await story.load()
    return memory, story.conversation_id, ids


async def test_the_program_prints_every_chapter(
    runtime: Runtime, neo4j_settings: Settings, repository: Path, whole_program: None
) -> None:
    # A slow machine needs longer to plan the queries of a turn than a turn may take.
    await prepare_turns(runtime.context(client_id=""))
    result = subprocess.run(
        [sys.executable, "-m", "examples.tour"],
        cwd=repository,
        env=environment_of(neo4j_settings),
        text=True,
        encoding="utf-8",
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    costs = re.findall(
        r"(\d+) of (\d+) tokens · (\d+) items · (\d+) left out · \d+ ms", result.stdout
    )
    assert [int(budget) for _, budget, _, _ in costs] == [asked.max_tokens for asked in QUESTIONS]
    assert all(int(used) <= int(budget) for used, budget, _, _ in costs)
    assert "└─ references ─ notify/worker.py" in result.stdout
    assert re.search(r"notify/worker\.py +after 2 hops", result.stdout)
    assert "│ [reference: notify/worker.py]" in result.stdout
    assert "│ ## Semantic Memory" in result.stdout
    assert re.search(r"│ ### .+ \[rank: 1, score: 0\.\d\d, key moment\]", result.stdout)
    # S5.18 S5.19 S5.20
    assert re.search(r"^  found    2026-04-28  s07-auth-refactor$", result.stdout, re.MULTILINE)
    assert re.search(r"^  related  2026-05-19  s09-deploy-replicas  ", result.stdout, re.MULTILINE)
    assert "│ ## Session: The sign-in code is taken apart" in result.stdout
    assert re.search(r"^  earlier \[", result.stdout, re.MULTILINE)
    assert re.search(r"^  later \[", result.stdout, re.MULTILINE)
    assert re.search(
        r"  4 sessions from 2026-03-12 to 2026-05-19, [\w ]+, summarized", result.stdout
    )
    assert re.findall(r"^  (v\d)  ", result.stdout, re.MULTILINE) == [
        "v1",
        "v2",
        "v3",
    ]
    assert re.search(r"  2026-04-01  .*59 €", result.stdout)
    assert re.search(r"  2026-07-15  .*54 €", result.stdout)
    assert "│ ## Relevant Long-Term Memories" in result.stdout
    tree = re.findall(
        r"(\S+) +([\d,]+) = ([\d,]+) spent \+ ([\d,]+) held \+ ([\d,]+) given \+ ([\d,]+) left",
        result.stdout,
    )
    assert [name for name, *_ in tree] == ["planner", "auth-historian", "price-checker"]
    for _, whole, *parts in tree:
        assert sum(int(part.replace(",", "")) for part in parts) == int(whole.replace(",", ""))
    assert max(map(len, result.stdout.splitlines())) <= 100


async def test_the_walk_composes_what_lies_on_the_way(told) -> None:
    memory, _, ids = told
    walked = await walk(memory)
    path = [ids[key] for key in records("hop_questions.jsonl")[0]["path"]]
    assert [peeked.id for peeked in walked.peeked] == path
    assert walked.path == path_to_deepest(walked.found)
    assert walked.chunk.token_count <= CHUNK_TOKENS
    assert walked.chunk.truncated
    assert [(step.from_id, step.to_id) for step in walked.path] == list(pairwise(path))
    assert walked.found.hops_used == len(walked.path) == 2
    assert walked.memories == len(path)
    assert "LEASE_S = 120" in walked.composed
    assert memory.runtime.tokens.count(walked.composed) <= CONTEXT_TOKENS


async def test_the_auth_bug_more_of_it_and_the_theme_it_belongs_to(told, rival) -> None:
    # S5.18 S5.19 S5.20
    memory, conversation_id, ids = told
    await rival.open_conversation(conversation_id)
    await rival.remember(
        conversation_id,
        [
            {
                "session_id": "theirs",
                "role": "user",
                "content": "That auth bug was in the sign-in code.",
            }
        ],
    )
    seen = await ask_about_sessions(memory, conversation_id)
    [context] = seen.found.contexts
    assert context.session_external_id == "s07-auth-refactor"
    assert context.started_at.date().isoformat() == "2026-04-28"
    assert any(turn.hit for turn in context.messages)
    assert any(not turn.hit for turn in context.messages)
    related = {link.session_external_id: link.started_at for link in seen.found.cross_links}
    assert related["s09-deploy-replicas"] > context.started_at
    assert seen.found.tokens_used <= PROMPT_TOKENS

    shown = [turn.idx for turn in context.messages]
    earlier = [turn.idx for turn in seen.earlier.messages]
    later = [turn.idx for turn in seen.later.messages]
    assert earlier
    assert later
    assert max(earlier) < min(shown) <= max(shown) < min(later)
    for more in (seen.earlier, seen.later):
        assert more.session_external_id == "s07-auth-refactor"
        assert more.tokens_used <= MORE_TOKENS

    names = [one["session_external_id"] for one in seen.theme["occasions"]]
    assert names == [
        "s02-early-logout",
        "s05-cookie-rotation",
        "s07-auth-refactor",
        "s09-deploy-replicas",
    ]
    assert seen.theme["sessions"] == 4
    span = (seen.theme["first_at"], seen.theme["last_at"])
    assert [f"{moment:%Y-%m-%d}" for moment in span] == ["2026-03-12", "2026-05-19"]
    summary = seen.theme["summary"]
    assert [one["at"] for one in summary] == sorted(one["at"] for one in summary)
    assert {one["session_id"] for one in summary} == {
        one["session_id"] for one in seen.theme["occasions"]
    }
    assert {one["memory_id"] for one in summary} <= set(ids.values())


async def test_facts_and_episodes_of_the_conversation_are_found(told) -> None:
    memory, conversation_id, _ = told
    found = (await memory.retrieve_memory(ABOUT_REDIS, conversation_id, detail="low")).found
    assert found.semantic
    assert found.episodic
