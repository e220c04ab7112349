"""Writes the reference of the documentation site from the code itself, each time the site is built.

A page each for Python, HTTP, settings, the command line, errors, metrics and patterns. `llms.txt` lists all
pages of the site for language models.
"""

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import click
import msgspec
from docutils import nodes
from graphmem_api.app import create_app
from graphmem_api.document import field_meanings
from msgspec import Struct
from prometheus_client import Counter, Gauge, Histogram
from sphinx.application import Sphinx

import graphmem
from graphmem import config, errors
from graphmem.cli.main import commands
from graphmem.observing import metrics
from graphmem.patterns.running import catalogue
from graphmem.runtime import Runtime

FOLDER = "reference"
"""The folder of the generated pages; it is not committed."""

ROOT = Path(__file__).parent.parent
COPIED = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
"""Files at the top of the repository that are pages of the site as well."""

PAGES = {
    "graphmem/client.py": "python.rst",
    "api/graphmem_api": "http.md",
    "graphmem/config.py": "settings.md",
    "graphmem/cli": "command-line.md",
    "graphmem/errors.py": "errors.md",
    "graphmem/observing/metrics.py": "metrics.md",
    "cypher/patterns": "patterns.md",
    **{name: name.lower() for name in COPIED},
}
"""The generated pages by their sources, to which the written pages link: the repository has no others."""

NAMES = {"Counter": "counter", "Gauge": "gauge", "Histogram": "histogram"}


