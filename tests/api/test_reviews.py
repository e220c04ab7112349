"""Reviews over HTTP: rated once by what happened since, or by callers exactly as FSRS does."""

import asyncio
import os
import random
import uuid
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import fsrs
import httpx
import msgspec
import pytest
from graphmem_api.bodies import decoded
from graphmem_api.reviews import RATING, RUN as RUN_EXAMPLE
from msgspec.structs import replace

from graphmem.background import WORK
from graphmem.client import Graphmem
from graphmem.errors import InvalidInput, MemoryNotFound
from graphmem.jobs.outbox import Claim
from graphmem.model.vocabulary import RATINGS
from graphmem.retrieval.decay import FSRS_STATES
from graphmem.reviews import review as writing
from graphmem.reviews.types import NewRating, RunAsked
from tests.episodes import ended, episode, facts, stored, talk

RAW = "/api/v0/retrieve_memory/raw"
LIST = "/api/v0/reviews"
RUN = "/api/v0/reviews/run"

COUNTS = ("reviews", "done", "waiting", "expired", "again", "hard", "good", "easy", "stale")
NOTHING = dict.fromkeys(COUNTS, 0)


async def ask(http: httpx.AsyncClient, memory: Graphmem, c: str, query: str, **more: Any) -> None:
    """Ask for memory and wait until the review is there."""
    answer = await http.post(RAW, json={"query": query, "conversation_id": c, **more})
    assert answer.status_code == 200
    await memory.runtime.afterwards.settle()


async def say(memory: Graphmem, c: str, content: str) -> None:
    await memory.remember(c, [{"session_id": "later", "role": "assistant", "content": content}])


