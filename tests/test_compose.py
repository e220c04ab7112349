"""The containers: their Neo4j has the settings of the private one, and the steps of the image work.

Without a container engine, the Dockerfile's lines are run in an empty folder in place of the image's root.
`make image-steps` also installs the pinned requirements there, which takes minutes; otherwise those of this
environment are used.
"""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml  # type: ignore[import-untyped]

from graphmem import config
from graphmem.artifacts.maven import read_list
from graphmem.cli.main import commands
from graphmem.config import Settings
from graphmem.server.command import conf

WHOLE = bool(os.environ.get("GRAPHMEM_IMAGE_STEPS"))
SECONDS = 900 if WHOLE else 60

ONLY_IN_COMPOSE = {
    "server.memory.heap.initial_size": "the launcher gives Java -Xms",
    "server.memory.heap.max_size": "the launcher gives Java -Xmx",
}
ONLY_IN_LAUNCHER = {
    "server.bolt.advertised_address": "bolt:// does not ask for it, and the host names another",
}
OTHERWISE = {
    "server.bolt.listen_address": "the service calls from another container",
}

# The image's own paths; everything under them is in the folder in place of the root.
ROOTS = re.compile(r"(?<![\w.])/(?=(?:build|opt|var)\b)")


class Line(NamedTuple):
    """An instruction of the Dockerfile."""

    name: str
    rest: str


@pytest.fixture(scope="module")
def compose(repository: Path) -> dict[str, Any]:
    """The contents of docker-compose.yml."""
    parsed: dict[str, Any] = yaml.safe_load((repository / "docker-compose.yml").read_text("utf-8"))
    return parsed


@pytest.fixture(scope="module")
def stages(repository: Path) -> list[list[Line]]:
    """The Dockerfile's instructions, stage by stage."""
    text = (repository / "Dockerfile").read_text("utf-8")
    stages: list[list[Line]] = []
    for row in re.sub(r"\\\n", " ", text).splitlines():
        if row.strip() and not row.startswith("#"):
            name, _, rest = row.partition(" ")
            if name == "FROM":
                stages.append([])
            if not stages:
                continue  # an ARG of all stages
            stages[-1].append(Line(name, rest.strip()))
    return stages


def setting(variable: str) -> str:
    """Return the setting that a variable of Neo4j's image sets."""
    name = variable.removeprefix("NEO4J_").replace("__", "\0").replace("_", ".")
    return name.replace("\0", "_")


