"""`place()`: numbers and links of a batch, without a database."""

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import given, strategies as st

from graphmem.conversations.forms import PlainMessage
from graphmem.conversations.remember import BatchPlacement, ConversationState, KnownMessage, place
from graphmem.conversations.types import StoredSession
from graphmem.embedding import Embedding
from graphmem.memories.write import Draft, Prepared

SAID_AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
ARRIVED_AT = datetime(2026, 3, 2, 9, tzinfo=UTC)


def prepared(id: str, external_id: str | None = None) -> Prepared:
    draft = Draft(
        id=id,
        client_id="client",
        kind="message",
        text="text",
        search_text="text",
        embedded_text="text",
        source_type="message",
        occurred_at=SAID_AT,
        created_at=ARRIVED_AT,
        valid_at=SAID_AT,
        external_id=external_id,
        own={"role": "user", "name": None},
    )
    return Prepared(draft, Embedding([1.0], False), 1)


def state(
    next_position: int = 0,
    sessions: Sequence[StoredSession] = (),
    known: Sequence[KnownMessage] = (),
    written: Sequence[str] = (),
) -> ConversationState:
    return ConversationState("c", next_position, list(sessions), list(known), list(written))


def placed(
    batch: Sequence[tuple[str, str, str | None]], state: ConversationState
) -> BatchPlacement:
    """Place a batch of (id, session, external id); new sessions are called `new-<name>`."""
    messages = [
        PlainMessage(
            session_id=session,
            role="user",
            content="text",
            external_id=external_id,
            occurred_at=SAID_AT,
        )
        for _, session, external_id in batch
    ]
    memories = [prepared(id, external_id) for id, _, external_id in batch]
    return place(memories, messages, state, {name: f"new-{name}" for _, name, _ in batch})


def numbers(placed: BatchPlacement) -> list[tuple[str, str, int, int]]:
    """Return (id, session, idx, position) of what is written."""
    drafts = [memory.draft for memory in placed.memories]
    return [(d.id, d.session_id, d.own["idx"], d.own["position"]) for d in drafts]


def test_a_new_conversation_begins_at_nought():
    result = placed([("1", "a", None), ("2", "a", None)], state())

    assert numbers(result) == [("1", "new-a", 0, 0), ("2", "new-a", 1, 1)]
    assert result.links == [
        {"id": "1", "session_id": "new-a", "previous_id": None},
        {"id": "2", "session_id": "new-a", "previous_id": "1"},
    ]
    assert result.next_position == 2
    assert result.sessions == [
        {
            "id": "new-a",
            "external_id": "a",
            "next_idx": 2,
            "started_at": SAID_AT,
            "last_active_at": ARRIVED_AT,
        }
    ]


def test_a_session_that_is_there_is_continued_from_its_last_message():
    session = StoredSession(external_id="a", id="old", next_idx=7, last_message_id="last")
    result = placed([("1", "a", None)], state(40, [session]))

    assert numbers(result) == [("1", "old", 7, 40)]
    assert result.links == [{"id": "1", "session_id": "old", "previous_id": "last"}]
    assert (result.next_position, result.sessions[0]["next_idx"]) == (41, 8)


def test_a_session_whose_messages_are_all_gone_goes_on_without_a_predecessor():
    session = StoredSession(external_id="a", id="old", next_idx=7)
    result = placed([("1", "a", None)], state(40, [session]))

    assert numbers(result) == [("1", "old", 7, 40)]
    assert result.links[0]["previous_id"] is None


def test_sessions_in_turn_count_each_for_itself_and_share_the_positions():
    old = StoredSession(external_id="b", id="old", next_idx=3, last_message_id="last")
    result = placed(
        [("1", "a", None), ("2", "b", None), ("3", "a", None), ("4", "b", None)], state(10, [old])
    )

    assert numbers(result) == [
        ("1", "new-a", 0, 10),
        ("2", "old", 3, 11),
        ("3", "new-a", 1, 12),
        ("4", "old", 4, 13),
    ]
    assert [link["previous_id"] for link in result.links] == [None, "last", "1", "2"]
    assert {row["id"]: row["next_idx"] for row in result.sessions} == {"new-a": 2, "old": 5}


def test_what_another_writer_has_written_meanwhile_takes_no_place():
    known = [KnownMessage("x", "theirs")]
    result = placed([("1", "a", None), ("2", "a", "x"), ("3", "a", None)], state(0, (), known))

    assert numbers(result) == [("1", "new-a", 0, 0), ("3", "new-a", 1, 1)]
    assert [link["previous_id"] for link in result.links] == [None, "1"]


def test_a_batch_whose_commit_got_lost_only_on_the_way_back_is_not_written_again():
    batch = [("1", "a", None), ("2", "a", "x")]
    result = placed(batch, state(2, (), [KnownMessage("x", "2")], ["1", "2"]))

    assert result == BatchPlacement("c", [], [], [], 2)


def test_a_session_of_which_nothing_is_new_is_left_alone():
    known = [KnownMessage("x", "theirs")]
    result = placed([("1", "a", "x"), ("2", "b", None)], state(5, (), known))

    assert [row["external_id"] for row in result.sessions] == ["b"]


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=30),
    st.integers(0, 10),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 9)),
)
def test_whatever_is_left_out_there_is_no_gap_and_no_fork(batch, position, counts):
    sessions = [
        StoredSession(external_id=name, id=f"old-{name}", next_idx=count, last_message_id="last")
        for name, count in counts.items()
    ]
    written = [str(place) for place, (_, new) in enumerate(batch) if not new]
    result = placed(
        [(str(place), session, None) for place, (session, _) in enumerate(batch)],
        state(position, sessions, (), written),
    )

    rows = numbers(result)
    assert [row[3] for row in rows] == list(range(position, result.next_position))
    assert {row[0] for row in rows} == {str(place) for place, (_, new) in enumerate(batch) if new}
    for name in "abc":
        ours = [row for row in rows if row[1] in {f"old-{name}", f"new-{name}"}]
        first = counts.get(name, 0)
        assert [row[2] for row in ours] == list(range(first, first + len(ours)))
        links = [link for link in result.links if link["id"] in {row[0] for row in ours}]
        before = ["last" if name in counts else None, *[row[0] for row in ours]]
        assert [link["previous_id"] for link in links] == before[: len(links)]
