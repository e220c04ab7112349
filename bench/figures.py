"""Writes the measured figures of `bench/results` into the documents that show them.

    python -m bench.figures            rewrite the blocks
    python -m bench.figures --check    change nothing; exit 1 if a block is not what the reports say

A block begins with a line `<!-- figures -->`, or `<!-- figures NAME -->` where `BLOCKS` has that name, and
ends with a line `<!-- /figures -->`. Between them stands a table that is made from the reports.
"""

import json
import re
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.peers.peer import PEERS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
DOCUMENTS = (
    *("README.md", "docs/benchmarks.md"),
    *("docs/guides/scale.md", "docs/guides/operate.md"),
)

SUMMARY = "summary"
"""The block whose marker has no name."""

BLOCK = re.compile(
    r"(?P<begin>^<!-- figures(?: (?P<name>[\w-]+))? -->\n).*?(?P<end>^<!-- /figures -->$)",
    re.MULTILINE | re.DOTALL,
)

LARGE = "latency-large"
"""The report of the same bench as `latency`, of ten times as many memories."""

NO_REPORT = "No report of a quiet machine is committed yet."

Reports = Mapping[str, Any]
"""The reports by the names of their benches."""


def reports(folder: Path = RESULTS) -> dict[str, Any]:
    """Return the reports that are committed."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
    }


def commands(found: Reports) -> dict[str, str]:
    """Return the command that measures each report again, at the size that it has."""
    peers = {"peers": _peers_command(found["peers"])} if "peers" in found else {}
    latency = {
        name: f"make bench-latency MEMORIES={found[name]['memories']} TEXTS=set.json"
        for name in ("latency", LARGE)
    }
    return (
        peers
        | latency
        | {
            "faults": "make faults",
            "soak": "make soak",
            "explorer": f"make bench-explorer NODES={found['explorer']['nodes']}",
            "contextual": f"make bench-contextual SESSIONS={found['contextual']['many']['sessions']}",
            "graph": f"make bench-graph EDGES={found['graph']['edges']}",
            "hops": f"make bench-hops MEMORIES={found['hops']['memories']}",
            "languages": "make bench-languages",
            "needles": "make bench-needles",
            "hyde": "make bench-hyde",
            "runs": f"make bench-runs SPANS={found['runs']['spans']}",
            "themes": "make bench-themes",
        }
    )


def summary(found: Reports) -> str:
    """Return the six figures that the README shows."""
    latency, scan = found["latency"], found["contextual"]["many"]["against a scan"]
    one, eight = (latency["callers"][callers]["milliseconds"] for callers in ("1", "8"))
    themes = found["themes"]["as told"]["mean"]
    rows = [
        (
            f"`recall` over {latency['memories']:,} memories, one caller",
            f"{_spread(one['recall'])} ms (median, p95)",
            "latency",
        ),
        (
            "the same over HTTP, eight callers at once",
            f"{_spread(eight['recall over HTTP'])} ms (median, p95)",
            "latency",
        ),
        (
            "messages stored a second, embedding included",
            f"{latency['writing']['rows a second']['remember with embedding']}",
            "latency",
        ),
        (
            f"contextual search of {scan['messages']:,} messages, hard narrowing",
            f"{scan['milliseconds']['hard']['p50']:.0f} ms (median); an exact scan of all messages "
            f"takes {scan['scan to hard']:.1f} times as long",
            "contextual",
        ),
        (
            "an agent's turn with hypotheses, whatever the language model does, 16 callers",
            f"at most {longest_turn(found):.2f} s in 99 of 100 turns",
            "hyde",
        ),
        (
            "recurring themes, found again in five sets of planted ones",
            f"{themes['precision']} % precision, {themes['recall']} % recall of sessions",
            "themes",
        ),
    ]
    return _with_commands(rows, found)


def longest_turn(found: Reports) -> float:
    """Return the p99 in seconds of the language model's misbehaviour that costs most."""
    return float(max(mode["p99"] for mode in found["hyde"].values()))