def unset(value: str) -> str:
    """Return a value with all variables unset."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value)


def compose_settings(compose: dict[str, Any]) -> dict[str, str]:
    environment = compose["services"]["neo4j"]["environment"]
    assert all(isinstance(value, str) for value in environment.values()), (
        "YAML made it another type"
    )
    return {
        setting(name): unset(value) for name, value in environment.items() if name != "NEO4J_AUTH"
    }


def launcher_settings() -> dict[str, str]:
    text = conf(7687, config.load({}).neo4j_page_cache)
    return dict(line.split("=", 1) for line in text.splitlines())


def test_neo4j_is_set_as_the_private_one_is(compose):
    ours, theirs = compose_settings(compose), launcher_settings()

    assert set(ours) - set(theirs) == set(ONLY_IN_COMPOSE)
    assert set(theirs) - set(ours) == set(ONLY_IN_LAUNCHER)
    both = ours.keys() & theirs.keys()
    assert {name for name in both if ours[name] != theirs[name]} == set(OTHERWISE)


def test_the_heap_and_the_page_cache_are_those_of_the_settings(compose):
    ours, defaults = compose_settings(compose), config.load({})

    assert ours["server.memory.heap.initial_size"] == defaults.neo4j_heap
    assert ours["server.memory.heap.max_size"] == defaults.neo4j_heap
    assert ours["server.memory.pagecache.size"] == defaults.neo4j_page_cache


def test_neo4j_is_of_the_version_whose_jars_are_listed(compose):
    [version] = [one.version for one in read_list("neo4j") if (one.artifact) == "neo4j"]

    assert unset(compose["services"]["neo4j"]["image"]) == f"neo4j:{version}-community"


def test_the_image_is_of_the_version_of_the_project(compose, repository):
    project = tomllib.loads((repository / "pyproject.toml").read_text("utf-8"))["project"]

    assert compose["services"]["graphmem"]["image"] == f"graphmem:{project['version']}"


def test_only_this_machine_reaches_what_is_published(compose):
    published = [port for service in compose["services"].values() for port in service["ports"]]

    assert published
    assert [port for port in published if not str(port).startswith("127.0.0.1:")] == []
    assert not any("network_mode" in service for service in compose["services"].values())


def test_a_secret_must_be_set_and_has_no_default(compose):
    services = compose["services"]
    password = services["graphmem"]["environment"]["GRAPHMEM_NEO4J_PASSWORD"]

    assert re.fullmatch(r"\$\{NEO4J_PASSWORD:\?[^}]+\}", password)
    assert services["neo4j"]["environment"]["NEO4J_AUTH"] == f"neo4j/{password}"
    keys = compose["secrets"]["graphmem_keys"]
    assert re.fullmatch(r"\$\{GRAPHMEM_KEYS:\?[^}]+\}", keys["file"])
    assert services["graphmem"]["secrets"] == ["graphmem_keys"]
    assert services["graphmem"]["environment"]["GRAPHMEM_KEYS_FILE"] == "/run/secrets/graphmem_keys"


OF_THE_IMAGE = {"data_dir", "cache_dir", "host", "port"}
OF_A_PRIVATE_NEO4J = {
    "neo4j_heap",
    "neo4j_page_cache",
    "neo4j_start_seconds",
    "disk_margin_mb",
    "maven_repository",
}
WITHOUT_KEYS = {"reads"}
"""With keys it is refused, and the compose file has keys."""
OF_THE_FILE = {"neo4j_uri", "neo4j_user", "neo4j_password", "keys_file"}


def test_the_service_takes_every_setting_from_the_machine(compose):
    environment = compose["services"]["graphmem"]["environment"]

    every = set(Settings.__struct_fields__) - OF_THE_IMAGE - OF_A_PRIVATE_NEO4J - WITHOUT_KEYS
    assert set(environment) == {config.variable(name) for name in every}
    for name in every - OF_THE_FILE:
        variable = config.variable(name)
        assert environment[variable] == f"${{{variable}:-}}"


def test_its_head_says_how_to_mount_the_files_that_settings_name(compose, repository):
    text = (repository / "docker-compose.yml").read_text("utf-8")
    head = text[: text.index("\nname:")]
    given = {name for name in compose["services"]["graphmem"]["environment"] if "_FILE" in name}
    assert {name for name in given if name not in head} == {"GRAPHMEM_KEYS_FILE"}
    [mounted] = re.findall(r"^#( +- .*)$", head, re.MULTILINE)
    [example] = re.findall(r"GRAPHMEM_LIMITS_FILE=(\S+/)[^/]+\.txt", head)
    marker = "      - graphmem-data:/var/lib/graphmem\n"
    service = yaml.safe_load(text.replace(marker, f"{marker}{mounted}\n"))["services"]["graphmem"]
    assert service["volumes"] == ["graphmem-data:/var/lib/graphmem", "./etc:/etc/graphmem:ro"]
    assert example == "/etc/graphmem/"


def test_the_commands_that_back_it_up_name_its_service_and_commands_that_exist(
    compose, repository, stages
):
    text = (repository / "docs" / "backup.md").read_text("utf-8")
    lines = [
        shlex.split(line) for line in re.findall(r"^    docker compose (exec .*)$", text, re.M)
    ]
    inside = [[word for word in line if not word.startswith("-")] for line in lines]
    assert {line[1] for line in inside} == {"graphmem"} <= set(compose["services"])
    assert {line[2] for line in inside} == {"graphmem", "tar", "rm"}
    ours = [line[3:] for line in inside if line[2] == "graphmem"]
    assert ours == [["backup", "monday"], ["restore", "monday"]]
    assert {name for name, _ in ours} <= set(commands.commands)
    # They are relative to a folder that outlives the container.
    [workdir] = [line.rest for line in stages[-1] if line.name == "WORKDIR"]
    assert f"graphmem-data:{workdir}" in compose["services"]["graphmem"]["volumes"]


def test_a_setting_that_the_machine_does_not_have_stays_as_it_is(compose):
    environment = compose["services"]["graphmem"]["environment"]
    given = {name: unset(value) for name, value in environment.items() if value.endswith(":-}")}

    assert set(given.values()) == {""}
    assert config.load(given) == config.load({})


@pytest.mark.parametrize("name", ["neo4j", "graphmem"])
def test_a_container_has_no_more_rights_than_it_needs(compose, name):
    service = compose["services"][name]

    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["restart"] == "unless-stopped"
    assert service["tmpfs"] == ["/tmp"]
    assert service["healthcheck"]["test"]
    assert not any(service.get(right) for right in ("privileged", "cap_add", "pid", "ipc"))


def test_neither_runs_as_root_and_the_service_writes_nowhere_but_its_volume(compose, stages):
    assert compose["services"]["neo4j"]["user"] == "7474:7474"
    assert compose["services"]["graphmem"]["read_only"] is True
    [user] = [line.rest for line in stages[-1] if line.name == "USER"]
    assert int(user.partition(":")[0]) > 0


def test_every_volume_has_a_name_and_outlives_its_container(compose):
    mounted = [one for service in compose["services"].values() for one in service["volumes"]]

    assert {one.partition(":")[0] for one in mounted} == set(compose["volumes"])


def test_the_service_waits_for_a_neo4j_that_answers(compose):
    assert compose["services"]["graphmem"]["depends_on"] == {
        "neo4j": {"condition": "service_healthy"}
    }


def test_the_image_s_health_check_is_the_one_in_compose(compose, stages):
    assert compose["services"]["graphmem"]["healthcheck"]["test"] == ["CMD", *health_check(stages)]


def test_the_neo4j_check_hands_the_password_over_in_the_environment(compose, tmp_path):
    kind, command = compose["services"]["neo4j"]["healthcheck"]["test"]
    shell = tmp_path / "cypher-shell"
    shell.write_text('#!/bin/sh\necho "$NEO4J_USERNAME" "$NEO4J_PASSWORD" "$@"\n', "utf-8")
    shell.chmod(0o755)
    told = subprocess.check_output(
        ["sh", "-c", command.replace("$$", "$")],
        env={"NEO4J_AUTH": "neo4j/pass word", "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        text=True,
    )

    assert kind == "CMD-SHELL"
    assert told == "neo4j pass word -a bolt://127.0.0.1:7687 RETURN 1\n"


def test_both_stages_have_the_same_python_which_a_release_names_by_digest(stages, repository):
    assert {stage[0].rest.partition(" ")[0] for stage in stages} == {"${PYTHON}"}
    [image] = re.findall(
        r"^ARG PYTHON=(\S+)$", (repository / "Dockerfile").read_text("utf-8"), re.MULTILINE
    )
    release = (repository / ".github/workflows/release.yml").read_text("utf-8")
    job = yaml.safe_load(release)["jobs"]["image"]
    [looked_up] = [step for step in job["steps"] if step.get("id") == "base"]
    assert looked_up["env"]["NAME"] == image


def test_nothing_is_sent_to_the_builder_but_what_is_copied(stages, repository):
    rules = (repository / ".dockerignore").read_text("utf-8").splitlines()
    rules = [rule for rule in rules if rule and not rule.startswith("#")]
    copied = {source.partition("/")[0] for source in sources(stages[0])}

    assert rules[0] == "*"
    assert {rule.strip("!/") for rule in rules if rule.startswith("!")} == copied
    assert rules[-2:] == ["**/__pycache__", "**/*.pyc"]


def test_every_requirement_is_installed_by_hash(stages):
    installs = [line.rest for line in stages[0] if "pip install" in line.rest]

    assert len(installs) == 3
    assert all("--require-hashes" in one for one in installs if "requirements/" in one)
    assert all("--no-index" in one for one in installs if "requirements/" not in one)


class Image(NamedTuple):
    """A folder in place of the image's root, and the start command of a container."""

    root: Path
    environment: dict[str, str]
    entrypoint: list[str]
    command: list[str]


