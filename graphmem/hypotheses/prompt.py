"""The texts around a turn: the window of its conversation, the prompt for hypotheses, the block of memories.

Gao et al. (2022), "Precise Zero-Shot Dense Retrieval without Relevance Labels": a language model writes
sentences that a relevant memory might contain, and these are searched for instead of the conversation.
Pure functions; a specification fixes the prompt and the block to the character.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from msgspec import Struct

from graphmem.conversations.forms import REASONING
from graphmem.conversations.types import MessagePart
from graphmem.hypotheses.types import TurnMessage
from graphmem.model.vocabulary import ROLE_OF
from graphmem.prompts.rendering import from_day, one_line, own_line
from graphmem.prompts.truncation import GAP
from graphmem.text.extraction import shortened
from graphmem.tokens import TokenCounter

SPEAKERS = ("user", "assistant")

PROMPT = """\
You are a memory retrieval assistant for an AI coding agent.
Given a snippet of conversation, generate exactly {count} short declarative sentences
that might appear in a memory file about a relevant past preference, convention,
decision, or correction. Each sentence should be on its own line.
Do not explain or elaborate — only output the sentences."""

SEPARATOR = "\n---\n"

WINDOW_CHARACTERS = 32_000
"""The characters of the newest messages that a model receives, about 8,000 tokens: more is too slow."""

MESSAGE_CHARACTERS = 8_000
"""The maximum number of characters of one message; a longer one is reduced to its beginning and its end."""

SENTENCE_CHARACTERS = 400
"""The characters of a hypothesis, about 100 tokens: all are embedded in one batch, padded to the longest."""

# A bullet needs a space after it, a number its mark and a space: `2FA` and `3.11` are words.
_MARK = re.compile(r"^(?:[-*+•–—]|\(?\d{1,3}[.):])(?:\s+|$)")

# A reasoning model may be cut off before its thoughts end, or omit the opening tag.
_THOUGHTS = re.compile(r"<(think(?:ing)?)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THOUGHTS_ENDED = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)

_PREAMBLE = re.compile(
    r"(?:(?:sure|certainly|of course|okay|ok)\b\W*)?here (?:are|is)\b.*\b(?:sentences?|statements?)\b"
    r"|(?:sure|certainly|of course|okay|ok)\W*$",
    re.IGNORECASE,
)

HEADER = (
    "## Relevant Long-Term Memories\n\n"
    "The following memories were retrieved from your persistent memory store as relevant to the "
    "current conversation. Apply them silently.\n\n"
)

CHARACTERS_PER_TOKEN = 4
"""An estimate. A block must be within its budget both by this and by the token counter."""


class BlockEntry(Struct, frozen=True, kw_only=True):
    """One memory of the block."""

    text: str
    category: str
    scope: str
    version: int
    supersedes: str | None = None
    """The id of the version that this one replaced."""
    since: date | None = None
    """The day from which it holds, if that is shown."""


def window(messages: Sequence[TurnMessage], summarised_until: int = 0) -> list[str]:
    """Return `role: text` for the messages of user and assistant from an index on, without tools.

    The index is that of the first message after the summary; 0 is the whole history. Of a content in parts
    only the texts are used.
    """
    said = (
        (ROLE_OF[message.role], _text(message.content))
        for message in messages[max(summarised_until, 0) :]
    )
    return [f"{role}: {text}" for role, text in said if role in SPEAKERS and text.strip()]


def system_prompt(count: int) -> str:
    """Return the system prompt for `count` sentences."""
    return PROMPT.format(count=count)


def user_prompt(window: Sequence[str], count: int) -> str:
    """Return the conversation and the request; the window's texts are separated by `---`."""
    return (
        f"Conversation window:\n\n{SEPARATOR.join(window)}\n\n"
        f"Generate {count} hypothetical memory sentences."
    )


def sentences(reply: str, most: int) -> list[str]:
    """Return the reply's lines that are sentences, trimmed and cut, without bullets and numbers.

    At most `most` are returned, without thoughts, code fences and introductions.
    """
    said = _THOUGHTS_ENDED.sub("", _THOUGHTS.sub("", reply))
    lines = (_MARK.sub("", line.strip()).strip() for line in said.splitlines())
    return [shortened(line, SENTENCE_CHARACTERS) for line in lines if _is_sentence(line)][:most]


def newest(said: Sequence[str]) -> list[str]:
    """Return the last messages of a window that fit its length, in their order, long ones cut."""
    taken: list[str] = []
    room = WINDOW_CHARACTERS
    for text in map(shown, reversed(said)):
        room -= len(text)
        if room < 0:
            break
        taken.append(text)
    return taken[::-1]


def shown(text: str) -> str:
    """Return a message; of a long one its beginning and its end."""
    half = MESSAGE_CHARACTERS // 2
    return text if len(text) <= MESSAGE_CHARACTERS else f"{text[:half]}{GAP}{text[-half:]}"


def _is_sentence(line: str) -> bool:
    """Tell whether a line states something, and does not announce or enclose other lines."""
    return (
        any(map(str.isalpha, line))
        and not line.startswith("```")
        and not line.endswith((":", "："))
        and not _PREAMBLE.match(line)
    )


def injection(entries: Sequence[BlockEntry], budget: int, *, tokens: TokenCounter) -> str:
    """Return the block: the entries in their order, up to the first that does not fit.

    `budget` is in tokens, 0 is no limit; a block must stay within it both by the token counter and at four
    characters per token. The block is empty if the first entry does not fit.
    """
    block, taken = HEADER, 0
    for entry in entries:
        longer = block + _entry(entry)
        if budget and not _fits(longer, budget, tokens):
            break
        block, taken = longer, taken + 1
    return block if taken else ""


def injected(messages: Sequence[Mapping[str, Any]], block: str) -> list[Mapping[str, Any]]:
    """Return the messages with the block as one more: after the first system messages, before the others."""
    if not block:
        return list(messages)
    place = next(
        (place for place, one in enumerate(messages) if one.get("role") != "system"), len(messages)
    )
    return [*messages[:place], {"role": "system", "content": block}, *messages[place:]]


def _text(content: str | Sequence[str | MessagePart] | None) -> str:
    if isinstance(content, str):
        return content
    texts = (part if isinstance(part, str) else _text_of_part(part) for part in content or ())
    return "\n".join(filter(None, texts))


def _text_of_part(part: MessagePart) -> str:
    return "" if part.type in REASONING else part.text or part.refusal or ""


def _entry(entry: BlockEntry) -> str:
    replaced = f"*(supersedes {entry.supersedes})*\n" if entry.supersedes else ""
    category = one_line(entry.category)
    text = own_line(f"{from_day(entry.since)}{entry.text}")
    return f"**[{category} | {entry.scope} | v{entry.version}]**\n{replaced}{text}\n\n"


def _fits(block: str, budget: int, tokens: TokenCounter) -> bool:
    return len(block) <= CHARACTERS_PER_TOKEN * budget and tokens.count(block) <= budget