def latency(found: Reports) -> str:
    """Return how long recall and the parts that it is made of take."""
    callers = found["latency"]["callers"]
    names = (
        "embedding", "reference query", "recall", "recall over HTTP", "recall over HTTP by httpx",
    )  # fmt: skip
    return _table(
        ("Milliseconds, p50 / p95", "1 caller", "8 callers"),
        [
            (name, *(_spread(callers[n]["milliseconds"][name]) for n in ("1", "8")))
            for name in names
        ],
    )


def ratios(found: Reports) -> str:
    """Return what recall costs beside its parts, and writing beside the bare writes."""
    report = found["latency"]
    writing, rates = report["writing"], report["writing"]["rows a second"]
    return _table(
        ("What", "Messages a second", "Ratio", "To"),
        [
            ("recall over HTTP, 1 caller", "", _to_parts(report), "embedding and reference query"),
            (
                "recall that records what was asked and shown",
                "",
                f"{report['recording']['1 callers']['p50 ratio']}",
                "recall that does not",
            ),
            (
                "remembering, vectors at hand",
                f"{rates['remember with cached vectors']:,}",
                f"{writing['remember with cached vectors to bare UNWIND']}",
                "a bare `UNWIND` of the same rows",
            ),
            (
                "remembering, embedding included",
                f"{rates['remember with embedding']:,}",
                f"{writing['remember with embedding to the embedder']}",
                "the embedder alone",
            ),
        ],
    )


def growth(found: Reports) -> str:
    """Return what changes with ten times as many memories."""
    both = found["latency"], found[LARGE]

    def row(what: str, of: Callable[[Any], str]) -> tuple[str, ...]:
        return (what, *map(of, both))

    start = "after a start"
    rows = [
        row("recall over HTTP, one caller", lambda one: _over_http(one, "1")),
        row("recall over HTTP, eight callers", lambda one: _over_http(one, "8")),
        row("one caller, to embedding and reference query", _to_parts),
        row(
            "a client of 1,000 memories beside them, one caller",
            lambda one: f"{_beside(one)[one['memories']]:.0f} ms",
        ),
        row(
            "messages stored a second, with vectors at hand",
            lambda one: f"{one['writing']['rows a second']['remember with cached vectors']:,}",
        ),
        row(
            "bytes on disk a memory",
            lambda one: f"{one['on disk']['bytes a memory']:,}",
        ),
        row("resident, Neo4j", lambda one: f"{one['resident megabytes']['Neo4j']:,} MB"),
        row("from a start to readiness", lambda one: f"{one[start]['seconds to readiness']} s"),
        row(
            "the slowest of the first ten questions, to the warm median",
            lambda one: f"{one[start]['slowest of the first to warm p50']}",
        ),
    ]
    sizes = [f"{one['memories']:,} memories" for one in both]
    return _table(("Median / 95th percentile", *sizes), rows)


def memory(found: Reports) -> str:
    """Return what stayed resident while recall was measured."""
    return _table(
        ("Process", "Resident"),
        [(name, f"{size:,} MB") for name, size in found["latency"]["resident megabytes"].items()],
    )


def clients(found: Reports) -> str:
    """Return how long recall over HTTP takes for a small and for a large client beside the others."""
    report = found["latency"]
    small, hot = report["small client"], report["hot client"]
    rows = [
        (f"{small['memories']:,} memories, beside {others:,} of others", f"{took:.0f} ms")
        for others, took in sorted(_beside(report).items())
    ]
    took = hot["milliseconds"]["recall over HTTP"]["p50"]
    others = report["memories"]
    rows.append((f"{hot['memories']:,} memories, beside {others:,} of others", f"{took:.0f} ms"))
    return _table(("A client with", "Recall over HTTP, median"), rows)


def _over_http(report: Any, callers: str) -> str:
    """Return the times of recall over HTTP with so many callers at once."""
    return f"{_spread(report['callers'][callers]['milliseconds']['recall over HTTP'])} ms"


