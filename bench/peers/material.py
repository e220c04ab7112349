"""What every peer is given: messages and questions of the sets, invented messages, tenants alike, vectors."""

import random
import re
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bench.peers.serve import Message
from bench.quality import APART
from bench.store import Corpus, memories
from graphmem.embedding import Embedder, Vector

OWN, OTHER = "small", "rival"
"""The tenant that is asked for leaks, and another with nearly the same texts."""

VARIANTS = ("red", "blue", "green", "black", "white", "yellow", "wooden", "broken", "old", "new")
PEOPLE = ("Mara", "Teodor", "Ines", "Rui", "Hedda", "Jonas", "Amara", "Yuki", "Sofia", "Karim")
PLACES = ("boat house", "north cabin", "office", "workshop")


class Question(Struct, frozen=True):
    """A question about a tenant's messages, and the contents that answer it, by the messages' ids."""

    tenant: str
    text: str
    evidence: dict[str, str]


class Told(Struct, frozen=True):
    """A set of conversations: the messages of each tenant, and the questions."""

    name: str
    messages: dict[str, list[Message]]
    questions: list[Question]


def told(data: dict[str, Any]) -> Told:
    """Read a set; questions without evidence, and those with a false premise, are left out."""
    messages, questions = {}, []
    name = re.sub(r"\W+", "-", str(data["name"])).strip("-").lower()
    for conversation in data["conversations"]:
        tenant = f"{name}-{re.sub(r'[^0-9A-Za-z-]', '-', str(conversation['id']))}"
        messages[tenant] = [
            _message(session["id"], **message)
            for session in conversation["sessions"]
            for message in session["messages"]
        ]
        contents = {message["id"]: message["content"] for message in messages[tenant]}
        questions += [
            Question(tenant, asked["text"], {id: contents[id] for id in asked["evidence"]})
            for asked in conversation["questions"]
            if asked["evidence"] and asked["category"] != APART
        ]
    return Told(str(data["name"]), messages, questions)


def sampled(one: Told, most: int | None) -> Told:
    """Return the set with a sample of its questions, always the same, if it has more than so many."""
    if most is None or len(one.questions) <= most:
        return one
    return replace(one, questions=random.Random(11).sample(one.questions, most))


def _message(session: object, **given: Any) -> Message:
    name, content = given.get("name"), given["content"]
    return {
        "id": str(given["id"]),
        "session": str(session),
        "role": given["role"],
        "name": name,
        "content": content,
        "text": f"{name}: {content}" if name else content,
        "occurred_at": given["occurred_at"],
    }


def alike() -> tuple[dict[str, list[Message]], list[str]]:
    """Return two tenants with nearly the same texts, the other with ten times as many, and questions."""
    known = [(person, place) for person in PEOPLE for place in PLACES]
    texts = {
        OWN: [f"{person} keeps the spare key of the {place} in a box." for person, place in known],
        OTHER: [
            f"{person} keeps the spare key of the {place} in a {variant} box."
            for variant in VARIANTS
            for person, place in known
        ],
    }
    messages = {
        tenant: [
            _message("1", id=f"{tenant}-{n}", role="user", content=text, occurred_at=_day(n))
            for n, text in enumerate(some)
        ]
        for tenant, some in texts.items()
    }
    asked = [f"Where does {person} keep the spare key of the {place}?" for person, place in known]
    return messages, asked


def _day(number: int) -> str:
    return f"2026-01-01T{number // 60:02}:{number % 60:02}:00+00:00"


class Vectors:
    """The file of vectors that all read; it may be used again."""

    def __init__(self, path: Path, embedder: Embedder) -> None:
        self.path = path
        self._embedder = embedder
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = sqlite3.connect(path)
        self._file.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB)")

    async def embed(self, texts: list[str]) -> list[Vector]:
        """Return the texts' vectors by the bundled model, and keep them in the file."""
        vectors = [one.vector for one in await self._embedder.passages(texts)]
        self.keep(zip(texts, vectors, strict=True))
        return vectors

    async def have(self, texts: Iterable[str]) -> None:
        """Embed those of the texts that the file lacks."""
        missing = [text for text in dict.fromkeys(texts) if not self.has(text)]
        for start in range(0, len(missing), 500):
            await self.embed(missing[start : start + 500])

    def has(self, text: str) -> bool:
        """Tell whether a text's vector is in the file."""
        found = self._file.execute("SELECT 1 FROM vectors WHERE key = ?", (_key(text),))
        return found.fetchone() is not None

    def keep(self, vectors: Iterable[tuple[str, Sequence[float]]]) -> None:
        """Write vectors into the file."""
        with self._file:
            self._file.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                ((_key(text), array("f", vector).tobytes()) for text, vector in vectors),
            )

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _key(text: str) -> bytes:
    return sha256(text.encode()).digest()


def invented(
    made_of: Corpus, tenant: str, number: int, seed: int, vectors: Vectors
) -> list[Message]:
    """Return messages that fill the store, their vectors near real ones and in the file."""
    messages: list[Message] = []
    given = memories(made_of, tenant, number, seed)
    while some := list(islice(given, 1_000)):
        if not vectors.has(some[-1].draft.text):
            vectors.keep((one.draft.text, one.embedding.vector) for one in some)
        messages += (
            _message(
                one.draft.session_id,
                id=one.draft.id,
                role="user",
                content=one.draft.text,
                occurred_at=one.draft.occurred_at.isoformat(),
            )
            for one in some
        )
    return messages


def batches(messages: Sequence[Message], size: int) -> Iterator[Sequence[Message]]:
    """Yield the messages in their order, so many at a time."""
    for start in range(0, len(messages), size):
        yield messages[start : start + size]


class Material(Struct, frozen=True):
    """What every peer is given."""

    sets: list[Told]
    filler: list[Message]
    fill: dict[str, list[Message]]
    large_questions: list[str]
    vectors: Vectors
