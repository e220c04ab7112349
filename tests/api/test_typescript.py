"""The TypeScript client: its types are those of the OpenAPI document, its methods those of `AsyncClient`.

`make typescript` writes its types anew.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from graphmem_api.problems import STATUS
from litestar import Litestar

from graphmem.errors import (
    DiskFull,
    Overloaded,
    RecordDamaged,
    SetupError,
    StoreDamaged,
    TooManyRequests,
)
from graphmem.remote.connection import RENAMED, ROUTES, RUN_ROUTES, Route
from tests.environments import environment_of

WRITING = os.environ.get("GRAPHMEM_TYPESCRIPT") == "write"
ROOT = Path(__file__).parents[2] / "clients/typescript"
TYPES = ROOT / "src/openapi.ts"
SECONDS = 300

GENERATOR = (
    *("openapi-typescript", "openapi.json", "-o", "openapi.ts"),
    # Otherwise a field of a request that has a default has to be given.
    "--default-non-nullable=false",
    "--empty-objects-unknown",
)


def told(value: Any) -> Any:
    """Return a part of the document without its examples, which no type needs."""
    if isinstance(value, dict):
        return {
            name: told(one) for name, one in value.items() if name not in {"example", "examples"}
        }
    return [told(one) for one in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def document(offline_app: Litestar) -> dict[str, Any]:
    """The OpenAPI document, without what repeats in each operation: the answers that are problems."""
    document = told(json.loads(msgspec.json.encode(offline_app.openapi_schema.to_schema())))
    document["info"] = {"title": "graphmem", "version": "0"}
    schemas = document["components"]["schemas"]
    document["components"]["schemas"] = dict(sorted(schemas.items()))
    for item in document["paths"].values():
        for operation in item.values():
            answers = operation["responses"]
            operation["responses"] = {
                status: one for status, one in answers.items() if status < "400"
            }
    return document


@pytest.fixture(scope="module")
def mark(document: dict[str, Any]) -> str:
    """The first line of the types: the document that they are made of."""
    text = json.dumps(document, sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"// Written by `make typescript` from the OpenAPI document {digest}.\n"


def test_the_types_are_made_of_this_document(mark: str) -> None:
    if WRITING:
        pytest.skip("they are being written")
    assert TYPES.read_text("utf-8").startswith(mark), "run `make typescript`"


def methods(owner: str) -> dict[str, str]:
    """Return the text of each method of a class of the client, by name."""
    text = (ROOT / "src/client.ts").read_text("utf-8")
    body = text.partition(f"export class {owner} {{")[2].partition("\n}\n")[0]
    found = re.split(r"\n  (?:async )?\*?(\w+)\(", body)
    return dict(zip(found[1::2], found[2::2], strict=True))


CASES = [(name, route, "Client") for name, route in ROUTES.items()]
CASES += [(name, route, "Runs") for name, route in RUN_ROUTES.items()]


@pytest.mark.parametrize(("name", "route", "owner"), CASES, ids=[case[0] for case in CASES])
def test_each_method_asks_the_same_route_and_repeats_it_as_the_python_client(
    name: str, route: Route, owner: str
) -> None:
    first, *others = name.split("_")
    method = methods(owner)[first + "".join(map(str.capitalize, others))]
    asked = re.search(r"\.(GET|POST|PUT|PATCH|DELETE)\(\s*\"/api/v0([^\"]*)\"", method)
    assert asked, name
    assert asked[1] == route.method
    assert re.sub(r"\{\w+\}", "{}", asked[2]) == re.sub(r"\{\w+\}", "{}", route.path)
    safe = re.search(r"this\.#as\((.*), options\)", method)
    assert safe, name
    if safe[1] in {"ALWAYS", "NEVER"}:
        assert (safe[1] == "ALWAYS") == route.may_be_repeated({"messages": [{}]}), name
    else:
        given = {"id": "i", "operation_id": "o", "dry_run": True, "messages": []}
        assert route.may_be_repeated(given), name
        assert not route.may_be_repeated({"messages": [{}]}), name
    for field in RENAMED.get(name, {}).values():
        assert re.search(rf"\b{field}: \w+Id\b", method), (name, field)


def test_failures_are_sorted_by_status_as_the_service_gives_them() -> None:
    text = (ROOT / "src/connection.ts").read_text("utf-8")
    table = dict(re.findall(r"^  (\d{3}): (\w+),", text, re.MULTILINE))
    here = {error: status for error, status in STATUS.items() if not issubclass(error, SetupError)}
    assert {str(status) for status in here.values()} - {"500"} <= set(table)
    classes = set(re.findall(r"^export class (\w+) extends GraphmemError", text, re.MULTILINE))
    for error, status in here.items():
        # 403 has two kinds of errors, which the code of the problem tells apart.
        if error.__name__ in classes - {"CypherRefused"}:
            assert table[str(status)] == error.__name__
    begun = re.search(r"NOT_BEGUN = new Set\(\[(.*)\]\)", text)
    lasting = re.search(r"LASTING = new Set\(\[(.*)\]\)", text)
    assert begun
    assert lasting
    assert set(json.loads(f"[{begun[1]}]")) == {Overloaded.code, TooManyRequests.code}
    told = {DiskFull.code, StoreDamaged.code, RecordDamaged.code}
    assert set(json.loads(f"[{lasting[1]}]")) == told


def missing(sentence: str) -> None:
    """Skip the test loudly; in CI it fails."""
    if os.environ.get("CI"):
        pytest.fail(sentence)
    pytest.skip(sentence)


@pytest.fixture(scope="module")
def package(whole_program: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the client with what it needs, installed by npm."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        missing("no Node for the tests of the TypeScript client: install Node 20 and npm")
    folder = tmp_path_factory.mktemp("typescript") / "client"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    try:
        run(folder, "npm", "install", "--prefer-offline", "--no-audit", "--no-fund")
    except AssertionError as problem:
        missing(f"npm could not install what the TypeScript client needs: {problem}")
    return folder


def run(folder: Path, *command: str, **environment: str) -> str:
    """Run a program that must succeed; return what it printed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"NO_COLOR": "1", "NO_UPDATE_NOTIFIER": "1"} | environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def generated(folder: Path, document: dict[str, Any], mark: str) -> str:
    """Return the types that the generator makes of a document."""
    (folder / "openapi.json").write_text(json.dumps(document), "utf-8")
    run(folder, "npx", "--no-install", *GENERATOR)
    return mark + (folder / "openapi.ts").read_text("utf-8")


