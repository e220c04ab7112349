"""The page about the ways of asking names what there is."""

import re
from pathlib import Path

import pytest
from graphmem_api.schema import TAGS
from litestar import Litestar

from graphmem.client import Graphmem

ROW = re.compile(r"^\| (?P<when>[^|]+) \| (?P<ask>[^|]+) \| `(?P<verb>[A-Z]+) (?P<path>\S+)` \|$")


@pytest.fixture(scope="module")
def page(repository: Path) -> str:
    return (repository / "docs" / "ways-of-asking.md").read_text(encoding="utf-8")


def rows(page: str) -> list[dict[str, str]]:
    """Return the rows of the first table, without its head."""
    found = [match.groupdict() for line in page.splitlines() if (match := ROW.match(line))]
    assert len(found) > 10
    return found


def test_every_way_is_a_method_of_the_client(page: str) -> None:
    named = {name for row in rows(page) for name in re.findall(r"`(\w+)`", row["ask"])}
    assert {name for name in named if not hasattr(Graphmem, name)} == set()
    assert {"explain", "search", "search_contextual", "hyde_retrieve", "run"} <= named


def test_every_way_is_a_request(page: str, offline_app: Litestar) -> None:
    paths = offline_app.openapi_schema.to_schema()["paths"]
    asked = [(row["verb"].lower(), f"/api/v0{row['path']}") for row in rows(page)]
    templates = {(verb, shape(path)) for path in paths for verb in paths[path]}
    assert [one for one in asked if (one[0], shape(one[1])) not in templates] == []


def shape(path: str) -> str:
    """Return a path without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", path)


def test_what_a_way_needs_is_said_wherever_it_is_named(repository: Path, page: str) -> None:
    readme = (repository / "README.md").read_text(encoding="utf-8")
    for text in (readme, page):
        [hyde] = [line for line in text.splitlines() if line.endswith("`POST /hyde/retrieve` |")]
        assert 'needs a language model, or `on_failure="window"`' in hyde
        [fading] = [
            line for line in text.splitlines() if line.endswith("`POST /retrieve_memory` |")
        ]
        assert re.search("episodes (should )?fade", fading)


def test_the_tags_point_to_the_page_and_the_readme_links_it(repository: Path) -> None:
    pointing = [tag.name for tag in TAGS if "docs/ways-of-asking.md" in (tag.description or "")]
    assert pointing == ["conversations", "recall"]
    readme = (repository / "README.md").read_text(encoding="utf-8")
    assert "(docs/ways-of-asking.md)" in readme
