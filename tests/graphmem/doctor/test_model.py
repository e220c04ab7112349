import json
from typing import Any

import pytest
from msgspec.structs import replace

from graphmem import config
from graphmem.artifacts.model import MEMBERS, NAME
from graphmem.doctor.model import (
    agreement,
    files,
    installation,
    language_model,
    languages,
    measured,
    unanswered,
)
from graphmem.embedding import load_model
from graphmem.errors import ModelFailed
from graphmem.graph.installation import (
    STORED_INSTALLATION,
    STORED_KNOWLEDGE,
    Calibration,
    EmbeddingModel,
    Installation,
    StoredKnowledge,
)
from graphmem.model.progress import silent
from graphmem.retrieval.understanding import SAMPLED_TEXTS, SampledTexts
from graphmem.tokens import TOKENIZER
from graphmem.warming import SAMPLED_QUESTIONS, SampledQuestion
from tests.scripted import ScriptedGraph
from tests.stub_embeddings import stub_embeddings
from tests.stub_llm import stub_model

SETTINGS = config.load({})
OURS = Installation("graphmem/bge-small-en-v1.5-q", MEMBERS["model.onnx"].sha256, 384, TOKENIZER)


def holding(*stored: Installation) -> ScriptedGraph:
    """Return a graph that holds this installation."""
    return ScriptedGraph({STORED_INSTALLATION.name: stored})


def test_the_bundled_model_is_known_without_loading_it():
    model = load_model(config.load(), silent)
    assert installation(SETTINGS) == Installation(
        model.name, model.sha256, model.dimensions, TOKENIZER
    )


def test_a_folder_s_model_is_known_without_loading_it(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "model.onnx").write_bytes(b"weights")
    (folder / "config.json").write_text(json.dumps({"hidden_size": 768}))
    ours = installation(config.load({}, embedding_model=str(folder)))
    assert ours is not None
    assert (ours.embedding_model, ours.dimensions) == ("folder/mine", 768)


@pytest.mark.parametrize(
    ("stored", "severity", "told"),
    [
        ([OURS], "ok", "as in the database"),
        ([], "note", "no memory was ever embedded"),
        ([Installation("other/model", "0" * 64, 384, TOKENIZER)], "problem", "'other/model'"),
        ([Installation(OURS.embedding_model, "0" * 64, 384, TOKENIZER)], "problem", "000000000000"),
        ([Installation(OURS.embedding_model, OURS.embedding_sha256, 384, "cl100k")], "problem", "cl100k"),
    ],
)  # fmt: skip
async def test_another_model_or_tokenizer_is_a_problem(stored, severity, told):
    [finding] = await agreement(holding(*stored), SETTINGS)
    assert finding.severity == severity
    assert told in finding.what


async def test_a_model_that_would_have_to_be_fetched_is_compared_by_its_name():
    named = config.load({}, embedding_model="some/model")
    stored = Installation("some/model", "0" * 64, 768, TOKENIZER)
    [finding] = await agreement(holding(stored), named)
    assert (finding.severity, "not compared" in finding.what) == ("ok", True)
    [finding] = await agreement(holding(OURS), named)
    assert finding.severity == "problem"
    # What is not known of it is not told: neither the stored model's hash nor its dimensions.
    assert "not with 'some/model', which" in finding.what


def test_files_of_the_bundled_model_that_changed_are_a_problem(tmp_path):
    settings = config.load({}, cache_dir=tmp_path)
    folder = tmp_path / "models" / NAME
    folder.mkdir(parents=True)
    assert files(settings) == []
    (folder / "tokenizer.json").write_text("{}")
    [finding] = files(settings)
    assert finding.severity == "problem"
    assert "tokenizer.json is not the file" in finding.what


def test_a_folder_without_weights_is_a_problem(tmp_path):
    [finding] = files(config.load({}, embedding_model=str(tmp_path)))
    assert (finding.severity, "holds no model.onnx" in finding.what) == ("problem", True)


async def test_a_url_is_asked_and_compared_by_its_name():
    with stub_embeddings() as server:
        settings = config.load({}, embedding_model=server.url)
        [found] = files(settings)
        assert (found.severity, "256 dimensions" in found.what) == ("ok", True)
        server.key = "secret"
        [found] = files(settings)
        assert found.severity == "problem"
        assert "status 401 to a request without GRAPHMEM_EMBEDDING_KEY" in found.what
        assert found.remedy == "set GRAPHMEM_EMBEDDING_KEY to a key that it accepts"

    same = Installation("url/fake", "0" * 64, 256, TOKENIZER)
    assert [one.severity for one in await agreement(holding(same), settings)] == ["ok"]
    other = Installation("url/other", "0" * 64, 256, TOKENIZER)
    assert [one.severity for one in await agreement(holding(other), settings)] == ["problem"]
    nameless = config.load({}, embedding_model="http://host/v1")
    assert [one.severity for one in await agreement(holding(same), nameless)] == ["problem"]


