"""Random histories on a real Neo4j: the lists equal a model, and what was forgotten is found nowhere."""

import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec import Struct, field

from graphmem.client import Graphmem
from graphmem.runtime import Runtime
from tests.expired import expire_all
from tests.thorough import only_thorough

BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
STEPS, ROUNDS = 24, 2
"""The steps before each selection is forgotten, and the number of these."""

TAGS = ("red", "green", "blue")
NAMES = ("Quillon", "Brastow", "Vendeleur")
CONVERSATIONS, SESSIONS = "cd", "st"
LISTED = ("message", "episode", "fact", "reference")
LATER = datetime(2099, 1, 1, tzinfo=UTC)

SESSION_IDS = """CYPHER 25
MATCH (session:Session {client_id: $client_id})
RETURN collect(session.id) AS ids"""

RAW = """CYPHER 25
MATCH (node {client_id: $client_id})
OPTIONAL MATCH (node)-[edge]-()
RETURN labels(node) AS labels, properties(node) AS node, collect(properties(edge)) AS edges"""


class Version(Struct):
    """A version of a memory, or a span of its content."""

    text: str
    at: datetime
    conversation: str = ""
    session: str = ""


class Held(Struct):
    """A memory that the lists must show, with its versions and spans by their ids, its head among them."""

    kind: str
    head: str
    tags: list[str]
    versions: dict[str, Version]
    external_id: str | None = None
    part_of: set[str] = field(default_factory=set)
    """The messages that an episode is made of."""
    derived_from: set[str] = field(default_factory=set)

    @property
    def shown(self) -> tuple[str, str, list[str]]:
        return (self.kind, self.versions[self.head].text, sorted(self.tags))


class Model:
    """What is remembered, by the ids of heads."""

    def __init__(self) -> None:
        self.held: dict[str, Held] = {}

    def ids(self, kind: str) -> list[str]:
        return [id for id, one in self.held.items() if one.kind == kind]

    def drop(self, ids: Iterable[str], *, derived: bool) -> list[Held]:
        """Drop memories with the episodes of messages, and with what is derived from any; return all."""
        gone: dict[str, Held] = {}
        new = set(ids) & self.held.keys()
        while new:
            gone |= {id: self.held.pop(id) for id in new}
            every = {id for one in gone.values() for id in one.versions}
            new = {
                id
                for id, one in self.held.items()
                if one.part_of & every or (derived and one.derived_from & every)
            }
        self.hand_on(gone)
        return list(gone.values())

    def hand_on(self, gone: dict[str, Held]) -> None:
        """Derive what was made of episodes that are gone from those of their messages that stay."""
        for id, episode in gone.items():
            for one in self.held.values():
                if id in one.derived_from:
                    one.derived_from |= episode.part_of - gone.keys()

    def with_a_version(self, means: Callable[[Version], bool]) -> list[str]:
        return [id for id, one in self.held.items() if any(map(means, one.versions.values()))]


