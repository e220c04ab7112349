"""One hop within recall: passages that the first ones name."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import asdict, replace

from graphmem import Graphmem
from graphmem.recall.ask import HOP, chained, is_prose, with_hop
from graphmem.retrieval import expansion
from graphmem.retrieval.expansion import HopCandidate
from graphmem.retrieval.filters import Filters
from graphmem.retrieval.finding import CANDIDATES_BY_ID, Candidate
from graphmem.retrieval.ranking import Ranked
from tests.scripted import ScriptedGraph, scripted_context

Make = Callable[..., Candidate]

FILLER = " It was built by the harbour board, painted twice, and closed for one winter." * 8


def ranked(candidate: Candidate, score: float) -> Ranked:
    return Ranked(candidate=candidate, score=score)


def ranking(*scored: tuple[Candidate, float]) -> list[Ranked]:
    """Return candidates with scores that are twice their only signal."""
    cosines = {one.id: score / 2 for one, score in scored}
    return [
        replace(ranked(one, score), signals={"cosine": cosines}, weights={"cosine": 2.0})
        for one, score in scored
    ]


def test_only_long_memories_are_prose(candidate: Make) -> None:
    long = [ranked(candidate(str(n), token_count=200), 1.0) for n in range(4)]
    short = [ranked(candidate(f"s{n}", token_count=20), 1.0) for n in range(6)]

    assert is_prose(long)
    assert not is_prose([*long, *short])
    assert not is_prose([])


def test_a_hop_lifts_what_was_found_and_adds_what_was_not(candidate: Make) -> None:
    some = ranking((candidate("a"), 2.0), (candidate("b"), 1.0), (candidate("c"), 0.8))
    own = {"a": 1.0, "b": 0.5, "c": 0.4}
    inherited = {"c": 0.5, "new": 0.45}

    found = with_hop(some, own, inherited, {"new": candidate("new")})

    assert [(one.id, one.score) for one in found] == [
        ("a", 2.0),
        ("c", pytest.approx(2 * (0.4 + 0.6 * 0.5))),
        ("b", 1.0),
        ("new", pytest.approx(0.9)),
    ]
    for one in found:
        parts = (weight * one.scores.get(name, 0.0) for name, weight in one.weights.items())
        assert one.score == pytest.approx(sum(parts))
    assert [one.id for one in found if HOP in one.scores] == ["c", "new"]


def passage(name: str, title: str, text: str) -> dict[str, Any]:
    return {
        "type": "knowledge_base",
        "target_id": name,
        "label": title,
        "description": text + FILLER,
    }


async def test_recall_follows_the_names_in_the_first_passages(memory: Graphmem) -> None:
    await memory.add_references(
        [
            passage(
                "ship", "Halvard Ness", "The ferry Halvard Ness sails to Corwick Sound at noon."
            ),
            passage("port", "Corwick Sound", "Three tugs and a crane lie at the quay."),
            *(
                passage(f"other{n}", f"Ledger {n}", f"The ledger of year {n} lists salt and rope.")
                for n in range(12)
            ),
        ]
    )

    found = await memory.recall("Where does the ferry Halvard Ness sail?", max_tokens=1_000)
    by_words = await memory.recall(
        "Where does the ferry Halvard Ness sail?", max_tokens=1_000, ranking="bm25"
    )

    texts = [item.text for item in found.items]
    assert "Halvard Ness sails" in texts[0]
    assert "Three tugs" in texts[1]
    assert found.items[1].scores[HOP] > 0
    assert not any(HOP in item.scores for item in by_words.items)


async def test_a_hop_leads_to_what_a_name_is_the_title_of_only(memory: Graphmem) -> None:
    asked = "Where does the ferry Halvard Ness sail?"
    await memory.add_references(
        [
            passage(
                "ship", "Halvard Ness", "The ferry Halvard Ness sails to Corwick Sound at noon."
            ),
            passage("tug", "Ballast", "Of the tugs in Corwick Sound it is the oldest."),
        ]
    )

    alone = await memory.recall(asked)
    await memory.add_references([passage("port", "Corwick Sound", "Three tugs lie at the quay.")])
    named = await memory.recall(asked)

    assert not any(HOP in item.scores for item in alone.items)
    assert [HOP in item.scores for item in named.items] == [False, True, False]
    assert "Three tugs" in named.items[1].text


async def test_a_hop_obeys_the_kinds_that_were_asked_for(memory: Graphmem) -> None:
    await memory.open_conversation("quay")
    said = "The ferry Halvard Ness sails to Corwick Sound at noon." + FILLER
    await memory.remember("quay", [{"session_id": "s", "role": "user", "content": said}])
    await memory.add_references(
        [passage("port", "Corwick Sound", "Three tugs and a crane lie at the quay.")]
    )
    asked = "Where does the ferry Halvard Ness sail?"

    everything = await memory.recall(asked)
    messages = await memory.recall(asked, kinds=["message"])

    assert [HOP in item.scores for item in everything.items] == [False, True]
    assert [item.kind for item in messages.items] == ["message"]


async def test_what_only_the_hop_has_found_is_loaded_unless_it_is_deleted(candidate: Make) -> None:
    def hop(**_: Any) -> list[HopCandidate]:
        edge = {"from_id": "a", "link_type": "MENTIONS", "entity": "Corwick", "passed": 0.8}
        reached: list[dict[str, Any]] = [
            asdict(candidate(id)) | edge for id in ("b", "new", "deleted")
        ]
        return [HopCandidate(**one) for one in reached]

    def by_id(ids: list[str], **_: Any) -> list[Candidate]:
        assert ids == ["new", "deleted"]
        return [candidate("new", session_id="s", name="Mara")]

    graph = ScriptedGraph({expansion.HOP.name: hop, CANDIDATES_BY_ID.name: by_id})
    ranking = [ranked(candidate("a"), 1.0), ranked(candidate("b"), 0.5)]

    found = await chained(ranking, Filters(), scripted_context(graph))

    assert [one.id for one in found] == ["a", "b", "new"]
    assert (found[2].candidate.session_id, found[2].candidate.name) == ("s", "Mara")
    assert found[2].score == pytest.approx(0.4)


async def test_nothing_is_followed_from_memories_without_a_score(candidate: Make) -> None:
    ranking = [ranked(candidate("a"), 0.0)]
    context = scripted_context(ScriptedGraph({}))

    assert await chained(ranking, Filters(), context) == ranking
