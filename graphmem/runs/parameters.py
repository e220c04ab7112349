"""What is kept of what an operation was asked with: sizes, digests, words of closed lists, never a text."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from graphmem.runs.types import NewWrite, RunQuestion

Parameters = dict[str, Any]


def digest(run_id: str, value: str | Sequence[float] | Sequence[str] | dict[str, Any]) -> str:
    """Return a digest that is the same for the same value in one run, and says nothing outside it."""
    # Keyed by the run's id, which nobody can guess: a short text cannot be found by trying.
    return blake2b(
        msgspec.json.encode(value, order="sorted"), key=run_id.encode()[:64], digest_size=16
    ).hexdigest()


def of_question(question: RunQuestion, run_id: str) -> Parameters:
    """Return what is kept of a retrieval's question."""
    query = question.query
    kept: Parameters = {
        "query_digest": digest(run_id, query),
        "query_kind": "text" if isinstance(query, str) else "vector",
        "query_length": len(query),
        "max_tokens": question.max_tokens,
        "sort_by": question.sort_by,
    }
    if question.source_types is not None:
        kept["source_types"] = sorted(set(question.source_types))
    if question.source_ids is not None:
        kept["source_ids"] = len(question.source_ids)
        kept["source_ids_digest"] = digest(run_id, sorted(set(question.source_ids)))
    if question.min_relevance is not None:
        kept["min_relevance"] = question.min_relevance
    if question.cursor is not None:
        kept["cursor_digest"] = digest(run_id, question.cursor)
    return kept


def of_write(new: NewWrite, run_id: str) -> Parameters:
    """Return what is kept of a write."""
    kept: Parameters = {
        "type": new.type,
        "content_bytes": len(new.content.encode()),
        "content_digest": digest(run_id, new.content),
    }
    if isinstance(new.metadata, dict):
        kept["metadata_digest"] = digest(run_id, new.metadata)
    return kept


def continued(parameters: Parameters) -> Parameters:
    """Return what two pages of one question have in common."""
    of_one_page = {"max_tokens", "cursor_digest"}
    return {name: value for name, value in parameters.items() if name not in of_one_page}
