"""The documentation site: it is built without a warning, and has a place for everything that is public."""

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from graphmem_api.app import create_app
from prometheus_client import Counter, Gauge, Histogram

import graphmem
from graphmem import config
from graphmem.cli.main import COMMANDS
from graphmem.config import Settings
from graphmem.errors import GraphmemError
from graphmem.observing import metrics
from graphmem.patterns.running import catalogue
from graphmem.runtime import Runtime

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(built_files: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, *["-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d"]]
    built = subprocess.run(
        [*command, folder / "cache", ROOT / "docs", folder / "html"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stderr) == (0, "")
    return folder / "html"


def text_of(page: Path) -> str:
    """Return what a reader of a page sees."""
    return unescape(re.sub(r"<[^>]+>", "", page.read_text()))


def public_names() -> Iterator[tuple[str, object]]:
    for name in dir(graphmem):
        yield name, getattr(graphmem, name)


def test_the_page_of_http_has_the_meaning_and_the_default_of_each_field() -> None:
    reference = runpy.run_path(str(ROOT / "docs/reference.py"))
    rows = reference["http_page"]().splitlines()

    def row(section: str, field: str) -> str:
        below = rows[rows.index(f"### {section}") :]
        return next(one for one in below if one.startswith(f"| `{field}`"))

    assert row("Question", "tags").endswith(
        "| list of string or null |  | only memories that have all of these tags |"
    )
    assert "| `2048` |" in row("Question", "max_tokens")
    assert "| `50` |" in row("GET /api/v0/conversations", "limit")
    assert "; or seconds since 1970" in row("NewMessage", "occurred_at")


def test_the_page_of_python_has_the_meaning_of_each_field() -> None:
    reference = runpy.run_path(str(ROOT / "docs/reference.py"))
    page = reference["python_page"]()
    memory = page[page.index(".. py:class:: Memory\n") :]
    idx, position = ("in its session, from 0", "in its conversation, over all sessions")
    assert memory.index(f"place of a message {idx}") < memory.index(
        f"place of a message {position}"
    )


def test_every_public_name_has_a_place(site: Path) -> None:
    python = (site / "reference/python.html").read_text()
    errors = text_of(site / "reference/errors.html")
    missing = []
    for name, value in public_names():
        if isinstance(value, type) and issubclass(value, GraphmemError):
            found = f"\n{name}" in errors and f"code: {value.code}" in errors
        else:
            found = f'id="graphmem.{name}"' in python
        missing += [] if found else [name]
    assert missing == []


def test_every_method_has_a_place(site: Path) -> None:
    python = (site / "reference/python.html").read_text()
    methods = [name for name in dir(graphmem.Graphmem) if not name.startswith("_")]
    assert [name for name in methods if f'id="graphmem.Graphmem.{name}"' not in python] == []


def test_every_setting_metric_pattern_and_command_has_a_place(site: Path) -> None:
    settings = text_of(site / "reference/settings.html")
    names = [config.variable(field.name) for field in msgspec.structs.fields(Settings)]
    assert [name for name in names if name not in settings] == []

    told = text_of(site / "reference/metrics.html")
    kinds = (Counter, Gauge, Histogram)
    found = [
        said.name
        for one in vars(metrics).values()
        if isinstance(one, kinds)
        for said in one.describe()
    ]
    assert [name for name in found if name not in told] == []

    patterns = text_of(site / "reference/patterns.html")
    assert [name for name in catalogue() if name not in patterns] == []

    line = text_of(site / "reference/command-line.html")
    assert [one.name for one in COMMANDS if f"graphmem {one.name}" not in line] == []


def test_every_request_has_a_place(site: Path) -> None:
    http = text_of(site / "reference/http.html")
    app = create_app(cast(Runtime, SimpleNamespace(settings=config.load({}))))
    paths = app.openapi_schema.to_schema()["paths"]
    asked = [f"{method.upper()} {path}" for path, item in paths.items() for method in item]
    assert len(asked) > 80
    assert [one for one in asked if one not in http] == []


def test_the_list_of_pages_names_each_page(site: Path) -> None:
    listed = (site / "llms.txt").read_text()
    pages = [path.relative_to(site).as_posix() for path in site.rglob("*.html")]
    own = [
        page for page in pages if page not in {"genindex.html", "search.html", "py-modindex.html"}
    ]
    assert [page for page in own if f"({page})" not in listed] == []
    assert "- [Forget a person](guides/forget.html): First look at what would go" in listed
    assert (
        listed.index("## Guides")
        < listed.index("(guides/forget.html)")
        < listed.index("## Reference")
    )


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    dead = [
        f"{page.name}: {link}"
        for page in site.rglob("*.html")
        for link in re.findall(r'<a [^>]*href="([^"#?]+)(?:#[^"]*)?"', page.read_text())
        if not re.match(r"[a-z]+:", link) and not (page.parent / link).exists()
    ]
    assert dead == []


def test_no_page_has_a_path_of_the_machine(site: Path) -> None:
    pages = [page.name for page in site.rglob("*.html") if str(ROOT) in page.read_text()]
    assert pages == []


GENERATED = ROOT / "docs/reference"
"""Written when the site is built, and not in the repository."""
WRITTEN = [
    path
    for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    if GENERATED not in path.parents
]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_of_the_repository(page: Path) -> None:
    links = re.findall(r"\]\((?![a-z]+:)([^)#]+)", page.read_text())
    places = {link: (page.parent / link).resolve() for link in links}
    dead = [
        link
        for link, place in places.items()
        if not place.exists() or GENERATED in [place, *place.parents]
    ]
    assert dead == []


def test_a_link_to_the_source_of_a_page_leads_to_the_page(site: Path) -> None:
    assert 'href="../reference/settings.html"' in (site / "guides/mcp.html").read_text()
    assert 'href="../reference/changelog.html"' in (site / "guides/operate.html").read_text()
    assert 'href="reference/http.html">HTTP' in (site / "index.html").read_text()