def _to_parts(report: Any) -> str:
    """Return the median of recall over HTTP, one caller, divided by that of its parts."""
    return f"{report['callers']['1']['p50 to embedding + reference query']['recall over HTTP']}"


def _beside(report: Any) -> dict[int, float]:
    """Return the median of a small client in milliseconds, by the number of memories of others."""
    small = report["small client"]
    return {int(name.rpartition(" ")[2]): took for name, took in small.items() if "beside" in name}


def scale(found: Reports) -> str:
    """Return the times, rates and sizes that say how far one machine goes, with their commands."""
    latency, hops = found["latency"], found["hops"]
    number = f"{latency['memories']:,} memories"
    writing, resident = latency["writing"]["rows a second"], latency["resident megabytes"]
    many = found["contextual"]["many"]
    inside = found["contextual"]["inside one session, many to few"]["p50"]
    hopped = hops["milliseconds"]
    graph = found["graph"]["milliseconds"]["hub"]
    rows = [
        (f"recall over HTTP, {number}, one caller", _over_http(latency, "1"), "latency"),
        ("the same, eight callers at once", _over_http(latency, "8"), "latency"),
        ("messages stored a second", f"{writing['remember with embedding']:,}", "latency"),
        (
            "the same, with vectors at hand",
            f"{writing['remember with cached vectors']:,}",
            "latency",
        ),
        (
            "resident memory with these",
            f"{resident['service']:,} MB service, {resident['Neo4j']:,} MB Neo4j",
            "latency",
        ),
        (
            f"search inside one session, in {many['messages']:,} messages instead of a tenth",
            f"{inside:.2f} times as long (median)",
            "contextual",
        ),
        (
            f"search with one, two, three hops, {hops['memories']:,} memories with ten links each",
            ", ".join(f"{hopped[f'{n} hops']['p50']:.0f}" for n in (1, 2, 3)) + " ms (median)",
            "hops",
        ),
        (
            f"the neighbourhood of a name that {found['graph']['edges']:,} messages mention",
            f"{_spread(graph)} ms",
            "graph",
        ),
    ]
    return _with_commands(rows, found)


def contextual(found: Reports) -> str:
    """Return how contextual search grows with the store, and what a scan of it takes."""
    few, many = found["contextual"]["few"], found["contextual"]["many"]
    grown = found["contextual"]["inside one session, many to few"]

    def milliseconds(size: Any, name: str) -> str:
        return f"{size['against a scan']['milliseconds'][name]['p50']:,.0f} ms"

    def inside(size: Any) -> tuple[float, float]:
        return size["inside one session"]["db hits"], size["inside one session"]["milliseconds"][
            "p50"
        ]

    def times(size: Any, name: str) -> str:
        return f"{size['against a scan'][f'scan to {name}']:.1f}"

    (few_hits, few_took), (many_hits, many_took) = inside(few), inside(many)
    searches = {
        "hard": "hard narrowing",
        "soft": "soft narrowing",
        "scan of all": "exact scan of all",
    }
    return _table(
        ("", f"{few['messages']:,} messages", f"{many['messages']:,} messages", "Growth"),
        [
            (
                "search inside one session, database hits",
                f"{few_hits:.0f}",
                f"{many_hits:.0f}",
                f"{grown['db hits']:.2f}",
            ),
            (
                "search inside one session, median",
                f"{few_took:.1f} ms",
                f"{many_took:.1f} ms",
                f"{grown['p50']:.2f}",
            ),
            *(
                (f"{meaning}, median", milliseconds(few, name), milliseconds(many, name), "")
                for name, meaning in searches.items()
            ),
            *(
                (f"the scan, to {name} narrowing", times(few, name), times(many, name), "")
                for name in ("hard", "soft")
            ),
        ],
    )