class History:
    """Random steps, each done to a client and to the model."""

    def __init__(self, memory: Graphmem, runtime: Runtime, chance: random.Random) -> None:
        self.memory, self.graph, self.chance, self.model = memory, runtime.graph, chance, Model()
        self.number = 0
        self.forgotten = 0
        self.contexts: list[str] = []

    @property
    def steps(self) -> list[Callable[[], Any]]:
        writes = [self.say, self.say, self.state, self.state, self.tell, self.refer, self.log]
        changes = [self.supersede, self.edit, self.delete, self.derive]
        return [*writes, *changes, self.collect, self.ask]

    def made_up(self) -> tuple[str, list[str], datetime]:
        """Return a text that nothing else has, tags, and a moment."""
        self.number += 1
        name = self.chance.choice(NAMES)
        text = f"Entry {self.number}x{self.chance.randrange(10**9)} concerns {name} alone."
        tags = self.chance.sample(TAGS, self.chance.randrange(3))
        return text, tags, BEGAN + timedelta(hours=7 * self.number)

    async def keep(self, kind: str, id: str, tags: list[str], **more: Any) -> Held:
        """Add what was written to the model, at the place and time that it was given."""
        shown = await self.memory.memory(id)
        version = Version(
            shown.text, shown.occurred_at, shown.conversation_id or "", shown.session_id or ""
        )
        self.model.held[id] = Held(kind, id, tags, {id: version}, **more)
        return self.model.held[id]

    async def say(self) -> None:
        text, tags, moment = self.made_up()
        message = {
            "session_id": self.chance.choice(SESSIONS),
            "role": "user",
            "content": text,
            "tags": tags,
            "occurred_at": moment,
            "external_id": f"x{self.number}",
        }
        conversation = self.chance.choice(CONVERSATIONS)
        [id] = (await self.memory.remember(conversation, [message], create=True)).ids
        assert (await self.memory.remember(conversation, [message])).ids == [id]
        kept = await self.keep("message", id, tags, external_id=f"x{self.number}")
        assert kept.versions[id].text == text

    async def state(self) -> None:
        text, tags, moment = self.made_up()
        made = await self.memory.remember_fact(text, tags=tags, valid_at=moment)
        await self.keep("fact", made.id, tags)

    async def derive(self) -> None:
        """Remember a fact that is derived from an episode or a message."""
        sources = self.model.ids("message") + self.model.ids("episode")
        if sources:
            text, tags, moment = self.made_up()
            source = self.chance.choice(sources)
            made = await self.memory.remember_fact(
                text, tags=tags, valid_at=moment, source_episode_ids=[source]
            )
            await self.keep("fact", made.id, tags, derived_from={source})

    async def tell(self) -> None:
        """Make an episode of one or two messages that are in none."""
        taken = {id for one in self.model.held.values() for id in one.part_of}
        free = [id for id in self.model.ids("message") if id not in taken]
        if free:
            first = self.chance.choice(free)
            place = self.model.held[first].versions[first]
            near = [id for id in free if self.model.held[id].versions[id].session == place.session]
            ids = list(dict.fromkeys([first, near[-1]]))
            text, tags, _ = self.made_up()
            made = await self.memory.remember_episode(
                place.conversation, message_ids=ids, title="Entries", summary=text, tags=tags
            )
            await self.keep("episode", made.id, tags, part_of=set(ids))

    async def refer(self) -> None:
        """Add a card with a content."""
        text, tags, moment = self.made_up()
        card = await self.memory.add_reference(
            type="knowledge_base",
            target_id=f"kb{self.number}",
            label=f"Card {self.number}",
            description=text,
            tags=tags,
            occurred_at=moment,
        )
        kept = await self.keep("reference", card.id, tags)
        await self.put(kept)

    async def put(self, card: Held) -> None:
        """Give a card another content, which makes a version if it had one."""
        text, _, _ = self.made_up()
        content = await self.memory.put_content(card.head, text)
        del self.model.held[card.head]
        card.versions[content.id] = card.versions[card.head]
        card.head = content.id
        self.model.held[card.head] = card
        await self.add_spans(card)

    async def add_spans(self, card: Held) -> None:
        listed = await self.memory.memories(kinds=["span"], limit=200)
        known = {id for one in self.model.held.values() for id in one.versions}
        for span in listed.memories:
            if span.id not in known:
                card.versions[span.id] = Version(span.text, span.occurred_at)

    async def log(self) -> None:
        """Let a run write, which makes a card with a content."""
        text, _, _ = self.made_up()
        async with self.memory.run(agent_type="tester", episode_id="e") as run:
            wrote = await run.write(type="log", content=text)
            await run.retrieve(f"What concerns {self.chance.choice(NAMES)}?", max_tokens=200)
        kept = await self.keep("reference", wrote.id, [])
        await self.add_spans(kept)

    async def collect(self) -> None:
        """Collect a memory in a context whose system prompt repeats it."""
        if self.model.held:
            one = self.chance.choice(list(self.model.held.values()))
            made = await self.memory.create_context(
                max_tokens=2_000, system_prompt=f"Know this: {one.versions[one.head].text}"
            )
            await self.memory.add_to_context(made.id, one.head)
            self.contexts.append(made.id)

    async def ask(self) -> None:
        """Ask with the text of a memory: the question is recorded."""
        if self.model.held:
            one = self.chance.choice(list(self.model.held.values()))
            await self.memory.recall(one.versions[one.head].text, max_tokens=200)
            await self.memory.recall(f"What concerns {self.chance.choice(NAMES)}?", max_tokens=200)

    def one(self, *kinds: str) -> Held | None:
        found = [one for one in self.model.held.values() if not kinds or one.kind in kinds]
        return self.chance.choice(found) if found else None

    async def supersede(self) -> None:
        if (one := self.one("fact", "reference")) is None:
            return
        if one.kind == "reference":
            await self.put(one)
            return
        text, _, moment = self.made_up()
        version = await self.memory.supersede_fact(one.head, text, valid_at=moment)
        del self.model.held[one.head]
        kept = await self.keep("fact", version.id, one.tags, derived_from=one.derived_from)
        kept.versions |= one.versions

    async def edit(self) -> None:
        if (one := self.one()) is not None:
            _, tags, _ = self.made_up()
            await self.memory.annotate(one.head, tags=tags)
            one.tags = tags

    async def delete(self) -> None:
        if (one := self.one()) is not None:
            await self.memory.delete_memory(one.head)
            # Alone: what was made of it stays.
            del self.model.held[one.head]
            self.model.hand_on({one.head: one})

    async def expire(self) -> None:
        if (one := self.one()) is not None:
            await self.memory.annotate(one.head, expires_at=LATER)
            await expire_all(self.memory.client_id, self.graph)
            self.model.drop([one.head], derived=False)

    async def forget(self, way: str) -> None:
        """Forget a random selection, and prove it."""
        asked, meant = await self.selected(way)
        counted = await self.memory.forget(**asked, dry_run=True)
        receipt = await self.memory.forget(**asked)
        gone = self.model.drop(meant, derived=True)
        every = [one for held in gone for one in held.versions.items()]
        assert receipt.total == counted.total == len(every), (asked, receipt)
        self.forgotten += len(every)
        await self.prove_gone(every)

    async def prove_gone(self, every: list[tuple[str, Version]]) -> None:
        """Expect that neither an id nor a text is found: by `verify_forgotten`, and in all properties."""
        held = {one.text for each in self.model.held.values() for one in each.versions.values()}
        texts = {version.text for _, version in every} - held
        for id, _ in every:
            assert (await self.memory.verify_forgotten(id=id)).forgotten, id
        for text in texts:
            assert (await self.memory.verify_forgotten(text=text)).forgotten, text
        raw = await self.graph.execute(RAW, client_id=self.memory.client_id)
        everything = str(raw)
        assert not [text for text in texts if text in everything]
        assert not [id for id, _ in every if id in everything]

    async def selected(self, way: str) -> tuple[dict[str, Any], list[str]]:
        """Return a selection, and the memories of the model that it means."""
        asked: dict[str, Any]
        held, model = self.model.held, self.model
        if way == "ids" and held:
            one = self.chance.choice(list(held.values()))
            return {"memory_ids": [self.chance.choice(list(one.versions))]}, [one.head]
        if way == "tag":
            tag = self.chance.choice(TAGS)
            return {"tags": [tag]}, [id for id, one in held.items() if tag in one.tags]
        if way == "time":
            first, last = sorted(self.chance.sample(range(7 * self.number + 2), 2))
            since, until = (BEGAN + timedelta(hours=hours) for hours in (first, last))
            asked = {"since": since, "until": until}
            return asked, model.with_a_version(lambda one: since <= one.at < until)
        if way == "name":
            name = self.chance.choice(NAMES)
            return {"name": name}, model.with_a_version(lambda one: name in one.text)
        conversation = self.chance.choice(CONVERSATIONS)
        if way == "conversation":
            asked = {"conversation_id": conversation}
            return asked, model.with_a_version(lambda one: one.conversation == conversation)
        if way == "name in a conversation":
            name = self.chance.choice(NAMES)
            asked = {"conversation_id": conversation, "name": name}
            return asked, model.with_a_version(
                lambda one: one.conversation == conversation and name in one.text
            )
        [row] = await self.graph.execute(SESSION_IDS, client_id=self.memory.client_id)
        session = self.chance.choice([*sorted(row["ids"]), "none"])
        return {"session_id": session}, model.with_a_version(lambda one: one.session == session)

    async def check(self) -> None:
        """Compare every list with the model."""
        held = self.model.held
        listed = await self.listed(kinds=list(LISTED), limit=5)
        assert {one.id: (one.kind, one.text, sorted(one.tags or [])) for one in listed} == {
            id: one.shown for id, one in held.items()
        }
        every = await self.listed(include_superseded=True, limit=50)
        assert {one.id for one in every} == {id for one in held.values() for id in one.versions}
        for kind in LISTED:
            found = await self.listed(kinds=[kind], limit=200)
            assert {one.id for one in found} == set(self.model.ids(kind))
        for tag in TAGS:
            found = await self.listed(kinds=list(LISTED), tags=[tag], limit=200)
            assert {one.id for one in found} == {id for id, one in held.items() if tag in one.tags}
        for conversation in CONVERSATIONS:
            await self.check_conversation(conversation)
        for one in held.values():
            if one.external_id is not None:
                [same] = await self.listed(external_id=one.external_id)
                assert same.id == one.head

    async def listed(self, **asked: Any) -> list[Any]:
        """Return all pages of a list."""
        listed: list[Any] = []
        cursor = None
        while True:
            page = await self.memory.memories(**asked, cursor=cursor)
            listed += page.memories
            cursor = page.cursor
            if cursor is None:
                assert page.total == len(listed)
                return listed

    async def check_conversation(self, conversation: str) -> None:
        await self.memory.open_conversation(conversation)
        said = (await self.memory.messages(conversation, limit=200)).messages
        assert [one.id for one in said] == [
            id
            for id in self.model.ids("message")
            if self.model.held[id].versions[id].conversation == conversation
        ]