def setup(app: Sphinx) -> dict[str, Any]:
    """Let Sphinx write the reference before it reads the pages, and the list of pages after it."""
    app.connect("builder-inited", write_reference)
    app.connect("source-read", follow_sources)
    app.connect("build-finished", write_list)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_reference(app: Sphinx) -> None:
    """Write all generated pages."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    pages = {
        "python.rst": python_page(),
        "http.md": http_page(),
        "settings.md": settings_page(),
        "command-line.md": command_page(),
        "errors.md": errors_page(),
        "metrics.md": metrics_page(),
        "patterns.md": patterns_page(),
        **{PAGES[name]: copied_page(name) for name in COPIED},
    }
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def follow_sources(app: Sphinx, name: str, source: list[str]) -> None:
    """Let links to the sources of generated pages lead to the pages."""
    up = "../" * name.count("/")
    for origin, page in PAGES.items():
        link = rf"\]\(\.\./{up}{re.escape(origin)}(?=[)#])"
        source[0] = re.sub(link, f"]({up}{FOLDER}/{page}", source[0])


def copied_page(name: str) -> str:
    """Return a file at the top of the repository as a page: its links lead from there."""
    text = (ROOT / name).read_text()
    for other in COPIED:
        text = text.replace(f"]({other}", f"]({other.lower()}")
    return text.replace("](docs/", "](../")


SECTIONS = {"guides": "Guides", FOLDER: "Reference"}
"""The titles of the parts of `llms.txt` by folder; the other pages come first."""


def write_list(app: Sphinx, problem: Exception | None) -> None:
    """Write `llms.txt`: the title and the first sentence of every page, with its address."""
    if problem is not None:
        return
    parts: dict[str, list[str]] = {"Pages": [], **{title: [] for title in SECTIONS.values()}}
    for name in sorted(app.env.found_docs):
        title, address = app.env.titles[name].astext(), app.builder.get_target_uri(name)
        begun = first_sentence(app.env.get_doctree(name))
        line = f"- [{title}]({address})" + (f": {begun}" if begun else "")
        parts[SECTIONS.get(name.partition("/")[0], "Pages")].append(line)
    lines = ["# graphmem", "", "> A memory service for agents on a Neo4j graph database."]
    for title, listed in parts.items():
        lines += ["", f"## {title}", "", *listed]
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n")


def first_sentence(page: nodes.document) -> str:
    """Return the first sentence of a page; nothing for a page that begins with something else."""
    for paragraph in page.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section | nodes.document):
            text = " ".join(paragraph.astext().split())
            return re.split(r"(?<=[.:]) ", text, maxsplit=1)[0].rstrip(":")
    return ""


# --- Python -----------------------------------------------------------------------------------------------


def python_page() -> str:
    """Return the page of the public names: what is opened, the class, then every struct with its fields."""
    lines = [*_title("Python"), ".. currentmodule:: graphmem", ""]
    lines += ["Everything here is imported from ``graphmem``.", ""]
    lines += [".. autofunction:: graphmem.open", "", *_section("The memory of a client")]
    lines += [".. autoclass:: graphmem.Graphmem", "   :members:", "   :inherited-members:", ""]
    lines += _section("A run within a budget")
    lines += [".. autoclass:: graphmem.RunSession", "   :members:", ""]
    structs, others = [], []
    for name, value in _public():
        if name in {"open", "Graphmem", "RunSession"}:
            continue
        if isinstance(value, type) and issubclass(value, Struct):
            structs.append(_struct(name, value))
        elif not (isinstance(value, type) and issubclass(value, Exception)):
            others.append(_other(name, value))
    lines += [*_section("Other names"), *(line for one in others for line in one)]
    lines += [*_section("Requests and answers"), *(line for one in structs for line in one)]
    return "\n".join(lines) + "\n"


def _public() -> Iterator[tuple[str, Any]]:
    for name in dir(graphmem):
        value = getattr(graphmem, name)
        if not isinstance(value, ModuleType):
            yield name, value


def _other(name: str, value: Any) -> list[str]:
    if inspect.isclass(value):
        return [f".. autoclass:: graphmem.{name}", "   :members:", ""]
    if inspect.isfunction(value):
        return [f".. autofunction:: graphmem.{name}", ""]
    return [f".. py:data:: {name}", "", f"   ``{_readable(value)}``", ""]


def _struct(name: str, struct: type[Struct]) -> list[str]:
    """Return the description of a struct: a row for each field, with its type, default and meaning."""
    lines = [f".. py:class:: {name}", "", *_indented(inspect.cleandoc(struct.__doc__ or "")), ""]
    hints, meanings = _hints(struct), field_meanings(struct)
    for field in msgspec.structs.fields(struct):
        default = "" if field.required else " = " + _default(field)
        kind = _readable(hints.get(field.name, field.type))
        lines += [f"   .. py:attribute:: {field.name}", f"      :type: {kind}{default}", ""]
        if meaning := _meaning(field.type) or meanings.get(field.encode_name):
            lines += [*_indented(meaning, 6), ""]
    return lines


def _hints(struct: type) -> dict[str, Any]:
    """Return the annotations of a struct's fields, without their limits."""
    found: dict[str, Any] = {}
    for base in reversed(struct.__mro__):
        found |= inspect.get_annotations(base)
    return found


def _default(field: Any) -> str:
    if field.default is not msgspec.NODEFAULT:
        return repr(field.default)
    return "[]" if field.default_factory is list else "…"


def _readable(hint: Any) -> str:
    """Return a type as a reader writes it: without `Annotated`, its limits and its modules."""
    text = hint if isinstance(hint, str) else _plain(hint)
    text = re.sub(r"\b(?:typing|datetime|collections\.abc)\.(?=[A-Za-z])", "", text)
    return re.sub(r"\bgraphmem(?:\.\w+)*\.(?=[A-Z])", "", text)


def _plain(hint: Any) -> str:
    if hasattr(hint, "__metadata__"):
        return _plain(hint.__origin__)
    arguments = getattr(hint, "__args__", ())
    if not arguments or str(hint).startswith("typing.Literal"):
        return hint.__name__ if isinstance(hint, type) else str(hint)
    parts = [_plain(one) if not isinstance(one, str) else repr(one) for one in arguments]
    name = getattr(hint, "__name__", "")
    if name in {"Union", "UnionType", "Optional"} or type(hint).__name__ == "UnionType":
        return " | ".join("None" if part == "NoneType" else part for part in parts)
    return f"{name or hint.__origin__.__name__}[{', '.join(parts)}]"


