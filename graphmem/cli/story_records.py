"""Loading the demo's story with what was written down and concluded; what is there already stays.

A record's key is what `seed/README.md` says: `reference:page-pricing`, `fact:harbour-54`.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any

import msgspec
from msgspec import Struct

from graphmem import resources
from graphmem.model.progress import Progress
from graphmem.model.vocabulary import SourceType
from graphmem.retrieval.relevance import EVERYTHING
from graphmem.search.types import SearchItem
from graphmem.service import Graphmem

Record = dict[str, Any]
Ids = dict[str, str]
"""The ids of memories by their keys, each the newest version's."""

PAGE = 200
"""How many memories a list is asked for at once."""

MESSAGES_AT_ONCE = 65

AFTERWARDS = "writing down what came of it"


class Loaded(Struct, frozen=True):
    """What the story is made of."""

    messages: int
    ids: Ids


def records(name: str) -> list[Record]:
    """Return the records of a file of the story."""
    lines = (resources.folder("seed") / name).read_bytes().splitlines()
    return [msgspec.json.decode(line) for line in lines]


async def load(memory: Graphmem, conversation_id: str, progress: Progress) -> Loaded:
    """Load the story where it is not there yet. Raises `Unavailable`."""
    messages = records("messages.jsonl")
    ids = await load_messages(memory, conversation_id, messages, progress)
    sessions = await _sessions(memory, messages, ids)
    stages = 5
    progress(AFTERWARDS, 0, stages)
    ids |= await load_references(memory)
    progress(AFTERWARDS, 1, stages)
    ids |= await load_summaries(memory, sessions)
    progress(AFTERWARDS, 2, stages)
    ids |= await load_episodes(memory, conversation_id, messages)
    progress(AFTERWARDS, 3, stages)
    ids |= await load_facts(memory, conversation_id, ids)
    progress(AFTERWARDS, 4, stages)
    await load_links(memory, ids)
    await load_reviews(memory, ids)
    progress(AFTERWARDS, stages, stages)
    return Loaded(messages=len(messages), ids=ids)


async def load_messages(
    memory: Graphmem, conversation_id: str, messages: Sequence[Record], progress: Progress
) -> Ids:
    """Remember the messages; one that is there already changes nothing."""
    ids: Ids = {}
    for start in range(0, len(messages), MESSAGES_AT_ONCE):
        batch = messages[start : start + MESSAGES_AT_ONCE]
        remembered = await memory.remember(
            conversation_id, [_without(message, "conversation_id") for message in batch]
        )
        named = (f"message:{message['external_id']}" for message in batch)
        ids |= dict(zip(named, remembered.ids, strict=True))
        progress("loading the story", len(ids), len(messages))
    return ids


async def _sessions(memory: Graphmem, messages: Sequence[Record], ids: Ids) -> Ids:
    """Return the sessions' own ids by the names that the story gives them."""
    one_of = {message["session_id"]: f"message:{message['external_id']}" for message in messages}
    return {
        name: (await memory.memory(ids[key])).session_id or name for name, key in one_of.items()
    }


async def load_references(memory: Graphmem) -> Ids:
    """Write the cards that are not there yet and the contents that come after what they have."""
    chains = {
        target_id: list(chain)
        for target_id, chain in groupby(records("references.jsonl"), itemgetter("target_id"))
    }
    there = {one.target_id: one for one in (await memory.references(limit=PAGE)).references}
    if new := [chain[0] for target_id, chain in chains.items() if target_id not in there]:
        cards = [_without(card, "content") for card in new]
        there |= {one.target_id: one for one in await memory.add_references(cards)}
    ids = {}
    for target_id, chain in chains.items():
        id, sha256 = there[target_id].id, there[target_id].content_sha256
        for content in _later(chain, sha256):
            id = (await memory.put_content(id, content)).id
        ids[f"reference:{target_id}"] = id
    return ids


def _later(chain: list[Record], sha256: str | None) -> list[str]:
    """Return the contents after the one that is there; none after one that the story does not know."""
    contents = [record["content"] for record in chain if "content" in record]
    known = [None, *(hashlib.sha256(content.encode()).hexdigest() for content in contents)]
    return contents[known.index(sha256) :] if sha256 in known else []


async def load_summaries(memory: Graphmem, session_ids: Mapping[str, str]) -> Ids:
    """Write the summaries that are not there yet, each version after the one before."""
    there = {
        (one.type, one.target_id): one for one in (await memory.summaries(limit=PAGE)).summaries
    }
    ids: Ids = {}
    number: dict[str, int] = {}
    for record in records("summaries.jsonl"):
        key = f"summary:{record['type']}:{record['target_id']}"
        target_id = session_ids.get(record["target_id"], record["target_id"])
        known = there.get((record["type"], target_id))
        number[key] = number.get(key, 0) + 1
        if known is not None and number[key] <= known.version:
            ids[key] = known.id
        else:
            ids[key] = (await memory.add_summary(**record | {"target_id": target_id})).id
    return ids


