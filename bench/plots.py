"""Draws the reports in `bench/results` as pictures beside them, the same picture for the same report.

python -m bench.plots            draw them anew
python -m bench.plots --check    change nothing; exit 1 if a picture is not that of its report
"""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from msgspec import Struct

from bench.figures import LARGE, RESULTS, reports

WIDTH = 720
NAMED = 250
"""The room for the name of a row, in the units of the picture."""
FIGURED = 70
"""The room for the number behind a bar."""
HIGH = 14
GAP = 10
TOP = 58

COLOURS = ("#4477aa", "#cc6677", "#228833", "#aa8800")
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1c2128}.title{font-weight:600;font-size:14px}"
    ".paper{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.paper{fill:#0d1117}}"
)


class Chart(Struct, frozen=True):
    """Rows of bars: a name, and a value for each series; None draws no bar."""

    title: str
    unit: str
    series: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]


def _rows(named: Mapping[str, Any], *keys: str) -> tuple[tuple[str, tuple[float | None, ...]], ...]:
    return tuple((name, tuple(part.get(key) for key in keys)) for name, part in named.items())


def _spreads(title: str, named: Mapping[str, Any]) -> Chart:
    keys = ("p50", "p95")
    return Chart(title, "milliseconds", keys, _rows(named, *keys))


def _contextual(report: Any) -> Chart:
    few, many = report["few"]["against a scan"], report["many"]["against a scan"]
    rows = tuple(
        (name, (few["milliseconds"][name]["p50"], many["milliseconds"][name]["p50"]))
        for name in many["milliseconds"]
    )
    series = tuple(f"{size['messages']:,} messages" for size in (few, many))
    return Chart("Contextual search, median", "milliseconds", series, rows)


def _explorer(report: Any) -> Chart:
    key = "frames a second"
    title = f"A graph of {report['nodes']:,} nodes in the explorer"
    return Chart(title, key, (key,), _rows(report["movements"], key))


def _hyde(report: Any) -> Chart:
    keys = ("p50", "p99")
    return Chart("A turn, by what the language model does", "seconds", keys, _rows(report, *keys))


def _languages(report: Any) -> Chart:
    rankings = report["rankings"]
    languages = next(iter(rankings.values()))
    rows = tuple(
        (language, tuple(found[language]["hit@3"] for found in rankings.values()))
        for language in languages
    )
    return Chart("Paraphrases found among the first three", "percent", tuple(rankings), rows)


def _latency(report: Any) -> Chart:
    few, many = (report["callers"][callers]["milliseconds"] for callers in ("1", "8"))
    rows = tuple((name, (few[name]["p50"], many[name]["p50"])) for name in few)
    title = f"Recall over {report['memories']:,} memories, median"
    return Chart(title, "milliseconds", ("1 caller", "8 callers"), rows)


def _needles(report: Any) -> Chart:
    rows = tuple(
        (f"{way}, {int(budget):,} tokens", (row["control"], row["long"]))
        for way in ("recall", "contextual")
        for budget, row in report[way].items()
    )
    series = ("as messages of their own", "inside long messages")
    return Chart("Sentences found", "percent", series, rows)


def _peers(report: Any) -> Chart:
    first = next(iter(report["sets"]))
    keys = ("evidence in 512", "evidence in 1024")
    found = {name: one.get("sets", {}).get(first, {}) for name, one in report["peers"].items()}
    title = f"Evidence of {first} in a context"
    return Chart(title, "percent", ("512 tokens", "1,024 tokens"), _rows(found, *keys))


def _runs(report: Any) -> Chart:
    few, many = (report["callers"][callers]["milliseconds"] for callers in ("1", "8"))
    rows = tuple((name, (few[name]["p50"], many[name]["p50"])) for name in few)
    return Chart("A run with a budget, median", "milliseconds", ("1 caller", "8 callers"), rows)


