"""The shipped files: the wheel, the pinned requirements, and the command that sets everything up."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
import uuid
import zipfile
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from graphmem.config import Settings
from tests.environments import environment_of

# In parts, so that this file does not contain the words that it searches for.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("repo1", "maven", "org"),
        ("repo", "maven", "apache", "org"),
        ("repo", "maven", "org"),
        ("sonatype", "org"),
        ("conda", "anaconda", "org"),
        ("huggingface", "co"),
        ("docker", "io"),
        ("registry", "npmjs", "org"),
        ("proxy", "golang", "org"),
    )
]
GENERATED = {".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
REQUIREMENTS = ("build.txt", "development.txt", "runtime.txt")
PEERS = tuple(
    f"peers/{name}.txt" for name in ("agent-memory", "graphiti", "graphrag", "hindsight", "mem0")
)
MIRRORED = {"cypher": "graphmem/_data/cypher", "seed": "graphmem/_data/seed"}


PROJECT_API = """\
\"\"\"A package of the user's own project.\"\"\"

OWNER = "the project"
"""
ORIGINS = """\
import api, graphmem, graphmem_api
from graphmem.config import folder

print(api.__file__, graphmem.__file__, graphmem_api.__file__, folder("cypher"), sep="\\n")
"""


@pytest.fixture(scope="session")
def built_wheel(
    repository: Path, tmp_path_factory: pytest.TempPathFactory, built_files: None
) -> Path:
    """The wheel, built from this tree without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=repository, check=True, capture_output=True, timeout=300)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def wheel(built_wheel: Path) -> set[str]:
    """The names in the wheel."""
    with zipfile.ZipFile(built_wheel) as archive:
        return set(archive.namelist())


