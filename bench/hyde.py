"""How long `/hyde/retrieve` takes whatever the language model's server does.

    python -m bench.hyde --turns 160 --out hyde.json

One client with facts on a private Neo4j of the run's own, a stand-in for the model's server, and 16
callers, each turn a new one with hypotheses of its own: five short sentences, as the model is told to
write. What `serve` does before the first turn is done here too. For every way in which the server answers or
misbehaves: percentiles of the time to the whole answer over HTTP (ASGI, no socket), and what the answers
had to do without.
"""

import asyncio
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import httpx
from msgspec.structs import replace

from bench.asgi import over_http
from bench.reporting import arguments, write
from bench.store import corpus
from graphmem import config
from graphmem.client import Graphmem
from graphmem.hypotheses.ask import new_turns, prepare_turns
from graphmem.llm import LanguageModel
from graphmem.runtime import Runtime, running
from tests.stub_llm import Misbehaviour, StubModel, stub_model

CALLERS = 16
FACTS = 1_000
CLIENT = "turning"
HYPOTHESES = 5
HYPOTHESIS_WORDS = 7
"""The facts' words are invented, and longer than real ones: three tokens each."""


def hypotheses(texts: Sequence[str], seed: int = 3) -> Callable[[object], str]:
    """Return what writes the beginnings of some of the texts, other ones each time."""
    chance = random.Random(seed)

    def written(_: object) -> str:
        chosen = chance.sample(texts, HYPOTHESES)
        return "\n".join(" ".join(text.split()[:HYPOTHESIS_WORDS]) for text in chosen)

    return written


async def timed(http: httpx.AsyncClient, body: dict[str, Any]) -> tuple[float, list[str]]:
    """Return how many seconds a turn took, and what it had to do without."""
    began = time.perf_counter()
    answer = await http.post("/api/v0/hyde/retrieve", json=body)
    took = time.perf_counter() - began
    assert answer.status_code == 200, answer.text
    return took, answer.json()["degraded"]


async def ways(runtime: Runtime, stub: StubModel, turns: int) -> dict[str, Any]:
    """Time every way in which the server may answer, without and with the window to fall back on."""
    model = LanguageModel(stub.url, "stub")
    await prepare_turns(replace(runtime, llm=model).context(CLIENT))
    figures: dict[str, Any] = {}
    async with over_http(replace(runtime, llm=model, turns=new_turns()), CLIENT) as http:
        for mode in (None, *get_args(Misbehaviour)):
            for fall_back in (None, "window"):
                stub.misbehaviour = mode
                name = f"{mode or 'answers'}{', window' if fall_back else ''}"
                figures[name] = await one_way(http, name, fall_back, turns)
                print(name, figures[name], flush=True)
    await model.close()
    return figures


async def one_way(
    http: httpx.AsyncClient, name: str, fall_back: str | None, turns: int
) -> dict[str, Any]:
    """Time so many turns with 16 callers."""
    body = {"window": ["user: What about it?"], "on_failure": fall_back, "injection_tokens": 800}

    async def caller(number: int) -> list[tuple[float, list[str]]]:
        return [
            await timed(http, body | {"turn_id": f"{name}-{number}-{turn}"})
            for turn in range(turns // CALLERS)
        ]

    results = [one for some in await asyncio.gather(*map(caller, range(CALLERS))) for one in some]
    cuts = statistics.quantiles([seconds for seconds, _ in results], n=100)
    return {
        "p50": round(cuts[49], 3),
        "p99": round(cuts[98], 3),
        "most": round(max(seconds for seconds, _ in results), 3),
        "degraded": dict(Counter(why for _, degraded in results for why in degraded)),
    }


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("hyde", __doc__)
    parser.add_argument("--turns", type=int, default=160)
    given = parser.parse_args()
    with TemporaryDirectory(prefix="graphmem-hyde-") as folder:
        settings = replace(config.load({}), data_dir=Path(folder) / "data")
        async with running(settings) as runtime, stub_model() as stub:
            texts = (await corpus(runtime.embedder)).texts[:FACTS]
            memory = Graphmem(runtime, CLIENT)
            for start in range(0, FACTS, 100):
                await memory.remember_facts([{"fact": text} for text in texts[start : start + 100]])
            stub.answer = hypotheses(texts)
            figures = await ways(runtime, stub, given.turns)
    write(figures, given.out)


if __name__ == "__main__":
    asyncio.run(main())
