"""Writes the bill of materials of a release: the pinned Python packages, the jars of Neo4j and the model's.

    make sbom

CycloneDX's own tool lists the packages of `requirements/runtime.txt`; the jars are those of
`graphmem/artifacts/*.tsv`. What is written is checked against CycloneDX's schema. No network is needed.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LISTS = ("neo4j", "embedding")

Bom = dict[str, Any]


def jars(root: Path = ROOT) -> Iterator[dict[str, Any]]:
    """Yield each jar as a component, with its hash."""
    for name in LISTS:
        text = (root / "graphmem" / "artifacts" / f"{name}.tsv").read_text("utf-8")
        for line in text.splitlines():
            coordinates, sha256 = line.split("\t")
            group, artifact, version, *classifier = coordinates.split(":")
            more = f"?classifier={classifier[0]}" if classifier else ""
            purl = f"pkg:maven/{group}/{artifact}@{version}{more}"
            yield {
                "type": "library",
                "bom-ref": purl,
                "group": group,
                "name": artifact,
                "version": version,
                "purl": purl,
                "hashes": [{"alg": "SHA-256", "content": sha256.strip()}],
            }


def with_jars(bom: Bom, root: Path = ROOT) -> Bom:
    """Return a bill of materials with the jars after the packages, and all of them under graphmem."""
    components = [*bom["components"], *jars(root)]
    itself = bom["metadata"]["component"]["bom-ref"]
    references = [one["bom-ref"] for one in components]
    others = [one for one in bom.get("dependencies", []) if one["ref"] != itself]
    known = {one["ref"] for one in others}
    leaves = [{"ref": one} for one in references if one not in known]
    dependencies = [{"ref": itself, "dependsOn": references}, *others, *leaves]
    return bom | {"components": components, "dependencies": dependencies}


def packages(root: Path = ROOT) -> Bom:
    """Return the bill of materials of the pinned packages."""
    done = subprocess.run(  # noqa: S603 - of this repository
        [
            *(sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements"),
            *("--pyproject", "pyproject.toml", "--output-reproducible"),
            "requirements/runtime.txt",
        ],
        cwd=root,
        stdout=subprocess.PIPE,
        check=True,
    )
    bom: Bom = json.loads(done.stdout)
    return bom


def main() -> None:
    """Write the file that is named, or end with what is wrong with it."""
    from cyclonedx.schema import SchemaVersion  # type: ignore[import-not-found]
    from cyclonedx.validation.json import JsonStrictValidator  # type: ignore[import-not-found]

    bom = with_jars(packages())
    text = json.dumps(bom, indent=1)
    version = SchemaVersion.from_version(bom["specVersion"])
    if (problem := JsonStrictValidator(version).validate_str(text)) is not None:
        sys.exit(f"this is no valid CycloneDX: {problem}")
    file = Path(sys.argv[1])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n", "utf-8")
    print(f"{file} lists {len(bom['components'])} components")  # noqa: T201


if __name__ == "__main__":
    main()
