"""Which tests run in one process: those of a concept, of its use cases and of its routes.

Each process has a Neo4j of its own, which plans a query when it is first asked. Most queries are of one
concept, so they are planned once, and the seed story, which is asked in `recall/`, is written once.
"""

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

ROUTES = {
    "chunks": "references",
    "cypher": "exploring",
    "export": "exports",
    "explain": "recall",
    "facts": "memories",
    "graph": "neighbourhood",
    "hyde": "hypotheses",
    "links": "neighbourhood",
    "lists": "memories",
    "superseding": "memories",
}
"""The concepts of routes with another name."""


def concept(path: str) -> str:
    """Return what a test file is about: a folder of `graphmem/`, or else the file alone."""
    match path.split("/"):
        case ["tests", "graphmem", name, _]:
            return name
        case ["tests", "api", file]:
            name = file.removeprefix("test_").removesuffix(".py")
            return ROUTES.get(name, name)
        case _:
            return path


class ByConcept(LoadFileScheduling):  # type: ignore[misc]  # pytest-xdist has no types
    """Gives all tests of a concept to one process, where its first one stands in the order of all tests."""

    def _split_scope(self, nodeid: str) -> str:
        return concept(super()._split_scope(nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByConcept:
    """Schedule by concept."""
    return ByConcept(config, log)
