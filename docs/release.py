"""Writes the notes of a release: the part of CHANGELOG.md about the version of pyproject.toml.

    python -m docs.release build/release.md --tag v0.2.0

Before that it compares every place that repeats the version. It ends with exit code 1 and a sentence for each
place that differs. `make release` runs it, then builds and checks the files.
"""

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEADING = re.compile(
    r"^## \[(?P<version>[^\]]+)\](?: - (?P<day>\d{4}-\d{2}-\d{2}))?$", re.MULTILINE
)
LINK = re.compile(r"\[([^\]]+)\]\((?![a-z]+:)[^)]*\)")
IMAGE = re.compile(r"^ *image: graphmem:(\S+)", re.MULTILINE)


def version(root: Path = ROOT) -> str:
    """Return the version of the project."""
    found: str = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return found


def mistakes(root: Path = ROOT, tag: str | None = None) -> Iterator[str]:
    """Yield a sentence for each place whose version is not that of pyproject.toml."""
    wanted = version(root)
    images = {
        place: IMAGE.findall((root / place).read_text("utf-8"))
        for place in ("docker-compose.yml", "deploy/kubernetes.yaml")
    }
    package = json.loads((root / "clients/typescript/package.json").read_text("utf-8"))
    repeated = {
        **{place: found[0] if found else "none" for place, found in images.items()},
        "clients/typescript/package.json": package["version"],
    }
    if tag is not None:
        repeated["the tag"] = tag.removeprefix("v")
    for place, said in repeated.items():
        if said != wanted:
            yield f"{place} has version {said}, pyproject.toml {wanted}: make them equal"
    parts = {heading["version"]: (heading["day"], text) for heading, text in _parts(root)}
    day, text = parts.get(wanted, (None, ""))
    if not text:
        yield f"CHANGELOG.md has no part [{wanted}]: rename [Unreleased] to it"
    elif day is None:
        yield f"CHANGELOG.md has no day for [{wanted}]: write ## [{wanted}] - YYYY-MM-DD"
    if parts.get("Unreleased", (None, ""))[1]:
        yield f"CHANGELOG.md has unreleased changes: move them to [{wanted}]"


def notes(root: Path = ROOT) -> str:
    """Return the notes of the version; links to files of the repository become their texts."""
    wanted = version(root)
    [text] = [text for heading, text in _parts(root) if heading["version"] == wanted]
    return LINK.sub(r"\1", text) + "\n"


def _parts(root: Path) -> Iterator[tuple[re.Match[str], str]]:
    """Yield the heading and the text of each version in the changelog, newest first."""
    changelog = (root / "CHANGELOG.md").read_text("utf-8")
    headings = list(HEADING.finditer(changelog))
    ends = [heading.start() for heading in headings[1:]] + [len(changelog)]
    for heading, end in zip(headings, ends, strict=True):
        yield heading, changelog[heading.end() : end].strip()


def main() -> None:
    """Check the versions, then write the notes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, help="where to write the notes")
    parser.add_argument("--tag", help="the tag of the release, such as v0.2.0")
    given = parser.parse_args()
    if found := list(mistakes(tag=given.tag)):
        sys.exit("\n".join(found))
    given.file.parent.mkdir(parents=True, exist_ok=True)
    given.file.write_text(notes(), "utf-8")


if __name__ == "__main__":
    main()
