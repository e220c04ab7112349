"""Every method of the public API has a route that the service has, with the fields that it sends."""

import inspect
import re
from typing import Any

import pytest
from graphmem_api.app import create_app

from graphmem.client import Graphmem
from graphmem.remote.client import AsyncClient, RemoteRuns
from graphmem.remote.connection import EXPORT, RAW, ROUTES, RUN_ROUTES, Route
from graphmem.runs.environment import RunEnvironment
from graphmem.runtime import Runtime

ALL = [*ROUTES.values(), *RUN_ROUTES.values(), RAW, EXPORT]


def methods(owner: type) -> set[str]:
    """Return the names of the public methods that are awaited."""
    return {
        name
        for name, one in inspect.getmembers(owner, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }


def test_every_method_has_a_route_or_is_made_of_others() -> None:
    assert methods(Graphmem) - set(ROUTES) == {"search_with_hops", "export"}
    assert methods(RunEnvironment) - set(RUN_ROUTES) == {"find"}
    assert set(ROUTES) <= methods(Graphmem)
    for name in ROUTES:
        assert inspect.signature(getattr(AsyncClient, name)) == inspect.signature(
            getattr(Graphmem, name)
        )
        assert getattr(AsyncClient, name).__doc__ == getattr(Graphmem, name).__doc__
    for name in RUN_ROUTES:
        assert getattr(RemoteRuns, name) is not getattr(RunEnvironment, name)


@pytest.mark.parametrize("name", sorted(methods(Graphmem)))
def test_a_docstring_explains_arguments_of_its_method_alone(name: str) -> None:
    method = getattr(Graphmem, name)
    _, _, explained = (inspect.getdoc(method) or "").partition("\nArgs:\n")
    named = re.findall(r"^ {4}(\w+(?:, \w+)*): ", explained, re.MULTILINE)
    arguments = {one for names in named for one in names.split(", ")}
    assert arguments <= set(inspect.signature(method).parameters)


@pytest.fixture(scope="module")
def paths(offline: Runtime) -> dict[str, Any]:
    """The paths of the OpenAPI document, without the names of their parameters."""
    document = create_app(offline).openapi_schema.to_schema()
    return {re.sub(r"\{\w+\}", "{}", path): one for path, one in document["paths"].items()}


@pytest.mark.parametrize("route", ALL, ids=lambda route: route.request)
def test_the_service_has_the_route(route: Route, paths: dict[str, Any]) -> None:
    operations = paths["/api/v0" + re.sub(r"\{\w+\}", "{}", route.path)]
    operation = operations[route.method.lower()]
    listed = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
    assert listed >= route.query
    assert bool(listed) >= bool(route.query)
