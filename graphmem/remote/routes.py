"""The request of each method: its path, and when it may be sent again."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

Fields = dict[str, Any]

WHOLE_ANSWER = "application/vnd.graphmem.retrieved+json"
"""Asks the routes that answer in Markdown for the whole answer as JSON."""


def always(_: Fields) -> bool:
    """Tell that a repetition does nothing that the first request did not do."""
    return True


def never(_: Fields) -> bool:
    """Tell that a repetition might do its work twice, or answer something else."""
    return False


def named_by(field: str) -> Callable[[Fields], bool]:
    """Return whether the caller gave the id that makes a repetition harmless."""
    return lambda fields: fields.get(field) is not None


def every_message_named(fields: Fields) -> bool:
    """Tell whether each message has an `external_id`, so that none is stored twice."""
    return all(
        msgspec.to_builtins(message).get("external_id") is not None
        for message in fields["messages"]
    )


class Route(Struct, frozen=True):
    """The request of one method: its method and path, and when it may be sent again."""

    request: str
    repeatable: Callable[[Fields], bool] = never
    whole: str = ""
    """The argument that is the whole body."""
    query: frozenset[str] = frozenset()
    """Arguments in the query string; those of GET and DELETE all are."""
    accept: str = "application/json"

    @property
    def method(self) -> str:
        """The method of HTTP."""
        return self.request.split(" ")[0]

    @property
    def path(self) -> str:
        """The path under `/api/v0`, with the names of arguments in braces."""
        return self.request.split(" ")[1]

    def may_be_repeated(self, fields: Fields) -> bool:
        """Tell whether the request may be sent again when it is unknown whether it was done."""
        return self.method == "GET" or self.repeatable(fields)


NAMED_OPERATION = named_by("operation_id")

ROUTES = {
    "open_conversation": Route("POST /conversations", named_by("id")),
    "change_conversation": Route("PATCH /conversations/{conversation_id}", always),
    "remember": Route("POST /conversations/{conversation_id}/messages", every_message_named),
    "conversations": Route("GET /conversations"),
    "sessions": Route("GET /conversations/{conversation_id}/sessions"),
    "messages": Route("GET /conversations/{conversation_id}/messages"),
    "delete_conversation": Route("DELETE /conversations/{conversation_id}"),
    "remember_episode": Route("POST /episodes"),
    "segment": Route(
        "POST /conversations/{conversation_id}/segment", query=frozenset({"leave_growing"})
    ),
    "consolidate": Route("POST /conversations/{conversation_id}/consolidate"),
    "remember_facts": Route("POST /facts", whole="new"),
    "remember_fact": Route("POST /facts"),
    "supersede_fact": Route("POST /facts/{fact_id}/supersede"),
    "categories": Route("GET /categories"),
    "set_categories": Route("PUT /categories", always),
    "memory": Route("GET /memories/{memory_id}"),
    "memories": Route("GET /memories"),
    "annotate": Route("PATCH /memories/{memory_id}", always),
    "delete_memory": Route("DELETE /memories/{memory_id}"),
    "forget": Route("POST /forget", lambda fields: bool(fields.get("dry_run"))),
    "forget_client": Route("DELETE /clients/{client_id}"),
    "verify_forgotten": Route("POST /forget/verify", always),
    "begin_hold": Route("PUT /clients/{client_id}/hold", always),
    "end_hold": Route("DELETE /clients/{client_id}/hold", always),
    "versions": Route("GET /memories/{memory_id}/versions"),
    "link": Route("POST /links", always),
    "link_all": Route("POST /links", always, whole="new"),
    "unlink": Route("DELETE /links"),
    "links": Route("GET /memories/{memory_id}/links"),
    "search": Route("POST /search", always),
    "search_spans": Route("POST /spans/search", always),
    "peek": Route("GET /memories/{memory_id}/peek"),
    "chunk": Route("POST /memories/{memory_id}/chunk", always),
    "create_context": Route("POST /contexts"),
    "context": Route("GET /contexts/{context_id}"),
    "add_to_context": Route("POST /contexts/{context_id}/memories"),
    "delete_context": Route("DELETE /contexts/{context_id}"),
    "compose_context": Route("GET /contexts/{context_id}/composed", accept="text/plain"),
    "recall": Route("POST /recall", always),
    "explain": Route("POST /explain", always),
    "search_contextual": Route("POST /contextual/search", always),
    "expand_context": Route("POST /contextual/expand", always),
    "hyde_retrieve": Route("POST /hyde/retrieve", always),
    "retrieve_memory": Route("POST /retrieve_memory", accept=WHOLE_ANSWER),
    "context_pre_retrieve": Route("POST /context_pre_retrieve", always, accept=WHOLE_ANSWER),
    "reviews": Route("GET /reviews"),
    "run_reviews": Route("POST /reviews/run"),
    "review": Route("POST /memories/{memory_id}/review"),
    "add_reference": Route("POST /references"),
    "add_references": Route("POST /references", whole="new"),
    "references": Route("GET /references"),
    "reference": Route("GET /references/{reference_id}"),
    "put_content": Route("PUT /references/{reference_id}/content", always),
    "register_span": Route("POST /spans", named_by("id")),
    "register_spans": Route("POST /spans", whole="new"),
    "span": Route("GET /spans/{span_id}"),
    "span_content": Route("GET /spans/{span_id}/content"),
    "add_summary": Route("POST /summaries"),
    "summarize_session": Route("POST /sessions/{session_id}/summarize"),
    "related_sessions": Route("GET /sessions/{session_id}/related"),
    "summaries": Route("GET /summaries"),
    "summary": Route("GET /summaries/{summary_id}"),
    "entities": Route("GET /entities"),
    "add_alias": Route("POST /entities/aliases", always),
    "undo_alias": Route("POST /entities/aliases/undo"),
    "find_aliases": Route("POST /entities/aliases/run"),
    "pattern": Route("POST /patterns/{name}", always),
    "neighbourhood": Route("GET /graph/{node_id}"),
    "graph_schema": Route("GET /graph/schema"),
    "cypher": Route("POST /cypher", always),
    "cypher_audit": Route("GET /cypher/audit"),
    "jobs": Route("GET /jobs"),
    "clients": Route("GET /clients"),
}

RUN_ROUTES = {
    "start": Route("POST /rlm/sessions", NAMED_OPERATION),
    "show": Route("GET /rlm/sessions/{run_id}"),
    "list_runs": Route("GET /rlm/sessions"),
    "retrieve": Route("POST /rlm/sessions/{run_id}/retrieve", NAMED_OPERATION),
    "peek": Route("POST /rlm/sessions/{run_id}/peek", NAMED_OPERATION),
    "write": Route("POST /rlm/sessions/{run_id}/write", NAMED_OPERATION),
    "subcall": Route("POST /rlm/sessions/{run_id}/subcall", NAMED_OPERATION),
    "end": Route("POST /rlm/sessions/{run_id}/end", always),
    "tree": Route("GET /rlm/sessions/{run_id}/tree"),
    "accesses": Route("GET /rlm/sessions/{run_id}/accesses"),
}
RAW = Route("POST /retrieve_memory/raw", accept=WHOLE_ANSWER)
EXPORT = Route("GET /export", accept="application/octet-stream")

RENAMED = {
    "link": {"from_id": "from", "to_id": "to"},
    "unlink": {"from_id": "from", "to_id": "to"},
    "add_to_context": {"memory_id": "id"},
}
"""Arguments whose fields have other names over HTTP."""
