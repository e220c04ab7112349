"""Counters and durations for Prometheus: by route, reason and kind, never by client."""

from collections.abc import Iterable
from itertools import product
from typing import Literal, get_args

from prometheus_client import Counter, Gauge, Histogram

Refusal = Literal["client", "all", "bytes", "connections", "headers", "unread"]
"""The limits for which a request is refused at once, before anything is done for it; with `unread` its answer
is cut off."""

ReachedLimit = Literal["memories", "bytes", "tokens_a_day"]
"""The limits of a client that refuse its writes."""

Restart = Literal["died", "lost", "statement"]
"""The reasons for a restart of the private Neo4j: it died, was silent or failed, or kept on a statement."""

FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SLOW = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)

REQUESTS = Counter(
    "graphmem_http_requests",
    "Requests; status 0 is a caller that left before the answer",
    ["method", "route", "status"],
)
REQUEST_SECONDS = Histogram(
    "graphmem_http_request_duration_seconds",
    "Duration of requests",
    ["method", "route"],
    buckets=FAST,
)
REQUESTS_IN_PROGRESS = Gauge(
    "graphmem_http_requests_in_progress", "Requests that are worked on, and that wait", ["state"]
)
REFUSED = Counter(
    "graphmem_http_refused",
    "Requests refused at once: too many of one client, of all, too many bytes of bodies, too many "
    "connections, headers that are late, too long or no HTTP. Or answers cut off, since nobody reads them",
    ["limit"],
)
LIMITS_REACHED = Counter(
    "graphmem_client_limits_reached",
    "Writes refused because of a limit of their client: memories, bytes, tokens_a_day",
    ["limit"],
)
DEGRADED = Counter("graphmem_degraded_answers", "Answers without a part of the search", ["reason"])
JOBS_ENDED = Counter(
    "graphmem_job_attempts",
    "Attempts at background work: done, failed (it is tried again), dead (it is given up), "
    "lost (to another worker), deleted (meanwhile, with its conversation), given_back (the worker stopped), "
    "cut (the database went away, or the lease could not be renewed)",
    ["kind", "outcome"],
)
JOB_SECONDS = Histogram(
    "graphmem_job_duration_seconds", "Duration of attempts", ["kind"], buckets=SLOW
)
LEFT_UNDONE = Counter("graphmem_left_undone", "Tasks after an answer that were not done", ["what"])
FORGOTTEN = Counter(
    "graphmem_forgotten", "Records that were deleted because of their age", ["what"]
)
WORKER_CRASHES = Counter("graphmem_worker_crashes", "Restarts of the worker after a crash")
NEO4J_RESTARTS = Counter(
    "graphmem_neo4j_restarts",
    "Restarts of the private Neo4j: it had died, its database had failed or been silent, or it worked on a "
    "statement that it could not end",
    ["reason"],
)
DISK_FREE = Gauge("graphmem_disk_free_bytes", "Free bytes of the disk of the private Neo4j")
EMBEDDING_SECONDS = Histogram(
    "graphmem_embedding_duration_seconds",
    "Duration of the model's work on a question or a batch of passages, without the wait",
    ["purpose"],
    buckets=FAST,
)
RERANKING_SECONDS = Histogram(
    "graphmem_reranking_duration_seconds",
    "Duration of the reranker's work on a few memories of a question, without the wait",
    buckets=FAST,
)
REEMBEDDED = Gauge(
    "graphmem_reembedding_memories",
    "Memories that a change of the embedding model has done, and those that are left; 0 without one",
    ["state"],
)


def begin_at_zero(counter: Counter, *vocabularies: Iterable[str]) -> None:
    """Show a counter with 0 for every combination of its known labels.

    Prometheus cannot tell the first occurrence of a label as an increase if there was nothing before.
    """
    for labels in product(*vocabularies):
        counter.labels(*labels)


begin_at_zero(REFUSED, get_args(Refusal))
begin_at_zero(LIMITS_REACHED, get_args(ReachedLimit))
begin_at_zero(NEO4J_RESTARTS, get_args(Restart))


def count_refusal(limit: Refusal) -> None:
    """Count a request that is refused at once, or whose answer nobody reads."""
    REFUSED.labels(limit).inc()


def count_reached(limit: ReachedLimit) -> None:
    """Count a write that is refused because of a limit of its client."""
    LIMITS_REACHED.labels(limit).inc()


def count_restart(reason: Restart) -> None:
    """Count a restart of the private Neo4j."""
    NEO4J_RESTARTS.labels(reason).inc()
