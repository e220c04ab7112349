"""A release: one version everywhere, notes from the changelog, and workflows of known targets."""

import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from docs import release

WORKFLOWS = sorted((release.ROOT / ".github/workflows").glob("*.yml"))
REPEATED = (
    "pyproject.toml",
    "docker-compose.yml",
    "deploy/kubernetes.yaml",
    "CHANGELOG.md",
    "clients/typescript/package.json",
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the files that have the version, without unreleased changes."""
    for name in REPEATED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(release.ROOT / name, tmp_path / name)
    changelog = (tmp_path / "CHANGELOG.md").read_text("utf-8")
    released = re.sub(r"(## \[Unreleased\]\n).*?(?=## \[)", r"\1\n", changelog, flags=re.DOTALL)
    (tmp_path / "CHANGELOG.md").write_text(released, "utf-8")
    return tmp_path


def steps(path: Path) -> list[dict[str, Any]]:
    """Return the steps of all jobs of a workflow."""
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    return [step for job in jobs for step in job.get("steps", ())]


def test_every_place_has_the_version_of_the_project() -> None:
    wrong = [said for said in release.mistakes() if "unreleased" not in said]
    assert wrong == []


def test_a_release_of_this_tree_has_no_mistake(tree: Path) -> None:
    assert list(release.mistakes(tree, f"v{release.version()}")) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("docker-compose.yml", "graphmem:{}", "graphmem:9.9.9", "docker-compose.yml has version 9"),
        (
            "deploy/kubernetes.yaml",
            "graphmem:{}\n",
            "graphmem:9.9.9\n",
            "kubernetes.yaml has version",
        ),
        ("clients/typescript/package.json", '"{}"', '"9.9.9"', "package.json has version 9.9.9"),
        ("CHANGELOG.md", "## [{}]", "## [9.9.9]", "CHANGELOG.md has no part"),
        ("CHANGELOG.md", "## [{}] - ", "## [{}]\n\n", "CHANGELOG.md has no day"),
        ("CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n\n- More.\n", "unreleased changes"),
    ],
)
def test_a_place_that_differs_is_named(
    tree: Path, name: str, old: str, new: str, said: str
) -> None:
    version = release.version()
    text = (tree / name).read_text("utf-8")
    changed = text.replace(old.replace("{}", version), new.replace("{}", version))
    assert changed != text
    (tree / name).write_text(changed, "utf-8")
    [found] = release.mistakes(tree)
    assert said in found


def test_a_tag_of_another_version_is_named(tree: Path) -> None:
    [found] = release.mistakes(tree, "v0.0.1")
    assert found.startswith("the tag has version 0.0.1")


def test_the_notes_are_the_part_of_the_version_without_links_to_files(tree: Path) -> None:
    notes = release.notes(tree)
    assert notes.startswith("### Upgrade from")
    for heading in ("### Added", "### Changed", "### Fixed"):
        assert notes.count(heading) == 1
    assert "## [" not in notes
    assert "](docs/" not in notes
    assert "docs/guides/frameworks.md" in notes


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_exists_and_pins_what_it_uses(path: Path) -> None:
    makefile = (release.ROOT / "Makefile").read_text("utf-8")
    for step in steps(path):
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+(\.\d+)*", step["uses"])
        for target in re.findall(r"^make (\S+)", step.get("run", ""), re.MULTILINE):
            assert f"\n{target}:" in makefile


def test_the_workflows_may_only_read_unless_a_job_says_more() -> None:
    granted = {}
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text("utf-8"))
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            for scope, level in job.get("permissions", {}).items():
                if level == "write":
                    granted[f"{path.stem}.{name}"] = scope
    assert granted == {
        "release.publish": "id-token",
        "release.image": "packages",
        "release.notes": "contents",
    }


def test_the_source_distribution_builds_a_wheel_that_the_index_takes(
    built_files: None, tmp_path: Path
) -> None:
    tools = Path(sys.executable).parent
    build = [str(tools / "uv"), "build", "--quiet", "--no-build-isolation", "--python"]
    subprocess.run(
        [*build, sys.executable, "--offline", "--out-dir", tmp_path, release.ROOT],
        check=True,
        capture_output=True,
        timeout=300,
    )
    version = release.version()
    names = {path.name for path in tmp_path.iterdir() if path.suffix in {".gz", ".whl"}}
    source = f"graphmem-{version}.tar.gz"
    assert names == {source, f"graphmem-{version}-py3-none-any.whl"}
    with tarfile.open(tmp_path / source) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CHANGELOG.md", "LICENSE", "cypher/schema/001_installation.cypher"} <= packed
    assert not [name for name in packed if name.startswith(("tests/", "docs/", ".github/"))]
    checked = subprocess.run(
        [tools / "twine", "check", "--strict", *(tmp_path / name for name in names)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert checked.returncode == 0, checked.stdout