def _meaning(hint: Any) -> str:
    """Return the description of an annotated type, also inside a union with None."""
    for one in (hint, *getattr(hint, "__args__", ())):
        for meta in getattr(one, "__metadata__", ()):
            if isinstance(meta, msgspec.Meta) and meta.description:
                return meta.description
    return ""


def _title(text: str) -> list[str]:
    return [text, "=" * len(text), ""]


def _section(text: str) -> list[str]:
    return [text, "-" * len(text), ""]


def _indented(text: str, width: int = 3) -> list[str]:
    return [f"{' ' * width}{line}".rstrip() for line in text.splitlines()]


# --- HTTP -------------------------------------------------------------------------------------------------


def document() -> dict[str, Any]:
    """Return the OpenAPI document, of an application that opens no database."""
    app = create_app(cast(Runtime, SimpleNamespace(settings=config.load({}))))
    return dict(msgspec.json.decode(msgspec.json.encode(app.openapi_schema.to_schema())))


def http_page() -> str:
    """Return the page of all operations by their tags, with the fields of their bodies and answers."""
    described = document()
    schemas = described["components"]["schemas"]
    lines = ["# HTTP", "", described["info"]["description"], ""]
    tags = {tag["name"]: tag.get("description", "") for tag in described["tags"]}
    operations = [
        (path, method, operation)
        for path, item in described["paths"].items()
        for method, operation in item.items()
    ]
    for tag, meaning in tags.items():
        lines += [f"## {tag}", "", meaning, ""]
        for path, method, operation in operations:
            if tag in operation.get("tags", ()):
                lines += _operation(path, method, operation)
    lines += ["## Schemas", ""]
    for name in sorted(schemas):
        lines += _schema(name, schemas[name])
    return "\n".join(lines) + "\n"


def _operation(path: str, method: str, operation: dict[str, Any]) -> list[str]:
    lines = [f"### {method.upper()} {path}", "", operation.get("summary", ""), ""]
    if text := operation.get("description"):
        lines += [text, ""]
    rows = [
        (
            f"`{one['name']}`",
            one["in"],
            _shape(schema := one.get("schema", {})),
            _preset(schema),
            one.get("description") or _described(schema),
        )
        for one in operation.get("parameters", ())
    ]
    lines += _table(("Parameter", "In", "Type", "Default", "Meaning"), rows)
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        lines += [f"Body ({kind}): {_shape(content.get('schema', {}))}", ""]
    answers = [
        (status, answer.get("description", ""), _answer(answer))
        for status, answer in sorted(operation["responses"].items())
    ]
    return lines + _table(("Status", "Meaning", "Answer"), answers)


def _answer(answer: dict[str, Any]) -> str:
    return ", ".join(_shape(one.get("schema", {})) for one in answer.get("content", {}).values())


def _schema(name: str, schema: dict[str, Any]) -> list[str]:
    lines = [f"### {name}", "", schema.get("description", ""), ""]
    needed = schema.get("required", ())
    rows = [
        (
            f"`{field}`" + (" (required)" if field in needed else ""),
            _shape(shape),
            _preset(shape),
            _described(shape),
        )
        for field, shape in schema.get("properties", {}).items()
    ]
    return lines + _table(("Field", "Type", "Default", "Meaning"), rows)


def _preset(schema: dict[str, Any]) -> str:
    """Return the default of a field as JSON, nothing for null."""
    default = schema.get("default")
    return "" if default is None else f"`{msgspec.json.encode(default).decode()}`"


def _described(schema: dict[str, Any]) -> str:
    """Return the description of a field, also one within its choices."""
    choices = (one["description"] for one in schema.get("anyOf", ()) if "description" in one)
    return schema.get("description") or "; or ".join(choices)


