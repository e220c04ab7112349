"""The stages of an answer are timed."""

import time

from graphmem.retrieval.understanding import Stopwatch


def test_laps_are_milliseconds_between_and_a_total(monkeypatch):
    times = iter([10.0, 10.25, 11.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(times))
    watch = Stopwatch()
    watch.lap("embed")
    watch.lap("rank")

    assert watch.laps() == {"embed": 250.0, "rank": 750.0, "total": 1000.0}
