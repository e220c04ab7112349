"""The table of faults: a test that does one notes what callers saw, for `make faults`."""

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.callers import Balance, Ledger, is_expected

OUT = os.environ.get("GRAPHMEM_FAULTS", "")
"""The file of the report; without it nothing is written."""


def note(fault: str, *, seen: str, stored: str, over: str) -> None:
    """Write the row of a fault."""
    if not OUT:
        return
    path = Path(OUT)
    rows = json.loads(path.read_text("utf-8")) if path.exists() else {}
    rows[fault] = {"seen": seen, "stored": stored, "over": over}
    path.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def seen(ledgers: Sequence[Ledger], *, since: float) -> str:
    """Return the codes of the answers that were asked after a moment, and the age of the slowest."""
    found = [one for ledger in ledgers for one in ledger.outcomes if one.given >= since]
    codes = Counter("2xx" if is_expected(one) else one.code for one in found)
    told = ", ".join(f"{count:,} × {code}" for code, count in sorted(codes.items()))
    slowest = max((one.given - one.asked for one in found), default=0)
    return f"{told}; the slowest after {slowest:.1f} s"


def stored(balance: Balance) -> str:
    """Return what a comparison found."""
    return (
        f"{balance.acknowledged:,} acknowledged: {balance.lost} lost, {balance.doubled} doubled, "
        f"{balance.half} by half, {balance.unbalanced} budgets unbalanced"
    )
