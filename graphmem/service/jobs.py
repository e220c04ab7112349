"""Background work: how far it is."""

from typing import Any

from graphmem.jobs import show as jobs
from graphmem.jobs.types import Jobs, JobsAsked
from graphmem.model.validation import validated
from graphmem.service.bound import Bound


class BackgroundWork(Bound):
    """What a client can see of its background work."""

    async def jobs(self, **asked: Any) -> Jobs:
        """Return background work of this client, newest first; what is asked are `JobsAsked`'s fields.

        Raises `InvalidInput`, `Unavailable`.
        """
        return await jobs.jobs(
            validated(asked, JobsAsked), client_id=self.client_id, graph=self.runtime.graph
        )