async def test_a_store_of_a_url_that_the_settings_do_not_name_is_told_with_both_remedies():
    with stub_embeddings() as server:
        stored = Installation("url/fake", "0" * 64, 256, TOKENIZER, server.url)
        for known, severity in (stored, "problem"), (replace(stored, former=OURS.model), "warning"):
            [finding, url] = await agreement(holding(known), SETTINGS)
            assert finding.severity == severity
            assert "GRAPHMEM_EMBEDDING_MODEL is not set" in finding.what
            assert f"set GRAPHMEM_EMBEDDING_MODEL to {server.url}, " in finding.remedy
            assert "graphmem reembed" in finding.remedy
            assert (url.severity, "256 dimensions" in url.what) == ("ok", True)
    [_, url] = await agreement(holding(stored), SETTINGS)
    assert (url.severity, "cannot be reached" in url.what) == ("problem", True)


async def test_a_store_of_the_bundled_model_has_the_remedy_to_unset_the_variable():
    named = config.load({}, embedding_model="some/model")
    former = EmbeddingModel("some/model", "0" * 64, 768)
    [finding] = await agreement(holding(replace(OURS, former=former)), named)
    assert finding.severity == "warning"
    assert "embedded with the bundled model; GRAPHMEM_EMBEDDING_MODEL names" in finding.what
    assert finding.remedy.startswith("unset GRAPHMEM_EMBEDDING_MODEL, or run `graphmem reembed`")


def speaking(*texts: str) -> ScriptedGraph:
    """Return a graph with an installation of the bundled model, and one client with these texts."""
    return ScriptedGraph(
        {
            STORED_INSTALLATION.name: [OURS],
            STORED_KNOWLEDGE.name: [StoredKnowledge(["de", "ru", "fr"], [0.2, 0.9, 0.1])],
            SAMPLED_QUESTIONS.name: lambda after, **_: (
                [] if after else [SampledQuestion("acme", texts[0])]
            ),
            SAMPLED_TEXTS.name: [SampledTexts(list(texts), has_passages=False)],
        }
    )


async def test_a_database_whose_similarities_were_never_measured_is_told():
    graph = holding(OURS)
    graph.answers["graph/stored_calibration"] = []
    [finding] = await measured(graph)
    assert (finding.severity, finding.subject) == ("note", "calibration")
    graph.answers["graph/stored_calibration"] = [Calibration(0.5, 0.8)]
    assert await measured(graph) == []
    assert await measured(holding()) == []


async def test_a_language_model_that_does_not_answer_is_told():
    assert await language_model(config.load({})) == []
    [half] = await language_model(config.load({}, llm_url="http://127.0.0.1:1"))
    assert "GRAPHMEM_LLM_MODEL" in half.what
    [away] = await language_model(config.load({}, llm_url="http://127.0.0.1:1", llm_model="m"))
    assert (away.severity, "unreachable" in away.what) == ("warning", True)
    async with stub_model() as stub:
        settings = config.load({}, llm_url=stub.url, llm_model="m")
        [answers] = await language_model(settings)
        assert answers.severity == "ok"
        stub.misbehaviour = "status"
        [failing] = await language_model(settings)
        assert (failing.severity, "status 500" in failing.what) == ("warning", True)
    refused = unanswered(ModelFailed("refused", status=401), settings)
    assert "GRAPHMEM_LLM_KEY" in refused.remedy


async def test_texts_in_a_language_that_the_model_does_not_know_are_told():
    english = ["The boat is in the harbour."] * 18
    [finding] = await languages(
        speaking(*english, "Das Boot ist im Hafen.", "Wo ist denn der Hafen?", "Где лодка?")
    )

    assert finding.severity == "note"
    assert "9 % of 21 texts" in finding.what
    assert "(de)" in finding.what
    assert "multilingual" in finding.remedy
    assert await languages(speaking(*english, "Где лодка?")) == []
    assert await languages(speaking(*english * 3, "Das Boot ist im Hafen.")) == []


async def test_languages_are_not_told_before_the_model_was_measured():
    assert await languages(ScriptedGraph({STORED_INSTALLATION.name: []})) == []
    unmeasured: dict[str, Any] = {
        STORED_INSTALLATION.name: [OURS],
        STORED_KNOWLEDGE.name: [],
        SAMPLED_QUESTIONS.name: lambda after, **_: (
            [] if after else [SampledQuestion("acme", "Das Boot ist im Hafen.")]
        ),
        SAMPLED_TEXTS.name: [SampledTexts(["Das Boot ist im Hafen."], has_passages=False)],
    }
    assert await languages(ScriptedGraph(unmeasured)) == []


async def test_texts_in_a_language_without_capitals_are_told_for_their_names():
    found = await languages(
        speaking("昨日は図書館で本を読みました。", "The boat is in the harbour.")
    )

    [told] = [one for one in found if one.subject == "names"]
    assert told.severity == "note"
    assert "Japanese" in told.what