async def load_episodes(memory: Graphmem, conversation_id: str, messages: Sequence[Record]) -> Ids:
    """Remember the episodes that are not there yet."""
    there = {item.label: item.id for item in await _listed(memory, conversation_id, "episode")}
    places = _places(messages)
    ids = {}
    for record in records("episodes.jsonl"):
        id = there.get(record["title"])
        if id is None:
            kept = await memory.remember_episode(
                conversation_id,
                range={
                    "session_id": record["session_id"],
                    "from_idx": places[record["first"]],
                    "to_idx": places[record["last"]],
                },
                **_without(record, "key", "session_id", "first", "last"),
            )
            id = kept.id
        ids[f"episode:{record['key']}"] = id
    return ids


async def load_facts(memory: Graphmem, conversation_id: str, ids: Mapping[str, str]) -> Ids:
    """Remember the facts that are not there yet, each reversed one as the next version of the old.

    Return those that hold at the story's end.
    """
    sources = _sources(ids)
    there = {item.snippet: item.id for item in await _listed(memory, conversation_id, "fact")}
    chains = _chains(records("facts.jsonl"))
    begun = [chain[0] for chain in chains if not any(fact["fact"] in there for fact in chain)]
    if begun:
        kept = await memory.remember_facts(
            _without(fact, "key", "sources", "quote")
            | {"conversation_id": conversation_id, "source_episode_ids": sources(fact["sources"])}
            for fact in begun
        )
        there |= {fact["fact"]: one.id for fact, one in zip(begun, kept, strict=True)}
    for chain in chains:
        [newest] = [place for place, fact in enumerate(chain) if fact["fact"] in there]
        for old, fact in pairwise(chain[newest:]):
            version = await memory.supersede_fact(
                there[old["fact"]],
                **_without(fact, "key", "sources", "quote", "supersedes")
                | {"source_episode_ids": sources(fact["sources"])},
            )
            there[fact["fact"]] = version.id
    return {f"fact:{chain[-1]['key']}": there[chain[-1]["fact"]] for chain in chains}


def _chains(facts: Sequence[Record]) -> list[list[Record]]:
    """Return the facts by what superseded what, each chain oldest first."""
    following = {fact["supersedes"]: fact for fact in facts if "supersedes" in fact}
    chains = []
    for fact in facts:
        if "supersedes" not in fact:
            chain = [fact]
            while chain[-1]["key"] in following:
                chain.append(following[chain[-1]["key"]])
            chains.append(chain)
    return chains


async def load_reviews(memory: Graphmem, ids: Mapping[str, str]) -> None:
    """Rate the episodes; one that was reviewed at that time already stays as it is."""
    for review in records("reviews.jsonl"):
        await memory.review(
            ids[f"episode:{review['episode']}"],
            review["rating"],
            reviewed_at=datetime.fromisoformat(review["reviewed_at"]),
        )


async def load_links(memory: Graphmem, ids: Mapping[str, str]) -> None:
    """Make the links; one that is there already stays as it is."""
    await memory.link_all(
        {"from": ids[link["from"]], "to": ids[link["to"]], "type": link["type"]}
        for link in records("links.jsonl")
    )


async def _listed(
    memory: Graphmem, conversation_id: str, source_type: SourceType
) -> list[SearchItem]:
    found = await memory.search(
        EVERYTHING,
        source_types=[source_type],
        conversation_id=conversation_id,
        max_results=PAGE,
    )
    return found.items


def _places(messages: Sequence[Record]) -> dict[str, int]:
    """Return each message's place in its session, from 0."""
    heard = Counter[str]()
    places = {}
    for message in messages:
        places[message["external_id"]] = heard[message["session_id"]]
        heard[message["session_id"]] += 1
    return places


def _sources(ids: Mapping[str, str]) -> Callable[[Sequence[str]], list[str]]:
    """Return what gives the ids of some messages, and of the episodes that hold them."""
    episodes = records("episodes.jsonl")

    def sources(external_ids: Sequence[str]) -> list[str]:
        holding = [
            ids[f"episode:{episode['key']}"]
            for episode in episodes
            if any(episode["first"] <= one <= episode["last"] for one in external_ids)
        ]
        return [*holding, *(ids[f"message:{one}"] for one in external_ids)]

    return sources


def _without(record: Record, *names: str) -> Record:
    return {name: value for name, value in record.items() if name not in names}
