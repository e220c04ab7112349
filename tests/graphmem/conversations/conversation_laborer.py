"""A worker in its own process, for tests that kill it.

`conversation_laborer.py KIND MINE LEASE_SECONDS` does the jobs of one real kind as `graphmem serve` does, but
only those that a test has named `MINE`.
"""

import asyncio
import sys
from datetime import timedelta

from msgspec.structs import replace

from graphmem import config
from graphmem.background import WORK
from graphmem.jobs.outbox import Claim, Effect
from graphmem.jobs.worker import Worker
from graphmem.runtime import running


async def main(kind: str, mine: str, lease_seconds: float) -> None:
    """Work until killed."""
    async with running(config.load()) as runtime:

        async def handler(held: Claim) -> Effect | None:
            return await WORK[kind](replace(held, kind=kind), runtime)

        lease = timedelta(seconds=lease_seconds)
        worker = Worker(runtime.graph, {mine: handler}, lease=lease, poll_seconds=0.1)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await worker.run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
