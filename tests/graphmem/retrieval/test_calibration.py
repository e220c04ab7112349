"""The scale of relevance is measured once for an installation, and kept."""

from types import SimpleNamespace
from typing import Any

from msgspec.structs import replace

from graphmem.embedding import cosine
from graphmem.graph.installation import (
    Calibration,
    StoredKnowledge,
    calibration,
    keep_calibration,
)
from graphmem.retrieval.relevance import RELATED, calibrate, calibrate_languages, measure
from graphmem.runtime import Runtime
from tests.scripted import ScriptedGraph


async def test_a_scale_that_is_stored_is_taken_without_measuring():
    graph = ScriptedGraph(
        {
            "graph/stored_calibration": [Calibration(0.4, 0.8)],
            "graph/stored_knowledge": [StoredKnowledge(["de", "ru"], [0.5, 0.0])],
        }
    )

    no_model: Any = SimpleNamespace(key="model@hash")
    found = await calibrate(graph, no_model)
    assert found == Calibration(0.4, 0.8, {"de": 0.5, "ru": 0.0})
    assert dict(graph.asked)["graph/stored_knowledge"] == {"model": "model@hash"}


async def test_an_installation_without_one_is_measured_and_what_came_first_holds(runtime: Runtime):
    graph = ScriptedGraph(
        {
            "graph/stored_calibration": [],
            "graph/keep_calibration": [Calibration(0.1, 0.2)],
            "graph/stored_knowledge": [],
            "graph/keep_knowledge": [],
        }
    )

    scale = await calibrate(graph, runtime.embedder)
    assert scale == Calibration(0.1, 0.2)
    found = await calibrate_languages(scale, graph, runtime.embedder)
    assert (found.low, found.high) == (0.1, 0.2)
    assert await calibrate_languages(found, graph, runtime.embedder) is found
    kept = dict(graph.asked)["graph/keep_calibration"]
    assert 0.0 < kept["low"] < kept["high"] <= 1.0
    kept = dict(graph.asked)["graph/keep_knowledge"]
    assert kept["model"] == runtime.embedder.key
    assert dict(zip(kept["languages"], kept["knowledge"], strict=True)) == found.knowledge


async def test_what_is_kept_stays(runtime: Runtime):
    held = await calibration(runtime.graph)

    assert held == replace(runtime.calibration, knowledge={})
    assert await keep_calibration(runtime.graph, Calibration(0.01, 0.02)) == held
    assert await calibration(runtime.graph) == held


async def test_most_unrelated_pairs_lie_below_and_most_related_above(runtime: Runtime):
    scale = await measure(runtime.embedder)
    asked = [await runtime.embedder.query(question) for question, _ in RELATED]
    answers = [
        one.vector for one in await runtime.embedder.passages([answer for _, answer in RELATED])
    ]

    related = [cosine(q, a) for q, a in zip(asked, answers, strict=True)]
    unrelated = [cosine(q, a) for i, q in enumerate(asked) for j, a in enumerate(answers) if i != j]
    assert sum(value > scale.low for value in related) >= 0.8 * len(related)
    assert sum(value > scale.low for value in unrelated) <= 0.06 * len(unrelated)
    assert sum(value > scale.high for value in related) <= 0.1 * len(related)