def themes(found: Reports) -> str:
    """Return how well planted themes are found again, in the mean of the sets."""
    parts = ("precision", "recall", "precision of questions", "recall of questions")
    return _table(
        ("Percent, mean of the sets", *parts),
        [
            (name, *(f"{state['mean'][part]}" for part in parts))
            for name, state in found["themes"].items()
        ],
    )


def operations(found: Reports) -> str:
    """Return what single operations cost, as ratios, with the command of each."""
    one, eight = (found["runs"]["callers"][callers]["retrieve to that"] for callers in ("1", "8"))
    hub = found["graph"]
    rows = [
        (
            "a search with one hop along links and names",
            f"{found['hops']['p50 of one hop to none']:.2f} times a search with none, in the median",
            "hops",
        ),
        (
            f"the neighbourhood of a name that {hub['edges']:,} messages mention",
            f"{hub['p50 of the hub to ready']:.1f} times `/health/ready`, in the median",
            "graph",
        ),
        (
            "retrieving in a run with a budget",
            f"{one:.2f} times a search and four bare writes at one caller, {eight:.2f} at eight",
            "runs",
        ),
        (
            "a turn with hypotheses, in the worst of the language model's misbehaviours",
            f"{longest_turn(found):.2f} s (p99)",
            "hyde",
        ),
    ]
    return _with_commands(rows, found)


def peers(found: Reports) -> str:
    """Return the measures of every memory that is compared, a column each, and their picture.

    A failure has its reason below. Without a report there is a sentence that says so.
    """
    if "peers" not in found:
        return NO_REPORT
    report = found["peers"]
    measured = report["peers"]
    rows = [
        (name, *(_peer_cell(value, one) for one in measured.values()))
        for name, value in _peer_rows(report)
    ]
    # A store that is not filled has no large size.
    rows = [row for row in rows if any(row[1:])]
    heads = [f"{name} {one.get('version', '')}".strip() for name, one in measured.items()]
    failed = [
        f"\n\n{name} could not be measured to the end: {one['failed']}."
        for name, one in measured.items()
        if "failed" in one
    ]
    picture = "\n\n![Evidence in a context, by memory](../bench/results/peers.svg)"
    return _table(("", *heads), rows) + "".join(failed) + picture


def peers_summary(found: Reports) -> str:
    """Return, in two sentences, the evidence in a context and the time of a question beside the others'."""
    if "peers" not in found:
        return NO_REPORT
    (_, ours), *rest = found["peers"]["peers"].items()
    others = [(name, one) for name, one in rest if "latency" in one]

    def evidence(one: Any, of: str) -> float:
        return float(one["sets"][of]["evidence in 1024"])

    def time(one: Any) -> int:
        return round(float(one["latency"]["small"]["p50"]))

    parts = []
    for of in found["peers"]["sets"]:
        name, best = max(others, key=lambda other, of=of: evidence(other[1], of))  # type: ignore[misc]
        parts.append(
            f"{evidence(ours, of):.1f} % of the evidence of {of} ({name}: {evidence(best, of):.1f} %)"
        )
    faster = [f"{name} in {time(one)} ms" for name, one in others if time(one) < time(ours)]
    return (
        f"Beside {len(rest)} other memories, all without a language model, with the same messages and "
        "vectors, a "
        f"context of 1,024 tokens holds {', and '.join(parts)}; the best of the others is in "
        f"brackets. A question takes {time(ours)} ms in a store of {ours['latency']['small']['memories']:,} "
        f"memories; faster: {', '.join(faster) or 'none'}."
    )


def _peers_command(report: Any) -> str:
    some = report["questions of a set"]
    return (
        f"make bench-peers DATA='locomo.json beam.json' MEMORIES={report['memories']}"
        f"{f' QUESTIONS={some}' if some else ''} FILL={report['seconds of the fill']:g}"
    )


