"""Includes: blocks of Cypher that several query files share, each written once in `cypher/fragments/`.

The line `// include NAME` in a query file is replaced by the fragment's text. A fragment is written for a
node called `memory`; `// include NAME(fact)` renames that node to `fact`. A fragment begins with one sentence
and a line for each of its parameters; a query that includes it declares them too. Nothing else is ever
inserted into a query file, and no input of a caller.
"""

import re
from collections.abc import Iterable

from graphmem import resources

FOLDER = "fragments"

_INCLUDE = re.compile(r"^(?P<indent> *)// include\b(?P<what>.*)$", re.MULTILINE)
_WHAT = re.compile(r" (?P<name>[a-z]\w*)(?:\((?P<node>[a-z]\w*)\))?")
_NODE = re.compile(r"(?<![\w.:$])memory\b")
_PARAMETER = re.compile(r"// (?P<name>\$\w+) +(?P<type>\S+) +(?P<meaning>\S.*)")
_COMMENT = "//"


def names() -> list[str]:
    """Return the names of all query files, without fragments."""
    folder = resources.folder("cypher")
    found = (path.relative_to(folder).with_suffix("") for path in folder.rglob("*.cypher"))
    return sorted(path.as_posix() for path in found if path.parts[0] != FOLDER)


def read(name: str) -> str:
    """Return the text of a file under `cypher/`, as it is written."""
    return (resources.folder("cypher") / f"{name}.cypher").read_text(encoding="utf-8")


def expanded(name: str, text: str) -> str:
    """Return the text of a query file with its includes replaced and their parameters declared.

    Raises `ValueError` for an include of another form, of an unknown fragment or of itself.
    """
    declared: list[str] = []
    body = _replaced(name, text, declared, ())
    return _with_parameters(body, declared) if declared else body


def _replaced(name: str, text: str, declared: list[str], around: tuple[str, ...]) -> str:
    """Return a text with its includes replaced; add the fragments' parameters to `declared`."""

    def fragment(include: re.Match[str]) -> str:
        what = _WHAT.fullmatch(include["what"])
        if what is None:
            line = include[0].strip()
            raise ValueError(
                f"{name}: {line!r} is not `// include NAME` or `// include NAME(node)`"
            )
        if what["name"] in around:
            raise ValueError(f"{name}: the fragment {what['name']!r} includes itself")
        header, body = _parts(name, what["name"])
        declared.extend(line for line in header if _PARAMETER.fullmatch(line))
        body = _replaced(name, body, declared, (*around, what["name"]))
        return "\n".join(
            f"{include['indent']}{_renamed(line, what['node'])}" if line else line
            for line in body.splitlines()
        )

    return _INCLUDE.sub(fragment, text)


def _parts(name: str, fragment: str) -> tuple[list[str], str]:
    """Return the lines of a fragment's header, and its Cypher."""
    try:
        lines = read(f"{FOLDER}/{fragment}").splitlines()
    except FileNotFoundError:
        place = f"cypher/{FOLDER}/{fragment}.cypher"
        raise ValueError(f"{name} includes {fragment!r}, and there is no {place}") from None
    body = [
        at
        for at, line in enumerate(lines)
        if not line.startswith(_COMMENT) or _INCLUDE.fullmatch(line)
    ]
    return lines[: body[0]], "\n".join(lines[body[0] :])


def _renamed(line: str, node: str | None) -> str:
    """Return a line with the node renamed, if a name is given; comments stay."""
    if node is None or line.lstrip().startswith(_COMMENT):
        return line
    return _NODE.sub(node, line)


def _with_parameters(text: str, declared: Iterable[str]) -> str:
    """Return a text whose header declares these parameters after its own, aligned."""
    lines = text.splitlines(keepends=True)
    end = next(at for at, line in enumerate(lines[1:], 1) if not line.startswith(_COMMENT))
    own = [at for at in range(1, end) if _PARAMETER.fullmatch(lines[at].rstrip("\n"))]
    rows: dict[str, tuple[str, str]] = {}
    for line in (*(lines[at].rstrip("\n") for at in own), *declared):
        if found := _PARAMETER.fullmatch(line):
            rows.setdefault(found["name"], (found["type"], found["meaning"]))
    name_width = max(map(len, rows))
    type_width = max(len(type) for type, _ in rows.values())
    block = [
        f"// {name:{name_width}}  {type:{type_width}}  {meaning}\n"
        for name, (type, meaning) in rows.items()
    ]
    if not own:
        return "".join((*lines[:end], "//\n", *block, *lines[end:]))
    return "".join((*lines[: own[0]], *block, *lines[own[-1] + 1 :]))
