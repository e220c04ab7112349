"""The limits of a client: what the file says, what is counted, and what is refused whole."""

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from graphmem import config
from graphmem.client import Graphmem
from graphmem.clients import (
    CountedUsage,
    LimitsOfClients,
    day_of,
    drop_old_counts,
    read_limits,
)
from graphmem.config import ClientLimits
from graphmem.errors import (
    DayLimitReached,
    LimitReached,
    SettingError,
    StoreLimitReached,
)
from graphmem.forgetting.forget import forget_client
from graphmem.references.types import NewSpan
from graphmem.runtime import Runtime

USUAL = ClientLimits(requests=256, memories=5)

COUNTED = """CYPHER 25
MATCH (memory:Memory {client_id: $client_id})
RETURN count(*) AS memories, sum(memory.text_bytes) AS bytes, sum(memory.token_count) AS tokens"""
AGED = """CYPHER 25
MATCH (usage:Usage {client_id: $client_id})
SET usage.counted_at = $at, usage.memories = usage.memories + $added
RETURN usage.memories AS memories"""
OF_YESTERDAY = """CYPHER 25
MATCH (usage:Usage {client_id: $client_id}) SET usage.day = $day RETURN usage.tokens AS tokens"""


def limited(runtime: Runtime, memory: Graphmem, **limits: int) -> Graphmem:
    """Return the same client with limits."""
    settings = replace(runtime.settings, **{f"client_{name}": one for name, one in limits.items()})
    return Graphmem(replace(runtime, limits=LimitsOfClients(settings)), memory.client_id)


def said(text: str) -> dict[str, str]:
    """Return a message."""
    return {"session_id": "s", "role": "user", "content": text}


async def stored(memory: Graphmem) -> tuple[int, int]:
    """Return the number of memories in the store, and the bytes of their texts."""
    [row] = await memory.runtime.graph.execute(COUNTED, client_id=memory.client_id)
    return row["memories"], row["bytes"]


async def used(memory: Graphmem) -> tuple[int | None, int | None]:
    found = (await memory.usage()).used
    return found.memories, found.bytes


def test_the_file_names_what_is_other_for_a_client(tmp_path: Path) -> None:
    file = tmp_path / "limits"
    file.write_text("# a comment\nacme memories=100 tokens_a_day=7 # more\n\nb requests=1\n")

    assert read_limits(file, USUAL) == {
        "acme": ClientLimits(requests=256, memories=100, tokens_a_day=7),
        "b": ClientLimits(requests=1, memories=5),
    }


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("acme memories=many", "line 1"),
        ("acme memories=-1", "line 1"),
        ("\nacme colour=1", "line 2"),
        ("acme memories=1 memories=2", "line 1"),
        ("a/b memories=1", "line 1"),
        ("a\na", "line 2"),
    ],
)
def test_a_mistake_in_the_file_names_its_line(tmp_path: Path, text: str, place: str) -> None:
    file = tmp_path / "limits"
    file.write_text(text)
    with pytest.raises(SettingError, match=f"GRAPHMEM_LIMITS_FILE.*{place}"):
        read_limits(file, USUAL)


def test_a_change_of_the_file_holds_at_once_and_a_mistake_in_it_changes_nothing(
    tmp_path: Path,
) -> None:
    file = tmp_path / "limits"
    file.write_text("acme requests=1\n")
    limits = LimitsOfClients(config.load({}, limits_file=file))
    assert limits.of("acme").requests == 1
    file.write_text("acme requests=22\n")
    assert limits.of("acme").requests == 22
    file.write_text("acme requests=what\n")
    assert limits.of("acme").requests == 22
    file.unlink()
    assert limits.of("acme").requests == 22
    assert limits.of_writes("acme") is None


def test_a_missing_file_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="cannot be read"):
        LimitsOfClients(config.load({}, limits_file=tmp_path / "none"))


def test_tokens_of_another_day_do_not_count() -> None:
    now = datetime(2026, 11, 24, 12, tzinfo=UTC)
    usage = CountedUsage(memories=1, bytes=1, day=day_of(now), tokens=9, counted_at=now)
    assert usage.tokens_on(day_of(now)) == 9
    assert usage.tokens_on(day_of(now + timedelta(days=1))) == 0


async def test_without_limits_nothing_is_counted(memory: Graphmem) -> None:
    await memory.remember_fact("Mara drinks tea.")
    assert (await memory.usage()).used.memories is None


async def test_a_write_beyond_the_memories_is_refused_whole(
    runtime: Runtime, memory: Graphmem
) -> None:
    await memory.remember_fact("Mara drinks tea.")
    held = limited(runtime, memory, memories=3)
    await held.remember("c", [said("Hello."), said("Good day.")], create=True)

    with pytest.raises(StoreLimitReached, match="3 memories and has 3") as refused:
        await held.remember("other", [said("One more.")], create=True)
    assert refused.value.limit == 3
    with pytest.raises(StoreLimitReached):
        await held.remember_fact("Jonas lives in Bergen.")

    assert await used(held) == await stored(memory) == (3, 31)
    assert [one.id for one in (await memory.conversations()).conversations] == ["c"]


