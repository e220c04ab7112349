"""Random histories on a real Neo4j: the lists equal a model, and what was forgotten is found nowhere."""

import asyncio
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from graphmem.client import Graphmem
from graphmem.forgetting import expiry
from graphmem.runtime import Runtime

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
STEPS = 14
TAGS = ("red", "green", "blue")
NAMES = ("Quillon", "Brastow", "Vendeleur")
LATER = datetime(2099, 1, 1, tzinfo=UTC)


class Model:
    """What the lists must show: by id the text, the tags and the time of each memory that holds."""

    def __init__(self) -> None:
        self.held: dict[str, dict[str, Any]] = {}
        self.chains: dict[str, set[str]] = {}
        self.every: dict[str, dict[str, Any]] = {}
        """All versions that were ever written, by id."""

    def write(self, id: str, **one: Any) -> None:
        self.held[id] = one
        self.every[id] = one

    def drop(self, id: str) -> set[str]:
        """Drop a memory with all its versions; return their ids."""
        del self.held[id]
        return {id} | self.chains.pop(id, set())


class History:
    """Random steps, each done to a client and to the model."""

    def __init__(self, memory: Graphmem, runtime: Runtime, chance: random.Random) -> None:
        self.memory, self.graph, self.chance, self.model = memory, runtime.graph, chance, Model()
        self.number = 0

    def made_up(self) -> tuple[str, list[str]]:
        self.number += 1
        name = self.chance.choice(NAMES)
        text = f"Entry {self.number}x{self.chance.randrange(10**9)} concerns {name} alone."
        return text, self.chance.sample(TAGS, self.chance.randrange(3))

    async def say(self) -> None:
        text, tags = self.made_up()
        session, moment = self.chance.choice("st"), BEGAN + timedelta(days=self.number)
        message = {
            "session_id": session,
            "role": "user",
            "content": text,
            "tags": tags,
            "occurred_at": moment,
        }
        [id] = (await self.memory.remember("c", [message])).ids
        self.model.write(id, kind="message", text=text, tags=tags, at=moment, session=session)

    async def state(self) -> None:
        text, tags = self.made_up()
        moment = BEGAN + timedelta(days=self.number)
        kept = await self.memory.remember_fact(text, tags=tags, valid_at=moment)
        self.model.write(kept.id, kind="fact", text=text, tags=tags, at=moment, session=None)

    def one(self, kind: str | None = None) -> str | None:
        ids = sorted(id for id, one in self.model.held.items() if kind in (None, one["kind"]))
        return self.chance.choice(ids) if ids else None

    async def supersede(self) -> None:
        if (id := self.one("fact")) is None:
            return
        text, _ = self.made_up()
        old = self.model.held[id]
        moment = BEGAN + timedelta(days=self.number)
        version = await self.memory.supersede_fact(id, text, valid_at=moment)
        chain = self.model.drop(id)
        self.model.write(version.id, **old | {"text": text, "at": moment})
        self.model.chains[version.id] = chain

    async def edit(self) -> None:
        if (id := self.one()) is not None:
            _, tags = self.made_up()
            await self.memory.annotate(id, tags=tags)
            self.model.held[id] = self.model.held[id] | {"tags": tags}

    async def delete(self) -> None:
        if (id := self.one()) is not None:
            await self.memory.delete_memory(id)
            self.model.drop(id)

    async def expire(self) -> None:
        if (id := self.one()) is not None:
            await self.memory.annotate(id, expires_at=LATER)
            await self.graph.execute(
                "MATCH (memory:Memory {client_id: $client_id}) WHERE memory.expires_at IS NOT NULL "
                "SET memory.expires_at = datetime() - duration({seconds: 1})",
                client_id=self.memory.client_id,
            )
            await asyncio.sleep(expiry.LOOK_SECONDS)
            self.model.drop(id)

    async def forget(self) -> None:
        """Forget a random selection, and prove it."""
        asked, gone = self.selected()
        counted = await self.memory.forget(**asked, dry_run=True)
        receipt = await self.memory.forget(**asked)
        ids = {id for one in gone for id in self.model.drop(one)}
        assert receipt.total == counted.total == len(ids)
        for id in ids:
            assert (await self.memory.verify_forgotten(id=id)).forgotten, id
            text = self.model.every[id]["text"]
            assert (await self.memory.verify_forgotten(text=text)).forgotten
        raw = await self.graph.execute(
            "MATCH (node {client_id: $client_id}) OPTIONAL MATCH (node)-[edge]-() "
            "RETURN properties(node) AS node, collect(properties(edge)) AS edges",
            client_id=self.memory.client_id,
        )
        everything, texts = str(raw), [self.model.every[id]["text"] for id in ids]
        assert not [one for one in (*ids, *texts) if one in everything]

    def selected(self) -> tuple[dict[str, Any], list[str]]:
        """Return a random selection, and the memories of the model that it means."""
        held = self.model.held
        way = self.chance.choice(["ids", "tag", "time", "name", "session"])
        if way == "ids" and held:
            ids = self.chance.sample(sorted(held), 1)
            return {"memory_ids": ids}, ids
        if way == "tag":
            tag = self.chance.choice(TAGS)
            return {"tags": [tag]}, [id for id, one in held.items() if tag in one["tags"]]
        if way == "time":
            until = BEGAN + timedelta(days=self.chance.randrange(self.number + 2))
            return {"until": until}, self.touching(lambda one: one["at"] < until)
        if way == "name":
            name = self.chance.choice(NAMES)
            return {"name": name}, self.touching(lambda one: name in one["text"])
        session = self.chance.choice("st")
        ids = [id for id, one in held.items() if one["session"] == session]
        return {"memory_ids": ids or ["none"]}, ids

    def touching(self, means: Any) -> list[str]:
        """Return the memories of which any version is meant."""
        model = self.model
        return [
            id
            for id in model.held
            if any(means(model.every[one]) for one in {id} | model.chains.get(id, set()))
        ]

    async def check(self) -> None:
        """Compare every list with the model."""
        listed, cursor = [], None
        while True:
            page = await self.memory.memories(limit=5, cursor=cursor)
            listed += page.memories
            cursor = page.cursor
            if cursor is None:
                break
        assert page.total == len(listed)
        shown = {one.id: (one.text, sorted(one.tags or [])) for one in listed}
        held = self.model.held
        assert shown == {id: (one["text"], sorted(one["tags"])) for id, one in held.items()}
        for tag in TAGS:
            found = await self.memory.memories(tags=[tag], limit=200)
            assert {one.id for one in found.memories} == {
                id for id, one in held.items() if tag in one["tags"]
            }
        said = (await self.memory.messages("c", limit=200)).messages
        assert [one.id for one in said] == [
            id for id, one in held.items() if one["kind"] == "message"
        ]


@pytest.mark.parametrize("seed", range(3))
async def test_a_random_history_equals_its_model(
    memory: Graphmem, rival: Graphmem, runtime: Runtime, seed: int
) -> None:
    history = History(memory, runtime, random.Random(seed))
    await memory.open_conversation("c")
    kept = await rival.remember_fact("Entry 1 concerns Quillon, Brastow and Vendeleur.", tags=TAGS)
    steps = [history.say, history.state, history.supersede, history.edit, history.delete]
    for _ in range(4):
        await history.say()
        await history.state()
    for _ in range(STEPS):
        await history.chance.choice(steps)()
    await history.expire()
    await history.check()
    for _ in range(2):
        await history.forget()
        await history.check()
    assert (await rival.memory(kept.id)).tags == list(TAGS)
