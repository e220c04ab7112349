"""The Cypher cookbook as a list of recipes: read from the document, and written back with their answers."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

DOCUMENT = Path(__file__).parent.parent / "docs" / "cypher-cookbook.md"

RECIPE = re.compile(
    r"^### (?P<heading>.+)\n"
    r"(?P<words>(?:(?!#|```).*\n)*)"
    r"```cypher\n(?P<query>(?:(?!```).*\n)*)```\n"
    r"(?P<answer>(?:(?!#).*\n)*)",
    re.MULTILINE,
)
"""A heading, some words, a block, and the text up to the next heading: the answer."""

NODE = re.compile(
    r"(?<![\w\]])(?P<step>\((?=\(\)))?"
    r"(?P<node>\((?P<name>\w*)(?P<rest>(?::[\w|]+)?(?: ?\{[^}]*\})?)\))"
)
"""A node in a pattern: `(name:Label {…})`, not the arguments of a function."""

DECIMAL = re.compile(r"-?\d+\.\d+")


class Recipe(Struct, frozen=True):
    """A question, its explanation, its query, and its written answer."""

    heading: str
    words: str
    query: str
    answer: str


def recipes(text: str) -> list[Recipe]:
    """Return the recipes of a document, in their order."""
    return [
        Recipe(**{name: part.strip() for name, part in found.groupdict().items()})
        for found in RECIPE.finditer(text)
    ]


def rewritten(text: str, answers: Mapping[str, str]) -> str:
    """Return a document with its answers replaced by these, given by heading."""
    last = text.rstrip()

    def renewed(found: re.Match[str]) -> str:
        whole = found.group(0)
        kept = whole[: len(whole) - len(found["answer"])].rstrip()
        return f"{kept}\n\n{answers[found['heading']]}\n\n"

    return RECIPE.sub(renewed, f"{last}\n").rstrip() + "\n"


def open_nodes(query: str) -> list[str]:
    """Return the node patterns that introduce a node without naming its client.

    An empty node that begins a repeated step is the previous node.
    """
    named = set(re.findall(r"(\w+)\.client_id = \$client_id", query))
    found = []
    for node in NODE.finditer(query):
        name, rest = node["name"], node["rest"]
        if "client_id: $client_id" in rest:
            named.add(name)
        elif not (node["step"] or (name and name in named)):
            found.append(node["node"])
    return found


def anchors(query: str) -> dict[str, set[str]]:
    """Return by label the properties of one node that an index could serve."""
    asked: dict[str, set[str]] = {}
    for node in NODE.finditer(query):
        [label] = re.findall(r"^:(\w+)", node["rest"]) or [""]
        properties = set(re.findall(r"(\w+):", node["rest"].partition("{")[2]))
        if name := node["name"]:
            properties |= set(re.findall(rf"\b{name}\.(\w+) (?:IS NOT|IN|STARTS|[<=>])", query))
        if len(properties) > len(asked.get(label, set())):
            asked[label] = properties
    return asked


def table(columns: list[str], rows: list[dict[str, Any]]) -> str:
    """Return rows as a Markdown table."""
    if not rows:
        return "Nothing."
    lines = [columns, ["---"] * len(columns)]
    lines += [[_cell(row[name]) for name in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case list():
            return "; ".join(map(_cell, value))
        case _:
            return " ".join(str(value).split()).replace("|", "\\|")


def says_the_same(answer: str, other: str) -> bool:
    """Tell whether two answers differ at most by one in the last digit of numbers with a decimal point.

    Vectors of a text differ in their last bits with the size of the batch that it was embedded in, and a
    value such as .85 is then rounded either way.
    """
    cells, others = ([line.split(" | ") for line in text.splitlines()] for text in (answer, other))
    return list(map(len, cells)) == list(map(len, others)) and all(
        one == two or _rounded_apart(one.strip("| "), two.strip("| "))
        for row, row_of_other in zip(cells, others, strict=True)
        for one, two in zip(row, row_of_other, strict=True)
    )


def _rounded_apart(one: str, other: str) -> bool:
    if not (DECIMAL.fullmatch(one) and DECIMAL.fullmatch(other)):
        return False
    digits = len(one.partition(".")[2])
    same_length = len(other.partition(".")[2]) == digits
    return same_length and round(abs(float(one) - float(other)) * 10**digits) <= 1