def _themes(report: Any) -> Chart:
    keys = ("precision", "recall")
    return Chart("Planted themes found again", "percent", keys, _rows(report["as told"], *keys))


def _soak(report: Any) -> Chart:
    found = report["failures by seconds after a fault began"]
    codes = tuple(sorted({code for part in found.values() for code in part}))
    title = f"Failures of {report['requests']:,} requests, by the seconds after a fault began"
    return Chart(title, "answers", codes or ("none",), _rows(found, *codes))


IN_WORDS = {"faults", LARGE}
"""The reports that are not drawn: their tables say it."""

PLOTS: Mapping[str, Callable[[Any], Chart]] = {
    "contextual": _contextual,
    "explorer": _explorer,
    "graph": lambda report: _spreads(
        f"The neighbourhood of a name with {report['edges']:,} edges", report["milliseconds"]
    ),
    "hops": lambda report: _spreads(
        f"A search along links over {report['memories']:,} memories", report["milliseconds"]
    ),
    "hyde": _hyde,
    "languages": _languages,
    "latency": _latency,
    "needles": _needles,
    "peers": _peers,
    "runs": _runs,
    "soak": _soak,
    "themes": _themes,
}
"""The chart of each report, by its name."""


def drawn(chart: Chart) -> str:
    """Return a chart as SVG: one text for one chart, on every machine."""
    most = max((value or 0.0 for _, values in chart.rows for value in values), default=0.0) or 1.0
    room = WIDTH - NAMED - FIGURED
    step = HIGH * len(chart.series) + GAP
    height = TOP + step * len(chart.rows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(chart.title, QUOTED)}">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        f'<text class="title" x="10" y="20">{escape(chart.title)}, {escape(chart.unit)}</text>',
        *_legend(chart),
    ]
    for place, (name, values) in enumerate(chart.rows):
        top = TOP + step * place
        middle = top + HIGH * len(chart.series) / 2 + 4
        lines.append(
            f'<text x="{NAMED - 8}" y="{middle:g}" text-anchor="end">{escape(name)}</text>'
        )
        for which, value in enumerate(values):
            if value is None:
                continue
            y = top + HIGH * which
            long = room * value / most
            lines.append(
                f'<rect x="{NAMED}" y="{y}" width="{long:.1f}" height="{HIGH - 2}" '
                f'fill="{COLOURS[which]}"/>'
            )
            lines.append(f'<text x="{NAMED + long + 6:.1f}" y="{y + 11}">{value:,.4g}</text>')
    return "\n".join([*lines, "</svg>", ""])


QUOTED = {'"': "&quot;"}


def _legend(chart: Chart) -> list[str]:
    """Return a swatch and a name for each series, if there is more than one."""
    if len(chart.series) < 2:
        return []
    lines, x = [], 10
    for which, name in enumerate(chart.series):
        lines.append(f'<rect x="{x}" y="31" width="12" height="12" fill="{COLOURS[which]}"/>')
        lines.append(f'<text x="{x + 17}" y="41">{escape(name)}</text>')
        x += 40 + 7 * len(name)
    return lines


def main(arguments: Sequence[str] | None = None, *, folder: Path = RESULTS) -> int:
    """Draw the reports of a folder, or tell which pictures differ; return the exit code."""
    parser = ArgumentParser(prog="bench.plots", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 on a difference"
    )
    check = parser.parse_args(arguments).check
    changed = []
    for name, report in reports(folder).items():
        if name in IN_WORDS:
            continue
        path = folder / f"{name}.svg"
        new = drawn(PLOTS[name](report))
        if not path.exists() or path.read_text(encoding="utf-8") != new:
            changed.append(path.name)
            if not check:
                path.write_text(new, encoding="utf-8")
    if changed:
        told = "not those of their reports" if check else "drawn"
        print(f"{told}: {', '.join(changed)}{'; run make plots' if check else ''}")
    return 1 if changed and check else 0


if __name__ == "__main__":
    sys.exit(main())