async def test_what_is_deleted_makes_room(runtime: Runtime, memory: Graphmem) -> None:
    held = limited(runtime, memory, memories=2)
    first = await held.remember_fact("Mara drinks tea.")
    await held.remember_fact("Jonas lives in Bergen, über dem Café.")
    with pytest.raises(StoreLimitReached):
        await held.remember_fact("The valve leaks.")

    await held.delete_memory(first.id)
    assert await used(held) == await stored(memory)
    await held.remember_fact("The valve leaks.")
    assert await used(held) == await stored(memory)
    assert (await used(held))[0] == 2


@pytest.mark.parametrize("counted", [True, False])
async def test_a_span_that_is_registered_again_needs_no_room(
    counted: bool, runtime: Runtime, memory: Graphmem
) -> None:
    spans = [
        NewSpan(
            id=f"s{place}",
            source_type="offer",
            source_id="a",
            start_byte=9 * place,
            end_byte=9 * place + 9,
            content="Nine byte",
        )
        for place in range(3)
    ]
    held = limited(runtime, memory, memories=2, bytes=18)
    await (held if counted else memory).register_spans(spans[:2])

    await held.register_spans(spans[:2])
    await held.register_spans([replace(spans[0], content="Ten bytes")])
    with pytest.raises(StoreLimitReached, match="2 memories and has 2"):
        await held.register_spans(spans)
    with pytest.raises(StoreLimitReached, match="18 bytes of text and has 18"):
        await held.register_spans([replace(spans[1], content="Ten bytes!", end_byte=19)])
    assert await used(held) == await stored(memory) == (2, 18)


async def test_every_way_to_delete_keeps_the_count_right(
    runtime: Runtime, memory: Graphmem
) -> None:
    held = limited(runtime, memory, memories=1_000)
    await held.remember("a", [said("The first."), said("The second, about Mara.")], create=True)
    await held.remember("b", [said("Elsewhere.")], create=True)
    fact = await held.remember_fact("Mara drinks tea.")
    await held.supersede_fact(fact.id, "Mara drinks coffee.")
    reference = await held.add_reference(
        type="knowledge_base", target_id="r", label="A report", description="On valves."
    )
    await held.put_content(reference.id, "One sentence of the report. " * 400)
    assert await used(held) == await stored(memory)
    await held.put_content(reference.id, "Another content. " * 600)
    assert await used(held) == await stored(memory)

    await held.forget(name="Mara")
    assert await used(held) == await stored(memory)
    await held.delete_conversation("a")
    assert await used(held) == await stored(memory)
    await held.delete_memory(reference.id)
    assert await used(held) == await stored(memory)
    await held.forget_client()
    assert await stored(memory) == (0, 0)
    assert await used(held) == (None, None)


async def test_bytes_are_those_of_utf_8(runtime: Runtime, memory: Graphmem) -> None:
    held = limited(runtime, memory, bytes=20)
    with pytest.raises(StoreLimitReached, match="20 bytes of text and has 0"):
        await held.remember("c", [said("ää ää ää ää ää")], create=True)
    await held.remember("c", [said("ää ää ää")], create=True)
    assert await used(held) == (1, 14)


async def test_metadata_and_all_searched_texts_count_as_bytes(
    runtime: Runtime, memory: Graphmem
) -> None:
    held = limited(runtime, memory, bytes=1_000)
    with pytest.raises(StoreLimitReached, match="1,000 bytes of text and has 0"):
        await held.add_reference(
            type="knowledge_base", target_id="r", label="A report", metadata={"all": "a" * 2_000}
        )
    with pytest.raises(StoreLimitReached):
        await held.add_reference(
            type="knowledge_base", target_id="r", label="a" * 2_000, description="A report"
        )
    await held.remember_fact("Mara drinks tea.", metadata={"a": 1})
    assert await used(held) == await stored(memory) == (1, 16 + len('{"a":1}'))


async def test_texts_of_contexts_count_while_there_are_any(
    runtime: Runtime, memory: Graphmem
) -> None:
    held = limited(runtime, memory, bytes=200)
    fact = await held.remember_fact("Mara drinks tea.")
    first = await held.create_context(max_tokens=2_000, system_prompt="ä" * 40)
    with pytest.raises(StoreLimitReached, match="200 bytes of text and has 96"):
        await held.create_context(max_tokens=2_000, system_prompt="a" * 105)
    assert (await held.add_to_context(first.id, fact.id)).added
    chunk = (await held.context(first.id)).sections[1].content
    other = await held.create_context(max_tokens=2_000, system_prompt="a" * (104 - len(chunk)))
    with pytest.raises(StoreLimitReached, match="has 200"):
        await held.add_to_context(other.id, fact.id)
    assert (await held.context(other.id)).retrieved_ids == []

    await held.delete_context(first.id)
    assert (await held.add_to_context(other.id, fact.id)).added
    await memory.create_context(max_tokens=2_000, system_prompt="a" * 1_000)


