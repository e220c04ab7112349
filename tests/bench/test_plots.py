"""The pictures beside the reports: those that are committed are drawn from what is committed."""

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench import plots
from bench.figures import RESULTS, reports
from bench.plots import IN_WORDS, PLOTS, Chart, drawn

REPORTS = reports()


def test_each_report_has_a_picture_and_no_picture_is_left_over() -> None:
    assert set(PLOTS) == set(REPORTS) - IN_WORDS
    assert set(REPORTS) - IN_WORDS == {path.stem for path in RESULTS.glob("*.svg")}


@pytest.mark.parametrize("name", [name for name in REPORTS if name not in IN_WORDS])
def test_a_picture_is_that_of_its_report(name: str) -> None:
    committed = (RESULTS / f"{name}.svg").read_text(encoding="utf-8")
    assert committed == drawn(PLOTS[name](REPORTS[name])), "make plots draws it anew"
    root = ElementTree.fromstring(committed)
    # Everything is inside the frame.
    wide, high = (float(one) for one in root.attrib["viewBox"].split()[2:])
    for one in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(one.get("x", 0)) + float(one.attrib["width"]) <= wide - 0
        assert float(one.get("y", 0)) + float(one.attrib["height"]) <= high
    assert "//" not in committed.replace("http://www.w3.org/2000/svg", "")


def test_a_bar_is_as_long_as_its_share_of_the_largest() -> None:
    chart = Chart("A & B", "ms", ("one",), (("x<y", (10.0,)), ("z", (5.0,)), ("none", (None,))))
    told = drawn(chart)
    assert 'width="400.0"' in told
    assert 'width="200.0"' in told
    assert "x&lt;y" in told
    assert told.count("<rect") == 3


def test_a_report_that_changes_is_found_and_drawn_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in RESULTS.iterdir():
        shutil.copy(path, tmp_path)
    assert plots.main(["--check"], folder=tmp_path) == 0
    report = tmp_path / "hops.json"
    report.write_text(report.read_text("utf-8").replace("33.88", "55.5", 1), "utf-8")
    assert plots.main(["--check"], folder=tmp_path) == 1
    assert "hops.svg; run make plots" in capsys.readouterr().out
    assert plots.main([], folder=tmp_path) == 0
    assert plots.main(["--check"], folder=tmp_path) == 0
    assert "55.5" in (tmp_path / "hops.svg").read_text("utf-8")