def _shape(schema: dict[str, Any]) -> str:
    """Return a JSON schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(_shape(one) for one in schema[several])
    if "enum" in schema:
        return ", ".join(f"`{one}`" for one in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_shape(schema.get('items', {}))}"
    kind = schema.get("type", "anything")
    limits = [
        f"{sign} {schema[limit]}"
        for limit, sign in (
            ("minimum", "≥"),
            ("maximum", "≤"),
            ("minLength", "length ≥"),
            ("maxLength", "length ≤"),
        )
        if limit in schema
    ]
    return f"{kind} ({', '.join(limits)})" if limits else str(kind)


# --- the others -------------------------------------------------------------------------------------------


def settings_page() -> str:
    """Return the page of the settings."""
    lines = ["# Settings", "", "Each is an environment variable and an option of the commands.", ""]
    rows = []
    for field in msgspec.structs.fields(config.Settings):
        default = "" if field.default in (None, msgspec.NODEFAULT) else f"`{field.default}`"
        rows.append((f"`{config.variable(field.name)}`", default, _meaning(field.type)))
    return "\n".join(lines + _table(("Variable", "Default", "Meaning"), rows)) + "\n"


def command_page() -> str:
    """Return the page of the commands: the help of each."""
    lines = ["# The command line", "", "What `--help` says.", ""]
    with click.Context(commands, info_name="graphmem") as parent:
        lines += ["```text", commands.get_help(parent), "```", ""]
        for name in commands.list_commands(parent):
            lines += _command(name, commands.commands[name], parent)
    return "\n".join(lines) + "\n"


def _command(name: str, command: click.Command, parent: click.Context) -> list[str]:
    with click.Context(command, info_name=name, parent=parent) as context:
        lines = [f"## graphmem {name}", "", "```text", command.get_help(context), "```", ""]
        if isinstance(command, click.Group):
            for inner in command.list_commands(context):
                lines += _command(inner, command.commands[inner], context)
    return lines


def errors_page() -> str:
    """Return the page of the errors: each with its code and its place in the tree."""
    lines = ["# Errors", "", "```text"]
    lines += [inspect.cleandoc(errors.__doc__ or ""), "```", ""]
    for name, value in _public():
        if isinstance(value, type) and issubclass(value, errors.GraphmemError):
            parent = value.__mro__[1].__name__
            lines += [f"## {name}", "", f"`code`: `{value.code}`; a kind of `{parent}`.", ""]
            lines += [inspect.cleandoc(value.__doc__ or ""), ""]
    return "\n".join(lines) + "\n"


def metrics_page() -> str:
    """Return the page of the metrics."""
    lines = ["# Metrics", "", "What `GET /metrics` answers, beside those of the process.", ""]
    rows = []
    for value in vars(metrics).values():
        if isinstance(value, (Counter, Gauge, Histogram)):
            [found] = value.describe()
            suffix = "_total" if isinstance(value, Counter) else ""
            labels = ", ".join(f"`{one}`" for one in value._labelnames)
            kind = NAMES[type(value).__name__]
            rows.append((f"`{found.name}{suffix}`", kind, labels, found.documentation))
    return "\n".join(lines + _table(("Metric", "Kind", "Labels", "Meaning"), sorted(rows))) + "\n"


def patterns_page() -> str:
    """Return the page of the patterns: their parameters and columns."""
    lines = ["# Patterns", "", "`POST /patterns/{name}`, or `memory.pattern(name, …)`.", ""]
    for name, one in catalogue().items():
        pattern = one.pattern
        lines += [f"## {name}", "", f"**{pattern.title}.** {pattern.description}", ""]
        rows = [
            (f"`{p.name}`", p.type, "required" if p.required else f"`{p.default}`", p.meaning)
            for p in pattern.parameters
        ]
        lines += _table(("Parameter", "Type", "Default", "Meaning"), rows)
        columns = [(f"`{c.name}`", c.type, c.meaning) for c in pattern.columns]
        lines += _table(("Column", "Type", "Meaning"), columns)
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a Markdown table, nothing for no rows."""
    written = [" | ".join(_cell(one) for one in row) for row in rows]
    if not written:
        return []
    return [
        f"| {' | '.join(head)} |",
        f"| {' | '.join('---' for _ in head)} |",
        *(f"| {row} |" for row in written),
        "",
    ]


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", r"\|")
