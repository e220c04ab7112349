"""Text to vectors: the bundled model, and how questions and passages share its thread."""

import asyncio
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given, strategies as st

from graphmem import config
from graphmem.artifacts.model import bundled_model
from graphmem.embedding import (
    AGAIN,
    BATCH_CHARACTERS,
    BATCH_TEXTS,
    BUNDLED_DIMENSIONS,
    NEEDED_FILES,
    SEEN_CHARACTERS,
    Embedder,
    Vector,
    batched,
    cosine,
    load_model,
)
from graphmem.errors import SettingError, Unavailable
from graphmem.model.progress import silent
from graphmem.model.vocabulary import FIRST, SECOND
from graphmem.runtime import Runtime

# An int8 text's vector depends a little on its batch: .996 to .998 were measured.
ALIKE = 0.99

SENTENCES = [
    "The lighthouse keeper is called Ansgar.",
    "Pancakes need eggs, flour and milk.",
    "AUTH-4013 means that the token has expired and must be renewed by the gateway.",
    "No.",
    "She moved from Lisbon to Tromsø in the spring because she missed the snow so much.",
]


@pytest.fixture
def embedder(runtime: Runtime) -> Embedder:
    return runtime.embedder


class StandIn:
    """A model whose vectors tell the text's length; it can be held up, and it can fail."""

    name, sha256, dimensions = "stand-in", "0", 2

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.go_on.set()
        self.began = threading.Event()
        self.batches: list[list[str]] = []

    def embed(self, texts: list[str]) -> list[Vector]:
        self.began.set()
        assert self.go_on.wait(10)
        if "bad" in texts:
            raise ValueError("secret text")
        self.batches.append(texts)
        return [[float(len(text)), 1.0] for text in texts]

    def truncates(self, text: str) -> bool:
        return len(text) > 10


@pytest.fixture
def model() -> StandIn:
    return StandIn()


@pytest_asyncio.fixture
async def held(model: StandIn) -> AsyncIterator[Embedder]:
    """An embedder whose model is held up until it may go on."""
    embedder = Embedder(model)
    model.go_on.clear()
    yield embedder
    model.go_on.set()
    await embedder.close()


async def begun(model: StandIn) -> None:
    assert await asyncio.to_thread(model.began.wait, 10)


def test_the_cosine_of_two_unit_vectors() -> None:
    assert cosine([1.0, 0.0], [0.6, 0.8]) == pytest.approx(0.6)


async def test_vectors_are_of_unit_length(embedder: Embedder) -> None:
    vectors = [await embedder.query("Who keeps the light?")]
    vectors += [embedding.vector for embedding in await embedder.passages(SENTENCES)]

    assert embedder.model.dimensions == BUNDLED_DIMENSIONS == 384
    for vector in vectors:
        assert len(vector) == 384
        assert math.hypot(*vector) == pytest.approx(1.0)


async def test_a_text_is_embedded_alike_alone_and_among_others(embedder: Embedder) -> None:
    among = await embedder.passages([*SENTENCES, *(f"Filler {number}." for number in range(30))])

    for sentence, embedding in zip(SENTENCES, among, strict=False):
        assert cosine(await embedder.query(sentence), embedding.vector) >= ALIKE


async def test_what_means_the_same_lies_near(embedder: Embedder) -> None:
    asked = await embedder.query("Who looks after the lighthouse?")
    scores = [cosine(asked, each.vector) for each in await embedder.passages(SENTENCES)]

    assert max(scores) == scores[0]


async def test_passages_come_back_in_their_order(embedder: Embedder) -> None:
    texts = [sentence * (1 + number % 3) for number, sentence in enumerate(SENTENCES * 4)]

    together = await embedder.passages(texts)

    for text, embedding in zip(texts[:7], together, strict=False):
        assert cosine((await embedder.passages([text]))[0].vector, embedding.vector) >= ALIKE


async def test_no_passages_have_no_embeddings(embedder: Embedder) -> None:
    assert await embedder.passages([]) == []


@pytest.mark.parametrize("text", ["", " ", "\0", "\U0001f98a", "漢字", "\u202e", "[PAD] [CLS]"])
async def test_any_text_has_a_unit_vector(text: str, embedder: Embedder) -> None:
    assert math.hypot(*await embedder.query(text)) == pytest.approx(1.0)


async def test_a_question_overtakes_passages_and_the_event_loop_runs_on(
    embedder: Embedder,
) -> None:
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            ticks.append(time.perf_counter())
            await asyncio.sleep(0.005)

    ticking = asyncio.create_task(tick())
    texts = [f"{sentence} {number}" for number in range(40) for sentence in SENTENCES]
    passages = asyncio.create_task(embedder.passages(texts))
    await asyncio.sleep(0)

    await embedder.query("Who keeps the light?")

    assert not passages.done()
    assert len(await passages) == 200
    ticking.cancel()
    gaps = [after - before for before, after in pairwise(ticks)]
    assert max(gaps) < (ticks[-1] - ticks[0]) / 2
    assert len(ticks) > 20


