"""The results that are committed: each is the report of a bench, and the documents show what it says."""

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from bench import figures

REPORTS = figures.reports()
MADE = figures.commands(REPORTS)
WITHOUT_BENCH = {"faults", "soak"}
"""The reports of commands that are no `make bench-…`."""


@pytest.mark.parametrize("name", REPORTS)
def test_each_is_of_a_bench_with_a_command_and_has_passed(name: str, repository: Path) -> None:
    # B10
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    assert REPORTS[name].get("passed", True) is True
    # What a document gives as its command is one.
    tool, target, *arguments = shlex.split(MADE[name])
    if name in WITHOUT_BENCH:
        assert target == name
        assert f"\n{name}:" in makefile
    else:
        bench, made_by = repository / "bench", name.removesuffix("-large")
        assert (bench / f"{made_by}.py").is_file() or (bench / made_by / "__main__.py").is_file()
        assert f"\nbench-{made_by}:" in makefile
        assert (
            target == f"bench-{made_by}"
            if tool == "make"
            else MADE[name].startswith(f"python -m bench.{made_by} ")
        )
    for setting in arguments if tool == "make" else ():
        assert f"$({setting.partition('=')[0]})" in makefile


def test_contextual_search_is_five_times_as_fast_as_a_scan_and_stays_so_inside_a_session() -> None:
    # S5.30 B10
    report = REPORTS["contextual"]
    scan = report["many"]["against a scan"]
    assert min(scan["scan to hard"], scan["scan to soft"]) >= 5
    grown = report["inside one session, many to few"]
    assert max(grown.values()) <= report["bar"]


@pytest.mark.parametrize("fault", REPORTS["faults"])
def test_no_fault_costs_an_acknowledged_write_or_needs_more_than_ten_seconds(fault: str) -> None:
    report = REPORTS["faults"][fault]
    assert report["back_s"] is None or report["back_s"] <= 10
    if report["stored"] is not None:
        stored = dict(report["stored"])
        assert stored.pop("acknowledged") > 0
        assert set(stored.values()) == {0}


@pytest.mark.parametrize("name", figures.DOCUMENTS)
def test_a_document_shows_what_the_reports_say(name: str, repository: Path) -> None:
    # B10
    said = (repository / name).read_text(encoding="utf-8")
    assert said == figures.rewritten(said, REPORTS), "make figures writes the tables anew"


def test_every_table_stands_in_one_document(repository: Path) -> None:
    texts = [(repository / name).read_text(encoding="utf-8") for name in figures.DOCUMENTS]
    shown = [
        block["name"] or figures.SUMMARY for text in texts for block in figures.BLOCK.finditer(text)
    ]
    assert sorted(shown) == sorted(figures.BLOCKS)
    assert sum(text.count("<!-- figures") for text in texts) == len(shown)


def test_the_first_table_has_six_figures_with_their_commands() -> None:
    # B10
    _, _, *rows = figures.summary(REPORTS).splitlines()
    assert len(rows) == 6
    for row in rows:
        *_, command = row.strip("| ").split(" | ")
        assert command.strip("`") in MADE.values()
        assert re.search(r"\d", row)


def test_a_report_that_changes_changes_its_tables_alone(repository: Path) -> None:
    changed: dict[str, Any] = json.loads(json.dumps(REPORTS))
    changed["hops"]["p50 of one hop to none"] = 9.87
    document = (repository / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    said = figures.rewritten(document, REPORTS)
    new = figures.rewritten(said, changed)
    differing = [
        (one, other)
        for one, other in zip(said.splitlines(), new.splitlines(), strict=True)
        if one != other
    ]
    [(old_line, new_line)] = differing
    measured = REPORTS["hops"]["p50 of one hop to none"]
    assert new_line == old_line.replace(f"{measured:.2f} times", "9.87 times")


@pytest.mark.parametrize(
    ("name", "block", "measured"),
    [
        ("README.md", "<!-- figures", REPORTS["themes"]["as told"]["mean"]["precision"]),
        (
            "docs/benchmarks.md",
            "<!-- figures themes",
            REPORTS["themes"]["as told"]["mean"]["precision"],
        ),
        (
            "docs/guides/scale.md",
            "<!-- figures scale",
            REPORTS["latency"]["writing"]["rows a second"]["remember with embedding"],
        ),
        (
            "docs/guides/operate.md",
            "<!-- figures faults",
            REPORTS["faults"]["the disk is filled to its last byte"]["seen"]["slowest_s"],
        ),
    ],
    ids=figures.DOCUMENTS,
)
def test_a_figure_of_ones_own_is_found_and_rewritten(
    name: str,
    block: str,
    measured: float,
    repository: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for document in figures.DOCUMENTS:
        (tmp_path / document).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(repository / document, tmp_path / document)
    assert figures.main([], root=tmp_path) == 0
    assert figures.main(["--check"], root=tmp_path) == 0
    whole = (tmp_path / name).read_text(encoding="utf-8")
    assert str(measured) in whole
    # Outside the blocks the same digits may stand for something else.
    beginning, mark, rest = whole.partition(block)
    wrong = beginning + mark + rest.replace(str(measured), "99.9", 1)
    (tmp_path / name).write_text(wrong, encoding="utf-8")

    assert figures.main(["--check"], root=tmp_path) == 1
    assert f"not what bench/results says: {name};" in capsys.readouterr().out
    assert "99.9" in (tmp_path / name).read_text(encoding="utf-8")
    assert figures.main([], root=tmp_path) == 0
    assert (tmp_path / name).read_text(encoding="utf-8") == whole


def test_a_block_that_nobody_writes_is_an_error() -> None:
    with pytest.raises(KeyError):
        figures.rewritten("<!-- figures unknown -->\n<!-- /figures -->\n", REPORTS)
