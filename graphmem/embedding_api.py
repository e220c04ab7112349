"""An embedding model behind an OpenAI-compatible `/embeddings` URL: batches, retries, and true deadlines.

The setting is the API's URL with the model's name after `#`: `http://127.0.0.1:11434/v1#nomic-embed-text`.
Requests run on an event loop in a thread of the model's own, so that a server which drips or hangs holds up
nothing but its caller, and that one not beyond the deadline. Texts of memories are never logged.
"""

import asyncio
import hashlib
import logging
import math
import threading
import time
from collections.abc import Coroutine
from typing import Any, TypeVar
from urllib.parse import urlsplit, urlunsplit

import httpx
import msgspec
from msgspec import Struct

from graphmem.config import has_secret, is_address
from graphmem.errors import SettingError, Unavailable
from graphmem.model.validation import NO_JSON
from graphmem.observing.logs import Failing

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Vector = list[float]

SETTING = "GRAPHMEM_EMBEDDING_MODEL"
KEY_SETTING = "GRAPHMEM_EMBEDDING_KEY"

QUESTION_SECONDS = 6.0
PASSAGES_SECONDS = 120.0
"""The deadlines of a question and of a batch of passages, all retries included."""

ATTEMPT_SHARE = 1 / 3
"""The share of the deadline that one attempt may take: a request that hangs is sent again."""

RESTING_SECONDS = 2.0
"""The time after a question failed in which the next ones fail at once: words still find."""

FIRST_PAUSE, LONGEST_PAUSE = 0.25, 8.0
CONNECT_SECONDS = 5.0

REPLY_BYTES = 64_000_000
"""The size limit of a response body; a batch of 16 vectors has about a megabyte."""

SHORTEST_TEXT = 256
"""The length, in characters, down to which a text is cut that the server refuses as too long."""

BLANK = "."
"""Embedded instead of a text without any character, which servers refuse."""

PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""The statuses after which the same request may succeed."""

KEY_REFUSED = frozenset({401, 403})

TEXT_REFUSED = frozenset({400, 413, 422})
"""The statuses with which servers refuse a batch or a text that is too long."""


class ReturnedVector(Struct, frozen=True):
    """A vector of the response, and the place of its text in the request."""

    embedding: list[float]
    index: int | None = None


class Reply(Struct, frozen=True):
    """The part of the response that is used."""

    data: list[ReturnedVector]


class RequestRefused(Exception):
    """A request has no usable answer; `passing` tells whether the same one may succeed later."""

    def __init__(
        self, reason: str, *, status: int = 0, passing: bool = False, after: float = 0.0
    ) -> None:
        super().__init__(reason)
        self.status = status
        self.passing = passing
        self.after = after


def is_url(chosen: str | None) -> bool:
    """Tell whether the setting of the embedding model is a URL."""
    return chosen is not None and chosen.lower().startswith(("http://", "https://"))


def url_and_name(chosen: str) -> tuple[str, str]:
    """Return the URL of the endpoint, and the name of the model. Raises `SettingError`."""
    if not is_address(chosen.partition("#")[0]):
        raise SettingError(
            SETTING,
            "the URL has no host, or a port that is none; it is written like "
            "http://127.0.0.1:11434/v1#nomic-embed-text",
        )
    parts = urlsplit(chosen)
    # First, since the next sentence repeats the URL.
    if has_secret(chosen):
        raise SettingError(SETTING, f"the URL contains a password: put it into {KEY_SETTING}")
    if not parts.fragment:
        raise SettingError(
            SETTING,
            f"{chosen!r} does not say which model: add its name there after #, as in "
            "http://127.0.0.1:11434/v1#nomic-embed-text",
        )
    path = parts.path.rstrip("/")
    if not path.endswith("/embeddings"):
        path += "/embeddings"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, "")), parts.fragment


class UrlAway(SettingError):
    """The model behind a URL does not answer now, and may later."""


class ApiModel:
    """A model behind a URL. It can be called from several threads at once."""

    def __init__(
        self,
        chosen: str,
        key: str = "",
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url, model = url_and_name(chosen)
        self.name = f"url/{model}"
        self.dimensions = 0
        self.sha256 = ""
        self._model = model
        self._resting_until = 0.0
        self._failing = Failing()
        self._sent = (
            f"the {KEY_SETTING} of this process" if key else f"a request without {KEY_SETTING}"
        )
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.AsyncClient(
            headers={**headers, "Content-Type": "application/json", "Accept-Encoding": "identity"},
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            transport=transport,
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="embedding-url", daemon=True
        )
        self._thread.start()

    def measure(self) -> None:
        """Ask for one vector, once, and keep its length. Raises `RequestRefused` with the reason."""
        [vector] = self._run(self._within(PASSAGES_SECONDS / 4, self._post(["warm"])))
        self.expect(len(vector))

    def expect(self, dimensions: int) -> None:
        """Take vectors of this length alone from now on."""
        self.dimensions = dimensions
        # Nobody sees the weights. Name and dimensions stand for them, so a model may move elsewhere.
        self.sha256 = hashlib.sha256(f"{self.name}\n{self.dimensions}".encode()).hexdigest()

    def embed(self, texts: list[str]) -> list[Vector]:
        """Return the texts' unit vectors; retries until the deadline. Raises `Unavailable`."""
        return self._run(self._told(texts, PASSAGES_SECONDS))

    def embed_question(self, texts: list[str]) -> list[Vector]:
        """Return the unit vectors of questions, soon or not at all. Raises `Unavailable`."""
        if time.monotonic() < self._resting_until:
            raise Unavailable(f"the embedding URL {self.url} failed a moment ago")
        try:
            return self._run(self._told(texts, QUESTION_SECONDS))
        except Unavailable:
            self._resting_until = time.monotonic() + RESTING_SECONDS
            raise

    def truncates(self, _text: str) -> bool:
        """Tell that a text is seen whole: the length of the model's window is not known."""
        return False

    def close(self) -> None:
        """Close the connections and end the thread."""
        if self._loop.is_closed():
            return
        self._run(self._http.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _told(self, texts: list[str], seconds: float) -> list[Vector]:
        """Return the vectors. Raises `Unavailable`, whose sentence has no text."""
        try:
            async with asyncio.timeout(seconds):
                return await self._persist(texts, seconds * ATTEMPT_SHARE)
        except TimeoutError as problem:
            sentence = f"did not answer within {seconds:g} s"
            raise Unavailable(f"the embedding URL {self.url} {sentence}") from problem
        except RequestRefused as problem:
            raise Unavailable(f"the embedding URL {self.url} {problem}") from problem

    async def _persist(self, texts: list[str], attempt_seconds: float) -> list[Vector]:
        """Ask until there is an answer; the caller has the deadline. Raises `RequestRefused`.

        A write may be cut off before that deadline, without a word of the model: the reason is logged, once
        until the next answer.
        """
        pause = FIRST_PAUSE
        while True:
            try:
                vectors = await self._within(attempt_seconds, self._post(texts))
            except RequestRefused as problem:
                if problem.status in TEXT_REFUSED:
                    return await self._shorter(texts, attempt_seconds, problem)
                if not problem.passing:
                    raise
                # Whatever the reason: the sentences of a URL that is away differ.
                level = self._failing.level("asked again")
                log.log(level, "the embedding URL %s %s: it is asked again", self.url, problem)
                after = problem.after
            else:
                self._failing.works()
                return vectors
            await asyncio.sleep(max(pause, min(after, LONGEST_PAUSE)))
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _shorter(
        self, texts: list[str], attempt_seconds: float, problem: RequestRefused
    ) -> list[Vector]:
        """Ask for each text by itself, and for less of one that is refused. Raises `RequestRefused`."""
        if len(texts) > 1:
            return [
                vector for one in texts for vector in await self._persist([one], attempt_seconds)
            ]
        [text] = texts
        if len(text) <= SHORTEST_TEXT:
            raise problem
        return await self._persist([text[: len(text) // 2]], attempt_seconds)

    async def _within(self, seconds: float, asked: Coroutine[Any, Any, Result]) -> Result:
        """Return an answer. Raises `RequestRefused`, also for one that takes longer."""
        try:
            async with asyncio.timeout(seconds):
                return await asked
        except TimeoutError as problem:
            raise RequestRefused(f"did not answer within {seconds:g} s", passing=True) from problem
        except httpx.InvalidURL as problem:
            raise RequestRefused("is no URL") from problem
        except (httpx.HTTPError, OSError) as problem:
            kind = type(problem).__name__
            raise RequestRefused(f"cannot be reached ({kind})", passing=True) from problem

    async def _post(self, texts: list[str]) -> list[Vector]:
        """Return the vectors of one request, in the order of the texts. Raises `RequestRefused`."""
        given = [text if text.strip() else BLANK for text in texts]
        body = msgspec.json.encode({"model": self._model, "input": given})
        async with self._http.stream("POST", self.url, content=body) as response:
            if response.status_code != 200:
                status = response.status_code
                sent = f" to {self._sent}" if status in KEY_REFUSED else ""
                raise RequestRefused(
                    f"answered with status {status}{sent}",
                    status=status,
                    passing=status in PASSING,
                    after=_seconds(response.headers.get("Retry-After")),
                )
            answer = bytearray()
            async for piece in response.aiter_raw():
                answer += piece
                if len(answer) > REPLY_BYTES:
                    raise RequestRefused("answered with too much")
        return self._vectors(bytes(answer), len(texts))

    def _vectors(self, answer: bytes, texts: int) -> list[Vector]:
        """Return the unit vectors of a response. Raises `RequestRefused` for one that is not usable."""
        try:
            items = msgspec.json.decode(answer, type=Reply).data
        except NO_JSON as problem:
            raise RequestRefused("did not answer as an embeddings API", passing=True) from problem
        places = [place if one.index is None else one.index for place, one in enumerate(items)]
        if sorted(places) != list(range(texts)):
            raise RequestRefused("answered with another number of vectors", passing=True)
        found = dict(zip(places, (_unit(one.embedding) for one in items), strict=True))
        lengths = {len(vector) for vector in found.values()}
        if len(lengths) != 1 or self.dimensions not in (0, *lengths):
            raise RequestRefused(
                "answered with vectors of another length: is it still the same model?"
            )
        return [found[place] for place in range(texts)]


def load_api_model(chosen: str, key: str) -> ApiModel:
    """Return the model behind a URL, after one request. Raises `SettingError` that names the remedy."""
    model = ApiModel(chosen, key)
    try:
        model.measure()
    except RequestRefused as problem:
        model.close()
        wrong = UrlAway if problem.passing else SettingError
        name = KEY_SETTING if problem.status in KEY_REFUSED else SETTING
        raise wrong(
            name, f"the embedding URL {model.url} {problem}: {_remedy(problem)}"
        ) from problem
    return model


def expected_api_model(chosen: str, key: str, dimensions: int) -> ApiModel:
    """Return the model behind a URL that need not answer yet, with vectors of a known length."""
    model = ApiModel(chosen, key)
    model.expect(dimensions)
    return model


def _remedy(problem: RequestRefused) -> str:
    if problem.status in KEY_REFUSED:
        return f"set {KEY_SETTING} to a key that it accepts"
    if problem.status == 404:
        return "mend the URL, which ends where /embeddings follows, or the model's name after #"
    if problem.status:
        return "see that server's log; the model's name after # may be unknown to it"
    return "start that server, or mend the URL"


def _seconds(value: str | None) -> float:
    """Return the seconds of a `Retry-After`; 0 for none, and for a date."""
    return float(value) if value and value.isdecimal() and len(value) < 6 else 0.0


def _unit(vector: Vector) -> Vector:
    """Return a vector of length 1. Raises `RequestRefused` for one that has no direction."""
    length = math.sqrt(sum(value * value for value in vector))
    if not length or not math.isfinite(length):
        raise RequestRefused("answered with a vector that has no direction")
    return [value / length for value in vector]
