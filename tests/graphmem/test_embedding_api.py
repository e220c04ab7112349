"""An embedding model behind a URL: its answers, its retries and deadlines, and servers that misbehave."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from graphmem import config, embedding_api
from graphmem.embedding import AGAIN, Embedder, load_model
from graphmem.embedding_api import SHORTEST_TEXT, ApiModel, expected_api_model, url_and_name
from graphmem.errors import SettingError, Unavailable
from graphmem.model.progress import silent
from graphmem.model.vocabulary import SECOND
from graphmem.retrieval.knowledge import measure_knowledge
from graphmem.retrieval.relevance import RELATED, SHORT_ASKED, SHORT_TEXTS, measure
from graphmem.serving import described
from tests.fake_models import FakeModel
from tests.stub_embeddings import LONGEST_TEXT, Misbehaviour, StubEmbeddings, stub_embeddings

TEXTS = ["Ada feeds the hens.", "The boat leaks.", ""]


@pytest.fixture
def server() -> Iterator[StubEmbeddings]:
    with stub_embeddings() as stub:
        yield stub


@pytest.fixture
def model(server: StubEmbeddings) -> Iterator[ApiModel]:
    loaded = load_model(config.load({}, embedding_model=server.url), silent)
    assert isinstance(loaded, ApiModel)
    server.asked.clear()
    yield loaded
    loaded.close()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deadlines of a second instead of minutes."""
    monkeypatch.setattr(embedding_api, "QUESTION_SECONDS", 0.6)
    monkeypatch.setattr(embedding_api, "PASSAGES_SECONDS", 1.2)
    monkeypatch.setattr(embedding_api, "FIRST_PAUSE", 0.01)


def test_the_url_ends_with_the_model_and_may_have_the_whole_path() -> None:
    expected = ("https://host/v1/embeddings", "org/model:8b")

    assert url_and_name("https://host/v1#org/model:8b") == expected
    assert url_and_name("https://host/v1/#org/model:8b") == expected
    assert url_and_name("https://host/v1/embeddings#org/model:8b") == expected
    with pytest.raises(SettingError, match="does not say which model: add its name there after #"):
        url_and_name("http://host/v1")
    with pytest.raises(SettingError, match="put it into GRAPHMEM_EMBEDDING_KEY"):
        url_and_name("http://me:secret@host/v1#model")
    with pytest.raises(SettingError, match="contains a password") as found:
        url_and_name("http://me:secret@host/v1")
    assert "secret" not in str(found.value)
    for wrong in ("http:// /v1#model", "http://#model", "http://host:x/v1#model"):
        with pytest.raises(SettingError, match="has no host, or a port that is none"):
            url_and_name(wrong)


def test_it_answers_with_unit_vectors_in_the_order_of_the_texts(
    model: ApiModel, server: StubEmbeddings
) -> None:
    vectors = model.embed(TEXTS)

    fake = FakeModel("fake-256-plain").embed([*TEXTS[:2], "."])
    assert [pytest.approx(vector) for vector in fake] == vectors
    assert server.asked == [{"model": "fake", "input": [*TEXTS[:2], "."]}]
    assert (model.name, model.dimensions) == ("url/fake", 256)
    assert model.embed_question(TEXTS[:1]) == [pytest.approx(fake[0])]


def test_the_same_model_behind_another_url_is_the_same(model: ApiModel) -> None:
    with stub_embeddings() as another, stub_embeddings("fake-320-kin") as other:
        moved = load_model(config.load({}, embedding_model=another.url), silent)
        changed = load_model(config.load({}, embedding_model=other.url), silent)
        here = described(model, config.load({}, embedding_model="http://here/v1#fake"))

        assert here.is_like(described(moved, config.load({})))
        assert not here.is_like(described(changed, config.load({})))
        assert here.source == "http://here/v1#fake"
        for one in (moved, changed):
            assert isinstance(one, ApiModel)
            one.close()


@pytest.mark.parametrize(
    "manner", ["fewer", "flood", "html", "nan", "null", "reset", 429, 500, 503]
)
def test_a_request_that_fails_is_sent_again(
    model: ApiModel, server: StubEmbeddings, manner: Misbehaviour | int, hasty: None
) -> None:
    server.misbehave = lambda number: manner if number == 1 else None

    assert len(model.embed(TEXTS)) == 3
    assert len(server.asked) == 2


@pytest.mark.usefixtures("hasty")
def test_why_a_request_is_sent_again_is_logged_once_until_an_answer(
    model: ApiModel, server: StubEmbeddings, caplog: pytest.LogCaptureFixture
) -> None:
    """A write is cut off at its own deadline, which tells nothing of the model."""
    server.misbehave = lambda number: 503 if number in (1, 2, 4) else None

    model.embed(TEXTS)
    assert [one.levelname for one in caplog.records if "is asked again" in one.message] == [
        "WARNING"
    ]
    model.embed(TEXTS)

    told = [one.message for one in caplog.records if one.levelname == "WARNING"]
    assert (
        told == [f"the embedding URL {model.url} answered with status 503: it is asked again"] * 2
    )
    assert not [text for text in TEXTS if text and text in caplog.text]


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("manner", ["hang", "drip", "drip head"])
def test_a_server_that_hangs_or_drips_is_asked_again_and_given_up_at_the_deadline(
    model: ApiModel, server: StubEmbeddings, manner: Misbehaviour
) -> None:
    server.misbehave = lambda number: manner if number == 1 else None
    assert len(model.embed(TEXTS)) == 3

    server.misbehave = lambda _number: manner
    with pytest.raises(Unavailable, match=r"did not answer within 1\.2 s"):
        model.embed(TEXTS)
    with pytest.raises(Unavailable, match=r"did not answer within 0\.6 s"):
        model.embed_question(TEXTS)
    known = len(server.asked)
    with pytest.raises(Unavailable, match="failed a moment ago"):
        model.embed_question(TEXTS)
    assert len(server.asked) == known


