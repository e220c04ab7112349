"""The page in a real Chromium on a real server: what a person sees, types and clicks."""

import json
import os
import re
import shutil
from collections.abc import AsyncIterator
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal
from urllib.parse import quote

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, async_playwright, expect

from bench.explorer import DRAW, NAMES
from graphmem import config
from graphmem.cli.story import StoryLoader
from graphmem.client import Graphmem
from graphmem.errors import MemoryNotFound
from graphmem.runtime import Runtime
from tests import patterned
from tests.api.hostile_texts import DIRECTIONS, HOSTILE, LONG, MARKUP, SHAPES, STYLE, SVG
from tests.api.test_serve import have_running, served

SECONDS = 30
"""How long a busy machine may take for what is expected."""


@pytest_asyncio.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium. Where it is missing the tests are skipped loudly; in CI that is a failure."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        sentence = "no Chromium for the tests of the page: apt-get install chromium"
        if os.environ.get("CI"):
            pytest.fail(sentence)
        pytest.skip(sentence)
    # In a container the sandbox of Chromium needs rights that root may lack; the pages are our own.
    arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=program, args=arguments)
        yield started
        await started.close()


@pytest_asyncio.fixture
async def url(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """The address of a served graphmem with Cypher."""
    have_running(runtime, monkeypatch)
    async with served(config.load({}, port=0, jobs="off", cypher="on")) as (address, _):
        yield address


class Reader:
    """A person with a browser, who must see no error and send nothing elsewhere."""

    def __init__(self, page: Page, url: str, client: str) -> None:
        self.page, self._url, self._client = page, url, client
        self.wrong: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", lambda dialog: self.wrong.append(dialog.message))
        page.on("request", self._see)

    async def open(self, view: str) -> Locator:
        """Open a view, and return the page's content once nothing is awaited any more."""
        await self.page.goto("about:blank")
        await self.page.goto(f"{self._url}/?client={self._client}#/{view}")
        return await self.settled()

    async def settled(self) -> Locator:
        main = self.page.locator("main")
        await expect(self.page.locator("[aria-busy]")).to_have_count(0, timeout=1000 * SECONDS)
        return main

    def _hear(self, message: Any) -> None:
        # Chromium reports every answer of 400 and more, also those that a test asks for.
        if message.type in {"error", "warning"} and "Failed to load resource" not in message.text:
            self.wrong.append(message.text)

    def _see(self, request: Any) -> None:
        if not request.url.startswith((self._url, "about:")):
            self.wrong.append(request.url)


@pytest_asyncio.fixture
async def reader(browser: Browser, url: str, memory: Graphmem) -> AsyncIterator[Reader]:
    """A person in front of the page, as the client of this test."""
    context = await browser.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(1000 * SECONDS)
    expect.set_options(timeout=1000 * SECONDS)
    one = Reader(await context.new_page(), url, memory.client_id)
    yield one
    await context.close()
    assert one.wrong == []


@pytest_asyncio.fixture
async def told(memory: Graphmem) -> SimpleNamespace:
    """A conversation, an episode and a fact in two versions."""
    conversation = await memory.open_conversation("atlas", title="Atlas and Beacon")
    said = [
        ("user", "Mara", "The booking queue moves to PostgreSQL on Tuesday.", ["queue"]),
        ("assistant", "Quill", "Recorded: PostgreSQL carries the booking queue.", []),
        ("user", "Mara", "The pump in Harbour hall is blue.", []),
        ("user", "Mara", "The login fails with AUTH-401 again.", ["login"]),
    ]
    messages = [
        {"session_id": "morning", "role": role, "name": name, "content": text, "tags": tags}
        for role, name, text, tags in said
    ]
    ids = (await memory.remember(conversation.id, messages)).ids
    episode = await memory.remember_episode("atlas", message_ids=ids[:2], title="The queue moves")
    old = await memory.remember_fact(
        "The Harbour plan costs 49 € a month.",
        conversation_id="atlas",
        valid_at="2026-03-01T00:00:00Z",
    )
    new = await memory.supersede_fact(
        old.id,
        "The Harbour plan costs 59 € a month.",
        valid_at="2026-06-01T00:00:00Z",
        reason="the new price list",
    )
    return SimpleNamespace(ids=ids, episode=episode, old=old, new=new)


async def test_a_question_shows_its_context_its_budget_and_the_reasons(
    reader: Reader, told: SimpleNamespace
) -> None:
    main = await reader.open("ask")
    await expect(main.locator(".empty")).to_contain_text("Nothing is asked yet")
    await main.get_by_label("Question").fill("Which database carries the booking queue?")
    await main.get_by_label("Budget in tokens").fill("60")
    await main.get_by_role("button", name="Ask").click()
    await reader.settled()

    await expect(main.locator(".context")).to_contain_text("PostgreSQL")
    await expect(main.locator(".budget .soft")).to_have_text(re.compile(r"^\d+ of 60 tokens used$"))
    assert await main.locator(".budget .bar i").count() >= 1
    first = main.locator("[data-part=items] > li").first
    await first.locator("summary").click()
    await expect(first.get_by_role("region", name="Signals")).to_contain_text("cosine")
    await expect(first.locator("meter")).to_have_attribute("value", re.compile(r"^0\.\d+"))


async def test_what_was_left_out_is_shown_with_the_reason_and_explained(
    reader: Reader, told: SimpleNamespace
) -> None:
    main = await reader.open("ask?query=booking+queue&max_tokens=30")
    omitted = main.locator("[data-part=omitted] > li").first
    await expect(omitted).to_contain_text("no room within the budget")
    await omitted.get_by_role("button", name="Why").click()
    await reader.settled()
    await expect(omitted.locator(".explained")).to_contain_text("no room")
    await expect(omitted.get_by_role("region", name="Scores compared")).to_contain_text("this one")


async def test_two_times_side_by_side_show_what_only_one_of_them_knows(
    reader: Reader, told: SimpleNamespace
) -> None:
    main = await reader.open("ask")
    await main.get_by_label("Question").fill("What does the Harbour plan cost a month?")
    await main.get_by_label("Kind").select_option("fact")
    await main.get_by_label("Compare with").check()
    sides = main.get_by_label("As it held at")
    await sides.nth(0).fill("2026-04-01T12:00")
    await sides.nth(1).fill("2026-07-01T12:00")
    await main.get_by_role("button", name="Ask").click()
    await reader.settled()
    answers = main.locator("#answers section")
    await expect(answers.nth(0).locator(".context")).to_contain_text("49 €")
    await expect(answers.nth(1).locator(".context")).to_contain_text("59 €")
    await expect(answers.nth(0).locator(".only").first).to_have_text("only on this side")


async def test_a_year_of_five_digits_is_refused_where_it_is_typed(reader: Reader) -> None:
    for view in ("ask", "forget"):
        main = await reader.open(view)
        for entry in await main.locator("input[type=datetime-local]").all():
            await entry.evaluate("entry => { entry.value = '20263-01-01T00:00' }")
            assert await entry.evaluate("entry => entry.validity.rangeOverflow")


async def test_a_time_that_cannot_be_read_is_told_in_the_answer(reader: Reader) -> None:
    main = await reader.open("ask")
    await main.get_by_label("Question").fill("When is the crane painted?")
    entry = main.get_by_label("As it held at").first
    # As in a browser without a field for times.
    await entry.evaluate("entry => { entry.type = 'text'; entry.value = '20263-01-01T00:00' }")
    await main.get_by_role("button", name="Ask").click()
    await expect(main.get_by_role("alert")).to_contain_text("20263-01-01T00:00 is no time")


async def test_two_rankings_are_compared(reader: Reader, told: SimpleNamespace) -> None:
    main = await reader.open("ask")
    await main.get_by_label("Question").fill("login fails")
    await main.get_by_label("Compare with").check()
    await main.locator("[name=ranking_a]").select_option("bm25")
    await main.locator("[name=ranking_b]").select_option("vector")
    await main.get_by_role("button", name="Ask").click()
    await reader.settled()
    answers = main.locator("#answers section")
    await expect(answers.nth(0).locator("h2")).to_have_text("Answer, ranking bm25")
    await expect(answers.nth(1).locator("h2")).to_have_text("Answer, ranking vector")
    await expect(answers.nth(0).locator(".context")).to_contain_text("AUTH-401")
    await expect(answers.nth(1).locator(".only").first).to_have_text("only on this side")


async def test_an_alias_is_shown_and_undone(reader: Reader, memory: Graphmem) -> None:
    said = [
        {"session_id": "s", "role": "user", "content": f"{name} repairs the crane."}
        for name in ("Lyra Voss", "Lyra Voss-Amsel")
    ]
    await memory.remember("crane", said, create=True)
    await memory.add_alias("Lyra Voss-Amsel", "Lyra Voss")
    main = await reader.open("names")
    alias = main.locator("li li", has_text="Lyra Voss-Amsel (manual)")
    await alias.get_by_role("button", name="Undo this alias").click()
    await expect(alias.locator(".good")).to_have_text("undone")
    main = await reader.open("names")
    await expect(main.locator("li li")).to_have_count(0)


async def test_a_fact_is_shown_with_both_times_of_its_versions(
    reader: Reader, told: SimpleNamespace
) -> None:
    main = await reader.open(f"node?id={told.new.id}")
    versions = main.get_by_role("region", name="Versions").locator("tbody tr")
    await expect(versions).to_have_count(2)
    await expect(versions.nth(0)).to_contain_text("2026-03-01")
    await expect(versions.nth(1)).to_contain_text("the new price list")
    await expect(versions.nth(1)).to_have_class("now")


async def test_an_episode_shows_its_decay(reader: Reader, told: SimpleNamespace) -> None:
    main = await reader.open(f"node?id={told.episode.id}")
    await expect(main.locator("svg.chart .curve")).to_have_attribute(
        "points", re.compile(r"^40\.0,10\.0 ")
    )
    await expect(main).to_contain_text("remembered with probability")


async def test_each_review_of_an_episode_begins_its_curve_anew(
    reader: Reader, memory: Graphmem
) -> None:
    said = {
        "session_id": "s",
        "role": "user",
        "content": "The crane is painted.",
        "occurred_at": "2026-01-01T00:00:00Z",
    }
    ids = (await memory.remember("crane", [said], create=True)).ids
    episode = await memory.remember_episode("crane", message_ids=ids, title="The crane")
    for at in ("2026-01-05T00:00:00Z", "2026-02-01T00:00:00Z"):
        assert (await memory.review(episode.id, "good", reviewed_at=at)).applied
    main = await reader.open(f"node?id={episode.id}")
    chart = main.locator("svg.chart")
    await expect(chart.locator("circle")).to_have_count(2)
    points = await chart.locator(".curve").get_attribute("points") or ""
    tops = [one.partition(",")[0] for one in points.split() if one.endswith(",10.0")]
    assert len(set(tops)) == 3
    await expect(main.get_by_role("region", name="Reviews")).to_contain_text("good")


async def test_an_address_without_an_id_says_what_it_needs(reader: Reader) -> None:
    for view in ("node", "session", "conversation", "run", "pattern"):
        main = await reader.open(f"{view}?id=")
        await expect(main.locator(".empty")).to_contain_text("This address needs ?")
        await expect(main.locator("details")).to_have_count(0)


async def test_a_neighbourhood_is_drawn_filtered_and_expanded(
    reader: Reader, told: SimpleNamespace
) -> None:
    main = await reader.open(f"node?id={told.ids[0]}")
    status = main.locator(".graph [role=status]")
    before = _nodes(await status.inner_text())
    assert before >= 3
    types = main.locator(".graph fieldset")
    for box in await types.get_by_role("checkbox").all():
        await box.uncheck()
    await expect(status).to_have_text(re.compile(r"^1 node, 0 edges"))
    for box in await types.get_by_role("checkbox").all():
        await box.check()
    await main.get_by_text("The nodes as a list").click()
    session = main.locator(".graph li", has_text="Session:")
    await session.get_by_role("button", name="Expand").click()
    await expect(status).to_have_text(re.compile(rf"^(?!{before} )\d+ nodes"))
    assert _nodes(await status.inner_text()) > before


def _nodes(told: str) -> int:
    found = re.match(r"(\d+) node", told)
    assert found, told
    return int(found[1])


async def test_a_hub_says_what_is_not_shown(reader: Reader, memory: Graphmem) -> None:
    said = [
        {"session_id": "s", "role": "user", "content": f"Tidewater issue {n}."} for n in range(20)
    ]
    await memory.remember("hub", said, create=True)
    main = await reader.open("node?id=conversation:hub")
    session, shown = main.locator(".graph details"), main.locator("code").first
    before = await shown.inner_text()
    await session.locator("summary").click()
    await session.locator("li", has_text="Session:").get_by_role("link").click()
    await expect(shown).not_to_have_text(before)
    await reader.settled()
    await main.get_by_label("Nodes at most").select_option("10")
    await main.get_by_role("button", name="Show", exact=True).click()
    await reader.settled()
    await expect(main.locator(".missing")).to_contain_text("Not everything is shown")


async def test_a_conversation_leads_to_its_session_with_the_hit_marked(
    reader: Reader, told: SimpleNamespace
) -> None:
    main = await reader.open("conversations")
    await main.get_by_role("link", name="Atlas and Beacon").click()
    await main.get_by_role("link", name="morning").click()
    await reader.settled()
    await expect(main.locator("li[data-id]")).to_have_count(4)
    main = await reader.open(f"node?id={told.ids[2]}")
    await main.get_by_role("link", name="its session, with this message marked").click()
    await reader.settled()
    await expect(main.locator("li.hit")).to_contain_text("The pump in Harbour hall is blue.")
    await expect(main.locator("li.hit")).to_be_in_viewport()
    main = await reader.open(f"{reader.page.url.partition('#/')[2]}".replace("hit=", "hit=other"))
    await expect(main).to_contain_text("The hit is not among these messages")


async def test_a_pattern_is_filled_in_and_answered(reader: Reader, memory: Graphmem) -> None:
    twice = [
        {"session_id": day, "role": "user", "content": "The invoice of Harbour hall is missing."}
        for day in ("monday", "tuesday")
    ]
    await memory.remember("twice", twice, create=True)
    main = await reader.open("patterns")
    await main.get_by_role("link", name="Duplicates").click()
    await reader.settled()
    await main.get_by_label("kind").select_option("message")
    await main.get_by_role("button", name="Find").click()
    await reader.settled()
    await expect(main.get_by_role("region", name="Duplicates")).to_contain_text("invoice")


PICTURES = {
    "recurring_themes": "timeline",
    "themes_rising_and_fading": "bars",
    "entities_across_sessions": "graph",
    "decisions_reversed": "timeline",
    "open_contradictions": "graph",
    "bridges": "graph",
    "shown_and_never_used": "bars",
    "knowledge_gaps": "bars",
    "timeline": "timeline",
    "duplicates": "graph",
}


async def test_each_pattern_is_a_table_and_a_picture(reader: Reader, memory: Graphmem) -> None:
    await patterned.live(memory)
    assert set(PICTURES) == {one.name for one in memory.patterns().patterns}
    for name, kind in PICTURES.items():
        main = await reader.open(f"pattern?name={name}")
        for parameter, value in patterned.ASKED[name].items():
            entry = main.locator(f"[name={parameter}]")
            if await entry.evaluate("entry => entry.tagName") == "SELECT":
                await entry.select_option(str(value))
            else:
                await entry.fill(str(value))
        await main.get_by_role("button", name="Find").click()
        await reader.settled()
        rows = main.locator("table").last.locator("tbody tr")
        assert await rows.count() >= 1, name
        drawn = main.locator(f"figure [data-picture={kind}]")
        await expect(drawn, name).to_have_count(1)
        marks = {"timeline": ".track > a", "bars": ".bar > i", "graph": "canvas"}[kind]
        assert await drawn.locator(marks).count() >= 1, name
        assert await _overflow(reader.page) <= 0, name


async def test_the_sessions_of_a_conversation_are_on_a_timeline_with_their_links(
    reader: Reader, memory: Graphmem
) -> None:
    said = [
        {
            "session_id": f"week-{week}",
            "role": "user",
            "content": "Lyra Voss repairs the Harbour crane in Osaka with Teodor Brandt.",
            "occurred_at": f"2026-03-{1 + 7 * week:02}T09:00:00Z",
        }
        for week in range(4)
    ]
    await memory.remember("crane", said, create=True)
    for session in (await memory.sessions("crane")).sessions:
        await memory.summarize_session(session.id)
    main = await reader.open("conversation?id=crane")
    picture = main.locator("svg.arcs")
    await expect(picture).to_have_attribute(
        "aria-label", re.compile(r"^4 sessions from 2026-03-01 to 2026-03-22, \d+ links? between")
    )
    assert await picture.locator("path.tick").count() == 4
    links = await picture.locator("path.link").count()
    assert links >= 3
    await main.get_by_text("as a list").click()
    said_links = main.locator("[data-part=links] li")
    await expect(said_links).to_have_count(links)
    await expect(said_links.first).to_contain_text(re.compile(r"week-\d – week-\d by "))


async def test_a_run_shows_the_tree_of_its_budget(reader: Reader, memory: Graphmem) -> None:
    budget = {"max_tokens": 10_000}
    async with memory.run(agent_type="writer", episode_id="launch", budget=budget) as run:
        await run.subcall(agent_type="reviewer", budget_fraction=0.2)
        main = await reader.open("runs")
        await main.get_by_role("link", name="writer").click()
        await reader.settled()
        branches = main.locator("ul.tree li")
        await expect(branches).to_have_count(2)
        await expect(branches.nth(1)).to_contain_text("reviewer")
        await expect(branches.nth(0).locator(".bar").first).to_have_attribute(
            "aria-label", re.compile(r"given of 10,000 tokens")
        )


async def test_cypher_is_answered_as_a_table_and_as_a_graph(
    reader: Reader, told: SimpleNamespace, memory: Graphmem
) -> None:
    main = await reader.open("cypher")
    await main.get_by_label("Statement").fill(
        "MATCH path = (:Session {client_id: $client})-[]-(:Message) RETURN path"
    )
    await main.get_by_label("Parameters").fill(f'{{"client": "{memory.client_id}"}}')
    await main.get_by_role("button", name="Run").click()
    await reader.settled()
    await expect(main.get_by_role("region", name="Rows").locator("tbody tr")).to_have_count(4)
    await expect(main.locator(".graph [role=status]")).to_contain_text("5 nodes, 4 edges")


async def test_refused_cypher_is_marked_at_its_place(reader: Reader) -> None:
    main = await reader.open("cypher")
    text = main.get_by_label("Statement")
    await text.fill("MATCH (m:Memory)\nDETACH DELETE m")
    await main.get_by_role("button", name="Run").click()
    await reader.settled()
    await expect(main.get_by_role("alert")).to_contain_text("cypher write at line 2, column 1")
    chosen = await text.evaluate("one => one.value.slice(one.selectionStart, one.selectionEnd)")
    assert chosen == "D"
    await text.fill("MATCH (m:Memory)\nRETURN m.id +")
    await main.get_by_role("button", name="Run").click()
    await reader.settled()
    await expect(main.get_by_role("alert")).to_contain_text("at line")
    await expect(main.get_by_role("alert").locator("pre")).to_contain_text("^")
    await main.get_by_role("button", name="Show the audit").click()
    await reader.settled()
    refused = main.locator("li", has_text="DETACH DELETE m").first
    await expect(refused).to_contain_text("cypher_write")


async def test_tags_and_metadata_are_edited(
    reader: Reader, told: SimpleNamespace, memory: Graphmem
) -> None:
    main = await reader.open(f"node?id={told.ids[0]}")
    await main.get_by_text("Edit tags").click()
    await main.get_by_label("Metadata as JSON").fill("{no json")
    await main.get_by_role("button", name="Save").click()
    await expect(main.get_by_role("alert")).to_contain_text("The metadata are no JSON")
    await main.get_by_label("Tags, with commas").fill("queue, checked")
    await main.get_by_label("Metadata as JSON").fill('{"seen": true}')
    await main.get_by_role("button", name="Save").click()
    await expect(main.locator(".annotate .good")).to_contain_text("Saved")
    saved = await memory.memory(told.ids[0])
    assert (set(saved.tags or []), saved.metadata) == ({"queue", "checked"}, {"seen": True})


async def test_a_number_that_javascript_would_round_stays_when_tags_are_saved(
    reader: Reader, memory: Graphmem
) -> None:
    large = {"ticket": 9007199254740993}
    fact = await memory.remember_fact("Ticket 7 is about the crane.", metadata=large)
    main = await reader.open(f"node?id={fact.id}")
    await main.get_by_text("Edit tags").click()
    await main.get_by_label("Tags, with commas").fill("crane")
    await main.get_by_role("button", name="Save").click()
    await expect(main.locator(".annotate .good")).to_contain_text("Saved: crane")
    saved = await memory.memory(fact.id)
    assert (saved.tags, saved.metadata) == (["crane"], large)

    await main.get_by_label("Metadata as JSON").fill('{"ticket": 9007199254740993, "seen": true}')
    await main.get_by_role("button", name="Save").click()
    await expect(main.get_by_role("alert")).to_contain_text("ticket: is too large a number")
    assert (await memory.memory(fact.id)).metadata == large


async def test_metadata_can_be_set_back_to_those_that_were_filled_in(
    reader: Reader, memory: Graphmem
) -> None:
    fact = await memory.remember_fact("The crane is blue.", metadata={"seen": 1})
    main = await reader.open(f"node?id={fact.id}")
    await main.get_by_text("Edit tags").click()
    field = main.get_by_label("Metadata as JSON")
    first = await field.input_value()
    for text, saved in [('{"seen": 2}', 2), (first, 1)]:
        await field.fill(text)
        await main.get_by_role("button", name="Save").click()
        await expect(main.locator(".annotate .good")).to_contain_text(f'{{"seen":{saved}}}')
        assert (await memory.memory(fact.id)).metadata == {"seen": saved}


async def test_a_fact_is_superseded(
    reader: Reader, told: SimpleNamespace, memory: Graphmem
) -> None:
    main = await reader.open(f"node?id={told.new.id}")
    await main.get_by_text("Supersede this fact").click()
    await main.get_by_label("What holds instead").fill("The Harbour plan costs 54 € a month.")
    await main.get_by_label("Reason").fill("customers left")
    await main.get_by_role("button", name="Supersede").click()
    await main.get_by_role("link", name="look at it").click()
    await reader.settled()
    versions = main.get_by_role("region", name="Versions").locator("tbody tr")
    await expect(versions).to_have_count(3)
    await expect(versions.nth(2)).to_contain_text("customers left")


async def test_forgetting_counts_first_and_then_shows_its_receipt(
    reader: Reader, told: SimpleNamespace, memory: Graphmem
) -> None:
    main = await reader.open("forget")
    await main.get_by_role("button", name="Count what would go").click()
    await expect(main.get_by_role("alert")).to_have_text("Name at least one condition.")
    await main.get_by_label("Tags, with commas").fill("login")
    await main.get_by_role("button", name="Count what would go").click()
    await expect(main.locator(".receipt")).to_contain_text("nothing is deleted yet")
    assert (await memory.memory(told.ids[3])).text
    await main.get_by_role("button", name="Forget it for good").click()
    await expect(main.locator(".receipt")).to_contain_text("Forgotten. The receipt:")
    left = await memory.memories(kinds=["message"])
    assert told.ids[3] not in {one.id for one in left.memories}
    assert told.ids[0] in {one.id for one in left.memories}


async def test_what_was_added_after_the_count_is_counted_before_it_is_forgotten(
    reader: Reader, told: SimpleNamespace, memory: Graphmem
) -> None:
    main = await reader.open("forget")
    await main.get_by_label("Tags, with commas").fill("login")
    await main.get_by_role("button", name="Count what would go").click()
    await expect(main.locator(".receipt")).to_contain_text("nothing is deleted yet")
    late = await memory.remember_fact("The login of Mara is mended.", tags=["login"])
    forget = main.get_by_role("button", name="Forget it for good")
    await forget.click()
    await expect(main.locator(".receipt")).to_contain_text("The numbers have changed")
    for one in (late.id, told.ids[3]):
        assert (await memory.memory(one)).text
    await forget.click()
    await expect(main.locator(".receipt")).to_contain_text("Forgotten. The receipt:")
    with pytest.raises(MemoryNotFound):
        await memory.memory(late.id)


@pytest_asyncio.fixture
async def hostile(memory: Graphmem) -> list[str]:
    """Every hostile text as a memory, and as a name, a session, a tag and metadata; return the ids."""
    assert len(HOSTILE) >= 60
    said = [
        {
            "session_id": _label(text) or "s",
            "role": "user",
            "name": _label(text) or "n",
            "content": f"pump {text}",
            "tags": [tag] if (tag := _tag(text)) else [],
            "metadata": {"note": text[:700], _label(text): [text[:100]]},
        }
        for text in HOSTILE
    ]
    ids = (await memory.remember("hostile", said, create=True)).ids
    await memory.open_conversation("hostile", title=HOSTILE[0] + DIRECTIONS[1] + SHAPES[1][:900])
    old = await memory.remember_fact(
        f"pump {MARKUP[5]}", conversation_id="hostile", keywords=[MARKUP[0], DIRECTIONS[1]]
    )
    new = await memory.supersede_fact(old.id, f"pump {SVG[0]}", reason=MARKUP[1])
    episode = await memory.remember_episode(
        "hostile", message_ids=ids[:3], title=STYLE[0] + DIRECTIONS[0]
    )
    run = await memory.run(agent_type=MARKUP[6], episode_id=DIRECTIONS[1])
    await run.subcall(agent_type=SVG[1], budget_fraction=0.5)
    return [*ids, new.id, episode.id]


async def test_a_long_text_is_cut_between_characters(reader: Reader, memory: Graphmem) -> None:
    texts = ["x" * at + "😀" * 2400 for at in (5, 6)]
    ids = [(await memory.remember_fact(text)).id for text in texts]
    for one in ids:
        main = await reader.open(f"node?id={one}")
        assert await main.evaluate("main => main.textContent.isWellFormed()")
    main = await reader.open("memories")
    assert await main.evaluate("main => main.textContent.isWellFormed()")


VIEWS = (
    "conversations",
    "memories",
    "names",
    "conversation?id=hostile",
    "ask?query=pump+script&max_tokens=20000",
    "runs",
    "patterns",
)


async def test_hostile_texts_neither_run_nor_break_the_layout(
    reader: Reader, hostile: list[str]
) -> None:
    for view in VIEWS:
        main = await reader.open(view)
        while await main.get_by_role("button", name="Show more").count():
            await main.get_by_role("button", name="Show more").click()
            await reader.page.wait_for_timeout(200)
        for summary in await main.locator("summary").all():
            if await summary.is_visible():
                await summary.click()
        await _is_whole(reader, main)
    by_text = dict(zip([*HOSTILE, SVG[0], STYLE[0]], hostile, strict=True))
    for text in (MARKUP[0], SVG[0], STYLE[0], *DIRECTIONS[:2], *SHAPES[1:4], LONG):
        main = await reader.open(f"node?id={by_text[text]}")
        shown = await main.locator(".text").first.evaluate("box => box.textContent")
        assert text[:40] in shown or text == STYLE[0]  # an episode has the text of its messages
        assert len(shown) < 5_000  # a megabyte is laid out only on request
        await _is_whole(reader, main)


async def test_hostile_results_of_cypher_neither_run_nor_break_the_layout(
    reader: Reader, memory: Graphmem, hostile: list[str]
) -> None:
    main = await reader.open("cypher")
    column = "`" + (MARKUP[0] + DIRECTIONS[1]).replace("`", "``") + "`"
    statements = {
        f'MATCH (m:Memory {{client_id: "{memory.client_id}"}}) RETURN m': "{}",
        f"UNWIND $texts AS text RETURN text AS {column}, {{a: [text]}} AS inside": json.dumps(
            {"texts": [text[:500] for text in HOSTILE]}
        ),
        f"RETURN `{MARKUP[3]}`": "{}",
    }
    for statement, parameters in statements.items():
        await main.get_by_label("Statement").fill(statement)
        await main.get_by_label("Parameters").fill(parameters)
        await main.get_by_role("button", name="Run").click()
        await reader.settled()
        await _is_whole(reader, main)
    await main.get_by_role("button", name="Show the audit").click()
    await reader.settled()
    await _is_whole(reader, main)


async def test_hostile_addresses_break_nothing(reader: Reader) -> None:
    await reader.open("ask")
    for text in HOSTILE[:-1]:
        given = quote(text[:300], safe="")
        for view in ("node?id=", "session?id=", "pattern?name=", "?"):
            await reader.page.evaluate("hash => { location.hash = hash }", f"#/{view}{given}")
        await _is_whole(reader, await reader.settled())


def _label(text: str) -> str:
    return text[:100].strip()


def _tag(text: str) -> str:
    return re.sub(r"[,\s\x00-\x1f\x7f-\x9f]+", "_", text)[:40].strip()


INTRUDERS = """main => {
  const known = new Set((
    "A BDI BUTTON CANVAS CODE DATALIST DD DETAILS DIV DL DT FIELDSET FORM H1 H2 H3 I INPUT LABEL LEGEND LI "
    + "FIGCAPTION FIGURE METER OL OPTION P PRE SECTION SELECT SPAN STRONG SUMMARY "
    + "TABLE TBODY TD TEXTAREA TH THEAD TIME TR UL "
    + "circle g line path polyline rect svg text title"
  ).split(" "));
  const found = [];
  for (const one of main.querySelectorAll("*")) {
    if (!known.has(one.tagName)) found.push(one.tagName);
    for (const { name, value } of one.attributes) {
      const leads = /^(href|src|action)$/.test(name) && !value.startsWith("#/");
      if (leads || name.startsWith("on")) found.push(`${name}=${value}`);
    }
  }
  return found;
}"""
"""The elements and attributes in a view that the page itself never makes."""


async def _is_whole(reader: Reader, main: Locator) -> None:
    """Fail if a text has become elements, has run, or has widened the page."""
    assert (await reader.page.title()).endswith("graphmem explorer")
    assert await main.evaluate(INTRUDERS) == []
    await expect(main.locator("h1")).to_have_count(1)
    assert await _overflow(reader.page) <= 0
    box = await reader.page.locator("footer").bounding_box()
    assert box
    assert box["height"] < 200
    assert reader.wrong == []


async def _overflow(page: Page) -> int:
    """Return by how many pixels the page is wider than its window."""
    root = page.locator("html")
    return int(await root.evaluate("root => root.scrollWidth - root.clientWidth"))


async def test_the_page_fits_a_narrow_screen_and_the_dark(
    browser: Browser, url: str, told: SimpleNamespace, memory: Graphmem
) -> None:
    context = await browser.new_context(
        viewport={"width": 360, "height": 740}, color_scheme="dark", reduced_motion="reduce"
    )
    reader = Reader(await context.new_page(), url, memory.client_id)
    for view in (
        *("ask?query=booking+queue", f"node?id={told.new.id}", f"node?id={told.episode.id}"),
        *("conversation?id=atlas", "names", "memories", "cypher", "forget", "runs"),
        *("pattern?name=decisions_reversed", "pattern?name=entities_across_sessions"),
    ):
        main = await reader.open(view)
        if view.startswith("pattern"):
            await main.get_by_role("button", name="Find").click()
            await reader.settled()
        assert await _overflow(reader.page) <= 0, view
    body = reader.page.locator("body")
    assert await body.evaluate("body => getComputedStyle(body).backgroundColor") == (
        "rgb(13, 17, 23)"
    )
    await context.close()
    assert reader.wrong == []


async def test_the_keyboard_alone_asks_and_looks(reader: Reader, told: SimpleNamespace) -> None:
    await reader.open("ask")
    keyboard = reader.page.keyboard
    await keyboard.press("Tab")
    await expect(reader.page.locator(":focus")).to_have_text("Skip to the content")
    await _tab_to(reader.page, "query")
    await keyboard.type("booking queue")
    await keyboard.press("Tab")
    await keyboard.press("Enter")
    main = await reader.settled()
    await expect(main.locator(".context")).to_contain_text("PostgreSQL")
    main = await reader.open(f"node?id={told.ids[0]}")
    await main.locator("canvas").focus()
    await keyboard.press("ArrowRight")
    await keyboard.press("e")
    await keyboard.press("Enter")
    await expect(reader.page).not_to_have_url(re.compile(told.ids[0]))


async def _tab_to(page: Page, name: str) -> None:
    for _ in range(40):
        await page.keyboard.press("Tab")
        if await page.locator(f":focus[name={name}]").count():
            return
    raise AssertionError(f"Tab does not reach {name}")


async def test_errors_and_empty_lists_are_told(reader: Reader) -> None:
    main = await reader.open("conversations")
    await expect(main.locator(".empty")).to_contain_text("There is no conversation")
    main = await reader.open("node?id=nothing")
    await expect(main.get_by_role("alert")).to_contain_text("Node not found")
    main = await reader.open("node?id=..")
    await expect(main.get_by_role("alert").first).to_contain_text("no address has this id")
    main = await reader.open("ask?query=anything")
    await expect(main.locator(".empty").first).to_contain_text("The context is empty")


async def test_a_key_is_asked_for_and_kept_only_in_the_page(
    browser: Browser,
    runtime: Runtime,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    memory: Graphmem,
) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text(f"{memory.client_id} agent {sha256(b'sesame').hexdigest()}\n")
    have_running(runtime, monkeypatch)
    settings = config.load({}, port=0, jobs="off", keys_file=keys)
    context = await browser.new_context()
    async with served(settings) as (address, _):
        page = await context.new_page()
        await page.goto(f"{address}/#/conversations")
        await expect(page.get_by_role("alert")).to_contain_text("a key is needed")
        await page.get_by_label("Key").fill("sesame")
        await page.get_by_role("button", name="Use").click()
        await expect(page.locator(".empty")).to_contain_text("There is no conversation")
        stored = await page.locator("body").evaluate(
            "() => JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie])"
        )
        assert "sesame" not in stored
        assert "sesame" not in page.url
    await context.close()


async def test_a_client_or_a_key_that_no_header_can_have_is_named(reader: Reader) -> None:
    await reader.open("memories")
    alert = reader.page.locator("main").get_by_role("alert")
    for label, text, field in [("Client", "客户", "client"), ("Key", "ключ", "key")]:
        await reader.page.get_by_label(label, exact=True).fill(text)
        await reader.page.get_by_role("button", name="Use").click()
        await expect(alert).to_contain_text(f"the {field} has a character")
        await expect(alert.locator("code")).to_have_text(field)


async def test_a_browser_that_blocks_the_storage_shows_the_page(
    browser: Browser, url: str, memory: Graphmem
) -> None:
    context = await browser.new_context()
    await context.add_init_script(
        "Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('no') } })"
    )
    reader = Reader(await context.new_page(), url, memory.client_id)
    main = await reader.open("conversations")
    await expect(main.locator(".empty")).to_contain_text("There is no conversation")
    await reader.page.get_by_label("Client").fill("other")
    await reader.page.get_by_role("button", name="Use").click()
    async with reader.page.expect_request("**/memories*") as asked:
        await reader.page.get_by_role("link", name="Memories").click()
    assert (await asked.value).headers["x-client-id"] == "other"
    await reader.settled()
    await context.close()
    assert reader.wrong == []


async def test_a_chosen_client_stays_when_an_address_with_another_is_reloaded(
    reader: Reader,
) -> None:
    await reader.open("conversations")
    field = reader.page.get_by_label("Client")
    await field.fill("other")
    await reader.page.get_by_role("button", name="Use").click()
    await reader.settled()
    await reader.page.reload()
    main = await reader.settled()
    await expect(field).to_have_value("other")
    await expect(main.locator("h1")).to_have_text("Conversations")


COUNT_WORK = """async () => {
  const { graph } = window;
  const calls = {};
  for (const name of ["fill", "stroke", "fillText", "clearRect"]) {
    const whole = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...given) {
      calls[name] = (calls[name] ?? 0) + 1;
      return whole.apply(this, given);
    };
  }
  let writes = 0;
  const watch = new MutationObserver((changes) => (writes += changes.length));
  watch.observe(document.body, { attributes: true, childList: true, characterData: true, subtree: true });
  const before = graph.frames;
  for (const scale of [0.2, 0.5, 1, 2, 4]) {
    graph.zoom(scale / graph.view.scale, 30, 20);
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  }
  await new Promise((done) => setTimeout(done));
  const seen = graph.seen(graph.canvas.clientWidth, graph.canvas.clientHeight).length;
  return { frames: graph.frames - before, calls, writes, seen };
}"""


async def test_what_a_role_may_not_do_is_said(
    browser: Browser,
    runtime: Runtime,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    memory: Graphmem,
    told: SimpleNamespace,
) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text(f"{memory.client_id} reader {sha256(b'sesame').hexdigest()}\n")
    have_running(runtime, monkeypatch)
    context = await browser.new_context()
    async with served(config.load({}, port=0, jobs="off", keys_file=keys)) as (address, _):
        page = await context.new_page()
        await page.goto(f"{address}/#/forget")
        await page.get_by_label("Key").fill("sesame")
        await page.get_by_role("button", name="Use").click()
        await page.get_by_label("Tags, with commas").fill("login")
        await page.get_by_role("button", name="Count what would go").click()
        await expect(page.get_by_role("alert")).to_contain_text("role")
        await page.get_by_role("link", name="Cypher").click()
        await page.get_by_role("button", name="Run").click()
        await expect(page.get_by_role("alert")).to_contain_text("operator")
    await context.close()
    assert (await memory.memory(told.ids[3])).text


async def test_a_thousand_nodes_cost_a_few_calls_a_frame(
    browser: Browser, url: str, bulk_data: None
) -> None:
    context = await browser.new_context(bypass_csp=True)  # for the script of the test itself
    page = await context.new_page()
    await page.goto(f"{url}/")
    await page.evaluate(DRAW, 1000)
    canvas = page.locator("canvas")
    await expect(canvas).to_have_attribute(
        "data-frames", re.compile(r"^[3-9]\d|\d{3}"), timeout=60_000
    )
    await expect(page.locator(".graph [role=status]")).to_contain_text("1,000 nodes, 1,330 edges")
    size = "graph.canvas.clientWidth, graph.canvas.clientHeight"
    inside = await page.evaluate(f"() => graph.seen({size}).length")
    assert inside == 1000  # the whole graph fits until somebody moves the view
    worked = await page.evaluate(COUNT_WORK)
    frames = worked["frames"]
    assert frames >= 5
    assert worked["writes"] <= 2 * frames
    assert worked["calls"]["clearRect"] == frames
    assert worked["calls"]["fill"] <= 5 * frames  # one for each kind
    assert worked["calls"]["stroke"] <= 2 * frames
    assert worked["seen"] < 500  # enlarged, most nodes are outside and are not drawn
    await context.close()


async def test_a_picture_of_too_many_nodes_says_so(
    browser: Browser, url: str, bulk_data: None
) -> None:
    context = await browser.new_context(bypass_csp=True)
    page = await context.new_page()
    await page.goto(f"{url}/")
    await page.evaluate(DRAW, 2100)
    await expect(page.locator(".missing")).to_contain_text("at most 2,000 nodes")
    await expect(page.locator(".graph [role=status]")).to_contain_text("2,000 nodes")
    await context.close()


PATTERN = "pattern?name=decisions_reversed"


async def test_axe_finds_no_serious_violation(
    browser: Browser, url: str, told: SimpleNamespace, memory: Graphmem
) -> None:
    axe = files("axe_playwright_python").joinpath("axe.min.js").read_text()
    views = ("conversations", "memories", "names", "patterns", "cypher", "forget", "runs")
    shown = (
        *("ask?query=booking+queue&max_tokens=60", f"node?id={told.new.id}"),
        *(f"node?id={told.episode.id}", "conversation?id=atlas", PATTERN),
    )
    schemes: dict[Literal["light", "dark"], tuple[str, ...]]
    schemes = {"light": (*shown, *views), "dark": shown}
    for scheme, opened in schemes.items():
        context = await browser.new_context(bypass_csp=True, color_scheme=scheme)
        reader = Reader(await context.new_page(), url, memory.client_id)
        for view in opened:
            main = await reader.open(view)
            if view == PATTERN:
                await main.get_by_role("button", name="Find").click()
                await expect(main.locator("figure")).to_have_count(1)
            await reader.page.evaluate(axe)
            found = await reader.page.evaluate("axe.run()")
            serious = [
                (one["id"], [node["html"] for node in one["nodes"]][:3])
                for one in found["violations"]
                if one["impact"] in {"serious", "critical"}
            ]
            assert serious == [], (view, scheme)
        await context.close()


@pytest.mark.usefixtures("whole_story")
async def test_screenshots_show_the_page(
    reader: Reader, memory: Graphmem, repository: Path, tmp_path: Path
) -> None:
    """`make screenshots` writes those of the documentation, of the story that the demo loads."""
    write = os.environ.get("GRAPHMEM_SCREENSHOTS") == "write"
    folder = repository / "docs" / "images" if write else tmp_path
    folder.mkdir(exist_ok=True)
    story = StoryLoader(memory)
    await story.load()
    reversed_decisions = (await memory.pattern("decisions_reversed")).rows
    price = next(row for row in reversed_decisions if "Harbour plan" in row["now"])
    question = quote("How did the price of the Harbour plan change, and why?")
    views = {
        "ask": f"ask?query={question}&max_tokens=400",
        "look": f"node?id={price['memory_ids'][-1]}",
        "pattern": "pattern?name=decisions_reversed",
        "sessions": f"conversation?id={story.conversation_id}",
    }
    for name, view in views.items():
        main = await reader.open(view)
        if name == "pattern":
            await main.get_by_role("button", name="Find").click()
            await reader.settled()
        if name == "look":
            await _until_still(main.locator("canvas"))
        await reader.page.get_by_label("Client").fill("demo")
        await reader.page.screenshot(path=folder / f"explorer-{name}.png", full_page=name == "look")
        assert (folder / f"explorer-{name}.png").read_bytes().startswith(b"\x89PNG")


async def _until_still(canvas: Locator) -> None:
    """Wait until a graph has come to rest."""
    frames = None
    while frames != (frames := await canvas.get_attribute("data-frames")):
        await canvas.page.wait_for_timeout(300)


def test_the_documents_show_every_screenshot(repository: Path) -> None:
    pictures = {path.name for path in (repository / "docs" / "images").glob("explorer-*.png")}
    guide = (repository / "docs" / "guides" / "explorer.md").read_text("utf-8")
    assert set(re.findall(r"images/(explorer-\w+\.png)", guide)) == pictures
