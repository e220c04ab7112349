"""The committed records of the seed story, by file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SEED = Path(__file__).resolve().parents[2] / "seed"

Record = dict[str, Any]
Records = list[Record]
Read = Callable[[str], Records]


@pytest.fixture(scope="session")
def records() -> Read:
    """Return the records of a file of the story."""

    def read(name: str) -> Records:
        text = (SEED / name).read_text(encoding="utf-8")
        assert text.endswith("\n")
        return [json.loads(line) for line in text.splitlines()]

    return read


@pytest.fixture(scope="session")
def messages(records: Read) -> dict[str, Record]:
    """The messages by their external id, in the story's order."""
    return {message["external_id"]: message for message in records("messages.jsonl")}


@pytest.fixture(scope="session")
def sessions(messages: dict[str, Record]) -> dict[str, Records]:
    """The messages of every session, in their order."""
    by_session: dict[str, Records] = {}
    for message in messages.values():
        by_session.setdefault(message["session_id"], []).append(message)
    return by_session


@pytest.fixture(scope="session")
def episodes(records: Read, sessions: dict[str, Records]) -> Records:
    """The episodes, with the external ids of the `first` and the `last` message of their range."""
    found = []
    for episode in records("episodes.jsonl"):
        place = episode["range"]
        said = sessions[place["session_id"]]
        ends = {"first": said[place["from_idx"]], "last": said[place["to_idx"]]}
        found.append(
            episode
            | {"session_id": place["session_id"]}
            | {name: message["external_id"] for name, message in ends.items()}
        )
    return found


@pytest.fixture(scope="session")
def keys(records: Read, messages: dict[str, Record]) -> set[str]:
    """All ids that a link may name."""
    return (
        {f"message:{external_id}" for external_id in messages}
        | {f"reference:{record['target_id']}" for record in records("references.jsonl")}
        | {
            f"summary:{record['type']}:{record['target_id']}"
            for record in records("summaries.jsonl")
        }
        | {f"fact:{record['key']}" for record in records("facts.jsonl")}
        | {f"episode:{record['key']}" for record in records("episodes.jsonl")}
    )