async def test_tokens_count_for_a_day_and_stay_when_memories_go(
    runtime: Runtime, memory: Graphmem
) -> None:
    held = limited(runtime, memory, tokens_a_day=8)
    kept = await held.remember_fact("Mara drinks tea.")
    spent = (await held.usage()).used.tokens_today
    await held.delete_memory(kept.id)
    assert spent is not None
    assert (await held.usage()).used.tokens_today == spent > 0

    with pytest.raises(DayLimitReached, match=f"8 tokens a day and has written {spent}") as refused:
        await held.remember_fact("Jonas lives in Bergen and has two boats there.")
    assert 0 < refused.value.retry_after <= 86_400

    yesterday = day_of(datetime.now(UTC) - timedelta(days=1))
    await runtime.graph.execute(OF_YESTERDAY, client_id=memory.client_id, day=yesterday)
    assert (await held.usage()).used.tokens_today == 0
    await held.remember_fact("Jonas has a boat.")


async def test_a_client_that_deletes_itself_has_written_as_many_tokens_today(
    runtime: Runtime, memory: Graphmem
) -> None:
    held = limited(runtime, memory, tokens_a_day=8)
    context = held.runtime.context(memory.client_id)
    await forget_client(context, keeps_tokens=True)
    assert await used(held) == (None, None)
    await held.remember_fact("Mara drinks tea.")
    spent = (await held.usage()).used.tokens_today
    await forget_client(context, keeps_tokens=True)
    found = (await held.usage()).used
    assert (found.memories, found.bytes, found.tokens_today) == (0, 0, spent)
    with pytest.raises(DayLimitReached, match=f"has written {spent} today"):
        await held.remember_fact("Jonas lives in Bergen and has two boats there.")

    now = datetime.now(UTC)
    yesterday = day_of(now - timedelta(days=1))
    await drop_old_counts(now=now, graph=runtime.graph)
    assert await used(held) == (0, 0)
    await runtime.graph.execute(OF_YESTERDAY, client_id=memory.client_id, day=yesterday)
    await drop_old_counts(now=now, graph=runtime.graph)
    assert await used(held) == (None, None)

    await held.remember_fact("Mara drinks tea.")
    await runtime.graph.execute(OF_YESTERDAY, client_id=memory.client_id, day=yesterday)
    await drop_old_counts(now=now, graph=runtime.graph)
    assert (await used(held))[0] == 1
    await held.forget_client()
    assert await used(held) == (None, None)


async def test_writers_at_once_do_not_exceed_the_limit_together(
    runtime: Runtime, memory: Graphmem
) -> None:
    held, elsewhere = (limited(runtime, memory, memories=5) for _ in range(2))

    async def write(place: int) -> None:
        with contextlib.suppress(LimitReached):
            one = held if place % 2 else elsewhere
            await one.remember(f"c{place}", [said(f"Message {place}.")], create=True)

    await asyncio.gather(*(write(place) for place in range(12)))

    assert await used(held) == await stored(memory)
    assert (await used(held))[0] == 5


async def test_a_wrong_count_is_made_anew_before_it_refuses(
    runtime: Runtime, memory: Graphmem
) -> None:
    held = limited(runtime, memory, memories=3)
    await held.remember_fact("Mara drinks tea.")
    at = datetime.now(UTC) - timedelta(hours=2)
    await runtime.graph.execute(AGED, client_id=memory.client_id, at=at, added=10)

    await held.remember_fact("Jonas lives in Bergen.")
    assert (await used(held))[0] == 2


async def test_what_is_done_in_the_background_counts_and_is_not_refused(
    runtime: Runtime, memory: Graphmem
) -> None:
    held = limited(runtime, memory, memories=1)
    assert held.runtime.context(held.client_id).graph.limits is not None
    assert held.runtime.context(held.client_id, in_background=True).graph.limits is None
    await held.remember_fact("Mara drinks tea.")
    await memory.remember_fact("Jonas lives in Bergen.")
    assert (await used(held))[0] == 2


async def test_limits_of_one_client_leave_another_alone(
    runtime: Runtime, memory: Graphmem, rival: Graphmem
) -> None:
    held, other = (limited(runtime, one, memories=1) for one in (memory, rival))
    await held.remember_fact("Mara drinks tea.")
    await other.remember_fact("Jonas lives in Bergen.")
    assert (await used(held))[0] == (await used(other))[0] == 1
