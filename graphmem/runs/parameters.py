"""The parameters of operations in records: sizes, digests, words of closed lists, never a text."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from graphmem.model.text import checked_text
from graphmem.runs.types import FixedBudget, NewWrite, PeekAsked, RunQuestion, SubcallAsked

Parameters = dict[str, Any]

LABEL_BYTES = 1_024
"""The maximum length of a name given by a caller, in bytes of UTF-8."""


def check_labels(**labels: str | None) -> None:
    """Raise `InvalidInput` for a name that is blank or not Unicode, `TooLarge` for one that is too long."""
    for name, label in labels.items():
        if label is not None:
            checked_text(label, name, most_bytes=LABEL_BYTES)


def digest(run_id: str, value: str | Sequence[float] | Sequence[str] | dict[str, Any]) -> str:
    """Return a digest: the same for the same value in one run, and meaningless outside it."""
    # Keyed by the run's id, which cannot be guessed: a short text cannot be found by trying.
    return blake2b(
        msgspec.json.encode(value, order="sorted"), key=run_id.encode()[:64], digest_size=16
    ).hexdigest()


def of_question(question: RunQuestion, run_id: str) -> Parameters:
    """Return the parameters of a retrieval."""
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


def of_peek(asked: PeekAsked, run_id: str) -> Parameters:
    """Return the parameters of a peek."""
    return {
        "span_digest": digest(run_id, asked.span_id),
        "include_content": asked.include_content,
    }


def of_write(new: NewWrite, run_id: str) -> Parameters:
    """Return the parameters of a write."""
    kept: Parameters = {
        "type": new.type,
        "content_bytes": len(new.content.encode()),
        "content_digest": digest(run_id, new.content),
    }
    if isinstance(new.metadata, dict):
        kept["metadata_digest"] = digest(run_id, new.metadata)
    return kept


def of_subcall(asked: SubcallAsked) -> Parameters:
    """Return the parameters of a sub-call."""
    kept: Parameters = {
        "agent_type": asked.agent_type,
        "budget_fraction": asked.budget_fraction,
    }
    if asked.fixed_budget is not None:
        kept["fixed_budget"] = _given(asked.fixed_budget)
    return kept


def with_child(parameters: Parameters, child_id: str | None) -> Parameters:
    """Return the parameters of a sub-call for display: with the child that it started."""
    return parameters if child_id is None else parameters | {"child_session_id": child_id}


def continued(parameters: Parameters) -> Parameters:
    """Return the parameters that two pages of one question have in common."""
    of_one_page = {"max_tokens", "cursor_digest"}
    return {name: value for name, value in parameters.items() if name not in of_one_page}


def _given(fixed: FixedBudget) -> dict[str, int]:
    return {
        name: value
        for name in ("max_tokens", "max_time_ms", "max_retries")
        if (value := getattr(fixed, name)) is not None
    }
