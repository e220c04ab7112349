"""Contexts over HTTP: within the budget whoever adds, gone when expired, nobody else's."""

import asyncio
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from graphmem.client import Graphmem
from graphmem.errors import ContextNotFound, InvalidInput, TooLarge
from graphmem.runtime import Runtime
from tests.planted import plant, reference, thread

PATH = "/api/v0/contexts"
PROMPT = "You are a helpful assistant."
FACT = {"kind": "fact", "text": "Mara sails.", "category": "identity"}
PROSE = "The keeper walks down to the harbour and counts the boats. " * 60


async def begun(http: httpx.AsyncClient, **options: Any) -> dict[str, Any]:
    answer = await http.post(PATH, json=options)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def added(http: httpx.AsyncClient, context: dict[str, Any], id: str) -> dict[str, Any]:
    answer = await http.post(f"{PATH}/{context['id']}/memories", json={"id": id})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def shown(http: httpx.AsyncClient, context: dict[str, Any]) -> dict[str, Any]:
    return (await http.get(f"{PATH}/{context['id']}")).json()


async def composed(http: httpx.AsyncClient, context: dict[str, Any]) -> str:
    answer = await http.get(f"{PATH}/{context['id']}/composed")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    return answer.text


async def test_a_context_begins_with_its_system_prompt(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    # S1.21 S1.22 S1.57
    context = await begun(http, max_tokens=5000, system_prompt=PROMPT)

    tokens = memory.runtime.tokens.count(PROMPT)
    assert context["id"].startswith("ctx-")
    assert (context["max_tokens"], context["reserved_for_response"]) == (5000, 500)
    assert context["remaining_tokens"] == 5000 - 500 - tokens
    assert context["sections"] == [
        {
            "id": "system",
            "type": "system",
            "content": PROMPT,
            "priority": 100,
            "token_count": tokens,
        }
    ]
    assert context["retrieved_ids"] == []
    assert await shown(http, context) == context
    assert await composed(http, context) == PROMPT


async def test_without_a_system_prompt_it_is_empty(http: httpx.AsyncClient) -> None:
    # S1.22 S1.57
    for options in ({}, {"system_prompt": ""}, {"system_prompt": None}):
        context = await begun(http, max_tokens=1000, reserved_for_response=20, **options)
        assert (context["remaining_tokens"], context["sections"]) == (980, [])
        assert await composed(http, context) == ""


async def test_what_is_added_stands_after_the_prompt_in_the_order_of_adding(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    # S1.58 S1.62
    context = await begun(http, max_tokens=2000, system_prompt=PROMPT)
    ids = await plant(memory, thread(), reference(), FACT)

    for id in ids:
        assert (await added(http, context, id))["added"] is True

    now = await shown(http, context)
    text = await composed(http, context)
    assert now["retrieved_ids"] == ids
    assert [(one["id"], one["type"], one["priority"]) for one in now["sections"]] == [
        ("system", "system", 100),
        *((id, "retrieved", 50) for id in ids),
    ]
    assert text == "\n\n".join(
        [
            PROMPT,
            "[thread_summary: Thread: instagram (10 messages)]\n" + thread()["text"],
            "[knowledge_base: Product FAQ]\n" + reference()["text"],
            "[fact: Fact: identity]\nMara sails.",
        ]
    )
    count = memory.runtime.tokens.count
    assert [one["token_count"] for one in now["sections"]] == [
        count(one["content"]) for one in now["sections"]
    ]
    assert now["remaining_tokens"] == 2000 - 500 - count(text)


async def test_a_memory_is_added_with_at_most_500_tokens(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    # S1.58
    context = await begun(http, max_tokens=5000)
    [id] = await plant(memory, thread(text=PROSE))

    answer = await added(http, context, id)

    [section] = (await shown(http, context))["sections"]
    assert 497 <= section["token_count"] <= 500
    assert section["content"].endswith("...")
    assert answer == {"added": True, "remaining_tokens": 4500 - section["token_count"]}


async def test_what_is_held_already_is_not_charged_again(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    # S1.59
    context = await begun(http, max_tokens=2000)
    [id] = await plant(memory, thread())
    first = await added(http, context, id)
    before = await shown(http, context)

    assert await added(http, context, id) == first
    assert await shown(http, context) == before


async def test_what_does_not_fit_changes_nothing(http: httpx.AsyncClient, memory: Graphmem) -> None:
    # S1.60 S1.61
    context = await begun(http, max_tokens=512, system_prompt=PROMPT)
    [id] = await plant(memory, thread())

    answer = await added(http, context, id)

    assert answer == {"added": False, "remaining_tokens": context["remaining_tokens"]}
    assert 0 < answer["remaining_tokens"] < 12
    assert await shown(http, context) == context


async def test_exactly_nothing_left_is_legal_and_takes_nothing(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    # S1.60 S1.61
    context = await begun(http, max_tokens=500)
    [id] = await plant(memory, {"kind": "fact", "text": "x"})

    assert context["remaining_tokens"] == 0
    assert await added(http, context, id) == {"added": False, "remaining_tokens": 0}


async def test_a_long_memory_is_cut_to_the_room_that_is_left(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    # S1.58 S1.61 S1.66
    context = await begun(http, max_tokens=700, system_prompt=PROMPT, reserved_for_response=0)
    ids = await plant(memory, *(thread(text=PROSE, source_id=f"t{n}") for n in range(3)))

    first, second, third = [await added(http, context, id) for id in ids]

    assert (first["added"], second["added"], third["added"]) == (True, True, False)
    assert 0 <= second["remaining_tokens"] <= 3
    used = memory.runtime.tokens.count(await composed(http, context))
    assert used + second["remaining_tokens"] == 700


async def test_a_separator_that_costs_leaves_less_for_the_memory(memory: Graphmem) -> None:
    # S1.60 S1.66
    prompt = "You are a helpful assistant"
    context = await memory.create_context(
        max_tokens=100, system_prompt=prompt, reserved_for_response=0
    )
    [id] = await plant(memory, thread(text=PROSE))

    answer = await memory.add_to_context(context.id, id)

    [_, section] = (await memory.context(context.id)).sections
    count = memory.runtime.tokens.count
    assert count(f"{prompt}\n\n") == count(prompt) + 1
    assert answer.added
    assert 0 <= answer.remaining_tokens <= 2
    assert section.token_count < context.remaining_tokens


@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
async def test_what_is_left_is_always_the_budget_without_the_composed_text(
    data: st.DataObject, memory: Graphmem
) -> None:
    # S1.61 S1.66
    count = memory.runtime.tokens.count
    most, reserve = data.draw(st.integers(60, 900)), data.draw(st.integers(0, 40))
    texts = data.draw(st.lists(st.text(min_size=1, max_size=900), min_size=1, max_size=5))
    texts = [text.encode(errors="ignore").decode() + "灯台" for text in texts]
    ids = await plant(memory, *({"kind": "fact", "text": text} for text in texts))
    context = await memory.create_context(
        max_tokens=most, system_prompt=PROMPT, reserved_for_response=reserve
    )
    left = context.remaining_tokens
    for id in ids:
        answer = await memory.add_to_context(context.id, id)
        text = await memory.compose_context(context.id)
        assert answer.remaining_tokens == most - reserve - count(text) >= 0
        assert answer.added == (answer.remaining_tokens < left)
        left = answer.remaining_tokens


async def test_a_deleted_memory_s_text_leaves_the_context(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    context = await begun(http, max_tokens=2000)
    first, last = await plant(memory, thread(), FACT)
    await added(http, context, first)
    await added(http, context, last)

    await http.delete(f"/api/v0/memories/{first}")

    now = await shown(http, context)
    assert now["retrieved_ids"] == [last]
    assert await composed(http, context) == "[fact: Fact: identity]\nMara sails."
    assert now["remaining_tokens"] == 1500 - now["sections"][0]["token_count"]


async def test_peeking_and_chunking_cost_no_context_anything(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    # S1.51
    context = await begun(http, max_tokens=1000)
    [id] = await plant(memory, thread())

    await http.get(f"/api/v0/memories/{id}/peek")
    await http.post(f"/api/v0/memories/{id}/chunk", json={"max_tokens": 100})

    assert (await shown(http, context))["remaining_tokens"] == context["remaining_tokens"]


async def test_concurrent_adders_never_spend_more_than_there_is(memory: Graphmem) -> None:
    # S1.60 S1.61 S1.66
    context = await memory.create_context(max_tokens=900, reserved_for_response=100)
    texts = [{"kind": "fact", "text": f"{n} " + PROSE[: 40 + 30 * n]} for n in range(32)]
    ids = await plant(memory, *texts)

    answers = await asyncio.gather(*(memory.add_to_context(context.id, id) for id in ids))

    now = await memory.context(context.id)
    assert memory.runtime.tokens.count(await memory.compose_context(context.id)) <= 800
    assert now.remaining_tokens == min(answer.remaining_tokens for answer in answers) >= 0
    took = [id for id, answer in zip(ids, answers, strict=True) if answer.added]
    assert sorted(now.retrieved_ids) == sorted(took)
    assert 1 < len(took) < 32


async def test_the_same_memory_added_by_many_at_once_is_charged_once(memory: Graphmem) -> None:
    # S1.59
    context = await memory.create_context(max_tokens=5000)
    [id] = await plant(memory, thread())

    answers = await asyncio.gather(*(memory.add_to_context(context.id, id) for _ in range(32)))

    [section] = (await memory.context(context.id)).sections
    assert {answer.added for answer in answers} == {True}
    assert {answer.remaining_tokens for answer in answers} == {4500 - section.token_count}


async def test_adding_what_is_being_deleted_is_either_or_nothing(memory: Graphmem) -> None:
    context = await memory.create_context(max_tokens=20_000)
    ids = await plant(memory, *({"kind": "fact", "text": f"Fact {n}."} for n in range(16)))

    await asyncio.gather(
        *(memory.add_to_context(context.id, id) for id in ids),
        *(memory.delete_memory(id) for id in ids),
        return_exceptions=True,
    )

    now = await memory.context(context.id)
    assert (now.retrieved_ids, now.sections, now.remaining_tokens) == ([], [], 19_500)


EXPIRED = """
MATCH (context:Context {client_id: $client_id, id: $id})
SET context.expires_at = datetime() - duration('PT1S')
"""


async def test_an_expired_context_is_unknown_at_once(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    context = await begun(http, max_tokens=1000, ttl_seconds=3_600)
    [id] = await plant(memory, thread())
    assert (await added(http, context, id))["added"]

    await memory.runtime.graph.execute(EXPIRED, client_id=memory.client_id, id=context["id"])

    for method, path in (("GET", ""), ("GET", "/composed"), ("POST", "/memories")):
        body = {"id": id} if method == "POST" else None
        answer = await http.request(method, f"{PATH}/{context['id']}{path}", json=body)
        assert (answer.status_code, answer.json()["code"]) == (404, "context_not_found")


async def test_another_s_context_and_another_s_memory_are_unknown(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem, rival: Graphmem
) -> None:
    # S1.64
    context = await begun(http, max_tokens=1000)
    theirs = await begun(rival_http, max_tokens=1000)
    [mine], [foreign] = await plant(memory, thread()), await plant(rival, thread())

    for asked in (theirs["id"], "ctx-unknown"):
        for method, path in (("GET", ""), ("GET", "/composed"), ("POST", "/memories")):
            body = {"id": mine} if method == "POST" else None
            answer = await http.request(method, f"{PATH}/{asked}{path}", json=body)
            assert answer.status_code == 404
            assert answer.json()["detail"].startswith(f"no context {asked!r}")
    for asked in (foreign, "unknown"):
        answer = await http.post(f"{PATH}/{context['id']}/memories", json={"id": asked})
        assert (answer.status_code, answer.json()["code"]) == (404, "item_not_found")
        assert answer.json()["detail"] == f"Item not found: {asked}"
    assert (await shown(http, context))["retrieved_ids"] == []
    assert (await shown(rival_http, theirs))["retrieved_ids"] == []
    with pytest.raises(ContextNotFound):
        await rival.compose_context(context["id"])


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({}, "max_tokens", "missing"),
        ({"max_tokens": 0}, "max_tokens", ">= 1"),
        ({"max_tokens": 200_001}, "max_tokens", "<= 200000"),
        ({"max_tokens": "many"}, "max_tokens", "a whole number"),
        ({"max_tokens": 9, "reserved_for_response": -1}, "reserved_for_response", ">= 0"),
        ({"max_tokens": 900, "system_prompt": " \n "}, "system_prompt", "blank"),
        ({"max_tokens": 900, "system_prompt": 7}, "system_prompt", "a text"),
        ({"max_tokens": 900, "ttl_seconds": 0}, "ttl_seconds", ">= 1"),
        ({"max_tokens": 900, "ttl_seconds": 604_801}, "ttl_seconds", "<= 604800"),
        ({"max_tokens": 900, "ttl": 60}, "ttl", "unknown"),
        ({"max_tokens": 499}, "max_tokens", "499 is less than the system prompt's 0 tokens"),
        ({"max_tokens": 499}, "max_tokens", "the 500 of reserved_for_response"),
        ({"max_tokens": 505, "system_prompt": PROMPT}, "max_tokens", "send at least 506"),
    ],
)
async def test_what_cannot_be_begun_is_named(
    body: dict[str, Any], field: str, said: str, refusing: httpx.AsyncClient
) -> None:
    # S1.22
    answer = await refusing.post(PATH, json=body)

    assert answer.status_code == 400
    assert answer.json()["field"] == field
    assert said in answer.json()["detail"]


async def test_beside_a_database_it_is_named_as_well(http: httpx.AsyncClient) -> None:
    for body in ({"max_tokens": 0}, {"max_tokens": 505, "system_prompt": PROMPT}):
        answer = await http.post(PATH, json=body)

        assert answer.status_code == 400
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.json()["code"], answer.json()["field"]) == ("invalid_input", "max_tokens")


async def test_a_prompt_that_is_too_long_is_refused(
    refusing: httpx.AsyncClient, offline: Runtime
) -> None:
    body: dict[str, Any] = {"max_tokens": 200_000, "system_prompt": "x" * 1_000_001}
    memory = Graphmem(offline)

    assert (await refusing.post(PATH, json=body)).status_code == 413
    with pytest.raises(TooLarge):
        await memory.create_context(**body)
    with pytest.raises(InvalidInput):
        await memory.create_context(max_tokens=900, system_prompt="\ud800")


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "id"), ({"id": ""}, "id"), ({"id": 7}, "id"), ({"id": "x" * 257}, "id"), ([], "body")],
)
async def test_what_cannot_be_added_is_named(
    body: Any, field: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.post(f"{PATH}/ctx-unknown/memories", json=body)

    assert (answer.status_code, answer.json()["field"]) == (400, field)


async def test_what_cannot_be_added_changes_nothing(http: httpx.AsyncClient) -> None:
    context = await begun(http, max_tokens=1000)

    answer = await http.post(f"{PATH}/{context['id']}/memories", json={"id": ""})

    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
    assert answer.json()["field"] == "id"
    assert await shown(http, context) == context


async def test_nothing_that_a_context_holds_is_logged(
    http: httpx.AsyncClient, memory: Graphmem, log_lines: list[str]
) -> None:
    # S1.65
    row = reference(text="sesame-4711", label="sesame-4712", description="sesame-4711")
    [id] = await plant(memory, row)
    context = await begun(http, max_tokens=1000, system_prompt="sesame-4713 opens")
    await added(http, context, id)
    assert "sesame-4711" in await composed(http, context)
    await shown(http, context)
    await http.get(f"/api/v0/memories/{id}/peek")
    await http.post(f"/api/v0/memories/{id}/chunk", json={"max_tokens": 100})
    await http.post(PATH, json={"max_tokens": 1, "system_prompt": "sesame-4714 opens"})

    assert [line for line in log_lines if " graphmem_api.access: " in line]
    assert not [line for line in log_lines if "sesame" in line]


async def test_a_context_is_deleted_and_its_memories_stay(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem
) -> None:
    context = await begun(http, max_tokens=2000)
    [id] = await plant(memory, thread())
    await added(http, context, id)
    path = f"/api/v0/contexts/{context['id']}"

    foreign, unknown = await rival_http.delete(path), await http.delete("/api/v0/contexts/ctx-no")
    for answer in (foreign, unknown):
        assert (answer.status_code, answer.json()["code"]) == (404, "context_not_found")
    gone = await http.delete(path)
    assert (gone.status_code, gone.content) == (204, b"")
    for answer in (await http.get(path), await http.delete(path)):
        assert (answer.status_code, answer.json()["code"]) == (404, "context_not_found")
    assert (await memory.memory(id)).id == id

    other = await memory.create_context(max_tokens=1000)
    await memory.delete_context(other.id)
    with pytest.raises(ContextNotFound):
        await memory.context(other.id)
