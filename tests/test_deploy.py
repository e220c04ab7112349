"""The alerts and the dashboard: every metric that they name is one that the service has."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]
from graphmem_api.metrics import Counted, Gauges
from prometheus_client.metrics_core import Metric

from graphmem.graph.driver import Pool
from graphmem.jobs.outbox import JobCount

NAME = re.compile(r"\b(?:graphmem|process)_[a-z0-9_]+")


@pytest.fixture(scope="module")
def families() -> dict[str, Metric]:
    """The metrics of the service, by the name of the family."""
    gauges = Gauges(
        counted=Counted([JobCount(state="queued", jobs=1)], []), pool=Pool(1, 1), waiting=0
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


def test_every_rule_says_what_is_wrong_and_how_bad(repository: Path) -> None:
    for rule in rules(repository):
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"].keys() == {"summary", "description"}


def test_no_two_panels_are_in_one_place(repository: Path) -> None:
    places = [(one["gridPos"]["x"], one["gridPos"]["y"]) for one in panels(repository)]
    assert len(set(places)) == len(places)
    assert len({one["id"] for one in panels(repository)}) == len(places)