@pytest.fixture(scope="module")
def image(
    stages: list[list[Line]],
    repository: Path,
    tmp_path_factory: pytest.TempPathFactory,
    built_files: None,
) -> Image:
    """The image's steps, run in an empty folder."""
    root = tmp_path_factory.mktemp("image")
    environment = {"PATH": f"{_tools(root)}:{os.environ['PATH']}", "HOME": str(root)}
    environment |= {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("PIP_", "SSL_", "REQUESTS_")) or name.lower().endswith("_proxy")
    }
    if "GRAPHMEM_MAVEN_REPOSITORY" in os.environ:
        environment["GRAPHMEM_MAVEN_REPOSITORY"] = os.environ["GRAPHMEM_MAVEN_REPOSITORY"]
    _lend_jars(root)
    for stage in stages:
        _build(stage, root, repository, environment)
    begins = {line.name: json.loads(line.rest) for line in stages[-1] if line.name in CONTAINER}
    return Image(root, environment, begins["ENTRYPOINT"], begins["CMD"])


CONTAINER = ("ENTRYPOINT", "CMD")


def _tools(root: Path) -> Path:
    """Make a folder whose `python` is the one that created this environment."""
    tools = root / "tools"
    tools.mkdir()
    python = tools / "python"
    base = shlex.quote(getattr(sys, "_base_executable", sys.executable))
    python.write_text(f'#!/bin/sh\nexec {base} "$@"\n', "utf-8")
    python.chmod(0o755)
    return tools


