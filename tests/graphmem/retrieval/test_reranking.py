"""The reranker: a cross-encoder that the tests write themselves, and models that fail or hang."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from graphmem import config
from graphmem.client import Graphmem
from graphmem.doctor.model import reranker as examined
from graphmem.embedding import NEEDED_FILES
from graphmem.errors import SettingError, Unavailable
from graphmem.retrieval.finding import Candidate, FoundPassage, SearchedText
from graphmem.retrieval.ranking import Ranked
from graphmem.retrieval.reranking import (
    BATCH,
    NO_RERANKER,
    PAIR_TOKENS,
    PAIRS,
    READ_TEXTS,
    RERANKER,
    WEIGHT,
    CrossEncoder,
    Reranked,
    Reranker,
    fetch_texts,
    load_reranker,
    reranked,
    with_signal,
)
from graphmem.runtime import Runtime
from tests.cross_encoder import make_cross_encoder
from tests.scripted import ScriptedGraph

Make = Callable[..., Candidate]
QUESTION = "where is the boat"


class Model:
    """A model whose score is the length of a text; it remembers what it has read."""

    name, sha256 = "model", "0" * 64

    def __init__(self) -> None:
        self.read: list[str] = []

    def scores(self, question: str, texts: list[str]) -> list[float]:
        self.read += texts
        return [float(len(text)) for text in texts]


class BrokenModel(Model):
    def scores(self, question: str, texts: list[str]) -> list[float]:
        raise RuntimeError("out of memory")


class HangingModel(Model):
    """A model that reads nothing until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()
        self.asked = threading.Event()

    def scores(self, question: str, texts: list[str]) -> list[float]:
        self.asked.set()
        assert self.go.wait(30)
        return super().scores(question, texts)


def ranking_of(*candidates: Candidate) -> list[Ranked]:
    """Return candidates ranked in this order, a tenth apart."""
    signals = {"cosine": {one.id: 1.0 for one in candidates}}
    return [
        Ranked(candidate=one, score=1.0 - place / 10, signals=signals, weights={"cosine": 1.0})
        for place, one in enumerate(candidates)
    ]


async def read_by(model: CrossEncoder, ranking: list[Ranked], *texts: SearchedText) -> Reranked:
    """Return a ranking that a model has read; `texts` are those of long memories."""
    reranker = Reranker(model)
    graph = ScriptedGraph({READ_TEXTS.name: texts})
    try:
        return await reranked(
            ranking, QUESTION, reranker, partial(fetch_texts, client_id="x", graph=graph)
        )
    finally:
        await reranker.close()


@pytest.fixture
def encoder(tmp_path: Path) -> CrossEncoder:
    """A model from a folder, run by onnxruntime, which counts shared words."""
    model = load_reranker(config.load({}, reranker=str(make_cross_encoder(tmp_path / "mine"))))
    assert model is not None
    return model


def test_a_folder_s_model_scores_pairs(encoder: CrossEncoder) -> None:
    assert encoder.name == "folder/mine"
    assert len(encoder.sha256) == 64
    assert encoder.scores(QUESTION, ["the boat", "bread", "boat boat boat"]) == [2.0, 0.0, 3.0]


def test_only_the_beginning_of_a_long_text_is_read(encoder: CrossEncoder) -> None:
    [counted] = encoder.scores("boat", ["boat " * 2_000])

    assert 180 <= counted < PAIR_TOKENS


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("no-such-model", "fastembed knows no model of this name"),
        ("ms-marco-MiniLM-L6-v2", r"much alike: .*Xenova/ms-marco-MiniLM-L-6-v2"),
        ("./nowhere", "there is no folder /"),
        (".", "lacks model.onnx, tokenizer.json"),
        ("jinaai/jina-reranker-v2-base-multilingual", "cc-by-nc-4.0"),
    ],
)
def test_a_wrong_setting_is_said_in_a_sentence(
    value: str, sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SettingError, match=sentence) as caught:
        load_reranker(config.load({}, reranker=value, cache_dir=tmp_path))

    assert caught.value.name == "GRAPHMEM_RERANKER"
    assert str(caught.value).endswith("set it to off")


def test_a_folder_whose_model_is_broken_is_said_in_a_sentence(tmp_path: Path) -> None:
    for name in NEEDED_FILES:
        (tmp_path / name).write_text("{}", "utf-8")

    with pytest.raises(SettingError, match=r"cannot be loaded \(\w+\): mend it"):
        load_reranker(config.load({}, reranker=str(tmp_path)))


def test_a_hub_that_cannot_be_reached_is_asked_once_and_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    fetched: list[bool] = []

    def download(*_: object, local_files_only: bool, **_options: object) -> None:
        fetched.append(local_files_only)
        raise OSError

    monkeypatch.setattr(
        "fastembed.rerank.cross_encoder.onnx_text_cross_encoder.OnnxTextCrossEncoder.download_model",
        download,
    )
    settings = config.load({}, reranker="Xenova/ms-marco-MiniLM-L-6-v2", cache_dir=tmp_path)

    with pytest.raises(SettingError, match=r"cannot be reached: connect, .* set it to off"):
        load_reranker(settings)

    assert fetched == [True]


def test_the_doctor_loads_what_is_here_and_fetches_nothing(tmp_path: Path) -> None:
    folder = make_cross_encoder(tmp_path / "mine")

    assert examined(config.load({})) == []
    [here] = examined(config.load({}, reranker=str(folder)))
    [away] = examined(config.load({}, reranker="Xenova/ms-marco-MiniLM-L-6-v2", cache_dir=tmp_path))

    assert here.severity == "ok"
    assert "folder/mine (sha256 " in here.what
    assert away.severity == "problem"
    assert "the next start fetches it" in away.what