async def run(http: httpx.AsyncClient, **body: Any) -> dict[str, int]:
    answer = await http.post(RUN, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def listed(http: httpx.AsyncClient, **asked: Any) -> list[dict[str, Any]]:
    answer = await http.get(LIST, params=asked)
    assert answer.status_code == 200
    return answer.json()["reviews"]


async def rate(http: httpx.AsyncClient, id: str, rating: str, **more: Any) -> httpx.Response:
    return await http.post(f"/api/v0/memories/{id}/review", json={"rating": rating, **more})


async def aged(memory: Graphmem, days: float) -> None:
    """Have all pending reviews been recorded some days ago."""
    await memory.runtime.graph.execute(
        "MATCH (r:Review {client_id: $client, state: 'pending'}) WHERE r.at IS NOT NULL "
        "SET r.at = r.at - duration({seconds: $seconds})",
        client=memory.client_id,
        seconds=int(days * 86_400),
    )


RUST = "The trading system moves to Rust for its latency."


async def test_what_later_messages_come_back_to_is_easy_or_good(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.46
    c = await talk(memory)
    first = await episode(memory, c, RUST)
    second = await episode(memory, c, "The trading system had latency trouble.", days_ago=2)
    third = await episode(memory, c, "Mara bakes bread on Sundays.", days_ago=2)
    await ask(http, memory, c, "Why does the trading system move to Rust?")
    await say(memory, c, "The trading system moves to Rust because latency was trouble.")
    before = {id: await stored(memory, id) for id in (first, second, third)}
    assert await run(http, conversation_id=c) == NOTHING | {
        "reviews": 1,
        "done": 1,
        "easy": 1,
        "good": 1,
    }
    [review] = await listed(http)
    assert review["state"] == "done"
    rated = {one["id"]: one["rated"] for one in review["episodes"]}
    assert (rated[first]["rating"], rated[second]["rating"]) == ("easy", "good")
    assert rated[third] is None
    for id in (first, second):
        after = await stored(memory, id)
        assert after["stability"] == rated[id]["stability_after"] > rated[id]["stability_before"]
        assert rated[id]["stability_before"] == before[id]["stability"]
        assert after["difficulty"] == rated[id]["difficulty_after"]
        assert rated[id]["reviewed_at"] == review["at"]
    assert await stored(memory, third) == before[third]


async def test_a_shared_word_far_in_meaning_is_no_reuse(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.46
    c = await talk(memory)
    await episode(memory, c, RUST)
    await ask(http, memory, c, "Why that language?")
    await say(memory, c, "Her latency to smile at babies is legendary in our family kitchen.")
    await say(memory, c, "Grandma had a system for pickling cucumbers in August, with dill.")
    assert await run(http) == NOTHING | {"reviews": 1, "waiting": 1}


@pytest.mark.parametrize("how", ["SUPERSEDES", "CONTRADICTS"])
async def test_what_was_overturned_since_is_again(
    how: str, http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.46
    c = await talk(memory)
    itself = await episode(memory, c, "Dark mode was chosen.")
    by_fact = await episode(memory, c, "Dark mode was praised.")
    still = await episode(memory, c, "Dark mode was discussed.")
    earlier = await episode(memory, c, "Dark mode was mentioned.")
    [old] = await facts(memory, c, "User likes dark mode", sources=[by_fact, still])
    await facts(memory, c, "User has two screens", sources=[still])
    [long_ago, new] = await facts(memory, c, "User likes it dark", "User likes light mode")
    await ended(memory, earlier, long_ago, "CONTRADICTS")
    await ask(http, memory, c, "dark mode")
    await ended(memory, itself, new, how)
    await ended(memory, old, new, "SUPERSEDES")
    assert await run(http) == NOTHING | {"reviews": 1, "done": 1, "again": 2}
    [review] = await listed(http)
    rated = {one["id"]: one["rated"] and one["rated"]["rating"] for one in review["episodes"]}
    assert rated == {itself: "again", by_fact: "again", still: None, earlier: None}


async def test_the_same_question_within_ten_minutes_is_hard(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.46
    c, later = await talk(memory), await talk(memory)
    e = await episode(memory, c, RUST)
    await episode(memory, later, RUST)
    await ask(http, memory, c, "Why Rust?")
    assert (await run(http, conversation_id=c))["waiting"] == 1
    await ask(http, memory, c, "why  rust")
    await ask(http, memory, later, "Why Rust?")
    await aged(memory, 11 / (24 * 60))
    await ask(http, memory, later, "why rust")
    assert await run(http) == NOTHING | {"reviews": 4, "done": 2, "hard": 1, "waiting": 2}
    rated = [one["episodes"][0]["rated"] for one in await listed(http, conversation_id=c)]
    assert [one and (one["rating"], one["basis"]) for one in rated] == [
        None,
        ("hard", "asked_again"),
    ]
    assert (await stored(memory, e))["difficulty"] > 2.2


async def test_a_review_that_nothing_speaks_about_waits_and_expires(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    c = await talk(memory)
    e = await episode(memory, c, RUST)
    before = await stored(memory, e)
    await ask(http, memory, c, "Why Rust?")
    await say(memory, c, "Bread needs salt.")
    await say(memory, c, "Why Rust?")
    assert await run(http) == NOTHING | {"reviews": 1, "waiting": 1}
    await aged(memory, 7)
    assert await run(http) == NOTHING | {"reviews": 1, "expired": 1}
    assert [one["state"] for one in await listed(http)] == ["expired"]
    assert await run(http) == NOTHING
    assert await stored(memory, e) == before


async def test_two_runs_at_a_time_rate_each_review_once(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.46
    conversations = [await talk(memory) for _ in range(2)]
    for c in conversations:
        for number in range(3):
            await episode(memory, c, f"{RUST} Chapter {number}.")
        for question in ("Why Rust?", "What about latency?", "Which trading system?"):
            await ask(http, memory, c, question)
        await say(memory, c, "The trading system moves to Rust for latency.")
    runs = await asyncio.gather(*(run(http) for _ in range(6)))
    assert sum(one["reviews"] for one in runs) == 6
    assert sum(one["done"] for one in runs) == 6
    # Each episode once, though three reviews have shown it.
    assert sum(one["easy"] + one["good"] for one in runs) == 6
    rated = [e["rated"] for one in await listed(http) for e in one["episodes"] if e["rated"]]
    assert len(rated) == 6


async def test_while_reviews_run_none_is_lost_and_no_episode_is_updated_twice(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.43 S2.46
    c = await talk(memory)
    ids = [await episode(memory, c, f"{RUST} Chapter {number}.") for number in range(3)]
    born = {id: (await stored(memory, id))["stability"] for id in ids}
    asking = True

    async def reviewing() -> None:
        while asking:
            await run(http, conversation_id=c)

    job = asyncio.create_task(reviewing())
    for turn in range(3):
        body = {"query": "Why Rust?", "conversation_id": c}
        answers = await asyncio.gather(*(http.post(RAW, json=body) for _ in range(16)))
        assert {answer.status_code for answer in answers} == {200}
        await say(memory, c, f"The trading system moves to Rust for latency, {turn}.")
    await memory.runtime.afterwards.settle()
    asking = False
    await job
    await run(http, conversation_id=c)

    reviews = await listed(http, limit=200)
    assert len(reviews) == 48
    for id in ids:
        rated = [
            one["rated"]
            for review in reviews
            for one in review["episodes"]
            if one["id"] == id and one["rated"]
        ]
        # Each update began where another had ended, the first where the episode was born.
        begun = [born[id], *sorted(one["stability_after"] for one in rated)]
        ended = [*sorted(one["stability_before"] for one in rated)]
        left = list(begun)
        for one in ended:
            left.remove(one)
        assert left == [(await stored(memory, id))["stability"]]
        assert rated


async def test_an_episode_that_was_reviewed_later_already_is_stale(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.47
    c = await talk(memory)
    e = await episode(memory, c, RUST)
    await ask(http, memory, c, "Why Rust?")
    await say(memory, c, "The trading system moves to Rust for latency.")
    assert (await rate(http, e, "hard")).json() == {"applied": True}
    before = await stored(memory, e)
    assert await run(http) == NOTHING | {"reviews": 1, "done": 1, "stale": 1}
    assert await stored(memory, e) == before


async def test_another_client_s_reviews_are_not_touched(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem, rival: Graphmem
) -> None:
    c = await talk(memory)
    await talk(rival, c)
    e = await episode(memory, c, RUST)
    await episode(rival, c, RUST)
    await ask(http, memory, c, "Why Rust?")
    await ask(rival_http, rival, c, "Why Rust?")
    await say(rival, c, "The trading system moves to Rust for latency.")
    before = await stored(memory, e)
    for body in ({}, {"conversation_id": c}):
        await run(rival_http, **body)
    assert await stored(memory, e) == before
    [ours], [theirs] = await listed(http), await listed(rival_http)
    assert (ours["state"], theirs["state"]) == ("pending", "done")
    # What is said in the rival's conversation of the same name speaks about nothing here.
    assert (await run(http))["waiting"] == 1
    assert await listed(rival_http, conversation_id=str(uuid.uuid4())) == []


async def test_an_unknown_conversation_has_nothing_to_rate(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem
) -> None:
    c = await talk(memory)
    await episode(memory, c, RUST)
    await ask(http, memory, c, "Why Rust?")
    for where in (rival_http, http):
        assert await run(where, conversation_id="no-such") == NOTHING
    assert await run(rival_http, conversation_id=c) == NOTHING


async def test_many_reviews_are_rated_page_by_page(
    http: httpx.AsyncClient, memory: Graphmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "REVIEWS_AT_ONCE", 2)
    c = await talk(memory)
    await episode(memory, c, RUST)
    for number in range(5):
        await ask(http, memory, c, f"Why Rust, part {number}?")
    assert await run(http) == NOTHING | {"reviews": 5, "waiting": 5}


async def test_a_job_does_what_a_run_does(http: httpx.AsyncClient, memory: Graphmem) -> None:
    c = await talk(memory)
    await episode(memory, c, RUST)
    await ask(http, memory, c, "Why Rust?")
    await say(memory, c, "The trading system moves to Rust for latency.")
    [job] = (await memory.jobs(kind=writing.REVIEW_JOB)).jobs
    assert (job.state, job.key) == ("queued", c)
    assert timedelta(days=6.9) < job.run_at - datetime.now(UTC) < timedelta(days=7)
    held = Claim(
        client_id=memory.client_id, id=job.id, kind=job.kind, key=job.key, state="running",
        payload=f'{{"conversation_id": "{c}"}}', attempts=1, lease="x",
    )  # fmt: skip
    effect = await WORK[writing.REVIEW_JOB](held, memory.runtime)
    assert [one["state"] for one in await listed(http)] == ["pending"]
    assert effect is not None
    await memory.runtime.graph.write(effect)
    assert [one["state"] for one in await listed(http)] == ["done"]


async def test_a_review_and_its_job_go_with_their_conversation(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    c = await talk(memory)
    e = await episode(memory, c, RUST)
    await ask(http, memory, c, "Why Rust?")
    assert (await rate(http, e, "good")).json() == {"applied": True}
    assert len(await listed(http, conversation_id=c)) == 2
    await memory.delete_conversation(c)
    assert await listed(http) == []
    assert (await memory.jobs(kind=writing.REVIEW_JOB)).jobs == []


async def test_reviews_are_listed_newest_first_and_page_by_page(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    c, other = await talk(memory), await talk(memory)
    for conversation in (c, other):
        await episode(memory, conversation, RUST)
    for conversation, query in ((c, "one"), (other, "two"), (c, "three")):
        await ask(http, memory, conversation, query)
    first = (await http.get(LIST, params={"limit": 2})).json()
    assert [one["query"] for one in first["reviews"]] == ["three", "two"]
    assert list(first["reviews"][0]) == [
        *("id", "conversation_id", "query", "at", "state", "memory_ids", "episodes")
    ]
    rest = (await http.get(LIST, params={"limit": 2, "cursor": first["cursor"]})).json()
    assert ([one["query"] for one in rest["reviews"]], rest["cursor"]) == (["one"], None)
    assert [one["query"] for one in await listed(http, conversation_id=other)] == ["two"]
    assert await listed(http, state="done") == []
    assert len(await listed(http, state="pending", conversation_id=c)) == 2


def cursor(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("query", "field", "said"),
    [
        ("state=lost", "state", "one of done, expired, pending"),
        ("state=", "state", "one of"),
        ("conversation_id=", "conversation_id", "at least 1 character"),
        (f"conversation_id={'c' * 129}", "conversation_id", "at most 128"),
        ("limit=0", "limit", ">= 1"),
        ("limit=201", "limit", "<= 200"),
        ("limit=many", "limit", "a whole number"),
        ("cursor=nonsense", "cursor", "not one that this list has given"),
        (f"cursor={cursor('2026-01-01T00:00:00 x')}", "cursor", "not one"),
        ("order=up", "order", "unknown field"),
        ("limit=1&limit=2", "limit", "twice"),
    ],
)
async def test_what_cannot_be_listed_is_named(
    query: str, field: str, said: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.get(f"{LIST}?{query}")
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert said in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"conversation_id": ""}, "conversation_id"),
        ({"conversation_id": "c" * 129}, "conversation_id"),
        ({"conversation_id": 7}, "conversation_id"),
        ({"conversation": "c"}, "conversation"),
        ([], "body"),
    ],
)
async def test_what_cannot_be_run_is_named(
    body: Any, field: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.post(RUN, json=body)
    assert (answer.status_code, answer.json()["field"]) == (400, field)


async def test_a_caller_s_rating_changes_the_episode_and_stays_readable(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.48
    c = await talk(memory)
    e = await episode(memory, c, RUST, days_ago=9)
    before = await stored(memory, e)
    answer = await rate(http, e, "easy")
    assert (answer.status_code, answer.json()) == (200, {"applied": True})
    after = await stored(memory, e)
    assert after["stability"] > before["stability"]
    assert after["difficulty"] < before["difficulty"]
    assert after["fsrs_state"] == "review"
    [review] = await listed(http)
    assert (review["query"], review["state"], review["conversation_id"]) == (None, "done", c)
    [shown] = review["episodes"]
    assert (shown["id"], shown["rank"], shown["score"]) == (e, None, None)
    assert shown["rated"] == {
        "rating": "easy",
        "basis": "caller",
        "reviewed_at": review["at"],
        "stability_before": before["stability"],
        "stability_after": after["stability"],
        "difficulty_before": before["difficulty"],
        "difficulty_after": after["difficulty"],
    }
    found = await http.post(RAW, json={"query": "Rust", "conversation_id": c})
    [raw] = found.json()["episodic"]
    assert (raw["stability"], raw["last_reviewed_at"]) == (after["stability"], review["at"])


async def test_a_rating_of_the_past_changes_nothing(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.47
    e = await episode(memory, await talk(memory), RUST, days_ago=9)
    at = datetime.now(UTC) - timedelta(days=3)
    stamp, other_zone = at.isoformat(), at.astimezone(timezone(timedelta(hours=5))).isoformat()
    earlier = (at - timedelta(days=1)).isoformat()
    assert (await rate(http, e, "good", reviewed_at=stamp)).json() == {"applied": True}
    before = await stored(memory, e)
    for late in (stamp, other_zone, earlier):
        answer = await rate(http, e, "again", reviewed_at=late)
        assert (answer.status_code, answer.json()) == (200, {"applied": False})
    assert await stored(memory, e) == before
    assert len(await listed(http)) == 1


async def test_equal_ratings_at_a_time_count_once(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    e = await episode(memory, await talk(memory), RUST, days_ago=9)
    now = datetime.now(UTC).isoformat()
    answers = await asyncio.gather(*(rate(http, e, "good", reviewed_at=now) for _ in range(8)))
    assert sorted(one.json()["applied"] for one in answers) == [False] * 7 + [True]
    assert len(await listed(http)) == 1


async def test_a_rating_whose_answer_got_lost_has_been_applied_once(memory: Graphmem) -> None:
    e = await episode(memory, await talk(memory), RUST, days_ago=9)
    id, now = str(uuid.uuid4()), datetime.now(UTC)
    context = replace(memory.runtime.context(memory.client_id), new_id=lambda: id, now=lambda: now)
    new = NewRating(rating="good")
    assert (await writing.review(e, new, context)).applied
    before = await stored(memory, e)
    assert (await writing.review(e, new, context)).applied
    assert await stored(memory, e) == before


async def test_only_episodes_are_rated(http: httpx.AsyncClient, memory: Graphmem) -> None:
    c = await talk(memory)
    [fact] = await facts(memory, c, "The team uses Rust")
    message = await memory.remember(
        c, [{"session_id": "s", "role": "user", "content": "The team uses Rust"}]
    )
    for id, kind in ((fact, "fact"), (message.ids[0], "message")):
        answer = await rate(http, id, "good")
        assert (answer.status_code, answer.json()["field"]) == (400, "memory_id")
        assert f"this is a {kind}" in answer.json()["detail"]
        with pytest.raises(InvalidInput):
            await memory.review(id, "good")


async def test_unknown_and_foreign_episodes_look_the_same(
    http: httpx.AsyncClient, rival_http: httpx.AsyncClient, memory: Graphmem, rival: Graphmem
) -> None:
    foreign = await episode(memory, await talk(memory), RUST, days_ago=9)
    before = await stored(memory, foreign)
    unknown = "0" * len(foreign)
    answers = [
        await rival_http.post(
            f"/api/v0/memories/{id}/review", json={"rating": "easy"}, headers={"X-Request-Id": "r"}
        )
        for id in (foreign, unknown)
    ]
    assert [one.status_code for one in answers] == [404, 404]
    assert answers[0].text.replace(foreign, unknown) == answers[1].text
    assert await stored(memory, foreign) == before
    assert await listed(http) == await listed(rival_http) == []
    with pytest.raises(MemoryNotFound):
        await rival.review(foreign, "good")


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({}, "rating", "missing"),
        ({"rating": "perfect"}, "rating", "again, easy, good, hard"),
        ({"rating": 3}, "rating", "a text"),
        ({"rating": None}, "rating", "a text"),
        ({"rating": "good", "reviewed_at": "yesterday"}, "reviewed_at", "RFC"),
        ({"rating": "good", "reviewed_at": "2026-03-02T09:30:00"}, "reviewed_at", "zone"),
        ({"rating": "good", "reviewed_at": "0001-01-01T00:00:00Z"}, "reviewed_at", "0001-01-02"),
        ({"rating": "good", "reviewed_at": "9999-12-31T23:00:00Z"}, "reviewed_at", "9999-12-30"),
        ({"rating": "good", "reviewed_at": "9999-01-01T00:00:00Z"}, "reviewed_at", "future"),
        ({"rating": "good", "reviewed_at": 7}, "reviewed_at", "a time"),
        ({"rating": "good", "at": "2026-03-02T09:30:00Z"}, "at", "unknown"),
    ],
)
async def test_what_cannot_be_rated_is_named(
    body: dict[str, Any], field: str, said: str, refusing: httpx.AsyncClient
) -> None:
    answer = await refusing.post("/api/v0/memories/unknown/review", json=body)
    assert (answer.status_code, answer.json()["field"]) == (400, field), answer.text
    assert said in answer.json()["detail"]


async def test_what_is_refused_lists_runs_and_rates_nothing(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:
    e = await episode(memory, await talk(memory), RUST)
    before = await stored(memory, e)
    for answer, field in (
        (await http.get(f"{LIST}?limit=0"), "limit"),
        (await http.post(RUN, json={"conversation_id": ""}), "conversation_id"),
        (await rate(http, e, "perfect"), "rating"),
    ):
        assert answer.headers["content-type"] == "application/problem+json"
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_input")
        assert answer.json()["field"] == field
    assert await stored(memory, e) == before
    assert await listed(http) == []


@pytest.mark.parametrize(("example", "wanted"), [(RATING, NewRating), (RUN_EXAMPLE, RunAsked)])
def test_every_example_can_be_sent(example: Any, wanted: type) -> None:
    assert decoded(msgspec.json.encode(example.value), wanted)


SEQUENCES = int(os.environ.get("GRAPHMEM_TEST_RATING_SEQUENCES", "60"))
"""How many random sequences of ratings are sent; 1,000 where there is time."""


async def test_random_ratings_over_http_end_where_the_reference_ends(
    http: httpx.AsyncClient, memory: Graphmem
) -> None:  # S2.46 S2.47 B5
    chance = random.Random(f"ratings {SEQUENCES}")
    scheduler = fsrs.Scheduler(enable_fuzzing=False)
    c = await talk(memory)

    async def sequence(surprise: float, steps: list[tuple[str, datetime]]) -> None:
        id = await episode(memory, c, RUST, days_ago=400, surprise=surprise)
        start = await stored(memory, id)
        card = fsrs.Card(
            card_id=1,
            state=fsrs.State(FSRS_STATES.index(start["fsrs_state"]) + 1),
            step=start["fsrs_step"],
            stability=start["stability"],
            difficulty=start["difficulty"],
            due=datetime.now(UTC),
            last_review=start["last_reviewed_at"].to_native().astimezone(UTC),
        )
        for rating, at in steps:
            answer = await rate(http, id, rating, reviewed_at=at.isoformat())
            assert card.last_review is not None
            stale = at <= card.last_review
            assert answer.json() == {"applied": not stale}
            if not stale:
                number = fsrs.Rating(RATINGS.index(rating) + 1)
                card, _ = scheduler.review_card(card, number, at)
        end = await stored(memory, id)
        assert (end["stability"], end["difficulty"]) == (card.stability, card.difficulty)
        assert end["last_reviewed_at"].to_native() == card.last_review
        assert end["fsrs_state"] == FSRS_STATES[card.state - 1]
        assert end.get("fsrs_step") == card.step

    for start in range(0, SEQUENCES, 10):
        await asyncio.gather(
            *(sequence(chance.random(), steps(chance)) for _ in range(min(10, SEQUENCES - start)))
        )


def steps(chance: random.Random) -> list[tuple[str, datetime]]:
    """Return a few ratings, mostly one after the other, some of them too late."""
    at = datetime.now(UTC) - timedelta(days=399)
    found: list[tuple[str, datetime]] = []
    for _ in range(chance.randint(2, 6)):
        unit = chance.choice([timedelta(minutes=10), timedelta(hours=9), timedelta(days=6)])
        at += unit * chance.uniform(-0.3, 3)
        found.append((chance.choice(RATINGS), at))
    return found
