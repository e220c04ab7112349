"""A worker in its own process, for tests that kill it: `laborer.py KIND LEASE_SECONDS`.

Each job leaves one mark in the graph, in the transaction that settles it.
"""

import asyncio
import sys
from datetime import timedelta

from graphmem import config
from graphmem.graph.driver import Transaction
from graphmem.jobs.outbox import Claim, Effect
from graphmem.jobs.worker import Worker
from graphmem.runtime import database


async def handler(held: Claim) -> Effect:
    """Return the effect of a job: a mark."""

    async def effect(transaction: Transaction) -> None:
        await transaction._transaction.run(
            "CREATE (:JobMark {client_id: $client, key: $key})",
            client=held.client_id,
            key=held.key,
        )

    return effect


async def main(kind: str, lease_seconds: float) -> None:
    """Work until killed."""
    async with database(config.load()) as graph:
        lease = timedelta(seconds=lease_seconds)
        worker = Worker(graph, {kind: handler}, lease=lease, poll_seconds=0.1)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await worker.run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
