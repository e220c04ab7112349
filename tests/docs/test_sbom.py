"""The bill of materials: it lists each package and each jar that a release brings."""

import re
from pathlib import Path

from docs.sbom import jars, with_jars


def test_each_jar_is_listed_with_its_hash(repository: Path) -> None:
    found = {one["purl"]: one for one in jars()}
    lines = [
        line
        for name in ("neo4j", "embedding")
        for line in (repository / "graphmem/artifacts" / f"{name}.tsv").read_text().splitlines()
    ]
    assert len(found) == len(lines)
    assert all(re.fullmatch(r"[0-9a-f]{64}", one["hashes"][0]["content"]) for one in found.values())
    assert any(purl.startswith("pkg:maven/org.neo4j/neo4j@") for purl in found)


def test_graphmem_depends_on_all_of_them() -> None:
    bom = {
        "components": [{"bom-ref": "a"}],
        "metadata": {"component": {"bom-ref": "itself"}},
        "dependencies": [{"ref": "itself"}, {"ref": "a"}],
    }
    whole = with_jars(bom)
    references = [one["bom-ref"] for one in whole["components"]]
    assert references[0] == "a"
    assert len(references) == 1 + len(list(jars()))
    depending = {one["ref"]: one.get("dependsOn") for one in whole["dependencies"]}
    assert depending["itself"] == references
    assert set(depending) == {"itself", *references}
    assert len(depending) == len(whole["dependencies"])
