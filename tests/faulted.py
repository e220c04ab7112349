"""The report of the faults: a test that does one notes what it measured, for `make faults`."""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import structs

from bench.callers import Balance, Ledger, is_expected

OUT = os.environ.get("GRAPHMEM_FAULTS", "")
"""The file of the report; without it nothing is written."""


def note(
    fault: str,
    *,
    seen: Mapping[str, Any] | str,
    over: str,
    stored: Balance | None = None,
    back_seconds: float | None = None,
) -> None:
    """Write what was measured of a fault.

    `seen` are the answers of callers, or a sentence; `over` says how it ended, and `back_seconds` how long
    after the database the service was ready.
    """
    if not OUT:
        return
    path = Path(OUT)
    rows = json.loads(path.read_text("utf-8")) if path.exists() else {}
    rows[fault] = {
        "seen": seen,
        "stored": structs.asdict(stored) if stored else None,
        "over": over,
        "back_s": None if back_seconds is None else round(back_seconds, 1),
    }
    path.write_text(json.dumps(rows, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def seen(ledgers: Sequence[Ledger], *, since: float) -> dict[str, Any]:
    """Count the answers that were given after a moment by their codes; how long the slowest took."""
    found = [one for ledger in ledgers for one in ledger.outcomes if one.given >= since]
    codes = Counter("2xx" if is_expected(one) else one.code for one in found)
    slowest = max((one.given - one.asked for one in found), default=0)
    return {"answers": dict(sorted(codes.items())), "slowest_s": round(slowest, 1)}