async def test_a_short_write_waits_for_one_batch_of_a_long_one(
    model: StandIn, held: Embedder
) -> None:
    first = asyncio.create_task(held.passages([f"long {number}" for number in range(100)]))
    await begun(model)
    second = asyncio.create_task(held.passages([f"other {number}" for number in range(20)]))
    short = asyncio.create_task(held.passages(["short"]))
    await asyncio.sleep(0)
    model.go_on.set()
    await asyncio.gather(first, second, short)

    whose = [batch[0].split()[0] for batch in model.batches]
    assert whose[:7] == ["long", "other", "short", "long", "other", "long", "other"]
    assert set(whose[7:]) == {"long"}


async def test_only_a_text_beyond_the_window_is_truncated(embedder: Embedder) -> None:
    texts = ["Short.", "word " * 400, "word " * 700, "a" * 600, "漢" * 600]

    found = await embedder.passages(texts)

    assert [embedding.truncated for embedding in found] == [False, False, True, False, True]


async def test_a_text_without_a_space_is_quick(embedder: Embedder) -> None:
    begin = time.perf_counter()

    [embedding] = await embedder.passages(["x" * 350_000])
    await embedder.query("x" * 350_000)

    assert time.perf_counter() - begin < 40
    assert len(embedding.vector) == 384


async def test_waiting_passages_are_overtaken_by_all_questions(
    held: Embedder, model: StandIn
) -> None:
    first = asyncio.create_task(held.passages(["in progress"]))
    await begun(model)
    waiting = asyncio.create_task(held.passages(["waiting"]))
    await asyncio.sleep(0)
    questions = [asyncio.create_task(held.query(text)) for text in ("one?", "two?")]
    await asyncio.sleep(0)
    model.go_on.set()

    await asyncio.gather(first, waiting, *questions)

    assert model.batches == [["in progress"], ["one?"], ["two?"], ["waiting"]]


async def test_a_cancelled_question_is_not_embedded(held: Embedder, model: StandIn) -> None:
    first = asyncio.create_task(held.query("in progress"))
    await begun(model)
    cancelled = asyncio.create_task(held.query("cancelled"))
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    model.go_on.set()

    await first
    await held.query("after")

    assert model.batches == [["in progress"], ["after"]]


async def test_a_question_cancelled_while_it_runs_harms_nobody(
    held: Embedder, model: StandIn
) -> None:
    running = asyncio.create_task(held.query("in progress"))
    await begun(model)
    running.cancel()
    model.go_on.set()

    assert await held.query("after") == [5.0, 1.0]


async def test_a_failing_model_is_unavailable_and_goes_on(held: Embedder, model: StandIn) -> None:
    model.go_on.set()

    with pytest.raises(Unavailable, match=r"the embedding model failed \(ValueError\)") as caught:
        await held.query("bad")
    assert "secret" not in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(Unavailable):
        await held.passages(["good", "bad"])

    assert await held.query("good") == [4.0, 1.0]


async def test_work_that_was_accepted_ends_before_the_embedder_closes(model: StandIn) -> None:
    embedder = Embedder(model)
    model.go_on.clear()
    waiting = [asyncio.create_task(embedder.query(text)) for text in ("one", "three")]
    told = asyncio.create_task(embedder.passages(["x" * number for number in range(40)]))
    await begun(model)

    closing = asyncio.create_task(embedder.close())
    await asyncio.sleep(0)
    model.go_on.set()
    await closing

    one, three = await asyncio.gather(*waiting)
    passages = await told
    assert (one, three, len(passages)) == ([3.0, 1.0], [5.0, 1.0], 40)
    assert [each.truncated for each in passages] == [number > 10 for number in range(40)]


async def test_a_closed_embedder_takes_no_work(model: StandIn) -> None:
    embedder = Embedder(model)
    await embedder.close()
    await embedder.close()

    with pytest.raises(Unavailable, match="closed"):
        await embedder.query("late")
    with pytest.raises(Unavailable, match="closed"):
        await embedder.passages(["late"])
    assert await embedder.passages([]) == []


async def test_a_model_is_handed_no_more_than_it_can_see(held: Embedder, model: StandIn) -> None:
    model.go_on.set()

    await held.query("x" * (SEEN_CHARACTERS + 1))
    await held.passages(["y" * (SEEN_CHARACTERS + 1)])

    assert [len(text) for batch in model.batches for text in batch] == [SEEN_CHARACTERS] * 2


@given(st.lists(st.integers(0, 2 * SEEN_CHARACTERS).map(lambda size: "x" * size), max_size=60))
def test_batches_hold_each_text_once_and_are_small(texts: list[str]) -> None:
    batches = list(batched(texts))

    assert sorted(place for batch in batches for place in batch) == list(range(len(texts)))
    lengths = [len(texts[place]) for batch in batches for place in batch]
    assert lengths == sorted(lengths)
    for batch in batches:
        padded = len(batch) * max(min(len(texts[place]), SEEN_CHARACTERS) for place in batch)
        assert 1 <= len(batch) <= BATCH_TEXTS
        assert len(batch) == 1 or padded <= BATCH_CHARACTERS


