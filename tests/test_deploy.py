"""The alerts and the dashboard name metrics that exist, the manifests for Kubernetes fit the service."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml  # type: ignore[import-untyped]
from graphmem_api.health import live, ready
from graphmem_api.metrics import Counted, Gauges
from graphmem_api.serve import GRACE_SECONDS, LIVENESS
from prometheus_client.metrics_core import Metric

from graphmem import config
from graphmem.artifacts.maven import read_list
from graphmem.background import WORK
from graphmem.config import ClientLimits, Settings, variable
from graphmem.graph.driver import Pool
from graphmem.jobs.outbox import JobCount
from graphmem.jobs.worker import Outcome
from graphmem.observing.metrics import Refusal, Restart
from graphmem.server.command import conf

NAME = re.compile(r"\b(?:graphmem|process)_[a-z0-9_]+")


@pytest.fixture(scope="module")
def families() -> dict[str, Metric]:
    """The metrics of the service, by the name of the family."""
    gauges = Gauges(
        counted=Counted([JobCount(state="queued", jobs=1)], []),
        pool=Pool(1, 1),
        waiting=0,
        places={"default": None},
    )
    return {family.name: family for family in gauges.collect()}


def series(family: Metric) -> set[str]:
    """Return the names of the series of a family."""
    suffixes = {
        "counter": ("_total",),
        "histogram": ("_bucket", "_count", "_sum"),
    }
    return {family.name + suffix for suffix in suffixes.get(family.type, ("",))}


def rules(repository: Path) -> list[dict[str, Any]]:
    parsed = yaml.safe_load((repository / "deploy" / "prometheus-rules.yml").read_text("utf-8"))
    return [rule for group in parsed["groups"] for rule in group["rules"]]


def panels(repository: Path) -> list[dict[str, Any]]:
    text = (repository / "deploy" / "grafana-dashboard.json").read_text("utf-8")
    shown: list[dict[str, Any]] = json.loads(text)["panels"]
    return shown


def expressions(repository: Path) -> Iterator[str]:
    yield from (rule["expr"] for rule in rules(repository))
    yield from (target["expr"] for panel in panels(repository) for target in panel["targets"])


def test_every_metric_that_is_named_exists(repository: Path, families: dict[str, Metric]) -> None:
    known = set().union(*map(series, families.values()))
    for expression in expressions(repository):
        named = set(NAME.findall(expression))
        assert named, expression
        assert named <= known, expression


def test_every_metric_of_ours_is_shown_or_known_to_be_left_out(
    repository: Path, families: dict[str, Metric]
) -> None:
    named = set(NAME.findall(" ".join(expressions(repository))))
    left = {
        name
        for name, one in families.items()
        if name.startswith("graphmem") and not series(one) & named
    }
    assert left == {
        "graphmem_forgotten",
        "graphmem_job_duration_seconds",
        "graphmem_left_undone",
        "graphmem_reembedding_memories",
        "graphmem_worker_crashes",
    }


STARTED = """
import json, graphmem_api.serve
from prometheus_client import REGISTRY
samples = [one for family in REGISTRY.collect() for one in family.samples if one.labels]
print(json.dumps([[one.name, one.labels, one.value] for one in samples]))
"""


def test_what_an_alert_counts_is_0_at_the_start_under_every_label() -> None:
    """`increase` needs a sample from before the first occurrence."""
    done = subprocess.run([sys.executable, "-c", STARTED], capture_output=True, check=True)
    found: dict[str, list[tuple[str, ...]]] = {}
    for name, labels, value in json.loads(done.stdout):
        if name.startswith("graphmem_") and name.endswith("_total"):
            assert value == 0
            found.setdefault(name, []).append(tuple(labels.values()))
    assert {name: sorted(labels) for name, labels in found.items()} == {
        "graphmem_client_limits_reached_total": sorted(
            (name,) for name in ClientLimits.__struct_fields__ if name != "requests"
        ),
        "graphmem_http_refused_total": sorted((one,) for one in get_args(Refusal)),
        "graphmem_job_attempts_total": sorted(product(WORK, get_args(Outcome))),
        "graphmem_neo4j_restarts_total": sorted((one,) for one in get_args(Restart)),
    }
    assert "dead" in get_args(Outcome)


def test_every_rule_says_what_is_wrong_and_how_bad(repository: Path) -> None:
    for rule in rules(repository):
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"].keys() == {"summary", "description"}


def test_an_alert_fires_where_no_metric_arrives(repository: Path) -> None:
    """What is compared with a number is never true of a service that is gone."""
    [rule] = [one for one in rules(repository) if "absent(" in one["expr"]]
    assert rule["labels"]["severity"] == "critical"


def test_the_alert_about_refusals_says_what_each_limit_means(repository: Path) -> None:
    [rule] = [one for one in rules(repository) if one["alert"] == "GraphmemRefusesRequests"]
    words = re.findall(r"\w+", rule["annotations"]["description"])
    assert set(get_args(Refusal)) <= set(words)
    settings = {variable(name) for name in Settings.__struct_fields__}
    assert {word for word in words if word.startswith("GRAPHMEM_")} <= settings


def test_no_two_panels_are_in_one_place(repository: Path) -> None:
    places = [(one["gridPos"]["x"], one["gridPos"]["y"]) for one in panels(repository)]
    assert len(set(places)) == len(places)
    assert len({one["id"] for one in panels(repository)}) == len(places)


@pytest.fixture(scope="module")
def manifests(repository: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The objects of deploy/kubernetes.yaml, by kind and name; `make manifests` checks their form."""
    text = (repository / "deploy" / "kubernetes.yaml").read_text("utf-8")
    every = list(yaml.safe_load_all(text))
    named = {(one["kind"], one["metadata"]["name"]): one for one in every}
    assert len(named) == len(every)
    return named


