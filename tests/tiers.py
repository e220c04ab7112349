"""The tier of a test, derived from the fixtures that it uses: unit, live or slow.

A test that needs the Neo4j that all tests of a process share is *live*. A test that needs one of the costly
things below is *slow*; it uses the fixture of that name, by itself or through another fixture. Every other
test is *unit*.
"""

import os
import time
from collections.abc import Iterable

import pytest

LIVE = frozenset({"neo4j_settings"})
SLOW = frozenset(
    {
        "own_server",
        "killed_processes",
        "bulk_data",
        "every_query",
        "whole_story",
        "whole_program",
        "built_files",
        "language_model",
        "browser",
    }
)
TIERS = {
    "unit": "needs no database",
    "live": "needs the Neo4j that all tests of a process share",
    "slow": "needs a server of its own, killed processes, bulk data, whole programs or built files",
}

LONG = (
    "tests/test_faults.py",
    "tests/graphmem/retrieval/test_reads_beside_writes.py",
    "tests/test_rolling.py",
    "tests/bench/test_soak.py",
    "tests/graphmem/cli/test_backup.py",
    "tests/graphmem/test_reembedding.py",
    "tests/graphmem/retrieval/test_finding_live.py",
    "tests/graphmem/cli/test_doctor.py",
    "tests/graphmem/exploring/test_lost.py",
)
"""The files with tests of more than a minute."""

UNTIL = float(os.environ.get("GRAPHMEM_TEST_UNTIL", "inf"))
"""The time, in seconds since 1970, after which no slow test begins."""


def tier(fixtures: Iterable[str]) -> str:
    """Return the name of the tier of a test that uses these fixtures."""
    used = set(fixtures)
    if used & SLOW:
        return "slow"
    return "live" if used & LIVE else "unit"


def pytest_configure(config: pytest.Config) -> None:
    """Declare one marker for each tier, so that `-m unit` selects it."""
    for name, meaning in TIERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its tier, before `-m` selects, and begin with the longest files.

    Those without a live test are short: in the end no process works alone for long.
    """
    for item in items:
        if given := set(TIERS) & {mark.name for mark in item.iter_markers()}:
            raise pytest.UsageError(
                f"{item.nodeid} is marked {min(given)}: a tier follows from the fixtures, see tests/tiers.py"
            )
        item.add_marker(tier(getattr(item, "fixturenames", ())))
    live = {item.path for item in items if item.get_closest_marker("live")}
    items.sort(key=lambda item: (not item.nodeid.startswith(LONG), item.path not in live))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a slow test for which CI has no time left, which it says at the end."""
    if time.time() > UNTIL and item.get_closest_marker("slow"):
        pytest.skip("no time was left for it: `make slow` runs all")


@pytest.fixture(scope="session")
def own_server() -> None:
    """The test starts its own Neo4j, or stops one."""


@pytest.fixture(scope="session")
def killed_processes() -> None:
    """The test kills processes while they work."""


@pytest.fixture(scope="session")
def bulk_data() -> None:
    """The test writes or reads a thousand memories or a megabyte of text, or asks a hundred times."""


@pytest.fixture(scope="session")
def every_query() -> None:
    """The test makes the server plan every query file."""


@pytest.fixture(scope="session")
def whole_story() -> None:
    """The test needs the whole seed story, with its runs, conclusions and summaries."""


@pytest.fixture(scope="session")
def whole_program() -> None:
    """The test starts graphmem as a program, which loads the embedding model again."""


@pytest.fixture(scope="session")
def built_files() -> None:
    """The test builds the wheel or runs the steps of the image."""


@pytest.fixture(scope="session")
def language_model() -> None:
    """The test calls a real language model."""