def _peer_rows(report: Any) -> list[tuple[str, Callable[[Any], str]]]:
    rows: list[tuple[str, Callable[[Any], str]]] = []
    for name in report["sets"]:
        for measure in ("recall@10", "evidence in 512", "evidence in 1024"):
            told = measure.replace("1024", "1,024")
            told += " tokens" if "evidence" in measure else ""
            rows.append((f"{name}: {told}, %", _peer_value(("sets", name, measure), "{:.1f}")))
        used = _peer_value(("sets", name, "tokens of 1024"), "{:,.0f}")
        rows.append((f"{name}: tokens used of 1,024", used))
    rows += [
        ("messages stored a second", _peer_value(("ingest", "small", "messages a second"), "{:,}")),
        ("the same in the fill", _peer_value(("ingest", "large", "messages a second"), "{:,}")),
    ]
    for size, told in {
        "small": "a question, small store",
        "large": "a question, large store",
        "large tenant": "a question of the large tenant",
    }.items():
        rows.append((f"{told}, ms", _peer_spread(size)))
        rows.append(("of so many memories", _peer_value(("latency", size, "memories"), "{:,}")))
    rows += [
        ("another tenant's hits of 400", _peer_value(("leaks", "foreign"), "{}")),
        ("own hits missing of 400", _peer_value(("leaks", "missing"), "{}")),
    ]
    return rows


def _peer_value(keys: Sequence[str], shape: str) -> Callable[[Any], str]:
    def value(one: Any) -> str:
        for key in keys:
            one = one[key]
        return shape.format(one)

    return value


def _peer_spread(size: str) -> Callable[[Any], str]:
    return lambda one: _spread(one["latency"][size])


def _peer_cell(value: Callable[[Any], str], one: Any) -> str:
    """Return a value, or nothing where the peer failed before it."""
    try:
        return value(one)
    except (KeyError, TypeError):
        return ""


def peer_settings(_: Reports) -> str:
    """Return how each memory is asked, and how it keeps tenants apart."""
    return _table(
        ("", "Asked with", "Tenants are kept apart by"),
        [(name, one.settings, one.tenants) for name, one in PEERS.items()],
    )


def needles(found: Reports) -> str:
    """Return what is found inside long messages, beside the same sentences as messages of their own."""
    report = found["needles"]
    return _table(
        ("Way", "Budget", "As messages of their own", "Inside long messages"),
        [
            (way, f"{int(budget):,} tokens", f"{row['control']:.1f} %", f"{row['long']:.1f} %")
            for way in ("recall", "contextual")
            for budget, row in report[way].items()
        ],
    )


def explorer(found: Reports) -> str:
    """Return how many frames a second the page draws, and what one of them costs it."""
    return _table(
        ("Movement", "Frames a second", "Slowest of 20 frames", "Work of the page a frame"),
        [
            (
                movement,
                f"{one['frames a second']:.0f}",
                f"{one['slowest of 20 frames in milliseconds']:.0f} ms",
                f"{one['work a frame in milliseconds']:.1f} ms",
            )
            for movement, one in found["explorer"]["movements"].items()
        ],
    )


def faults(found: Reports) -> str:
    """Return what callers see of each fault, what holds, and how it ends."""
    if "faults" not in found:
        return NO_REPORT
    return _table(
        ("Fault", "Answers from its beginning on", "Acknowledged writes", "Over"),
        [
            (name, _seen(one["seen"]), _stored(one["stored"]), _over(one))
            for name, one in found["faults"].items()
        ],
    )


def _seen(seen: Any) -> str:
    if isinstance(seen, str):
        return seen
    return f"{_counted(seen['answers'])}; the slowest after {seen['slowest_s']} s"


def _counted(answers: Mapping[str, int]) -> str:
    """Return how often there was which answer; `cut` is a connection that ended without one."""
    return ", ".join(
        f"{number:,} × {'no answer' if code == 'cut' else code}"
        for code, number in sorted(answers.items())
    )