def test_the_signal_decides_among_like_scores_and_overrules_no_great_difference(
    candidate: Make,
) -> None:
    ranking = ranking_of(*map(candidate, "abcdef"))

    found = with_signal(ranking, {"a": -3.0, "b": -1.0, "c": 5.0, "d": -3.0, "e": 5.0})

    assert [one.id for one in found] == ["c", "a", "b", "e", "d", "f"]
    assert found[0].score == pytest.approx(0.8 + WEIGHT)
    assert found[0].scores == {"cosine": 1.0, RERANKER: 1.0}
    assert RERANKER not in found[-1].scores
    assert all(one.weights == {"cosine": 1.0, RERANKER: WEIGHT} for one in found)


async def test_only_the_first_are_read_and_the_others_stay_behind(candidate: Make) -> None:
    made = [
        replace(one, score=0.0)
        for one in ranking_of(
            *(candidate(f"{place:02}", name="x" * (place + 1)) for place in range(PAIRS + 5))
        )
    ]
    model = Model()

    found = await read_by(model, made, *(SearchedText(one.id, "said") for one in made))

    assert len(model.read) == PAIRS
    assert [one.id for one in found.ranking[PAIRS:]] == [one.id for one in made[PAIRS:]]
    assert found.ranking[0].id == f"{PAIRS - 1:02}"


async def test_of_a_long_memory_the_best_passage_is_read_with_its_speaker(candidate: Make) -> None:
    passages = [FoundPassage(place=7, start=0, end=9), FoundPassage(place=2, start=0, end=9)]
    long, other = candidate("long", name="Lena", passages=passages), candidate("other")
    graph = ScriptedGraph(
        {READ_TEXTS.name: [SearchedText("other", "beginning"), SearchedText("long", "passage")]}
    )
    model = Model()
    reranker = Reranker(model)

    await reranked(
        ranking_of(long, other),
        QUESTION,
        reranker,
        partial(fetch_texts, client_id="x", graph=graph),
    )

    await reranker.close()
    assert model.read == ["Lena: passage", "beginning"]
    [(_, asked)] = graph.asked
    assert asked["wanted"] == [{"id": "long", "place": 7}, {"id": "other", "place": None}]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
async def test_a_score_that_is_no_number_is_a_failure(
    encoder: Any, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder._encoder, "rerank", lambda *_, **__: [value])
    reranker = Reranker(encoder)

    with pytest.raises(Unavailable, match=r"the reranker failed \(ValueError\)"):
        await reranker.scores(QUESTION, ["boat"])
    await reranker.close()


async def test_without_the_reranker_s_word_the_order_stays_and_says_so(candidate: Make) -> None:
    ranking = ranking_of(candidate("a", name="a"), candidate("b", name="bb"))

    found = await read_by(BrokenModel(), ranking, SearchedText("a", ""), SearchedText("b", ""))

    assert found == Reranked(ranking, [NO_RERANKER])


async def test_a_slow_model_is_not_waited_for_and_blocks_nobody() -> None:
    model = HangingModel()
    reranker = Reranker(model, seconds=0.05)
    texts = [f"text {place}" for place in range(3 * BATCH)]

    asked = asyncio.create_task(reranker.scores(QUESTION, texts))
    # The event loop goes on while the model works.
    await asyncio.to_thread(model.asked.wait, 30)
    with pytest.raises(Unavailable, match=r"longer than 0\.05 s"):
        await asked
    model.go.set()
    await reranker.close()

    # What was not begun in time is not read at all.
    assert model.read == texts[:BATCH]


async def test_recall_reads_its_first_memories_again_and_explains_it(
    memory: Graphmem, runtime: Runtime, encoder: CrossEncoder
) -> None:
    await memory.open_conversation("talk")
    remembered = await memory.remember(
        "talk",
        [
            {"role": "user", "content": "The boat is in the harbour.", "session_id": "one"},
            {"role": "user", "content": "Boats are moored somewhere.", "session_id": "two"},
            {"role": "user", "content": "flour " * 2_000, "session_id": "three"},
        ],
    )
    plain = await memory.recall(QUESTION, explain=True)
    reranker = Reranker(encoder)
    reading = Graphmem(replace(runtime, reranker=reranker), memory.client_id)

    found = await reading.recall(QUESTION, explain=True)
    told = await reading.explain(QUESTION, remembered.ids[0])
    await reranker.close()

    assert found.weights is not None
    assert plain.weights is not None
    assert found.weights == plain.weights | {RERANKER: WEIGHT}
    first = found.items[0]
    assert first.id == remembered.ids[0]
    assert first.scores[RERANKER] == 1.0
    assert first.score == pytest.approx(plain.items[0].score + WEIGHT)
    assert found.timings is not None
    assert "rerank" in found.timings
    assert found.degraded == []
    assert told.scores[RERANKER] == 1.0


async def test_recall_answers_without_a_reranker_that_fails(
    memory: Graphmem, runtime: Runtime
) -> None:
    await memory.open_conversation("talk")
    await memory.remember(
        "talk", [{"role": "user", "content": text} for text in ("The boat.", "A sail.")]
    )
    reranker = Reranker(BrokenModel())
    reading = Graphmem(replace(runtime, reranker=reranker), memory.client_id)

    found = await reading.recall(QUESTION)
    plain = await memory.recall(QUESTION)
    told = await reading.explain(QUESTION, found.items[0].id)
    await reranker.close()

    assert found.degraded == told.degraded == [NO_RERANKER]
    assert replace(found, degraded=[]) == plain
