"""Query text that is generated from the vocabulary: `python -m tests.generated_queries` writes it."""

import re
from collections.abc import Mapping

from graphmem import config
from graphmem.model.vocabulary import EDGE_TYPES, LINK_TYPES

LINKS = "fragments/link_types"
NEIGHBOURS = "neighbourhood/neighbours"

BRANCH = """\
    FILTER '{type}' IN $types
    MATCH (here)-[edge:{type}]-(there)
    RETURN edge, there
    LIMIT $looked_at + 1
"""
BRANCHES = re.compile(r"(?<=written by `make queries`\.\n)    FILTER .*?(?=  \}\n)", re.DOTALL)


def generated() -> Mapping[str, str]:
    """Return the whole text of each generated file by its name."""
    return {LINKS: link_types(), NEIGHBOURS: neighbours(written(NEIGHBOURS))}


def link_types() -> str:
    """Return the fragment that lists the types of links."""
    sentence = "// The types of links between memories, as `make queries` writes them.\n"
    return f"{sentence}{'|'.join(type.upper() for type in LINK_TYPES)}\n"


def neighbours(text: str) -> str:
    """Return the text of the query for neighbours with one branch for each type of edge."""
    branches = "\n    UNION ALL\n\n".join(BRANCH.format(type=type) for type in EDGE_TYPES)
    changed, found = BRANCHES.subn(lambda _: branches, text)
    assert found == 1, f"{NEIGHBOURS} has {found} places for the branches"
    return changed


def written(name: str) -> str:
    """Return the present text of a query file."""
    return (config.folder("cypher") / f"{name}.cypher").read_text(encoding="utf-8")


if __name__ == "__main__":
    for name, text in generated().items():
        (config.folder("cypher") / f"{name}.cypher").write_text(text, encoding="utf-8")