@pytest.fixture
def installed(built_wheel: Path, tmp_path: Path) -> Path:
    """An empty folder into which the wheel was installed; its dependencies are installed already."""
    folder = tmp_path / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    offline = ["--no-index", "--no-deps", "--target", str(folder), str(built_wheel)]
    subprocess.run([*command, *offline], check=True, capture_output=True, timeout=300)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The working folder of a user who has a package `api`."""
    package = tmp_path / "project" / "api"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PROJECT_API, "utf-8")
    return package.parent


def test_an_installed_wheel_serves_a_project_that_has_its_own_package_api(
    installed: Path, project: Path, neo4j_settings: Settings, whole_program: None
) -> None:
    environment = environment_of(neo4j_settings) | {
        "PYTHONPATH": os.pathsep.join(map(str, (project, installed))),
        "PYTHONUNBUFFERED": "1",
    }
    told = subprocess.run(
        [sys.executable, "-c", ORIGINS],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    own, *ours = map(Path, told.stdout.splitlines())
    assert own.is_relative_to(project)
    assert [path.is_relative_to(installed) for path in ours] == [True, True, True]
    with subprocess.Popen(
        [installed / "bin" / "graphmem", "serve", "--port", "0"],
        cwd=project,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        try:
            assert process.stdout is not None
            said = (re.search(r"listens on (http://\S+)", line) for line in process.stdout)
            url = next((found[1] for found in said if found), None)
            assert url is not None, "it ended before it listened"
            with httpx.Client(
                base_url=f"{url}/api/v0",
                headers={"X-Client-Id": f"wheel-{uuid.uuid4().hex}"},
                timeout=300,
            ) as client:
                client.post("/conversations", json={"id": "c"}).raise_for_status()
                message = {"session_id": "s", "role": "user", "content": "We deploy on Tuesdays."}
                client.post(
                    "/conversations/c/messages", json={"messages": [message]}
                ).raise_for_status()
                answer = client.post(
                    "/recall", json={"query": "When do we deploy?", "max_tokens": 99}
                )
            assert answer.status_code == 200, answer.text
            assert "Tuesdays" in answer.json()["context"]
        finally:
            process.terminate()
            process.communicate(timeout=300)


@pytest.mark.parametrize("name", MIRRORED)
def test_the_wheel_holds_every_query_and_the_story(repository, wheel, name):
    shipped = {entry for entry in wheel if entry.startswith(f"{MIRRORED[name]}/")}
    there = {f"{MIRRORED[name]}/{path}" for path in files(repository / name)}
    assert there
    assert shipped == there


@pytest.mark.parametrize("folder", ["graphmem", "api/graphmem_api"])
def test_the_wheel_holds_every_module_and_every_list_of_artifacts(repository, wheel, folder):
    package = folder.rpartition("/")[2]
    there = {f"{package}/{path}" for path in files(repository / folder)}
    assert any(path.endswith(".tsv") for path in there) == (package == "graphmem")
    assert there <= wheel


def test_the_wheel_holds_nothing_else(wheel):
    assert {entry.partition("/")[0].partition("-")[0] for entry in wheel} == {
        "graphmem",
        "graphmem_api",
    }
    assert not [entry for entry in wheel if "tests" in entry or entry.endswith(".pyc")]


def test_the_wheel_has_its_license(wheel):
    assert any(entry.endswith(".dist-info/licenses/LICENSE") for entry in wheel)


@pytest.mark.parametrize("name", [*REQUIREMENTS, *PEERS])
def test_requirements_are_pinned_by_hash_and_name_no_address(repository, name):
    text = (repository / "requirements" / name).read_text("utf-8")
    assert "://" not in text
    assert not re.search(r"^\s*-", text.replace("    --hash=sha256:", ""), re.MULTILINE)
    entries = pinned(text)
    assert entries
    for requirement, hashes in entries:
        assert [specifier.operator for specifier in requirement.specifier] == ["=="]
        assert hashes, requirement


def test_requirements_fulfil_what_is_declared(repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))
    runtime = project["project"]["dependencies"]
    extras = project["project"]["optional-dependencies"]
    development = extras["dev"] + extras["notebook"]
    build = project["build-system"]["requires"]
    wanted = {
        "runtime.txt": runtime,
        "development.txt": runtime + development,
        "build.txt": build + project["dependency-groups"]["build"],
    }
    for name, declared in wanted.items():
        versions = pinned_versions(repository / "requirements" / name)
        for requirement in map(Requirement, declared):
            pins = versions.get(canonicalize_name(requirement.name), set())
            assert pins, f"{name} lacks {requirement}: run make requirements"
            assert all(requirement.specifier.contains(pin, prereleases=True) for pin in pins), name


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_an_extra_is_pinned_with_its_package(repository, name):
    """Without it, an older pip takes the newest version for the extra, for which it has no hash."""
    entries = pinned((repository / "requirements" / name).read_text("utf-8"))
    pinned_extras = {
        (canonicalize_name(one.name), extra) for one, _ in entries for extra in one.extras
    }
    wanted = {
        (canonicalize_name(needed.name), extra)
        for one, _ in entries
        for needed in required_by_installed(one)
        for extra in needed.extras
    }
    assert wanted <= pinned_extras, "run make requirements"


def required_by_installed(pin: Requirement) -> list[Requirement]:
    """Return what an installed package requires here; nothing if it is not installed."""
    try:
        lines = importlib.metadata.requires(pin.name) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    extras = ("", *pin.extras)
    return [
        needed
        for needed in map(Requirement, lines)
        if needed.marker is None or any(needed.marker.evaluate({"extra": one}) for one in extras)
    ]


def test_requirements_agree_with_each_other(repository):
    runtime, development, build = (
        pinned_versions(repository / "requirements" / name)
        for name in ("runtime.txt", "development.txt", "build.txt")
    )
    for smaller in (runtime, build):
        for name in smaller.keys() & development.keys():
            assert smaller[name] == development[name], name


def test_no_file_names_a_registry(repository):
    found = [
        f"{path}: {registry}"
        for path in files(repository)
        for registry in REGISTRIES
        if registry in (repository / path).read_text("utf-8", "replace")
    ]
    assert not found


def test_without_a_python_make_says_what_is_needed(repository, tmp_path):
    shutil.copy(repository / "Makefile", tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("make", "sh"):
        (tools / tool).symlink_to(shutil.which(tool))
    shutil.copytree(repository / "requirements", tmp_path / "requirements")
    shutil.copy(repository / "pyproject.toml", tmp_path)
    done = subprocess.run(
        [tools / "make", "demo"],
        cwd=tmp_path,
        env={"PATH": str(tools)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("graphmem needs Python 3.11 or newer and found none: ")


def test_make_check_fails_below_ninety_percent_of_coverage(repository: Path) -> None:
    # S1.70 S3.43
    coverage = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["tool"]["coverage"]
    assert coverage["report"]["fail_under"] >= 90
    assert set(coverage["run"]["source"]) == {"graphmem", "graphmem_api"}
    # Without the settings of a make that runs these tests.
    made = subprocess.run(
        ["make", "--dry-run", "check"],
        cwd=repository,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    runs = re.findall(r"^\S+ -m pytest .*$", made.stdout, re.MULTILINE)
    # That of the everyday tests: it would double the time of Python in the slow ones.
    assert [" --cov " in f"{run} " for run in runs] == [True, False]
    assert "unit or live" in runs[0]
    # The limit in the settings applies where coverage itself reports, unless an option replaces it.
    assert re.search(r"coverage report$", made.stdout, re.MULTILINE)
    assert "--no-cov" not in made.stdout
    assert "fail-under" not in made.stdout


def files(folder: Path) -> list[Path]:
    """Return the paths of a folder's files that are tracked or not ignored."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if done.returncode == 0:
        listed = map(Path, done.stdout.decode().rstrip("\0").split("\0"))
        return [path for path in listed if (folder / path).is_file()]
    return [
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and not GENERATED.intersection(path.relative_to(folder).parts)
    ]


def pinned(text: str) -> list[tuple[Requirement, list[str]]]:
    """Return a file's requirements with their hashes."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    entries = "\n".join(lines).replace("\\\n", "").splitlines()
    return [
        (Requirement(entry.partition(" --hash")[0]), re.findall(r"--hash=(\S+)", entry))
        for entry in entries
    ]


def pinned_versions(path: Path) -> dict[str, set[Version]]:
    """Return the versions of each requirement: Pythons may need different ones."""
    versions: dict[str, set[Version]] = {}
    for requirement, _ in pinned(path.read_text("utf-8")):
        name = canonicalize_name(requirement.name)
        versions.setdefault(name, set()).add(Version(next(iter(requirement.specifier)).version))
    return versions
