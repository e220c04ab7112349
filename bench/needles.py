"""How much of what stands in long messages reaches the context: needles against the same as bare messages.

    python -m bench.needles --out needles.json

Two clients hold the same sessions of three messages. The one in the middle is a long text with a needle in
it (`bench.needle_set`: logs, stack traces, code, tables, records, minutes and answers of 1,000 to 20,000
tokens, in three languages); for the control it is the needle alone. Every question is asked with three
budgets, by recall and by contextual search. A needle counts where the context holds it whole.

The bars: within 500 and 1,000 tokens nine tenths of what the control finds, within 200 eight tenths.
"""

import asyncio
import statistics
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from bench.needle_set import Needle, needles
from bench.quality import cut, say, store
from bench.reporting import arguments, report
from graphmem.client import Graphmem
from graphmem.runtime import Runtime

BUDGETS = (200, 500, 1_000)
LEAST = {200: 0.8, 500: 0.9, 1_000: 0.9}
"""The least share of the control's evidence in each budget."""

WAYS = ("recall", "contextual")

TALK = (
    ("Here is what I was sent, I only skimmed it.", "Thanks, I have filed it."),
    ("Could you keep this for me?", "Kept. Anything else for today?"),
    ("Das kam gerade herein.", "Danke, ist abgelegt."),
    ("Lies das bitte, wenn du Zeit hast.", "Mache ich morgen."),
    ("Te paso esto, míralo con calma.", "Gracias, queda guardado."),
    ("¿Me guardas este texto?", "Hecho, lo tengo."),
)
"""The messages before and after."""


class Asked(Struct, frozen=True):
    """Whether a needle was in the context, and whether the context kept its budget."""

    found: bool
    kept: bool


async def measure(runtime: Runtime, chosen: Sequence[Needle]) -> dict[str, Any]:
    """Load both clients, ask everything of both, and return the report."""
    run = uuid.uuid4().hex[:12]
    long, control = (Graphmem(runtime, f"needles-{one}-{run}") for one in ("long", "control"))
    await load(control, chosen, {one.id: one.text for one in chosen})
    await load(long, chosen, {one.id: one.haystack(runtime.tokens) for one in chosen})
    asked = {
        name: {way: await ask(memory, chosen, way) for way in WAYS}
        for name, memory in (("control", control), ("long", long))
    }
    every = [one for ways in asked.values() for some in ways.values() for one in some.values()]
    compared = {way: compare(asked, chosen, way) for way in WAYS}
    return {
        "needles": len(chosen),
        "tokens": sum(one.tokens for one in chosen),
        **compared,
        "violations": sum(not one.kept for one in every),
        "least": LEAST,
        "passed": all(
            row["share"] >= LEAST[budget]
            for rows in compared.values()
            for budget, row in rows.items()
        ),
        "by form": parts(asked, chosen, lambda one: one.form),
        "by language": parts(asked, chosen, lambda one: one.language),
    }


async def load(memory: Graphmem, chosen: Sequence[Needle], texts: Mapping[str, str]) -> None:
    """Remember a session of three messages for each needle."""
    await memory.open_conversation("needles")
    for place, one in enumerate(chosen):
        before, after = TALK[place % len(TALK)]
        said = (("user", before), ("user", texts[one.id]), ("assistant", after))
        await memory.remember(
            "needles",
            [
                {
                    "session_id": f"session-{one.id}",
                    "role": role,
                    "content": content,
                    "occurred_at": f"2025-03-{1 + place % 28:02d}T{place // 28 + 9:02d}:0{minute}:00Z",
                }
                for minute, (role, content) in enumerate(said)
            ],
        )
        await cut(memory)
        say(f"{memory.client_id} {place + 1} of {len(chosen)}")


async def ask(memory: Graphmem, chosen: Sequence[Needle], way: str) -> dict[tuple[str, int], Asked]:
    """Ask every question with every budget; return by needle and budget whether it was found."""
    return {
        (one.id, budget): await _ask(memory, one, way, budget)
        for one in chosen
        for budget in BUDGETS
    }


async def _ask(memory: Graphmem, one: Needle, way: str, budget: int) -> Asked:
    if way == "recall":
        recalled = await memory.recall(one.question, max_tokens=budget)
        text, used = recalled.context, recalled.tokens_used
    else:
        answer = await memory.search_contextual(one.question, max_tokens=budget)
        text, used = answer.prompt, answer.tokens_used
    count = memory.runtime.tokens.count(text)
    return Asked(one.text in text, used <= budget and count <= budget)


def compare(
    asked: Mapping[str, Any], chosen: Sequence[Needle], way: str
) -> dict[int, dict[str, float]]:
    """Return the evidence of both clients within each budget, and the share of the control's."""
    rows = {}
    for budget in BUDGETS:
        control, long = (
            statistics.fmean(asked[name][way][one.id, budget].found for one in chosen)
            for name in ("control", "long")
        )
        rows[budget] = {
            "control": round(100 * control, 1),
            "long": round(100 * long, 1),
            "share": round(long / control, 3) if control else 0.0,
        }
    return rows


def parts(asked: Mapping[str, Any], chosen: Sequence[Needle], of: Any) -> dict[str, Any]:
    """Return for each part of the set how many of its needles recall finds within 500 tokens."""
    return {
        part: {
            "needles": len(some),
            **{
                name: sum(asked[name]["recall"][one.id, 500].found for one in some)
                for name in ("control", "long")
            },
        }
        for part in sorted({of(one) for one in chosen})
        if (some := [one for one in chosen if of(one) == part])
    }


async def main() -> None:
    """Measure and write the report."""
    parser = arguments("needles", __doc__)
    parser.add_argument("--first", type=int, help="only so many needles")
    given = parser.parse_args()
    async with store() as runtime:
        result = await measure(runtime, needles()[: given.first])
    report(result, given.out)


if __name__ == "__main__":
    asyncio.run(main())
