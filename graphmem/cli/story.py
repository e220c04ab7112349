"""Loading the demo's story for a client; records that are there already change nothing.

Keys such as `reference:page-pricing` and `fact:harbour-54` are described in `seed/README.md`.
"""

from collections import Counter
from typing import Any

from graphmem.client import Graphmem
from graphmem.config import records
from graphmem.model.progress import Progress, silent
from graphmem.model.vocabulary import SourceType

Record = dict[str, Any]

PAGE = 200
MESSAGES_AT_ONCE = 65


class StoryLoader:
    """Loads the story for a client; `ids` has the id of each memory's newest version by its key."""

    def __init__(self, memory: Graphmem) -> None:
        self.memory = memory
        [conversation] = records("conversation.json")
        self.conversation_id: str = conversation["id"]
        self.title: str = conversation["title"]
        self.ids: dict[str, str] = {}

    async def load(self, progress: Progress = silent) -> dict[str, str]:
        """Load the whole story and return the ids. Raises `Unavailable`."""
        stages = [self.load_messages, self.load_references, self.load_summaries]
        stages += [self.load_episodes, self.load_facts, self.load_links_and_reviews]
        for done, stage in enumerate(stages):
            progress("loading the story", done, len(stages))
            await stage()
        progress("loading the story", len(stages), len(stages))
        return self.ids

    async def load_messages(self) -> None:
        """Open the conversation and remember its messages."""
        await self.memory.open_conversation(self.conversation_id, title=self.title)
        messages = records("messages.jsonl")
        for start in range(0, len(messages), MESSAGES_AT_ONCE):
            batch = messages[start : start + MESSAGES_AT_ONCE]
            bodies = [_without(message, "conversation_id") for message in batch]
            remembered = await self.memory.remember(self.conversation_id, bodies)
            for message, id in zip(batch, remembered.ids, strict=True):
                self.ids[f"message:{message['external_id']}"] = id

    async def load_references(self) -> None:
        """Add the missing cards, and the contents that follow the version of a card."""
        listed = (await self.memory.references(limit=PAGE)).references
        heads = {
            one.target_id: (one.id, one.version if one.content_sha256 else 0) for one in listed
        }
        chains = records("references.jsonl")
        if new := [one for one in chains if "label" in one and one["target_id"] not in heads]:
            cards = await self.memory.add_references(_without(card, "content") for card in new)
            heads |= {card.target_id: (card.id, 0) for card in cards}
        for record in chains:
            name = record["target_id"]
            id, version = heads[name]
            if "content" in record and version == record.get("replaces", 0):
                content = await self.memory.put_content(id, record["content"])
                heads[name] = (content.id, version + 1)
            self.ids[f"reference:{name}"] = heads[name][0]

    async def load_summaries(self) -> None:
        """Add the missing versions of the summaries; that of a session may follow an automatic one."""
        sessions: Record = {}
        for message in records("messages.jsonl"):
            if message["session_id"] not in sessions:
                shown = await self.memory.memory(self.ids[f"message:{message['external_id']}"])
                sessions[message["session_id"]] = shown.session_id
        listed = (await self.memory.summaries(limit=PAGE)).summaries
        heads = {(one.type, one.target_id): one for one in listed}
        versions = Counter[str]()
        for record in records("summaries.jsonl"):
            key = f"summary:{record['type']}:{record['target_id']}"
            target_id = sessions.get(record["target_id"], record["target_id"])
            head = heads.get((record["type"], target_id))
            versions[key] += 1
            text = record.get("text", head.text if head else "")
            if head is None or head.version < versions[key] or head.text != text:
                head = await self.memory.add_summary(**record | {"target_id": target_id})
            self.ids[key] = head.id

    async def load_episodes(self) -> None:
        """Remember the missing episodes."""
        listed = await self._find_ids("episode")
        for record in records("episodes.jsonl"):
            id = listed.get(record["title"])
            if id is None:
                body = _without(record, "key")
                id = (await self.memory.remember_episode(self.conversation_id, **body)).id
            self.ids[f"episode:{record['key']}"] = id

    async def load_facts(self) -> None:
        """Remember the missing facts; one that supersedes another is its next version."""
        listed = await self._find_ids("fact")
        facts = records("facts.jsonl")
        heads = {fact["key"]: listed[fact["fact"]] for fact in facts if fact["fact"] in listed}
        known = set(heads)
        # Only the newest version of a fact is listed: those before it were written too.
        for fact in reversed(facts):
            if fact["key"] in known:
                known.add(fact.get("supersedes"))
        new = [fact for fact in facts if fact["key"] not in known]
        if first := [fact for fact in new if "supersedes" not in fact]:
            kept = await self.memory.remember_facts(map(self._fact, first))
            heads |= {fact["key"]: one.id for fact, one in zip(first, kept, strict=True)}
        for fact in new:
            if "supersedes" in fact:
                old = heads.pop(fact["supersedes"])
                heads[fact["key"]] = (await self.memory.supersede_fact(old, **self._fact(fact))).id
        self.ids |= {f"fact:{key}": id for key, id in heads.items()}

    async def load_links_and_reviews(self) -> None:
        """Make the links and rate the episodes; neither happens twice."""
        await self.memory.link_all(
            link | {"from": self.ids[link["from"]], "to": self.ids[link["to"]]}
            for link in records("links.jsonl")
        )
        for review in records("reviews.jsonl"):
            episode = self.ids[f"episode:{review['episode']}"]
            await self.memory.review(episode, review["rating"], reviewed_at=review["reviewed_at"])

    async def _find_ids(self, kind: SourceType) -> dict[str | None, str]:
        """Return the ids of the conversation's facts by text, or of its episodes by title."""
        where: Record = {"source_types": [kind], "conversation_id": self.conversation_id}
        found = await self.memory.search("*", **where, max_results=PAGE, reads=[])
        return {item.snippet if kind == "fact" else item.label: item.id for item in found.items}

    def _fact(self, record: Record) -> Record:
        """Return a fact as the API takes it."""
        return _without(record, "key", "quote", "supersedes") | {
            "conversation_id": self.conversation_id,
            "source_episode_ids": [self.ids[source] for source in record["source_episode_ids"]],
        }


def _without(record: Record, *names: str) -> Record:
    return {name: value for name, value in record.items() if name not in names}
