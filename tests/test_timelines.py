"""The definition of validity, compared with a replay of all writes."""

import random
from datetime import datetime

from hypothesis import given, settings, strategies as st

from graphmem.model.times import BEGINNING, END
from tests.timelines import Timeline, asked, timeline

SEEDS = st.integers(0, 2**32)


def played(chain: Timeline, as_of: datetime, known_as_of: datetime) -> set[str]:
    """Return the valid version after a replay of the known writes: each covers all later valid times."""
    covered: list[tuple[datetime, str | None]] = []
    for place, version in enumerate(chain.versions):
        if version.created_at <= known_as_of:
            covered.append((version.valid_at, version.id))
        over = chain.over
        if over and over.place == place and over.known_at <= known_as_of:
            covered.append((over.since, None))
    last = [id for since, id in covered if since <= as_of][-1:]
    return {id for id in last if id is not None}


@settings(max_examples=500)
@given(SEEDS)
def test_what_holds_is_what_was_written_last_of_that_time(seed: int) -> None:  # B4
    chance = random.Random(seed)
    chain = timeline("c", chance)
    times = asked(chance, [chain])
    as_of, known_as_of = times.get("as_of"), times.get("known_as_of")

    assert chain.holding(as_of, known_as_of) == played(chain, as_of or END, known_as_of or END)


@given(SEEDS)
def test_of_a_chain_at_most_one_version_holds_and_without_times_it_is_the_head(seed: int) -> None:
    chance = random.Random(seed)
    chain = timeline("c", chance)

    assert len(chain.holding(**{"as_of": None, "known_as_of": None, **asked(chance, [chain])})) <= 1
    assert chain.holding(None, None) <= {chain.versions[-1].id}
    assert chain.holding(BEGINNING, None) == chain.holding(None, BEGINNING) == set()
    if chain.over is None:
        assert chain.holding(END, END) == {chain.versions[-1].id}
        for version in chain.versions:
            assert chain.holding(None, version.created_at) == {version.id}
