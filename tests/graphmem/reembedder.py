"""A worker that embeds again, in its own process, for a test that kills it: `reembedder.py MODEL`."""

import asyncio
import sys

from graphmem import config
from graphmem.background import WORK, Background
from graphmem.reembedding import REEMBED
from graphmem.runtime import running
from tests.fake_models import load


async def main(model: str) -> None:
    """Work until killed."""
    async with running(config.load(embedding_model=model), load=load) as runtime:
        background = Background(runtime, {REEMBED: WORK[REEMBED]})
        background.start()
        await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
