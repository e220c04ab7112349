"""HyDE's prompt and what becomes of the reply: texts in, texts out.

Gao et al. (2022), "Precise Zero-Shot Dense Retrieval without Relevance Labels": a model writes what a
relevant memory might say, and that is searched for instead of the conversation. The prompt is S4's.
"""

import re
from collections.abc import Sequence

PROMPT = """\
You are a memory retrieval assistant for an AI coding agent.
Given a snippet of conversation, generate exactly {count} short declarative sentences
that might appear in a memory file about a relevant past preference, convention,
decision, or correction. Each sentence should be on its own line.
Do not explain or elaborate — only output the sentences."""

SEPARATOR = "\n---\n"

# A bullet needs a space behind it, a number its mark and a space: `2FA` and `3.11` are words.
_MARK = re.compile(r"^(?:[-*+•–—]|\(?\d{1,3}[.):])\s+")


def system_prompt(count: int) -> str:
    """Return what tells the model to write so many sentences."""
    return PROMPT.format(count=count)


def user_prompt(window: Sequence[str], count: int) -> str:
    """Return the conversation and the request; the window's texts are separated by `---`."""
    return (
        f"Conversation window:\n\n{SEPARATOR.join(window)}\n\n"
        f"Generate {count} hypothetical memory sentences."
    )


def sentences(reply: str, most: int) -> list[str]:
    """Return the reply's lines, trimmed, without bullets and numbers; at most `most` of them."""
    lines = (_MARK.sub("", line.strip()).strip() for line in reply.splitlines())
    return [line for line in lines if line][:most]
