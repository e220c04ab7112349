"""One real Neo4j and one real embedding model for all tests of a process.

The server: `GRAPHMEM_TEST_NEO4J_URI` (with `…_PASSWORD`), else the local launcher, else testcontainers, else
the tests that need one are skipped loudly; in CI that is a failure. Each process of a run (pytest-xdist) has
its own server: the weights of words, the jobs of all clients and the counts of the whole store must not
depend on concurrent tests.
"""

import gc
import logging
import os
import signal
import uuid
from collections.abc import AsyncIterator, Generator, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import hypothesis
import pytest
import pytest_asyncio

from graphmem import config
from graphmem.client import Graphmem
from graphmem.config import Settings
from graphmem.errors import SetupError
from graphmem.observing.logs import OURS, TALKATIVE, Stderr
from graphmem.runtime import Runtime, running
from graphmem.server import command
from graphmem.server.private import private_server
from tests.class_cache import java_options

pytest_plugins = ["tests.tiers", "tests.small_disk"]

# The duration of an example depends on the machine's load.
hypothesis.settings.register_profile("graphmem", deadline=None)
hypothesis.settings.load_profile("graphmem")

# A shell that starts the tests in the background makes them ignore Ctrl-C, `nohup` a hang-up.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

NEO4J_IMAGE = "neo4j:2026.09.0-community"

# Here, so that the programs inherit it which tests start.
os.environ.setdefault("JDK_JAVA_OPTIONS", java_options(os.environ))

PLANNED_ONCE = {"dbms.cypher.min_replan_interval": "1h"}
"""Otherwise the growing store has its queries planned again and again: a seventh of the server's time."""

MANY = 50
"""Concurrent statements: those that another test has cut off may not have ended yet."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector what is imported and collected, which lives until the end."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    return collected


@pytest.fixture(autouse=True)
def log_as_before() -> Iterator[None]:
    """Give the log back its levels and handlers, whatever the test had it show."""
    root = logging.getLogger()
    levels = {one: one.level for one in (root, *map(logging.getLogger, (*OURS, *TALKATIVE)))}
    yield
    for logger, level in levels.items():
        logger.setLevel(level)
    for handler in root.handlers[:]:
        if isinstance(handler, Stderr):
            root.removeHandler(handler)


@pytest_asyncio.fixture(scope="session")
async def neo4j_settings(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[Settings]:
    """Settings for a real Neo4j of the tests' own."""
    given = os.environ.get("GRAPHMEM_TEST_NEO4J_URI")
    if given:
        password = os.environ.get("GRAPHMEM_TEST_NEO4J_PASSWORD", "")
        yield config.load(neo4j_uri=given, neo4j_password=password, cypher_at_once=MANY)
        return
    async with AsyncExitStack() as stack:
        try:
            settings = config.load(_cache(), data_dir=tmp_path_factory.mktemp("neo4j") / "data")
            with pytest.MonkeyPatch.context() as patch:
                for name, value in PLANNED_ONCE.items():
                    patch.setitem(command.SETTINGS, name, value)
                server = await stack.enter_async_context(private_server(settings))
            uri, user, password = server.uri, server.user, server.password
        except SetupError as problem:
            uri, user, password = stack.enter_context(_container(problem))
        yield config.load(
            {}, neo4j_uri=uri, neo4j_user=user, neo4j_password=password, cypher_at_once=MANY
        )


def _cache() -> dict[str, str]:
    """Return the environment without our settings, except the place of cached files."""
    return {name: os.environ.get(name, "") for name in ("GRAPHMEM_CACHE_DIR",)}


@contextmanager
def _container(problem: SetupError) -> Iterator[tuple[str, str, str]]:
    try:
        from testcontainers.neo4j import Neo4jContainer

        container = Neo4jContainer(NEO4J_IMAGE)
        container.start()
    except Exception as other:
        sentence = f"no Neo4j for the tests: {problem}; and no container: {other}"
        if os.environ.get("CI"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    try:
        yield container.get_connection_url(), container.username, container.password
    finally:
        container.stop()


@pytest_asyncio.fixture(scope="session")
async def runtime(neo4j_settings: Settings) -> AsyncIterator[Runtime]:
    """A running graphmem on the tests' Neo4j, with the real embedding model."""
    async with running(neo4j_settings) as started:
        yield started


@pytest.fixture
def memory(runtime: Runtime) -> Graphmem:
    """The running graphmem, as a client of this test's own sees it."""
    return Graphmem(runtime, f"test-{uuid.uuid4().hex}")


@pytest.fixture
def rival(runtime: Runtime) -> Graphmem:
    """The same graphmem, as another client sees it."""
    return Graphmem(runtime, f"rival-{uuid.uuid4().hex}")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The checkout's root."""
    return Path(__file__).parent.parent
