"""A memory for the tests of the bench of peers: it finds messages that share a word with the question."""

from collections.abc import Sequence

from bench.peers.serve import Hit, Message, Vectors


class Peer:
    """Keeps each tenant's messages in a list; a tenant of many searches fails."""

    distribution = "msgspec"
    keeps_apart = True
    searches = 10_000

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self._messages: list[tuple[str, Message]] = []

    def open(self, folder: str, neo4j: dict[str, str] | None) -> None:
        """Print, as a library may."""
        print("a library speaks")  # noqa: T201

    async def add(self, tenant: str, messages: Sequence[Message], invented: bool) -> None:
        """Store messages, with a vector for each."""
        assert len(self._vectors.of([message["text"] for message in messages])) == len(messages)
        self._messages += [(tenant, message) for message in messages]

    def search(self, tenant: str, query: str, limit: int) -> list[Hit]:
        """Return those with most words of the question; of any tenant, if they are not kept apart."""
        self.searches -= 1
        if self.searches < 0:
            raise RuntimeError("worn out")
        words = set(query.lower().strip("?").split())
        found = [
            (message["id"], message["text"])
            for owner, message in self._messages
            if owner == tenant or not self.keeps_apart
        ]
        return sorted(found, key=lambda hit: -len(words & set(hit[1].lower().split())))[:limit]

    def close(self) -> None:
        """Do nothing."""