def _stored(stored: Mapping[str, int] | None) -> str:
    if stored is None:
        return "none yet"
    return (
        f"{stored['acknowledged']:,}: {stored['lost']} lost, {stored['doubled']} doubled, "
        f"{stored['half']} by half, {stored['unbalanced']} budgets out of balance"
    )


def _over(fault: Any) -> str:
    if fault["back_s"] is None:
        return str(fault["over"])
    return f"{fault['over']}, {fault['back_s']} s after the database"


def soak(found: Reports) -> str:
    """Return what a service went through under callers and faults."""
    if "soak" not in found:
        return NO_REPORT
    report = found["soak"]
    codes: dict[str, int] = {}
    for part in report["failures by seconds after a fault began"].values():
        for code, number in part.items():
            codes[code] = codes.get(code, 0) + number
    rows = [
        (f"requests of {report['callers']} callers", f"{report['requests']:,}"),
        (
            f"failures, {len(report['faults'])} faults were done",
            _counted(codes) or "none",
        ),
        ("failures that no fault explains", f"{sum(report['unexplained'].values())}"),
        ("the slowest answer", f"{report['slowest_s']} s"),
        ("acknowledged writes", _stored(report["stored"])),
        (
            "longest from the database's return until readiness",
            f"{max((one['back_s'] for one in report['faults'] if not is_start(one)), default=0)} s",
        ),
        *(
            (
                f"memory of {name if name == 'Neo4j' else f'the {name}'}",
                f"at most {one['most_mb']:,} MB, growing by {one['% a minute']} % a minute over "
                f"{one['over_minutes']} minutes",
            )
            for name, one in report["memory"].items()
        ),
    ]
    return _table((f"In {report['minutes']} minutes", "Measured"), rows)


def is_start(fault: Mapping[str, Any]) -> bool:
    """Tell whether a fault of a soak ends with a start of the service: that loads its model."""
    return "service" in fault["name"]


BLOCKS: dict[str, Callable[[Reports], str]] = {
    SUMMARY: summary,
    "latency": latency,
    "ratios": ratios,
    "growth": growth,
    "memory": memory,
    "clients": clients,
    "scale": scale,
    "contextual": contextual,
    "themes": themes,
    "operations": operations,
    "needles": needles,
    "explorer": explorer,
    "peers": peers,
    "peers-summary": peers_summary,
    "peer-settings": peer_settings,
    "faults": faults,
    "soak": soak,
}


def rewritten(text: str, found: Reports) -> str:
    """Return a document whose blocks say what the reports say; raise `KeyError` for an unknown block."""

    def renewed(block: re.Match[str]) -> str:
        table = BLOCKS[block["name"] or SUMMARY](found)
        return f"{block['begin']}\n{table}\n\n{block['end']}"

    return BLOCK.sub(renewed, text)


def _spread(part: Mapping[str, float]) -> str:
    return f"{round(part['p50'])} / {round(part['p95'])}"


def _with_commands(rows: Sequence[tuple[str, str, str]], found: Reports) -> str:
    """Return a table of figures, each with the command of the bench that is its third part."""
    how = commands(found)
    return _table(
        ("What", "Measured", "Command"),
        [(what, measured, f"`{how[bench]}`") for what, measured, bench in rows],
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: Sequence[str] | None = None, *, root: Path = ROOT) -> int:
    """Rewrite the documents, or tell which of them differ; return the exit code."""
    parser = ArgumentParser(prog="bench.figures", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 on a difference"
    )
    check = parser.parse_args(arguments).check
    found = reports()
    changed = []
    for name in DOCUMENTS:
        old = (root / name).read_text(encoding="utf-8")
        new = rewritten(old, found)
        if new != old:
            changed.append(name)
            if not check:
                (root / name).write_text(new, encoding="utf-8")
    if changed and check:
        print(f"not what bench/results says: {', '.join(changed)}; run make figures")
    elif changed:
        print(f"rewritten: {', '.join(changed)}")
    return 1 if changed and check else 0


if __name__ == "__main__":
    sys.exit(main())