@pytest.mark.parametrize(
    ("manner", "reason"), [("longer", "another length"), ("zero", "direction")]
)
def test_what_another_try_does_not_mend_is_refused_at_once(
    model: ApiModel, server: StubEmbeddings, manner: Misbehaviour, reason: str
) -> None:
    server.misbehave = lambda _number: manner

    with pytest.raises(Unavailable, match=reason) as caught:
        model.embed(TEXTS)
    assert len(server.asked) == 1
    assert "boat" not in str(caught.value)


def test_a_text_that_the_server_refuses_as_too_long_is_cut(
    model: ApiModel, server: StubEmbeddings
) -> None:
    long = "hen " * LONGEST_TEXT

    short, cut = model.embed(["Ada", long])

    seen = long[: len(long) // 4]
    assert len(seen) == LONGEST_TEXT
    expected = FakeModel("fake-256-plain").embed(["Ada", seen])
    assert [short, cut] == [pytest.approx(vector) for vector in expected]
    server.asked.clear()
    server.misbehave = lambda _number: 400
    with pytest.raises(Unavailable, match="status 400"):
        model.embed([long])
    assert min(len(body["input"][0]) for body in server.asked) > SHORTEST_TEXT // 2


@pytest.mark.parametrize(
    ("manner", "sentence"),
    [
        (404, "answered with status 404: mend the URL"),
        (500, "answered with status 500: see that server's log"),
        ("html", "did not answer as an embeddings API: start that server, or mend the URL"),
    ],
)
def test_a_url_that_cannot_be_used_is_said_at_once(
    server: StubEmbeddings, manner: Misbehaviour | int, sentence: str
) -> None:
    server.misbehave = lambda _number: manner

    with pytest.raises(SettingError, match=sentence) as caught:
        load_model(config.load({}, embedding_model=server.url), silent)

    assert caught.value.name == "GRAPHMEM_EMBEDDING_MODEL"
    assert len(server.asked) == 1


def test_a_server_that_is_not_there_is_said_at_once(server: StubEmbeddings) -> None:
    server.stop()

    with pytest.raises(SettingError, match=r"cannot be reached .*: start that server"):
        load_model(config.load({}, embedding_model=server.url), silent)


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("", "a request without GRAPHMEM_EMBEDDING_KEY"),
        ("odd", "the GRAPHMEM_EMBEDDING_KEY of this"),
    ],
)
def test_a_key_that_is_missing_or_refused_is_named(
    server: StubEmbeddings, key: str, sent: str
) -> None:
    server.key = "s3cret"
    with pytest.raises(SettingError, match=f"status 401 to {sent}.*: set GRAPHMEM_EM") as caught:
        load_model(config.load({}, embedding_model=server.url, embedding_key=key), silent)
    assert caught.value.name == "GRAPHMEM_EMBEDDING_KEY"
    assert "odd" not in str(caught.value)

    away = expected_api_model(server.url, key, 256)
    with pytest.raises(Unavailable, match=f"status 401 to {sent}"):
        away.embed(TEXTS)
    away.close()


def test_the_key_is_sent(server: StubEmbeddings) -> None:
    server.key = "s3cret"

    model = load_model(config.load({}, embedding_model=server.url, embedding_key="s3cret"), silent)

    assert model.dimensions == 256
    assert isinstance(model, ApiModel)
    model.close()


async def test_what_measures_a_model_has_the_time_of_passages(
    model: ApiModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_api, "QUESTION_SECONDS", 0.0)
    monkeypatch.setattr(embedding_api, "RESTING_SECONDS", 0.0)
    embedder = Embedder(model)

    with pytest.raises(Unavailable, match="did not answer within 0 s"):
        await embedder.query("Who feeds the hens?")
    assert -1 <= (await measure(embedder)).low <= 1
    assert await measure_knowledge(embedder)
    await embedder.close()


async def test_a_model_is_measured_in_few_requests(model: ApiModel, server: StubEmbeddings) -> None:
    embedder = Embedder(model)

    await measure(embedder)

    asked = [body["input"] for body in server.asked]
    assert sorted(map(len, asked)) == sorted(
        [len(RELATED), len(RELATED), len(SHORT_ASKED), len(SHORT_TEXTS)]
    )
    assert [question for question, _ in RELATED] in asked
    await embedder.close()


async def test_while_it_hangs_another_model_and_questions_go_on(
    model: ApiModel, server: StubEmbeddings
) -> None:
    held = threading.Event()

    def hang_for_passages(_number: int) -> Misbehaviour | None:
        if server.asked[-1]["input"] == ["hang"]:
            held.set()
            return "hang"
        return None

    server.misbehave = hang_for_passages
    embedder = Embedder(FakeModel("fake-256-plain"))
    beside = embedder.running(model, SECOND)
    hanging = [asyncio.create_task(beside.passages(["hang"], priority=AGAIN)) for _ in range(9)]
    assert await asyncio.to_thread(held.wait, 30)

    assert len(await embedder.query("Who feeds the hens?")) == 256
    assert len(await embedder.passages(["Ada."])) == 1
    assert len(await beside.query("Who feeds the hens?")) == 256

    assert not any(task.done() for task in hanging)
    server.misbehave = lambda _number: None
    server.stop()
    server.start()
    assert [len(each) for each in await asyncio.gather(*hanging)] == [1] * 9
    await embedder.close()
    with pytest.raises(Unavailable, match="closed"):
        await beside.query("late")
