"""Runs end at pauses, at turns of the topic and where they are long enough; no message is lost or doubled."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given, strategies as st
from msgspec.structs import replace

from graphmem.text.segmenting import (
    BAND,
    FEWEST,
    MOST_MESSAGES,
    MOST_TOKENS,
    UnsegmentedMessage,
    longest_pause,
    runs,
)

WHEN = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def turns(
    topics: str, *, minutes: list[float] | None = None, tokens: int = 20, taken: str = ""
) -> list[UnsegmentedMessage]:
    """Return a message for each letter: those of one letter lie near each other."""
    times = minutes or list(range(len(topics)))
    return [
        UnsegmentedMessage(
            id=f"m{place}",
            idx=place,
            occurred_at=WHEN + timedelta(minutes=times[place]),
            token_count=tokens,
            taken=bool(taken) and taken[place] == "x",
            near=[0.8 if topic == other else 0.4 for other in topics[place + 1 : place + 1 + BAND]],
        )
        for place, topic in enumerate(topics)
    ]


def lengths(*args, **more) -> list[int]:
    return [len(run.turns) for run in runs(turns(*args, **more))]


def test_nothing_has_no_runs_and_one_message_is_one() -> None:
    assert runs([]) == []
    assert lengths("a") == [1]


def test_one_topic_is_one_run() -> None:
    assert lengths("aaaaaaaaaa") == [10]


def test_a_run_ends_where_the_topic_turns() -> None:
    assert lengths("aaaaaabbbbbb") == [6, 6]
    assert lengths("aaaaabbbbbbccccc") == [5, 6, 5]


def test_a_word_aside_is_no_turn() -> None:
    assert lengths("aaaaabaaaaa") == [11]
    assert FEWEST > 1
    assert lengths("aaaaaaab") == [8]


def test_a_pause_ends_a_run_however_like_the_messages_are() -> None:
    assert lengths("aaaaaa", minutes=[0, 1, 2, 40, 41, 42]) == [3, 3]
    assert lengths("aaaaaa", minutes=[0, 1, 2, 30, 31, 32]) == [6]


def test_slow_correspondents_pause_longer() -> None:
    hourly = [WHEN + timedelta(hours=hour) for hour in range(6)]
    assert longest_pause(hourly) == timedelta(hours=8)
    assert lengths("aaaaaa", minutes=[60 * n for n in range(6)]) == [6]
    assert lengths("aaaaaa", minutes=[0, 60, 120, 60 * 24, 60 * 25, 60 * 26]) == [3, 3]


def test_messages_that_an_episode_holds_are_left_out_and_divide() -> None:
    found = runs(turns("aaaaaaaa", taken="   xx   "))
    assert [[turn.idx for turn in run.turns] for run in found] == [[0, 1, 2], [5, 6, 7]]
    assert [run.until for run in found] == [5, 8]
    [only] = runs(turns("aaa", taken="xxx"))
    assert (only.turns, only.until) == ([], 3)


def test_a_run_is_bounded_in_messages_and_tokens() -> None:
    assert max(lengths("a" * 100)) <= MOST_MESSAGES
    assert sum(lengths("a" * 100)) == 100
    heavy = runs(turns("a" * 12, tokens=MOST_TOKENS // 3))
    assert all(sum(turn.token_count for turn in run.turns) <= MOST_TOKENS for run in heavy)
    assert lengths("aa", tokens=10 * MOST_TOKENS) == [1, 1]


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.floats(-5, 120, allow_nan=False),
            st.integers(0, 3_000),
            st.booleans(),
        ),
        max_size=80,
    )
)
def test_every_free_message_is_in_one_run_in_order(said) -> None:
    topics = "".join(topic for topic, *_ in said)
    made = [
        UnsegmentedMessage(
            id=one.id,
            idx=one.idx * 2,
            occurred_at=WHEN + timedelta(minutes=minutes),
            token_count=tokens,
            taken=taken,
            near=one.near,
        )
        for one, (_, minutes, tokens, taken) in zip(turns(topics), said, strict=True)
    ]
    found = runs(made)
    assert [turn.id for run in found for turn in run.turns] == [
        turn.id for turn in made if not turn.taken
    ]
    assert all(run.turns == [] or run.until > run.turns[-1].idx for run in found)
    assert all(after.until > before.until for before, after in pairwise(found))
    assert not found or found[-1].until == made[-1].idx + 1
    assert found == runs(made)


def test_messages_that_were_consolidated_are_in_a_run_of_their_own() -> None:
    made = turns("aaaaaaaa")
    found = runs([replace(turn, consolidated_at=WHEN) if turn.idx < 4 else turn for turn in made])

    assert [[turn.idx for turn in run.turns] for run in found] == [[0, 1, 2, 3], [4, 5, 6, 7]]