def test_the_types_are_what_the_generator_makes(
    package: Path, document: dict[str, Any], mark: str
) -> None:
    types = generated(package, document, mark)
    if WRITING:
        TYPES.write_text(types, "utf-8")
    assert TYPES.read_text("utf-8") == types, "run `make typescript`"


@pytest.fixture
def url(neo4j_settings: Any, whole_program: None, tmp_path: Path) -> Iterator[str]:
    """The address of `graphmem serve`, started as a program on a free port."""
    command = ["-m", "graphmem", "serve", "--port", "0", "--jobs", "off"]
    process = subprocess.Popen(
        [sys.executable, *command],
        env=environment_of(neo4j_settings) | {"PYTHONUNBUFFERED": "1"},
        text=True,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    said = (re.search(r"(http://127\.0\.0\.1:\d+) ", line) for line in process.stdout)
    address = next(filter(None, said))
    yield address[1]
    process.kill()
    process.communicate()


def test_it_is_compiled_and_works_with_a_running_service(package: Path, url: str) -> None:
    client_id = f"typescript-{uuid.uuid4().hex}"
    run(package, "npm", "run", "build")
    printed = run(package, "npm", "test", GRAPHMEM_URL=url, GRAPHMEM_CLIENT=client_id)
    assert re.search(r"^# pass \d{2}$", printed, re.MULTILINE), printed[-2000:]
    assert "\n# skipped 0\n" in printed