WAYS = ("ids", "tag", "time", "name", "session", "conversation", "name in a conversation")
"""The ways in which memories are selected; each short history uses two of them, and all are used."""


async def live_on(history: History, rival: Graphmem, *, steps: int, ways: list[str]) -> None:
    """Let a history run beside another client with the same ids, and forget it in these ways."""
    others = History(rival, rival.runtime, random.Random(1))
    for one in (history, others):
        for step in (one.say, one.state, one.say, one.refer, one.tell, one.log):
            await step()
    before = await others.listed(include_superseded=True, limit=200)
    for way in ways:
        for _ in range(steps):
            await history.chance.choice(history.steps)()
        await history.expire()
        await history.check()
        await history.forget(way)
        await history.check()
    everything = [one for held in history.model.held.values() for one in held.versions.items()]
    await history.memory.forget_client()
    history.model.held.clear()
    await history.prove_gone(everything)
    assert not await history.graph.execute(RAW, client_id=history.memory.client_id)
    assert await others.listed(include_superseded=True, limit=200) == before
    await others.check()


async def live_shortly(memory: Graphmem, rival: Graphmem, *, seed: int) -> None:
    history = History(memory, memory.runtime, random.Random(seed))
    ways = [WAYS[(ROUNDS * seed + place) % len(WAYS)] for place in range(ROUNDS)]
    await live_on(history, rival, steps=STEPS, ways=ways)


@pytest.mark.parametrize("seed", range(2))
async def test_a_random_history_equals_its_model(
    memory: Graphmem, rival: Graphmem, seed: int
) -> None:
    await live_shortly(memory, rival, seed=seed)


@pytest.mark.parametrize("seed", range(2, 4))
async def test_a_history_that_is_forgotten_in_other_ways_equals_its_model(
    memory: Graphmem, rival: Graphmem, bulk_data: None, seed: int
) -> None:
    await live_shortly(memory, rival, seed=seed)


@only_thorough
@pytest.mark.parametrize("seed", range(100, 102))
async def test_a_long_history_equals_its_model(
    memory: Graphmem, rival: Graphmem, runtime: Runtime, bulk_data: None, seed: int
) -> None:
    chance = random.Random(seed)
    history = History(memory, runtime, chance)
    await live_on(history, rival, steps=60, ways=chance.sample(WAYS, len(WAYS)))
    assert history.forgotten
