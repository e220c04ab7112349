"""A worker's death: every job is done, none twice in effect (`make chaos` queues 1,000)."""

import asyncio
import os
import sys
import uuid
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from graphmem.client import Graphmem
from graphmem.graph.driver import Transaction
from graphmem.jobs.outbox import JobsAsked, enqueue, show_jobs

pytestmark = pytest.mark.usefixtures("killed_processes")

JOBS = int(os.environ.get("GRAPHMEM_CHAOS_JOBS", "200"))
LEASE_SECONDS = 3.0


async def test_two_workers_and_a_kill_do_each_job_once(memory: Graphmem) -> None:
    kind = f"kind-{uuid.uuid4().hex}"
    graph, settings = memory.runtime.graph, memory.runtime.settings

    async def queue(transaction: Transaction) -> None:
        now = datetime.now(UTC)
        for key in map(str, range(JOBS)):
            id = f"{kind}-{key}"
            await enqueue(
                transaction,
                client_id=memory.client_id, id=id, kind=kind, key=key, payload={}, now=now,
            )  # fmt: skip

    async def started() -> asyncio.subprocess.Process:
        assert settings.neo4j_uri is not None
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(Path(__file__).with_name("laborer.py")),
            kind,
            str(LEASE_SECONDS),
            stdout=asyncio.subprocess.PIPE,
            env=os.environ
            | {
                "GRAPHMEM_NEO4J_URI": settings.neo4j_uri,
                "GRAPHMEM_NEO4J_USER": settings.neo4j_user,
                "GRAPHMEM_NEO4J_PASSWORD": settings.neo4j_password,
            },
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"ready\n"
        return process

    async def marked() -> Counter[str]:
        rows = await graph.execute(
            "MATCH (mark:JobMark {client_id: $client}) RETURN mark.key AS key",
            client=memory.client_id,
        )
        return Counter(row["key"] for row in rows)

    await graph.write(queue)
    workers = await asyncio.gather(started(), started())
    try:
        async with asyncio.timeout(300):
            while len(await marked()) < JOBS // 3:
                await asyncio.sleep(0.05)
            workers[0].kill()
            while len(await marked()) < JOBS:
                await asyncio.sleep(0.2)
        await asyncio.sleep(LEASE_SECONDS + 1)
    finally:
        for worker in workers:
            if worker.returncode is None:
                worker.kill()
            await worker.wait()
    done = await marked()
    assert len(done) == JOBS
    assert max(done.values()) == 1
    for state in ("queued", "running", "dead"):
        left = await show_jobs(
            JobsAsked(state=state), client_id=memory.client_id, graph=memory.runtime.graph
        )
        assert left.jobs == []
