"""A language model behind an OpenAI-compatible chat API: optional everywhere, with a deadline for each call.

Prompts and answers contain texts of memories, so neither is logged.
"""

import asyncio
import logging
import re
from typing import Annotated, Any, TypeVar

import httpx
import msgspec
from msgspec import Meta, Struct

from graphmem.config import Settings
from graphmem.errors import ModelFailed
from graphmem.model.validation import NO_JSON
from graphmem.observing.spans import span

Answer = TypeVar("Answer")

REPLY_BYTES = 1_000_000
"""The size limit of a response body; the rest of a longer one is not read."""

CONNECT_SECONDS = 5.0

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)

log = logging.getLogger(__name__)


class ChatMessage(Struct, frozen=True):
    """A message of the chat."""

    content: str | None = None


class Choice(Struct, frozen=True):
    """One of the answers of a model."""

    message: ChatMessage


class Completion(Struct, frozen=True):
    """The part of the API's response that is used."""

    choices: Annotated[list[Choice], Meta(min_length=1)]


class LanguageModel:
    """A model that answers one prompt at a time; a connection is kept between calls."""

    def __init__(
        self,
        url: str,
        name: str,
        key: str = "",
        *,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.name = name
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # No limit for single reads: the caller's deadline covers the whole call.
        self._http = httpx.AsyncClient(
            base_url=url.rstrip("/") + "/",
            headers=headers,
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            transport=transport,
        )

    async def reply(
        self,
        prompt: str,
        *,
        seconds: float,
        instructions: str = "",
        most_tokens: int = 1_000,
    ) -> str:
        """Return the model's answer, within `seconds` in total. Raises `ModelFailed`."""
        messages = [{"role": "user", "content": prompt}]
        if instructions:
            messages.insert(0, {"role": "system", "content": instructions})
        body = {
            "model": self.name,
            "messages": messages,
            "max_tokens": most_tokens,
            "temperature": 0.0,
        }
        with span("ask language model", {"graphmem.model": self.name}):
            try:
                async with asyncio.timeout(seconds):
                    answer = await self._post(body)
            except TimeoutError as problem:
                raise ModelFailed("timeout") from problem
            except (httpx.HTTPError, httpx.InvalidURL) as problem:
                raise ModelFailed("unreachable") from problem
        return _text(answer)

    async def answer(
        self,
        prompt: str,
        wanted: type[Answer],
        *,
        seconds: float,
        instructions: str = "",
        most_tokens: int = 1_000,
    ) -> Answer:
        """Return the model's answer as the struct that the prompt asks for, within `seconds` in total.

        Raises `ModelFailed`, also for an answer that does not fit the struct.
        """
        reply = await self.reply(
            prompt, seconds=seconds, instructions=instructions, most_tokens=most_tokens
        )
        try:
            return msgspec.convert(object_in(reply), wanted)
        except msgspec.ValidationError as problem:
            raise ModelFailed("not_understood") from problem

    async def close(self) -> None:
        """Close the connection."""
        await self._http.aclose()

    async def _post(self, body: dict[str, object]) -> bytes:
        """Return the body of the API's response, read up to its size limit."""
        async with self._http.stream(
            "POST",
            "chat/completions",
            content=msgspec.json.encode(body),
            headers={"Content-Type": "application/json", "Accept-Encoding": "identity"},
        ) as response:
            if response.status_code != 200:
                raise ModelFailed("refused", status=response.status_code)
            answer = bytearray()
            async for piece in response.aiter_raw():
                answer += piece
                if len(answer) > REPLY_BYTES:
                    raise ModelFailed("too_large")
            return bytes(answer)


def language_model(settings: Settings) -> LanguageModel | None:
    """Return the model of the settings; None, with a warning, if they are incomplete."""
    if settings.llm_url and settings.llm_model:
        return LanguageModel(settings.llm_url, settings.llm_model, settings.llm_key)
    if settings.llm_url or settings.llm_model or settings.llm_key:
        missing = "GRAPHMEM_LLM_MODEL" if settings.llm_url else "GRAPHMEM_LLM_URL"
        log.warning("no language model is used: %s is not set", missing)
    return None


def _text(answer: bytes) -> str:
    """Return the text of a response. Raises `ModelFailed`."""
    try:
        completion = msgspec.json.decode(answer, type=Completion)
    except NO_JSON as problem:
        raise ModelFailed("not_understood") from problem
    content = completion.choices[0].message.content
    if not content or not content.strip():
        raise ModelFailed("empty")
    return content


def object_in(reply: str) -> Any:
    """Return the JSON of a reply, which may be in a fenced block. Raises `ModelFailed`."""
    fenced = _FENCED.search(reply)
    text = (fenced[1] if fenced else reply).strip()
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, UnicodeError, RecursionError) as problem:
        raise ModelFailed("not_understood") from problem
