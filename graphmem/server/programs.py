"""What a start needs: a Java and Neo4j's jars."""

import asyncio
import threading
from pathlib import Path

from msgspec import Struct

from graphmem.artifacts.fetch import fetch
from graphmem.config import Settings
from graphmem.model.progress import Progress
from graphmem.server.java import Java, find_java


class Programs(Struct, frozen=True):
    """A Java that can run Neo4j, and Neo4j as its class path."""

    java: Java
    jars: list[Path]


async def programs(settings: Settings, progress: Progress) -> Programs:
    """Find a Java, and fetch the jars that the cache does not have.

    Raises `JavaNotFound` or `FetchFailed`.
    """
    abandoned = threading.Event()

    def heard(stage: str, done: int = 0, total: int = 0) -> None:
        # A thread cannot be cancelled: the fetching ends with the next thing it has to say.
        if abandoned.is_set():
            raise asyncio.CancelledError
        progress(stage, done, total)

    try:
        return await asyncio.to_thread(_found, settings, heard)
    finally:
        abandoned.set()


def _found(settings: Settings, progress: Progress) -> Programs:
    # Java first: there is no use in fetching what nothing can run.
    java = find_java()
    repository = settings.maven_repository
    return Programs(java, fetch("neo4j", settings.cache_dir, progress, repository=repository))