def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], config.Settings]:
    """Return what makes settings for a model where no hub can be reached."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    def chosen(model: str) -> config.Settings:
        return config.load({}, embedding_model=model, cache_dir=tmp_path)

    return chosen


@pytest.mark.parametrize("name", ["no-such-model", "graphmem/unheard of", "no/such/folder", "…"])
def test_a_name_that_nobody_knows_is_said_in_a_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = offline(monkeypatch, tmp_path)(name)

    with pytest.raises(SettingError, match="fastembed knows no model of this name") as caught:
        load_model(settings, silent)

    assert caught.value.name == "GRAPHMEM_EMBEDDING_MODEL"
    assert "\n" not in str(caught.value)


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(tmp_path: Path) -> None:
    settings = config.load({}, embedding_model="BAAI/bge-smal-en-v1.5", cache_dir=tmp_path)

    with pytest.raises(SettingError, match=r"much alike: .*BAAI/bge-small-en-v1\.5"):
        load_model(settings, silent)


def test_a_hub_that_cannot_be_reached_is_asked_once_and_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    chosen = offline(monkeypatch, tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    fetched: list[bool] = []

    def download(*_: object, local_files_only: bool, **_options: object) -> None:
        fetched.append(local_files_only)
        raise OSError

    monkeypatch.setattr("fastembed.text.onnx_embedding.OnnxTextEmbedding.download_model", download)

    with pytest.raises(SettingError, match=r"http://127\.0\.0\.1:9, .* cannot be reached: connect"):
        load_model(chosen("BAAI/bge-small-en-v1.5"), silent)

    assert fetched == [True]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("./no-such-folder", "there is no folder /"),
        ("/no/such/folder", "there is no folder /no/such/folder"),
        (".", "lacks model.onnx, tokenizer.json"),
    ],
)
def test_a_wrong_folder_is_said_in_a_sentence(
    name: str, sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SettingError, match=sentence) as caught:
        load_model(config.load({}, embedding_model=name), silent)

    assert caught.value.name == "GRAPHMEM_EMBEDDING_MODEL"


def test_a_folder_whose_model_is_broken_is_said_in_a_sentence(tmp_path: Path) -> None:
    for name in NEEDED_FILES:
        (tmp_path / name).write_text("{}", "utf-8")

    with pytest.raises(SettingError, match=r"cannot be loaded \(\w+\): mend it"):
        load_model(config.load({}, embedding_model=str(tmp_path)), silent)


def test_a_folder_can_be_named(runtime: Runtime) -> None:
    folder = bundled_model(runtime.settings.cache_dir, silent)

    model = load_model(config.load({}, embedding_model=str(folder)), silent)

    assert model.name == f"folder/{folder.name}"
    assert model.sha256 == runtime.embedder.model.sha256
    assert model.dimensions == 384
    [mine], [bundled] = (each.embed(["boat"]) for each in (model, runtime.embedder.model))
    assert cosine(mine, bundled) == pytest.approx(1.0)


def test_a_model_says_nothing_of_its_use(runtime: Runtime, tmp_path: Path) -> None:
    """The runtime of models would write an id of the machine into the home folder, and send it."""
    folder = bundled_model(runtime.settings.cache_dir, silent)
    program = f"""
from graphmem import config
from graphmem.embedding import load_model
from graphmem.model.progress import silent

load_model(config.load({{}}, embedding_model={str(folder)!r}), silent).embed(["boat"])
"""
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    # What is set in CI would silence it too.
    alone = inherited | {"HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=alone, check=True, timeout=300)
    assert list(tmp_path.rglob("*")) == []


async def test_what_is_embedded_anew_waits_for_questions_and_for_what_is_written():
    """Another model in the same thread, as while the installation changes to it."""
    order: list[str] = []

    class Ordered:
        sha256, dimensions = "0" * 64, 1

        def __init__(self, name: str) -> None:
            self.name = name

        def embed(self, texts: list[str]) -> list[Vector]:
            order.extend(f"{self.name} {text}" for text in texts)
            if "first" in texts:
                begun.set()
                assert all_wait.wait(30)
            return [[1.0] for _ in texts]

        def truncates(self, text: str) -> bool:
            return False

    begun, all_wait = threading.Event(), threading.Event()
    embedder = Embedder(Ordered("old"))
    beside = embedder.running(Ordered("new"), SECOND)
    first = asyncio.create_task(embedder.query("first"))
    assert await asyncio.to_thread(begun.wait, 30)
    again = asyncio.create_task(beside.passages(["again"], priority=AGAIN))
    others = [
        asyncio.create_task(beside.passages(["write"])),
        asyncio.create_task(embedder.query("question")),
    ]
    await asyncio.sleep(0.1)
    all_wait.set()
    await asyncio.gather(first, again, *others)

    assert order == ["old first", "old question", "new write", "new again"]
    assert (embedder.side, beside.side) == (FIRST, SECOND)
    await embedder.close()
    with pytest.raises(Unavailable, match="closed"):
        await beside.query("late")
