"""A framework's items come back word for word, however long and whatever else is in the conversation."""

import asyncio
import re
from typing import Any

import pytest

from graphmem.adapters.memory import History, Spoken, conversation_of, question
from graphmem.client import Graphmem
from graphmem.errors import InvalidInput, TooLarge
from graphmem.model.vocabulary import ID_PATTERN, QUERY_CHARACTERS

LONG = "The tide table of Brest. " * 400


@pytest.fixture
def history(memory: Graphmem) -> History:
    return History(memory, "c", "test")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("short", {"a": [1, 2.5, None, True, {"b": "short"}], "type": "x"}),
        ("  spaces\tand\nlines \u2028 äöü 🦀 ", {"content": "  spaces\tand\nlines \u2028 äöü 🦀 "}),
        (LONG, {"content": [{"type": "text", "text": LONG}], "role": "user"}),
        ("said", {"content": "said", "blob": "QUJD" * 2_000, "more": {"blob": ["🦀" * 2_000]}}),
        ("", {"type": "reasoning", "encrypted_content": "QUJD" * 2_000}),
        ("", {"type": "reasoning", "summary": []}),
        ("many", {"parts": [{"n": n, "text": "short"} for n in range(1_000)]}),
        (LONG, {"other": LONG.replace("Brest", "Roscoff"), "same": LONG, LONG[:200]: 1}),
    ],
)
async def test_an_item_comes_back_word_for_word(
    history: History, memory: Graphmem, text: str, value: dict[str, Any]
) -> None:
    await history.add([Spoken(role="user", text=text, value=value)], memory)

    [kept] = await history.items(memory)
    assert kept.value == value
    assert kept.text.startswith(text or "[reasoning]")


async def test_the_latest_items_are_returned_in_their_order_beyond_a_page(
    history: History, memory: Graphmem
) -> None:
    many = [Spoken(role="user", text=f"Line {n}.", value={"n": n}) for n in range(205)]
    await history.add(many, memory)

    async def numbers(limit: int | None) -> list[int]:
        return [item.value["n"] for item in await history.items(memory, limit=limit)]

    assert await numbers(None) == list(range(205))
    assert await numbers(3) == [202, 203, 204]
    assert await numbers(201) == list(range(4, 205))
    assert await numbers(0) == []
    with pytest.raises(InvalidInput, match=r"limit: expected a whole number >= 0; 0 for none"):
        await numbers(-1)


async def test_items_are_popped_from_the_end_each_once(history: History, memory: Graphmem) -> None:
    await history.add([Spoken(role="user", text=f"{n}!", value={"n": n}) for n in range(4)], memory)

    last = await history.pop(memory)
    assert last is not None
    assert last.value == {"n": 3}
    both = await asyncio.gather(history.pop(memory), history.pop(memory))
    assert sorted(one.value["n"] for one in both if one) == [1, 2]
    await history.add([Spoken(role="user", text="5!", value={"n": 5})], memory)
    assert [item.value["n"] for item in await history.items(memory)] == [0, 5]
    await history.pop(memory)
    await history.pop(memory)
    assert await history.pop(memory) is None
    await history.clear(memory)
    assert await history.pop(memory) is None


async def test_an_item_that_cannot_be_kept_is_refused_with_all_that_come_with_it(
    history: History, memory: Graphmem
) -> None:
    good = Spoken(role="user", text="good", value={"n": 1})
    with pytest.raises(InvalidInput, match="items: has one that is not JSON"):
        await history.add([good, Spoken(role="user", text="bad", value={"n": object()})], memory)
    long = Spoken(role="user", text="long", value={"blob": "x" * 1_000_000})
    with pytest.raises(TooLarge, match=r"messages\[1\].content"):
        await history.add([good, long], memory)
    assert await history.items(memory) == []


async def test_histories_of_two_frameworks_in_one_conversation_read_each_other_as_plain_text(
    history: History, memory: Graphmem
) -> None:
    await History(memory, "c", "other").add(
        [Spoken(role="assistant", text="Hello.", value={"n": 1}, name="Bo")], memory
    )
    [read] = await history.items(memory)
    assert (read.role, read.text, read.value, read.name) == ("assistant", "Hello.", {}, "Bo")


def test_a_question_has_both_ends_of_a_text_that_is_too_long() -> None:
    longest = "x" * QUERY_CHARACTERS
    assert question(longest) == longest
    cut = question(f"Why? {longest} Who?")
    assert QUERY_CHARACTERS - 1 <= len(cut) <= QUERY_CHARACTERS
    assert cut.startswith("Why? xx")
    assert "x\n…\nx" in cut
    assert cut.endswith("xx Who?")


def test_ids_of_frameworks_become_ids_of_conversations() -> None:
    assert [conversation_of(one) for one in ("", "monday", "a.b:c-1")] == ["", "monday", "a.b:c-1"]
    odd = ["ada@example.com/1", "ada@example.com:1", "x" * 129, "\ud83d", "日本", "two words\n"]
    made = [conversation_of(one) for one in odd]
    assert made[0].startswith("ada-example.com-1:")
    assert len(set(made)) == len(odd)
    assert all(re.match(ID_PATTERN, one) for one in made)
    assert made == [conversation_of(one) for one in odd]
