"""The results that are committed: each is the report of a bench, and the README says the same."""

import json
from pathlib import Path
from typing import Any

import pytest

RESULTS = Path(__file__).parents[2] / "bench" / "results"
REPORTS = sorted(path.stem for path in RESULTS.glob("*.json"))


TO_PARTS = "p50 to embedding + reference query"
WAYS_OF_WRITING = {
    "remember with cached vectors": "remember with cached vectors to bare UNWIND",
    "remember with embedding": "remember with embedding to the embedder",
}


def report(name: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", REPORTS)
def test_each_is_of_a_bench_with_a_command_and_has_passed(name: str, repository: Path) -> None:
    # B10
    assert (repository / "bench" / f"{name}.py").is_file()
    assert f"\nbench-{name}:" in (repository / "Makefile").read_text(encoding="utf-8")
    assert report(name).get("passed", True) is True


def test_the_readme_says_what_they_say(repository: Path) -> None:
    # B10
    latency, graph, hops, runs = map(report, ("latency", "graph", "hops", "runs"))
    said = (repository / "README.md").read_text(encoding="utf-8")
    for name in ("embedding", "reference query", "recall", "recall over HTTP"):
        one, eight = (latency["callers"][many]["milliseconds"][name] for many in ("1", "8"))
        cells = (f"{round(part['p50'])} / {round(part['p95'])}" for part in (one, eight))
        assert f"| {name} | {' | '.join(cells)} |" in said
    assert f"that is {latency['callers']['1'][TO_PARTS]['recall over HTTP']} times" in said
    assert f"({latency['recording']['1 callers']['p50 ratio']} of the median" in said
    writing = latency["writing"]
    rows = writing["rows a second"]
    for name, ratio in WAYS_OF_WRITING.items():
        assert f"{rows[name]:,}" in said
        assert f"{writing[ratio]} of" in said
    assert f"took {latency['resident megabytes']['service']} MB" in said
    assert f"{graph['p50 of the hub to ready']:.1f} times" in said
    assert f"{hops['p50 of one hop to none']:.2f} times" in said
    one, eight = (runs["callers"][callers]["retrieve to that"] for callers in ("1", "8"))
    assert f"takes {one:.2f} of what a search" in said
    assert f"{eight:.2f} at eight callers" in said


def test_the_readme_says_how_well_themes_are_found(repository: Path) -> None:
    # B10
    told, summarized = (report("themes")[state]["mean"] for state in ("as told", "summarized"))
    said = " ".join((repository / "README.md").read_text(encoding="utf-8").split())
    assert f"{told['precision']} % precision and {told['recall']} % recall of sessions" in said
    assert f"{summarized['precision']} and {summarized['recall']} once all" in said
    questions = f"{told['precision of questions']} and {told['recall of questions']} %"
    assert f"its sessions with {questions}" in said


def test_the_readme_says_how_long_a_turn_took_at_most(repository: Path) -> None:
    # B10
    modes = [mode for mode in report("hyde").values() if isinstance(mode, dict) and "p99" in mode]
    longest = max(mode["p99"] for mode in modes)
    said = (repository / "README.md").read_text(encoding="utf-8")
    assert f"took {longest:.2f} s at most" in said


def test_the_readme_says_what_the_report_of_contextual_search_says(repository: Path) -> None:
    # S5.30 B10
    result = report("contextual")
    said = " ".join((repository / "README.md").read_text(encoding="utf-8").split())
    grown, scan = result["inside one session, many to few"], result["many"]["against a scan"]
    assert f"{grown['db hits']:.2f} times the database's hits, {grown['p50']:.2f} times" in said
    assert f"takes {scan['scan to hard']:.1f} times as long as contextual search, hard" in said
    assert f"{scan['scan to soft']:.1f} times as long as soft" in said
    assert max(grown.values()) <= result["bar"]
