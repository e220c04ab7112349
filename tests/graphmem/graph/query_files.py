"""The query files under `cypher/`, the declarations in their headers, and the constants that name them.

Their texts are the executed ones: with the fragments that they include.
"""

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import graphmem
from graphmem import config
from graphmem.graph.query import Query, expanded

FOLDER = config.folder("cypher")
WRITTEN = {
    path.relative_to(FOLDER).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(FOLDER.rglob("*"))
    if path.is_file()
}
"""Every file as written."""

FRAGMENTS = {name for name in WRITTEN if name.startswith("fragments/")}
"""Parts of queries, which replace a line `// include NAME`."""

TEXTS = {name: expanded(name, WRITTEN[name]) for name in set(WRITTEN) - FRAGMENTS}
SCHEMA = {name for name in TEXTS if name.startswith("schema/")}
PATTERNS = {name for name in TEXTS if name.startswith("patterns/")}
"""Their headers contain more, and are tested with the catalogue; none is declared in Python."""

BORROWING = {name for name in PATTERNS if re.search(r"^// query +\S+$", TEXTS[name], re.MULTILINE)}
"""Patterns that run another's query have none of their own."""

EXAMPLES: dict[str, Any] = {
    "string": "x",
    "string?": "x",
    "int": 1,
    "float": 0.5,
    "boolean": True,
    "datetime": datetime(2026, 3, 1, tzinfo=UTC),
    "list<string>": ["x"],
    "list<float>": [0.1] * 384,
    "list<boolean>": [True],
    "list<map>": [{}],
    "map": {},
}
"""The closed list of a parameter's types, with a value of each."""

HEADER_LINE = re.compile(r"^// \$(?P<name>\w+)\s+(?P<type>\S+)\s+(?P<meaning>\S.*)$")
COMMENT = re.compile(r"//.*$", re.MULTILINE)
LITERAL = re.compile(r"'[^']*'")


def header(text: str) -> list[str]:
    """Return the comment lines at the beginning of a file, after the language version."""
    lines = text.splitlines()[1:]
    body_at = (place for place, line in enumerate(lines) if not line.startswith("//"))
    return lines[: next(body_at, len(lines))]


def parameters(text: str) -> dict[str, str]:
    """Return the parameters that a header declares, with their types."""
    found = (HEADER_LINE.match(line) for line in header(text))
    return {line["name"]: line["type"] for line in found if line}


def examples(text: str) -> dict[str, Any]:
    """Return a value for each parameter that a header declares."""
    return {name: EXAMPLES[kind] for name, kind in parameters(text).items()}


def body(text: str) -> str:
    """Return a file's Cypher without comments and literals."""
    return LITERAL.sub("''", COMMENT.sub("", text))


def declarations() -> dict[int, tuple[str, Query[Any]]]:
    """Return every query in a module of graphmem, with the constant's name."""
    found = {}
    for module in pkgutil.walk_packages(graphmem.__path__, "graphmem."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Query):
                found[id(value)] = (name, value)
    return found


DECLARED = declarations()
QUERIES = {query.name: query for _, query in DECLARED.values()}


def offenders(names: Iterable[str], rule: Callable[[str], Iterator[str]]) -> list[str]:
    """Return the names that break a rule, each with its violation."""
    return [f"{name}: {reason}" for name in sorted(names) for reason in rule(name)]
