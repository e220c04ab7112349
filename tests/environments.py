"""The environment of programs that tests start."""

import os

from graphmem.config import Settings

TERMINAL = {"COLUMNS", "LINES"}
"""The size of the terminal that the tests are run from: what a program prints must not depend on it."""


def environment_of(settings: Settings) -> dict[str, str]:
    """Return the environment of a user whose graphmem uses the Neo4j of these settings.

    A service is ready before its first answers are prepared, which takes longer than most tests.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in TERMINAL
        and (not name.startswith("GRAPHMEM_") or name == "GRAPHMEM_CACHE_DIR")
    }
    return kept | {
        "GRAPHMEM_NEO4J_URI": str(settings.neo4j_uri),
        "GRAPHMEM_NEO4J_USER": settings.neo4j_user,
        "GRAPHMEM_NEO4J_PASSWORD": settings.neo4j_password,
        "GRAPHMEM_WARM_SECONDS": "0",
    }