def pod(manifests: dict[tuple[str, str], dict[str, Any]], kind: str, name: str) -> dict[str, Any]:
    spec: dict[str, Any] = manifests[kind, name]["spec"]["template"]["spec"]
    return spec


def environment(container: dict[str, Any]) -> dict[str, str]:
    return {one["name"]: one.get("value", "a secret") for one in container["env"]}


def test_the_manifest_names_settings_that_exist_with_values_that_they_take(
    manifests: dict[tuple[str, str], dict[str, Any]],
) -> None:
    [container] = pod(manifests, "Deployment", "graphmem")["containers"]
    given = environment(container)
    assert set(given) <= {config.variable(name) for name in Settings.__struct_fields__}
    settings = config.load(given)
    assert settings.keys_file is not None
    [mounted] = [one for one in container["volumeMounts"] if one["name"] == "keys"]
    assert settings.keys_file.parent == Path(mounted["mountPath"])


def test_the_neo4j_of_the_manifest_is_set_as_the_private_one_is(
    manifests: dict[tuple[str, str], dict[str, Any]],
) -> None:
    [container] = pod(manifests, "StatefulSet", "neo4j")["containers"]
    given = {
        name.removeprefix("NEO4J_").replace("__", "\0").replace("_", ".").replace("\0", "_"): value
        for name, value in environment(container).items()
        if name.startswith("NEO4J_") and name != "NEO4J_AUTH"
    }
    wanted = dict(
        line.split("=", 1) for line in conf(7687, Settings().neo4j_page_cache).splitlines()
    )
    del wanted["server.bolt.advertised_address"], wanted["server.bolt.listen_address"]
    assert {name: given.get(name) for name in wanted} == wanted
    assert set(given) - set(wanted) == {
        "server.bolt.listen_address",
        "server.memory.heap.initial_size",
        "server.memory.heap.max_size",
    }
    [version] = [one.version for one in read_list("neo4j") if one.artifact == "neo4j"]
    assert container["image"] == f"neo4j:{version}-community"


def test_the_probes_of_the_manifest_ask_routes_that_exist(
    manifests: dict[tuple[str, str], dict[str, Any]],
) -> None:
    [container] = pod(manifests, "Deployment", "graphmem")["containers"]
    routes = {f"/health{path}" for handler in (live, ready) for path in handler.paths}
    assert container["readinessProbe"]["httpGet"]["path"] == "/health/ready"
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[name]["httpGet"]["path"] in routes
        assert container[name]["httpGet"]["port"] in {one["name"] for one in container["ports"]}


def test_a_service_that_hangs_is_restarted_and_one_with_too_many_connections_is_not(
    manifests: dict[tuple[str, str], dict[str, Any]],
) -> None:
    """The kernel takes connections for a process that hangs; beyond their limit all else gets 503."""
    [container] = pod(manifests, "Deployment", "graphmem")["containers"]
    probe = container["livenessProbe"]["httpGet"]
    assert f"GET {probe['path']} ".encode() == LIVENESS


def test_a_pod_has_the_time_to_drain_and_to_end_its_longest_request(
    manifests: dict[tuple[str, str], dict[str, Any]],
) -> None:
    spec = pod(manifests, "Deployment", "graphmem")
    [container] = spec["containers"]
    settings = config.load(environment(container))
    probe = container["readinessProbe"]
    noticed = probe["periodSeconds"] * probe["failureThreshold"] + probe["timeoutSeconds"]
    assert settings.drain_seconds > noticed
    grace = spec["terminationGracePeriodSeconds"]
    assert grace > settings.drain_seconds + GRACE_SECONDS
    assert grace > settings.drain_seconds + settings.request_seconds


@pytest.mark.parametrize(("kind", "name"), [("StatefulSet", "neo4j"), ("Deployment", "graphmem")])
def test_a_pod_has_no_more_rights_than_it_needs(
    manifests: dict[tuple[str, str], dict[str, Any]], kind: str, name: str
) -> None:
    spec = pod(manifests, kind, name)
    [container] = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["automountServiceAccountToken"] is False
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert container["resources"]["limits"]["memory"]
    secrets = [one for one in container["env"] if "PASSWORD" in one["name"]]
    assert all("secretKeyRef" in one["valueFrom"] for one in secrets)
    if name == "graphmem":
        assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_everything_of_the_manifest_selects_the_pods_that_it_means(
    manifests: dict[tuple[str, str], dict[str, Any]],
) -> None:
    for (kind, name), one in manifests.items():
        if kind in {"Service", "PodDisruptionBudget", "NetworkPolicy"}:
            chosen = one["spec"].get("podSelector") or one["spec"]["selector"]
            chosen = chosen.get("matchLabels", chosen)
        else:
            chosen = one["spec"]["selector"]["matchLabels"]
            assert chosen.items() <= one["spec"]["template"]["metadata"]["labels"].items()
        assert chosen == {"app.kubernetes.io/name": name}
    assert manifests["PodDisruptionBudget", "graphmem"]["spec"]["minAvailable"] == 1
    assert manifests["Deployment", "graphmem"]["spec"]["replicas"] == 2