def _lend_jars(root: Path) -> None:
    """Put cached files where the image looks for them; the model is unpacked from them."""
    fetched = config.load().cache_dir / "maven"
    if fetched.is_dir():
        (root / "opt" / "cache").mkdir(parents=True)
        (root / "opt" / "cache" / "maven").symlink_to(fetched)


def _build(stage: list[Line], root: Path, repository: Path, environment: dict[str, str]) -> None:
    folder = root
    for line in stage:
        rest = ROOTS.sub(f"{root}/", line.rest)
        if line.name == "WORKDIR":
            folder = Path(rest)
            folder.mkdir(parents=True, exist_ok=True)
        elif line.name == "ENV":
            name, _, value = rest.partition("=")
            environment[name] = value.replace("$PATH", environment["PATH"])
        elif line.name == "COPY" and "--from=build" in rest:
            # Both stages share the folder: files from the first must only exist.
            source, target = [word for word in rest.split() if not word.startswith("--")]
            assert source == target
            assert Path(source).exists(), line
        elif line.name == "COPY":
            *copied, target = rest.split()
            for source in copied:
                _copy(repository / source, folder / target, many=target.endswith("/"))
        elif line.name == "RUN":
            _run(line.rest, rest, folder, environment)
        else:
            assert line.name in {"FROM", "USER", "EXPOSE", "HEALTHCHECK", *CONTAINER}, line


