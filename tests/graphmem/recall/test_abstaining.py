"""Abstaining: an absolute relevance for each memory, and no answer where nothing answers."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from msgspec.structs import replace

from graphmem.client import Graphmem
from graphmem.graph.installation import Calibration
from graphmem.prompts.truncation import Part
from graphmem.recall import abstaining
from graphmem.recall.abstaining import (
    ENOUGH,
    JUDGED,
    NAMES_FOUND,
    PASSAGE,
    Judgement,
    NamedMemory,
    judgement,
    relevance_by_id,
    relevant_enough,
    unheard_names,
)
from graphmem.recall.compose import TEXTS, MemoryText
from graphmem.recall.types import Question
from graphmem.retrieval.filters import Filters
from graphmem.retrieval.finding import Candidate, Details, FoundPassage
from graphmem.retrieval.ranking import Ranked
from graphmem.retrieval.relevance import NAMES_SHARE, NEUTRAL, asked_words
from graphmem.retrieval.understanding import Understood
from graphmem.text.words import terms
from tests.scripted import ScriptedGraph, scripted_context

SPOKEN = datetime(2026, 3, 1, 12, tzinfo=UTC)
SCALE = Calibration(low=0.5, high=0.9)
SAID = [
    "My sister Ines moved to Porto in the spring.",
    "The boiler was repaired by a man from the next village.",
    "I pay 62 euros a month for the train.",
]


def judge(asked: str, trust: float = 1.0) -> Judgement:
    return Judgement(asked=asked, words=asked_words(asked, {}), trust=trust, scale=SCALE)


def candidate(id: str, cosine: float | None = 0.7, name: str | None = None) -> Candidate:
    return Candidate(
        id=id,
        kind="message",
        importance=0.5,
        token_count=5,
        occurred_at=datetime(2026, 3, 1, tzinfo=UTC),
        name=name,
        cosine=cosine,
    )


def ranking(cosines: Sequence[float]) -> list[Ranked]:
    return [
        Ranked(candidate=candidate(str(place), cosine), score=1.0)
        for place, cosine in enumerate(cosines)
    ]


def understood(question: str, weight: dict[str, float] | None = None) -> Understood:
    return Understood(question, None, terms(question), weight or {}, [])


def test_relevance_is_of_meaning_and_words_and_the_speaker_s_name_is_a_word():
    harbour = judge("Where is Zora's harbour?")

    assert harbour.relevance(0.5, None, SPOKEN, "nothing of the kind") == 0.0
    assert harbour.relevance(0.9, "Zora", SPOKEN, "In the harbour.") == pytest.approx(1.0)
    assert harbour.relevance(0.7, "Ben", SPOKEN, "In the harbour.") == pytest.approx(
        0.65 / 2 + 0.35 / 2
    )
    assert harbour.relevance(None, "Ben", SPOKEN, "In the harbour.") == 0.5


def test_words_that_are_far_apart_in_a_long_text_do_not_add_up():
    asked = judge("Where did the lighthouse keeper bury the treasure?")
    words = ["lighthouse", "keeper", "bury", "treasure"]
    apart = (" " + "x " * PASSAGE).join(words)

    assert asked.relevance(None, None, SPOKEN, " ".join(words)) == 1.0
    assert asked.relevance(None, None, SPOKEN, apart) == 0.25
    assert asked.relevance(None, None, SPOKEN, "x" * 5 * PASSAGE) == 0.0


def test_everything_is_neither_relevant_nor_irrelevant():
    assert judge("*").relevance(0.9, None, SPOKEN, "anything") == NEUTRAL


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("Who sang on 1 March?", 2 / 3),
        ("Who sang on 2026-03-01?", 3 / 4),
        ("Who sang on 1 March or 7 July?", 2 / 5),
        ("Did we discuss kayaking March 1?", 2 / 4),
        ("Who sang on 2 March?", 0.0),
        ("Who sang in March 2026?", 2 / 3),
        ("Who sang in 2026?", 0.0),
    ],
)
def test_the_time_at_which_it_was_said_counts_as_its_words(question: str, share: float) -> None:
    judge = judgement(understood(question), [], [], SCALE)

    assert judge.relevance(None, None, SPOKEN, "The lock was closed.") == pytest.approx(share)


@pytest.mark.parametrize(
    ("question", "share"),
    [
        ("What happened on 1 March?", 1.0),
        ("What did we talk about in March 2026?", 1.0),
        ("What has happened since February?", 1.0),
        ("Was ist im Jahr 2026 passiert?", 1.0),
        ("What happened in 2026?", 1.0),
        ("What happened on 2 March?", 0.0),
        ("What happened in April?", 0.0),
    ],
)
def test_whatever_was_said_at_a_time_answers_a_question_for_nothing_else(
    question: str, share: float
) -> None:
    judge = judgement(understood(question), [], [], SCALE, today=SPOKEN.date())

    assert judge.relevance(None, None, SPOKEN, "The lock was closed.") == pytest.approx(share)


def test_the_day_is_that_of_the_asker_s_zone() -> None:
    asked, kiritimati = understood("Who sang on 2 March?"), timezone(timedelta(hours=14))
    judge = judgement(asked, [], [], SCALE, kiritimati)

    assert judge.relevance(None, None, SPOKEN, "The lock was closed.") == pytest.approx(2 / 3)


async def unheard(question: str, found: Sequence[str], **options: Any) -> tuple[Any, Any]:
    """Return the names that no memory has, and what was looked up; `found` are those that some have."""

    def rows(client_id: str, names: list[dict[str, Any]]) -> list[NamedMemory]:
        return [NamedMemory(one["place"]) for one in names if any(f in one["words"] for f in found)]

    graph = ScriptedGraph({NAMES_FOUND.name: rows})
    filters = Filters(conversation_id=frozenset({"c"}))
    names = await unheard_names(understood(question, **options), filters, scripted_context(graph))
    return names, graph.asked


async def test_names_that_no_memory_has_are_looked_up_within_the_filters():
    names, asked = await unheard("Did Ines meet Zebulon in Porto?", ["ines", "porto"])

    assert names == [frozenset({"zebulon"})]
    [(_, parameters)] = asked
    assert parameters["client_id"] == "x"
    scopes = {one["words"].split(" +search_text")[0] for one in parameters["names"]}
    assert len(scopes) == 1
    assert scopes.pop().count("+scope_words") == 3  # the client, valid now, the conversation


@pytest.mark.parametrize(
    ("question", "weight"),
    [
        ("who repaired the boiler?", {}),
        ("Was sagte der Arzt über den Blutdruck?", {}),
        ("What does Zebulon say?", {"zebulon": 0.4}),
    ],
)
async def test_nothing_is_looked_up_without_a_rare_name(question, weight):
    assert await unheard(question, [], weight=weight) == ([], [])


def test_an_unheard_name_costs_trust_unless_a_speaker_has_it():
    asked = understood("Did Ines meet Zebulon?")
    unheard = [frozenset({"zebulon"})]

    strange = judgement(asked, [candidate("a", name="Ines")], unheard, SCALE)
    heard = judgement(asked, [candidate("a", name="Zebulon Pike")], unheard, SCALE)

    assert strange.trust == pytest.approx(1 - NAMES_SHARE / 2)
    assert heard.trust == 1.0


async def admitted(cosines: Sequence[float], **options: Any) -> tuple[list[str], list[str]]:
    """Return the ids of what may answer, and the queries."""

    def texts(ids: list[str], **_: object) -> list[MemoryText]:
        return [MemoryText(id, "anything", None) for id in ids if cosines[int(id)] >= 0]

    graph = ScriptedGraph({TEXTS.name: texts})
    question = Question(query="lighthouse", **options)
    found = await relevant_enough(
        ranking(cosines), question, judge("lighthouse"), scripted_context(graph)
    )
    return [one.id for one in found.ranking], graph.names


async def test_who_does_not_ask_for_abstention_gets_everything_and_pays_nothing():
    assert await admitted([0.5, 0.5]) == (["0", "1"], [])


async def test_the_best_memory_decides_on_abstention_and_the_others_stay():
    low, high = 0.5 + 0.4 * ENOUGH / 0.65 - 0.01, 0.5 + 0.4 * ENOUGH / 0.65 + 0.01

    assert (await admitted([low, low], abstain=True))[0] == []
    assert (await admitted([low, high, low], abstain=True))[0] == ["0", "1", "2"]
    assert (await admitted([low] * JUDGED + [high], abstain=True))[0] == []
    assert (await admitted([], abstain=True)) == ([], [])


async def test_of_a_given_least_relevance_each_memory_needs_it_and_none_that_was_deleted_has_it():
    found, _ = await admitted([0.9, 0.6, 0.8, -1.0], min_relevance=0.4)
    assert found == ["0", "2"]
    assert (await admitted([0.9, 0.6], min_relevance=0.0, abstain=True))[0] == ["0", "1"]
    assert (await admitted([-1.0], min_relevance=0.0))[0] == []


async def test_texts_that_came_with_the_search_are_judged_without_reading_them_again():
    plain = Details(text=None, metadata=None, tags=[], session_external_id=None)
    came = [
        replace(one, candidate=replace(one.candidate, text="The lighthouse.", details=plain))
        for one in ranking([0.5, 0.5])
    ]
    graph = ScriptedGraph({})
    question = Question(query="lighthouse", min_relevance=0.3)

    found = await relevant_enough(came, question, judge("lighthouse"), scripted_context(graph))

    assert [one.id for one in found.ranking] == ["0", "1"]
    assert graph.asked == []


async def test_a_long_memory_is_judged_by_the_passages_that_were_found(monkeypatch):
    asked_for: dict[str, Any] = {}

    def texts(around: dict[str, Any], longest: int, **_: object) -> list[MemoryText]:
        asked_for.update(around)
        assert longest == abstaining.LONGEST_JUDGED
        near = Part(place=7, start=0, end=4, text="Fog.")
        return [MemoryText("long", "", None, parts=[near], bytes=9), MemoryText("short", "x", None)]

    found = [
        FoundPassage(place=7, start=0, end=4, by_vector=True),
        FoundPassage(place=9, start=8, end=18, bm25=1.0, text="The lighthouse."),
    ]
    long = replace(candidate("long", None), passages=found)
    some = [Ranked(candidate=one, score=1.0) for one in (long, candidate("short", None))]
    context = scripted_context(ScriptedGraph({TEXTS.name: texts}))

    here = await relevance_by_id(some, judge("lighthouse"), context)
    assert here == {"long": 1.0, "short": 0.0}
    assert asked_for == {"long": {"first": 7, "last": 7}}
    monkeypatch.setattr(abstaining, "MANY_CHARACTERS", 0)
    assert await relevance_by_id(some, judge("lighthouse"), context) == here


async def tell(memory: Graphmem, said: Sequence[str] = SAID, conversation_id: str = "c") -> None:
    await memory.open_conversation(conversation_id)
    await memory.remember(
        conversation_id,
        [{"session_id": "s", "role": "user", "content": content} for content in said],
    )


async def test_a_question_that_nothing_answers_is_abstained_from_on_request(memory: Graphmem):
    await tell(memory)
    known, foreign = "Where does Ines live?", "Which of Zebulon's frogs won the cup in Ontario?"

    answered = await memory.recall(known, abstain=True)
    assert not answered.abstained
    # Their scores may differ in the last digits: the index counts words over all clients.
    assert answered.context == (await memory.recall(known)).context
    assert max(answered.items, key=lambda one: one.relevance).text == SAID[0]
    abstained = await memory.recall(foreign, abstain=True)
    assert (abstained.items, abstained.context, abstained.tokens_used) == ([], "", 0)
    assert (abstained.omitted, abstained.omitted_total, abstained.abstained) == ([], 0, True)
    plain = await memory.recall(foreign)
    assert len(plain.items) == len(SAID)
    assert not plain.abstained
    assert all(0.0 <= one.relevance < ENOUGH for one in plain.items)


async def test_what_happened_at_a_time_is_answered_by_what_was_said_then(memory: Graphmem):
    months = {
        "2026-05-22": "We moved the blog from WordPress to Hugo.",
        "2026-07-15": "The search cluster ran out of disk, so results were stale for a day.",
        "2026-09-21": "We signed the contract with Hanse Logistics, for two years.",
    }
    said = [
        {"role": "user", "content": text, "occurred_at": f"{day}T10:00:00Z"}
        for day, text in months.items()
    ]
    await memory.remember("log", said, create=True)

    for question, day in {
        "What happened in July?": "2026-07-15",
        "What did we do in May?": "2026-05-22",
        "What did we agree on in September 2026?": "2026-09-21",
        "What problems were there in July 2026?": "2026-07-15",
    }.items():
        found = await memory.recall(question, abstain=True)
        assert not found.abstained, question
        assert max(found.items, key=lambda one: one.relevance).text == months[day]
    for question in (
        "What happened in June?",
        "What problems were there in June?",
        "Which marathon did Mateo run in May?",
    ):
        assert (await memory.recall(question, abstain=True)).abstained, question


@pytest.mark.parametrize("question", ["What do you know about me?", "What have we talked about?"])
async def test_a_question_that_names_nothing_is_answered(question: str, memory: Graphmem):
    await tell(memory)
    answered = await memory.recall(question, abstain=True)
    assert [one.relevance for one in answered.items] == [NEUTRAL] * len(SAID)
    assert (await memory.recall("What did she say?", abstain=True)).abstained


@pytest.mark.parametrize("question", ["user preferences", "Which decisions did we make?"])
async def test_a_question_for_kinds_of_memories_is_answered_by_the_nearest(
    question: str, memory: Graphmem
):
    await tell(memory)
    answered = await memory.recall(question, abstain=True)
    assert not answered.abstained
    assert len(answered.items) == len(SAID)
    assert max(one.relevance for one in answered.items) < ENOUGH
    assert (await memory.recall(f"{question} about volcanoes", abstain=True)).abstained
    assert (await memory.recall(question, min_relevance=ENOUGH)).abstained


async def test_memories_below_a_given_relevance_stay_out(memory: Graphmem):
    await tell(memory)
    question = "What does the train cost?"
    every = await memory.recall(question)
    least = sorted(one.relevance for one in every.items)[1]

    some = await memory.recall(question, min_relevance=least)
    assert {one.id: one.relevance for one in some.items} == {
        one.id: one.relevance for one in every.items if one.relevance >= least
    }
    assert not some.abstained
    assert (await memory.recall(question, min_relevance=1.0)).abstained


async def test_the_relevance_of_a_long_memory_does_not_depend_on_how_much_of_it_is_shown(
    memory: Graphmem,
):
    filler = "The harbour master keeps the tide tables in the small office. " * 7
    long = f"The bakery sends bread. {filler}\n\nInes wrote the price list. {filler}\n\n{filler}"
    await tell(memory, [long])
    question = "Who sends the bread and the price list?"

    whole = (await memory.recall(question, max_tokens=2_000)).items[0]
    part = (await memory.recall(question, max_tokens=200)).items[0]
    enough = (await memory.recall(question, max_tokens=2_000, min_relevance=0.01)).items[0]
    [session] = (await memory.search_contextual(question, min_relevance=1.0)).items
    explained = await memory.explain(question, whole.id, max_tokens=2_000)

    assert whole.excerpt is None
    assert part.excerpt is not None
    alike = {part.relevance, enough.relevance, session.relevance, explained.relevance}
    assert alike == {whole.relevance}


async def test_neither_another_client_s_memories_nor_those_of_another_conversation_know_a_name(
    memory: Graphmem, rival: Graphmem
):
    question = "Did Zebulon repair the boiler?"
    await tell(memory)
    await tell(rival, ["Zebulon is here."])
    before = (await memory.recall(question, conversation_id="c")).items
    await tell(memory, ["Zebulon is here."], "elsewhere")
    after = (await memory.recall(question, conversation_id="c")).items
    assert [one.relevance for one in after] == [one.relevance for one in before]

    everywhere = {one.id: one.relevance for one in (await memory.recall(question)).items}
    best = max(before, key=lambda one: one.relevance)
    assert best.relevance == pytest.approx((1 - NAMES_SHARE) * everywhere[best.id])
