"""Which sessions a session is linked to, and how strongly."""

from graphmem.graph.installation import Calibration
from graphmem.sessions.link import (
    MOST_LINKS,
    NearSession,
    SessionLink,
    SharedEntity,
    alike,
    sharing,
)

SCALE = Calibration(low=0.5, high=0.9)


def test_only_summaries_that_are_alike_are_linked_the_most_alike_first() -> None:
    near = [NearSession("a", 0.71), NearSession("b", 0.9), NearSession("c", 0.69)]
    assert alike(near, SCALE) == [
        SessionLink("b", "similarity", 1.0),
        SessionLink("a", "similarity", 0.525),
    ]


def test_no_more_than_five_for_one_reason() -> None:
    assert len(alike([NearSession(str(n), 0.9) for n in range(9)], SCALE)) == MOST_LINKS == 5
    shared = [SharedEntity("rare", [str(n)]) for n in range(9)]
    assert len(sharing(shared)) == MOST_LINKS


def test_what_few_mention_weighs_more_and_several_weigh_together() -> None:
    shared = [
        SharedEntity("E1", ["a", "b"]),
        SharedEntity("E2", ["a"]),
        SharedEntity("common", list("abcdefg")),
    ]
    by_id = {link.id: link for link in sharing(shared)}
    assert set(by_id) == {"a", "b"}
    assert by_id["a"].score == round(1 - 0.75 * 0.5 * (1 - 1 / 14), 4)
    assert by_id["a"].entities == ["E2", "E1", "common"]
    assert by_id["b"].score == round(1 - 0.75 * (1 - 1 / 14), 4)


def test_what_one_other_thing_in_many_shares_is_no_reason() -> None:
    assert sharing([SharedEntity("common", list("abc"))]) == []