def _copy(source: Path, target: Path, *, many: bool) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    else:
        target = target / source.name if many else target
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def _run(written: str, command: str, folder: Path, environment: dict[str, str]) -> None:
    if "--require-hashes" in command and not WHOLE:
        python = Path(command.split(maxsplit=1)[0])
        packages = subprocess.check_output(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
        ).strip()
        (Path(packages) / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
        return
    done = subprocess.run(
        ["sh", "-ec", command],
        cwd=folder,
        env=environment,
        text=True,
        check=False,
        capture_output=True,
        timeout=SECONDS,
    )
    said = done.stdout + done.stderr
    if done.returncode and re.search(r"could not be fetched|NewConnectionError", said):
        reason = f"the image's steps need the network: {written}: {said[-500:]}"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    assert done.returncode == 0, f"{written}\n{said}"


def test_the_image_s_command_is_the_wheel_s(image: Image):
    done = subprocess.run(
        [*image.entrypoint, "--help"],
        env=image.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    assert "graphmem serve" in done.stdout
    python = shutil.which("python", path=image.environment["PATH"])
    assert python is not None
    program = "import graphmem_api, graphmem; print(graphmem_api.__file__, graphmem.__file__)"
    found = subprocess.check_output(
        [python, "-c", program], env=image.environment, text=True, cwd="/"
    )
    assert found.count(str(image.root / "opt" / "graphmem")) == 2


def test_its_health_check_passes_when_the_service_is_ready_and_only_then(stages, image: Image):
    with answering(200) as port:
        assert checked(stages, image, port) == 0
    with answering(503) as port:
        assert checked(stages, image, port) != 0
    assert checked(stages, image, free_port()) != 0


def test_a_container_serves_with_keys_and_fetches_nothing(
    stages, image: Image, neo4j_settings: Settings, tmp_path: Path
):
    keys = tmp_path / "keys"
    keys.write_text(f"acme agent {'a' * 64}\n")
    port = free_port()
    environment = image.environment | {
        "GRAPHMEM_PORT": str(port),
        "GRAPHMEM_KEYS_FILE": str(keys),
        "GRAPHMEM_NEO4J_URI": str(neo4j_settings.neo4j_uri),
        "GRAPHMEM_NEO4J_PASSWORD": neo4j_settings.neo4j_password,
        "GRAPHMEM_MAVEN_REPOSITORY": f"http://127.0.0.1:{free_port()}",
    }
    models = image.root / "opt" / "cache" / "models"
    before = sorted(models.rglob("*"))
    assert before
    with subprocess.Popen(
        [*image.entrypoint, *image.command],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            deadline = time.monotonic() + 45
            while checked(stages, image, port) and time.monotonic() < deadline:
                assert process.poll() is None, process.stdout and process.stdout.read()
                time.sleep(0.2)
            assert checked(stages, image, port) == 0
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=300) in {0, 143}
        finally:
            process.kill()
    assert sorted(models.rglob("*")) == before


def test_without_keys_a_container_refuses_to_listen(image: Image, tmp_path: Path):
    done = subprocess.run(
        [*image.entrypoint, *image.command],
        env=image.environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 2
    assert "GRAPHMEM_KEYS_FILE" in done.stderr


def sources(stage: list[Line]) -> Iterator[str]:
    """Yield the paths that a stage copies from the checkout."""
    for line in stage:
        if line.name == "COPY":
            yield from line.rest.split()[:-1]


def health_check(stages: list[list[Line]]) -> list[str]:
    [line] = [line for line in stages[-1] if line.name == "HEALTHCHECK"]
    command: list[str] = json.loads(line.rest.partition(" CMD ")[2])
    return command


def checked(stages: list[list[Line]], image: Image, port: int) -> int:
    """Run the health check; return its exit code."""
    return subprocess.run(
        health_check(stages),
        env=image.environment | {"GRAPHMEM_PORT": str(port)},
        capture_output=True,
        check=False,
        timeout=SECONDS,
    ).returncode


@contextmanager
def answering(status: int) -> Iterator[int]:
    """Answer `/health/ready` with a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == "/health/ready" else 404)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01))
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port
