"""graphmem beside other memories for agents: quality, tokens, ingest, latency, and leaks between tenants.

    python -m bench.peers --data locomo.json --data beam.json --memories 100000 --out peers.json

`make bench-peers` installs the peers first. No language model is asked and nothing is fetched. All get the
same messages and the same vectors of the bundled embedding model, made before they are timed: what a peer
waits for another vector is not counted.

recall@10 is the mean over questions of |evidence among the first ten| / |evidence|. Evidence in n tokens is
the share of it whose whole text is in a context of at most n tokens: graphmem's own context, with its
headings, and of the others the first of fifty hits that fit, in their order, a line each. A question is timed
with one caller and its vector at hand: graphmem makes a context of 1,024 tokens, the others return ten hits.

A store is filled with invented messages until it holds 6,000, then as many as are asked for, or those that a
peer takes in within `--fill-seconds`. `large tenant` is one tenth of the fill. For leaks a tenant with 40
texts is asked for ten hits beside one with 400 texts that differ in a word: `foreign` are the other's hits,
`missing` those that are not found although the tenant has them.

A peer that fails has the reason, beside what was measured before. With `--only` the other rows of the report
that is there are kept.
"""

import asyncio
import json
import sys
from argparse import Namespace
from pathlib import Path

from bench.cached import CachedModel
from bench.peers.material import Material, Vectors, alike, invented, sampled, told
from bench.peers.measuring import ASKED, Result, row
from bench.peers.peer import BUILT, PEERS
from bench.reporting import arguments, write
from bench.store import corpus, questions
from graphmem import config
from graphmem.embedding import Embedder, load_model
from graphmem.model.progress import silent

SMALL = 6_000
TENANTS = 10


async def material(asked_for: Namespace, vectors: Vectors, embedder: Embedder) -> Material:
    """Read the sets, invent the rest, and have a vector for everything."""
    sets = [
        sampled(told(json.loads(path.read_text(encoding="utf-8"))), asked_for.questions)
        for path in asked_for.data
    ]
    memories = asked_for.memories
    near, near_questions = alike()
    said = [one["text"] for each in sets for some in each.messages.values() for one in some]
    asked = [one.text for each in sets for one in each.questions]
    made_of = await corpus(embedder)
    large = questions(made_of, ASKED)
    near_texts = [one["text"] for some in near.values() for one in some]
    await vectors.have([*said, *asked, *near_texts, *near_questions, *large])
    held = len(said) + len(near_texts)
    small = max(min(SMALL, memories) - held, 0)
    rest = max(memories - held - small, 0)
    return Material(
        sets,
        invented(made_of, "filler", small, 1, vectors),
        {
            f"large-{n}": invented(made_of, f"large-{n}", rest // TENANTS, 10 + n, vectors)
            for n in range(TENANTS if rest else 0)
        },
        large,
        vectors,
    )


def say(line: str) -> None:
    """Tell how far it is."""
    print(line, file=sys.stderr, flush=True)


async def main() -> None:
    """Measure the peers one after the other; the report is written after each."""
    parser = arguments("peers", __doc__)
    parser.add_argument("--data", type=Path, action="append", required=True, help="a set, JSON")
    parser.add_argument("--memories", type=int, default=100_000, help="the size of the store")
    parser.add_argument("--fill-seconds", type=float, default=120.0, help="the longest fill")
    parser.add_argument("--questions", type=int, help="at most so many of a set, a fixed sample")
    parser.add_argument("--only", action="append", choices=PEERS, help="only this peer")
    asked = parser.parse_args()
    settings = config.load()
    model = await asyncio.to_thread(load_model, settings, silent)
    embedder = Embedder(CachedModel(model, settings.cache_dir / "bench"))
    vectors = Vectors(BUILT / "vectors.sqlite", embedder)
    try:
        given = await material(asked, vectors, embedder)
        report = reported(given, asked)
        for name in asked.only or PEERS:
            say(f"measuring {name}")
            log = BUILT / f"{name}.log"
            report["peers"][name] = await row(PEERS[name], given, asked.fill_seconds, log)
            say(json.dumps(report["peers"][name]))
            report["peers"] = {
                known: report["peers"][known] for known in PEERS if known in report["peers"]
            }
            write(report, asked.out)
    finally:
        vectors.close()
        await embedder.close()


def reported(given: Material, asked: Namespace) -> Result:
    """Return the report before its rows, with the rows of the one that is there."""
    out = asked.out
    old = json.loads(out.read_text(encoding="utf-8")) if out and out.exists() else {}
    return {
        "memories": asked.memories,
        "questions of a set": asked.questions,
        "seconds of the fill": asked.fill_seconds,
        "sets": {
            one.name: {
                "messages": sum(len(some) for some in one.messages.values()),
                "questions": len(one.questions),
            }
            for one in given.sets
        },
        "peers": old.get("peers", {}),
    }


if __name__ == "__main__":
    asyncio.run(main())
