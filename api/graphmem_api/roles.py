"""Roles: which key may send which request. This is the only place that says it.

Each role may do everything that the ones before it may. A request that is not in the table is for operators
only, so that a new route is closed until somebody decides.
"""

from typing import Literal, get_args

from litestar.exceptions import PermissionDeniedException

Role = Literal["reader", "analyst", "agent", "operator"]
ROLES: tuple[Role, ...] = get_args(Role)
"""All roles; each one includes those before it."""

ABOUT: dict[Role, str] = {
    "reader": "asks and reads memories of its client, and changes nothing",
    "analyst": "also reads patterns, the graph, explanations, runs, reviews, jobs and the export of its "
    "client, and verifies what is forgotten",
    "agent": "also writes and deletes memories of its client",
    "operator": "also sees what concerns all clients: their list, metrics, legal holds and Cypher",
}

OPERATIONS: dict[Role, frozenset[str]] = {
    "reader": frozenset(
        {
            "chunk",
            "composed_context",
            "context_pre_retrieve",
            "expand_context",
            "hyde_retrieve",
            "list_conversations",
            "list_entities",
            "list_links",
            "list_memories",
            "list_messages",
            "list_references",
            "list_sessions",
            "list_summaries",
            "list_versions",
            "mcp",
            "peek",
            "recall",
            "related_sessions",
            "retrieve_memory",
            "retrieve_memory_raw",
            "search",
            "search_contextual",
            "search_spans",
            "show_categories",
            "show_context",
            "show_memory",
            "show_reference",
            "show_span",
            "show_span_content",
            "show_summary",
            "show_usage",
        }
    ),
    "analyst": frozenset(
        {
            "explain",
            "export_client",
            "list_accesses",
            "list_jobs",
            "list_patterns",
            "list_reviews",
            "list_runs",
            "run_pattern",
            "show_graph_schema",
            "show_neighbourhood",
            "show_run",
            "show_run_tree",
            "verify",
        }
    ),
    "agent": frozenset(
        {
            "add_alias",
            "add_links",
            "add_references",
            "add_summary",
            "add_to_context",
            "annotate_memory",
            "change_conversation",
            "consolidate",
            "create_context",
            "delete_context",
            "delete_conversation",
            "delete_link",
            "delete_memory",
            "end_run",
            "find_aliases",
            "forget",
            "forget_client",
            "open_conversation",
            "peek_in_run",
            "put_content",
            "register_spans",
            "remember",
            "remember_episode",
            "remember_facts",
            "retrieve_in_run",
            "review",
            "run_reviews",
            "segment",
            "set_categories",
            "start_run",
            "subcall_in_run",
            "summarize_session",
            "supersede_fact",
            "undo_alias",
            "write_in_run",
        }
    ),
    "operator": frozenset(
        {
            "ask_cypher",
            "begin_hold",
            "end_hold",
            "list_all_clients",
            "list_cypher_audit",
            "show_metrics",
        }
    ),
}
"""The requests that each role may send beside those of the roles before it, by their operation ids."""

NEEDED: dict[str, Role] = {
    operation: role for role, operations in OPERATIONS.items() for operation in operations
}


def may_send(role: Role, operation: str) -> bool:
    """Tell whether a role may send a request."""
    return ROLES.index(role) >= ROLES.index(needed_role(operation))


def needed_role(operation: str) -> Role:
    """Return the first of the roles that may send a request."""
    return NEEDED.get(operation, ROLES[-1])


def require_role(role: Role, operation: str) -> None:
    """Raise 403 if a role may not send a request."""
    if not may_send(role, operation):
        needed = needed_role(operation)
        above = "" if needed == ROLES[-1] else " or above"
        raise PermissionDeniedException(
            f"this takes a key of the role {needed}{above}; yours is of the role {role}"
        )


def told_role(operation: str) -> str | None:
    """Return the sentence about the role that a request needs; None if it needs no key."""
    needed = NEEDED.get(operation)
    if needed is None or needed == ROLES[0]:
        return None
    included = ROLES[ROLES.index(needed) :]
    return f"With keys, for the role{'s' if len(included) > 1 else ''} {' and '.join(included)}."
